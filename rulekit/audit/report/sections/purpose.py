"""What the model is for, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rulekit.audit.report.blocks import Block, Facts, Section, Text
from rulekit.audit.report.numbers import rows_text
from rulekit.audit.report.sections.edited_rules import is_learned
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.words import name, quoted
from rulekit.names import printable

NOT_SAID = "not stated"
_MOST_TEXT = 400
_ELSEWHERE = ("row_hashes", "baselines", "measured", "edits")


def purpose_section(subject: Subject, version: str) -> Section:
    """What its author says, what the model decides, and from what it was learned; version: of the writer."""
    graph, said = subject.graph, subject.said
    schema = graph.schema
    labels = ", ".join(map(quoted, graph.classes))
    if schema.ordered_classes:
        labels += ", from low to high"
    elif subject.binary:
        labels += f"; {quoted(graph.classes[1])} is the positive one"
    provenance = graph.provenance
    note = "" if is_learned(graph) else "The model file has no record of learning: it was written, or read from a text."
    stated = (
        ("purpose", said.purpose or NOT_SAID),
        ("author", said.author or NOT_SAID),
        ("date", said.date or NOT_SAID),
    )
    learned = [
        ("decides", f"{name(schema.target)}, as one of {labels}"),
        ("learner", _text(provenance.get("learner"))),
        ("training rows", rows_text(n) if type(n := provenance.get("rows")) is int else NOT_SAID),
        ("threshold", _text(provenance.get("threshold"), "as learned")),
        ("stopped early", _text(provenance.get("stopped"), "no")),
    ]
    digests = [
        ("digest of the model", graph.digest),
        ("digest of the training table", _text(provenance.get("data"))),
    ]
    if subject.rows is not None:
        digests.append((f"digest of {subject.rows.name}, as it was read", subject.rows.digest))
    versions = provenance.get("versions")
    written = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, Mapping) else NOT_SAID
    parameters = provenance.get("parameters")
    blocks: list[Block] = [Facts(stated)]
    blocks += [Text(note, "note")] if note else []
    blocks += [
        Facts((*learned, ("learned with", written), ("report written by", f"rulekit {version}"))),
        Facts(tuple(digests), frozenset(what for what, _ in digests)),
    ]
    if isinstance(parameters, Mapping) and parameters:
        blocks.append(Text(f"Parameters as they were used: {_parameters(parameters)}", "quiet"))
    data: dict[str, Any] = {
        **asdict(said),
        "target": schema.target,
        "classes": list(graph.classes),
        "ordered_classes": schema.ordered_classes,
        "default": graph.classes[graph.default],
        "digest": graph.digest,
        "rulekit": version,
        "rows": None if subject.rows is None else {"name": subject.rows.name, "digest": subject.rows.digest},
        "provenance": {key: value for key, value in provenance.items() if key not in _ELSEWHERE},
    }
    return Section("purpose", "Purpose and provenance", tuple(blocks), data)


def _text(value: Any, otherwise: str = NOT_SAID) -> str:
    return otherwise if value is None or value == "" else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} …"


def _parameters(parameters: Mapping[str, Any]) -> str:
    """Those that say something, then how many are none; all stand in the JSON."""
    said = {name_: value for name_, value in parameters.items() if value is not None}
    rest = len(parameters) - len(said)
    text = ", ".join(f"{printable(name_)} {_short(_word(value))}" for name_, value in said.items())
    return f"{text}; {rest} others none." if rest else f"{text}."


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
