"""What happens when an input is missing, or is a value that training never saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.audit.checks.checking import Checked
from rulekit.audit.checks.kept_promises import only_statements, statements
from rulekit.audit.report.blocks import Block, ReportSection, ReportTable, TableColumn, Text, cells
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import share_text
from rulekit.graph.language.words import name
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.shown.sections import missing_note
from rulekit.shown.table_figures import tables_of

_POLICIES = {
    "unseen": "belongs to no set, but where a rule names unseen levels",
    "missing": "is taken for missing",
    "error": "is refused with an error",
}


def missing_section(subject: Subject, checked: Checked) -> ReportSection:
    """What the rules say of missing values, and of each column how often they occurred."""
    graph = subject.measured
    note = missing_note(graph)
    satisfied = _satisfied(subject, checked)
    shares = {
        table.name: {column: known.missing for column, known in table.columns.items()}
        for table in tables_of(graph)
        if table.columns
    }
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
    return ReportSection("missing", "When an input is missing", tuple(blocks), data)


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
) -> ReportTable:
    levels = any(graph.schema[column].kind == "categorical" for column in graph.used_features)
    titles = [TableColumn("input")]
    titles += [TableColumn("rules satisfied", "id")] if satisfied is not None else []
    titles += [TableColumn("a new level")] if levels else []
    titles += [TableColumn(f"missing, {table}", "number") for table in shares]
    lines = []
    for column in graph.used_features:
        rules = [] if satisfied is None else [", ".join(satisfied[column]) or ("none found" if undecided else "none")]
        new = [_new_value(graph.schema[column])] if levels else []
        lines.append(cells(name(column), *rules, *new, *(share_text(known.get(column)) for known in shares.values())))
    often = "how often values are missing"
    title = (
        f"Which rules a missing or new value satisfies, and {often}" if satisfied is not None else often.capitalize()
    )
    return ReportTable(title, tuple(titles), tuple(lines))


def _new_value(feature: Feature) -> str:
    return _POLICIES[feature.unseen] if feature.kind == "categorical" else ""
