"""What was done to the model since it was learned: edits, probabilities fitted anew, thresholds, overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

from rulekit.audit.report.blocks import Block, Column, Heading, Items, Section, Table, Text, cells
from rulekit.audit.report.numbers import rows_text
from rulekit.audit.report.sections.edited_rules import edits_of, is_learned, overrides_of
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.readable import counted
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import quoted
from rulekit.graph.nodes import Node
from rulekit.shown.boosting_rounds import WORDS, rounds_tables

MARKED = "Rules that were written or changed by hand are marked in the table of rules."


def history_section(subject: Subject) -> Section:
    """Each event that the provenance holds, in its order, then the overrides."""
    graph = subject.graph
    events, edits = _events(subject), edits_of(graph)
    blocks: list[Block] = [Items(tuple(events))]
    if edits:
        blocks += [Heading("Edits by hand"), _edits_table(edits), Text(MARKED, "quiet")]
    overrides = [_override(each, subject) for each in overrides_of(graph)]
    if overrides:
        keys = ("id", "class", "text", "author", "date", "reason", "expires")
        titles = tuple(map(Column, ("rule", "decides", "where", *keys[3:])))
        lines = tuple(cells(*(_said(each.get(key)) for key in keys)) for each in overrides)
        blocks += [Heading("Overrides: rules that win over the learned ones"), Table("", titles, lines)]
    for each, margins in rounds_tables(graph):
        names, texts = zip(*each.lines, strict=True)
        lines = tuple(cells(*line) for line in zip(*texts, strict=True))
        below = Table("", tuple(Column(name, "number") for name in names), lines, f"{WORDS}.")
        blocks += [Heading("Rounds of boosting"), Text(f"{each.title}; {margins}."), below]
    rounds = [{name: [*map(float, texts)] for name, texts in each.lines} for each, _ in rounds_tables(graph, full=True)]
    data: dict[str, Any] = {
        "learned": is_learned(graph),
        "edits": [dict(edit) for edit in edits],
        "refitted": graph.provenance.get("refitted"),
        "threshold": graph.provenance.get("threshold"),
        "simplified": graph.provenance.get("simplified"),
        "overrides": overrides,
        "rounds": rounds,
    }
    return Section("history", "History", tuple(blocks), data)


def _events(subject: Subject) -> list[str]:
    provenance = subject.graph.provenance
    found = []
    if is_learned(subject.graph):
        rows = provenance.get("rows")
        on = f" from {rows_text(rows)} rows" if type(rows) is int else ""
        found.append(f"Learned by {provenance['learner']}{on}.")
    else:
        found.append("Not learned, or its record was lost: a rule text that is imported without its base has none.")
    if "simplified" in provenance:
        found.append("Simplified: fewer literals, the same decisions.")
    ladder = subject.graph.ladder
    if ladder is not None and ladder.why == "asked for":
        found.append(f"Another size of the same training was taken: {ladder.chosen}.")
    edits = len(edits_of(subject.graph))
    if edits:
        found.append(f"Edited by hand {'once' if edits == 1 else f'{edits} times'}, as listed below.")
    if isinstance(note := provenance.get("refitted"), Mapping):
        rows = note.get("rows")
        on = f" to {rows_text(rows)} rows" if type(rows) is int else ""
        found.append(f"Its probabilities were fitted anew{on} (digest {str(note.get('data'))[:12]}).")
    if provenance.get("threshold") is not None:
        found.append(f"It decides above the threshold {provenance['threshold']}.")
    if overrides := overrides_of(subject.graph):
        count = len(overrides)
        found.append(f"{counted(count, 'rule')} of a person {'wins' if count == 1 else 'win'} over what was learned.")
    return found


def _edits_table(edits: Sequence[Mapping[str, Any]]) -> Table:
    titles = (
        Column("date"), Column("author"), Column("reason"), Column("added", "id"), Column("removed", "id"),
        Column("rows changed", "number"), Column("the rest"),
    )  # fmt: skip
    lines = tuple(
        cells(
            _said(edit.get("date")),
            _said(edit.get("author")),
            _said(edit.get("reason")),
            _ids(edit.get("added")),
            _ids(edit.get("removed")),
            f"{_said(edit.get('rows_changed'))} of {_said(edit.get('rows'))}",
            "proved unchanged" if edit.get("rest_proved") is True else "not proved unchanged",
        )
        for edit in edits
    )
    return Table("", titles, lines)


def _said(value: Any) -> str:
    return "–" if value is None or value == "" else str(value)


def _ids(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) and value else "–"


def _override(override: Any, subject: Subject) -> dict[str, Any]:
    """An override as JSON values, with its condition in words."""
    graph = subject.graph
    given = asdict_of(override)
    condition, k = getattr(override, "condition", None), getattr(override, "class_index", None)
    text = print_node(condition, graph.schema) if isinstance(condition, Node) else ""
    label = graph.classes[k] if isinstance(k, int) and 0 <= k < len(graph.classes) else None
    plain = {key: value for key, value in given.items() if isinstance(value, str | int | float | None)}
    return {**plain, "text": text, "class": None if label is None else quoted(label)}


def asdict_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, whose nodes stay as they are."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
