"""The columns of the model's table: which it uses, what training found in them, what happens where one is missing."""

from __future__ import annotations

from typing import Any

from rulekit.audit.checks.checking import Checked
from rulekit.audit.checks.kept_promises import only_statements, statements
from rulekit.audit.report.blocks import Block, Cell, Line, ReportSection, TableColumn, Text, table
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import UNKNOWN, share_text
from rulekit.graph.language.words import amount, counted, name
from rulekit.graph.rules import columns_of
from rulekit.names import printable
from rulekit.schema import Feature
from rulekit.shown.sections import missing_note
from rulekit.shown.table_figures import ColumnFigures, table_of, tables_of, training_of

MOST_LEVELS = 12
_ROLES = {"audit": "for audit only", "forbidden": "forbidden"}
_WAYS = {1: "increasing", -1: "decreasing"}


def columns_section(subject: Subject) -> ReportSection:
    """Columns that rules read, with their values in training; then the others, which decide nothing."""
    graph, schema = subject.measured, subject.measured.schema
    rules: dict[str, list[str]] = {column: [] for column in schema.names}
    for rule in subject.rules:
        for column in columns_of(rule.node):
            rules[column].append(rule.id)
    training = training_of(graph).columns
    given = {} if subject.rows is None else table_of(graph, subject.name_of_rows).columns
    used = [schema[column] for column in graph.used_features]
    unused = [feature for feature in schema if feature not in used]
    blocks: list[Block] = [Text(f"{counted(len(used), 'column')} of {len(schema)} decide.")]
    beside: list[str | TableColumn] = [TableColumn(f"in {subject.rows.name if subject.rows else ''}")] if given else []
    lines: list[Line] = []
    for feature in used:
        known = training.get(feature.name)
        lines.append(
            (
                Cell(name(feature.name), marks=_marks(feature)),
                _kind(feature),
                _range(feature, known),
                share_text(None if known is None else known.missing),
                *([_range(feature, given.get(feature.name))] if given else []),
                ", ".join(rules[feature.name]) or "in a sum",
            )
        )
    if lines:
        titles = ["column", "kind", "in training", "missing#", *beside, TableColumn("rules", "id")]
        blocks.append(table("Columns that decide", titles, lines))
    if unused:
        rest = [(Cell(name(feature.name), marks=_marks(feature)), _kind(feature)) for feature in unused]
        blocks.append(table("Columns that the model does not read", ("column", "kind"), rest))
    data = {
        "used": [_data(feature, rules[feature.name], training, given) for feature in used],
        "unused": [{"column": f.name, "kind": f.kind, "role": f.role} for f in unused],
    }
    return ReportSection("columns", "Columns", blocks, data)


def _data(
    feature: Feature, rules: list[str], training: dict[str, ColumnFigures], given: dict[str, ColumnFigures]
) -> dict[str, Any]:
    return {
        "column": feature.name,
        **{key: getattr(feature, key) for key in ("kind", "role", "unit", "ordered", "monotone")},
        "missing_tokens": list(feature.missing_tokens),
        "rules": rules,
        "training": training[feature.name].entry if feature.name in training else None,
        "given": given[feature.name].entry if feature.name in given else None,
    }


def _marks(feature: Feature) -> list[str]:
    return list(filter(None, (_ROLES.get(feature.role), _WAYS.get(feature.monotone))))


def _kind(feature: Feature) -> str:
    kind: str = feature.display if feature.display not in ("plain", "integer", "count") else feature.kind
    kind = "ordered category" if feature.ordered else kind
    return f"{kind}, in {printable(feature.unit)}" if feature.unit else kind


def _range(feature: Feature, known: ColumnFigures | None) -> str:
    """From the least to the largest number, or the levels with their shares."""
    shares = None if known is None else known.levels
    if known is not None and shares is not None:
        shown = list(shares) if feature.ordered else sorted(shares, key=lambda level: -shares[level])
        said = ", ".join(f"{name(level)} {share_text(shares[level])}" for level in shown[:MOST_LEVELS])
        more = len(shown) - MOST_LEVELS
        said += f" and {more} more" if more > 0 else ""
        return said + (f"; new levels {share_text(known.unseen)}" if known.unseen else "")
    if known is not None and known.range is not None:
        low, high = known.range
        if feature.kind == "boolean":
            return "true and false" if low < high else ("true" if high else "false")
        return f"{amount(low, feature)} to {amount(high, feature)}"
    return "text" if feature.kind == "text" else UNKNOWN


# Missing values ------------------------------------------------------------------------------------------------------

_POLICIES = {
    "unseen": "belongs to no set, but where a rule names unseen levels",
    "missing": "is taken for missing",
    "error": "is refused with an error",
}


def missing_section(subject: Subject, checked: Checked) -> ReportSection:
    """What the rules say of missing values, and of each column how often they occurred."""
    graph, schema = subject.measured, subject.measured.schema
    note, satisfied = missing_note(graph), _satisfied(subject, checked)
    shares = {known.name: known.columns for known in tables_of(graph) if known.columns}
    undecided = [left.text for left in checked.open if left.kind == "missing"]
    blocks: list[Block] = [Text(note or "No column is read, so nothing can be missing.")]
    whole = all(map(only_statements, graph.decision.parts))
    if satisfied is not None and whole and not any(satisfied.values()) and not undecided:
        blocks.append(Text("Proved: no missing or new value satisfies a rule.", "good"))
    if undecided:
        blocks.append(Text(f"Not decided of every rule: {undecided[0]}.", "note"))
    levels = any(schema[column].kind == "categorical" for column in graph.used_features)
    lines, data = [], {}
    for column in graph.used_features:
        feature = schema[column]
        missing = {title: known[column].missing if column in known else None for title, known in shares.items()}
        rules = None if satisfied is None else satisfied[column]
        policy = feature.unseen if feature.kind == "categorical" else None
        data[column] = {"rules_satisfied": rules, "new_level": policy, "missing": missing}
        said = [] if rules is None else [", ".join(rules) or ("none found" if undecided else "none")]
        new = ["" if policy is None else _POLICIES[policy]] * levels
        lines.append((name(column), *said, *new, *map(share_text, missing.values())))
    if lines:
        by_rules, often = satisfied is not None, "how often values are missing"
        title = f"Which rules a missing or new value satisfies, and {often}" if by_rules else often.capitalize()
        titles: list[str | TableColumn] = ["input", *[TableColumn("rules satisfied", "id")] * by_rules]
        titles += ["a new level"] * levels
        titles += [TableColumn(f"missing, {each}", "number") for each in shares]
        blocks.append(table(title, titles, lines))
    content = {"note": note, "not_decided": undecided, "columns": data}
    return ReportSection("missing", "When an input is missing", blocks, content)


def _satisfied(subject: Subject, checked: Checked) -> dict[str, list[str]] | None:
    """By column the rules that a missing or new value satisfies; None where no rule decides by itself, as in a sum."""
    if not statements(subject.graph):
        return None
    found: dict[str, list[str]] = {column: [] for column in subject.graph.used_features}
    for finding in checked.findings:
        if finding.kind == "missing":
            own = found.setdefault(finding.column, [])
            own += [rule for rule in finding.ids if rule not in own]
    return found
