"""What the model is for and where it comes from, and where a report answers what laws ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    ReportSection,
    ReportTable,
    TableColumn,
    Text,
    cells,
    columns,
)
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import rows_text
from rulekit.graph.language.words import name, quoted
from rulekit.names import printable
from rulekit.shown.hand_made import is_learned

NOT_SAID = "not stated"
_MOST_TEXT = 400
_ELSEWHERE = ("row_hashes", "baselines", "measured", "edits")


def purpose_section(subject: Subject, version: str) -> ReportSection:
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
    return ReportSection("purpose", "Purpose and provenance", tuple(blocks), data)


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


SAID = (
    "The table says where this file answers what each text asks for; what it cannot know is left to its author. It is "
    "a guide for readers and no statement that the model, or this file, complies with anything."
)
BY_THE_AUTHOR = "by its author"


@dataclass(frozen=True, slots=True)
class AskedPoint:
    """What a text asks for, and the ids of the sections that speak of it; none: left to the author."""

    source: str
    point: str
    what: str
    sections: tuple[str, ...] = ()


_ANNEX, _GUIDANCE = "AI Act, Annex IV", "SR 26-2"
ASKED = (
    AskedPoint(_ANNEX, "1", "general description: purpose, provider, version", ("purpose", "summary")),
    AskedPoint(_ANNEX, "2 (a)", "methods and steps of development", ("purpose", "sizes", "history")),
    AskedPoint(_ANNEX, "2 (b)", "general logic, design choices, what is optimised", ("rules", "sizes")),
    AskedPoint(_ANNEX, "2 (c)", "architecture: how components build on each other"),
    AskedPoint(_ANNEX, "2 (d)", "data: provenance, scope, main characteristics", ("purpose", "columns")),
    AskedPoint(_ANNEX, "2 (e)", "human oversight, and what helps people to interpret", ("rules", "score", "missing")),
    AskedPoint(_ANNEX, "2 (f)", "changes that were determined beforehand", ("history",)),
    AskedPoint(
        _ANNEX,
        "2 (g)",
        "validation and testing: data, metrics, discriminatory impacts",
        ("performance", "groups", "checks", "verification"),
    ),
    AskedPoint(_ANNEX, "2 (h)", "cybersecurity"),
    AskedPoint(
        _ANNEX,
        "3",
        "capabilities and limits, accuracy for groups of persons, input data",
        ("limits", "groups", "missing", "columns"),
    ),
    AskedPoint(_ANNEX, "4", "why the metrics are appropriate", ("performance",)),
    AskedPoint(_ANNEX, "5", "risk management system"),
    AskedPoint(_ANNEX, "6", "changes through the lifecycle", ("history", "comparison")),
    AskedPoint(_ANNEX, "7, 8", "standards applied, declaration of conformity"),
    AskedPoint(_ANNEX, "9", "monitoring after it is placed on the market", ("drift",)),
    AskedPoint(
        _GUIDANCE, "development", "purpose, design, data, limitations", ("purpose", "rules", "columns", "limits")
    ),
    AskedPoint(
        _GUIDANCE,
        "validation",
        "conceptual soundness, outcomes, benchmarks",
        ("checks", "performance", "stability", "sizes"),
    ),
    AskedPoint(_GUIDANCE, "implementation", "the model in use is the one that was validated", ("verification",)),
    AskedPoint(_GUIDANCE, "monitoring", "ongoing monitoring, changes", ("drift", "comparison", "history")),
    AskedPoint(_GUIDANCE, "overrides", "expert judgement over the output of a model", ("history", "rules")),
    AskedPoint(_GUIDANCE, "governance", "roles, inventory, materiality, vendors"),
)


def annex_section(titles: dict[str, str]) -> ReportSection:
    """The table of what is asked and where it is answered; titles: of sections by id."""
    lines: dict[str, list[tuple[Cell, ...]]] = {}
    for asked in ASKED:
        known = [section for section in asked.sections if section in titles]
        links = tuple((section, titles[section]) for section in known)
        where = Cell(links=links) if known else Cell(BY_THE_AUTHOR, tone="quiet")
        lines.setdefault(asked.source, []).append(cells(asked.point, asked.what, where))
    heads = columns("point", "asks for", TableColumn("answered in", "rule"))
    tables = tuple(ReportTable(source, heads, tuple(rows)) for source, rows in lines.items())
    data = {"asked": [asdict(asked) for asked in ASKED]}
    return ReportSection("annex", "Where to find what Annex IV asks", (Text(SAID), *tables), data)
