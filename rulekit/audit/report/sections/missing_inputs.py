"""What happens when an input is missing, or is a value that training never saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.audit.checks.checking import Checked
from rulekit.audit.checks.statements import only_statements, statements
from rulekit.audit.report.blocks import Block, Column, Section, Table, Text, cells
from rulekit.audit.report.numbers import share_text
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.words import name
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.shown.sections import missing_note

_POLICIES = {
    "unseen": "belongs to no set, but where a rule names unseen levels",
    "missing": "is taken for missing",
    "error": "is refused with an error",
}


def missing_section(subject: Subject, checked: Checked) -> Section:
    """What the rules say of missing values, and of each column how often they occurred."""
    graph = subject.measured
    note = missing_note(graph)
    satisfied = _satisfied(subject, checked)
    shares = {table: _shares(block) for table, block in _tables(graph.statistics)}
    undecided = [left.text for left in checked.open if left.kind == "missing"]
    blocks: list[Block] = [Text(note or "No column is read, so nothing can be missing.")]
    whole = all(map(only_statements, graph.decision.parts))
    if satisfied is not None and whole and not any(satisfied.values()) and not undecided:
        blocks.append(Text("Proved: no missing or new value satisfies a rule.", "good"))
    if undecided:
        blocks.append(Text(f"Not decided of every rule: {undecided[0]}.", "note"))
    if graph.used_features:
        blocks.append(_columns_table(graph, satisfied, shares, bool(undecided)))
    data: dict[str, Any] = {
        "note": note,
        "not_decided": undecided,
        "columns": {
            column: {
                "rules_satisfied": None if satisfied is None else satisfied[column],
                "new_level": graph.schema[column].unseen if graph.schema[column].kind == "categorical" else None,
                "missing": {table: known.get(column) for table, known in shares.items()},
            }
            for column in graph.used_features
        },
    }
    return Section("missing", "When an input is missing", tuple(blocks), data)


def _satisfied(subject: Subject, checked: Checked) -> dict[str, list[str]] | None:
    """By column the rules that a missing or new value satisfies; None where no rule decides by itself, as in a sum."""
    if not statements(subject.graph):
        return None
    found: dict[str, list[str]] = {column: [] for column in subject.graph.used_features}
    for finding in checked.findings:
        if finding.kind == "missing":
            own = found.setdefault(finding.column, [])
            own += [rule for rule in finding.rules if rule not in own]
    return found


def _columns_table(
    graph: RuleGraph,
    satisfied: Mapping[str, list[str]] | None,
    shares: Mapping[str, Mapping[str, float | None]],
    undecided: bool,
) -> Table:
    levels = any(graph.schema[column].kind == "categorical" for column in graph.used_features)
    titles = [Column("input")]
    titles += [Column("rules satisfied", "id")] if satisfied is not None else []
    titles += [Column("a new level")] if levels else []
    titles += [Column(f"missing, {table}", "number") for table in shares]
    lines = []
    for column in graph.used_features:
        rules = [] if satisfied is None else [", ".join(satisfied[column]) or ("none found" if undecided else "none")]
        new = [_new_value(graph.schema[column])] if levels else []
        lines.append(cells(name(column), *rules, *new, *(share_text(known.get(column)) for known in shares.values())))
    often = "how often values are missing"
    title = (
        f"Which rules a missing or new value satisfies, and {often}" if satisfied is not None else often.capitalize()
    )
    return Table(title, tuple(titles), tuple(lines))


def _new_value(feature: Feature) -> str:
    return _POLICIES[feature.unseen] if feature.kind == "categorical" else ""


def _tables(statistics: Any) -> list[tuple[str, Any]]:
    """The name and the figures of columns of each table of rows."""
    named = {"training": statistics}
    named |= {"held out" if title == "held_out" else title: block for title, block in statistics.items()}
    return [
        (title, block["columns"])
        for title, block in named.items()
        if isinstance(block, dict) and isinstance(block.get("columns"), dict)
    ]


def _shares(columns: Any) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for column, entry in columns.items():
        value = entry.get("missing") if isinstance(entry, dict) else None
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        found[column] = float(value) if fits else None  # type: ignore[arg-type]
    return found
