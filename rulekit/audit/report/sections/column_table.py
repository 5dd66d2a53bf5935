"""The columns of the model's table: which it uses, and what training found in them."""

from __future__ import annotations

from typing import Any

from rulekit.audit.report.blocks import Block, Cell, ReportSection, ReportTable, TableColumn, Text, cells, columns
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import UNKNOWN, share_text
from rulekit.graph.language.words import amount, counted, name
from rulekit.graph.rules import columns_of
from rulekit.names import printable
from rulekit.schema import Feature
from rulekit.shown.table_figures import ColumnFigures, table_of, training_of

MOST_LEVELS = 12
_ROLES = {"audit": "for audit only", "forbidden": "forbidden"}
_WAYS = {1: "increasing", -1: "decreasing"}


def columns_section(subject: Subject) -> ReportSection:
    """Columns that rules read, with their values in training; then the others, which decide nothing."""
    graph = subject.measured
    rules = {column: [] for column in graph.schema.names}  # type: dict[str, list[str]]
    for rule in subject.rules:
        for column in columns_of(rule.node):
            rules[column].append(rule.id)
    training = training_of(graph).columns
    given = {} if subject.rows is None else table_of(graph, subject.name_of_rows).columns
    used = [graph.schema[column] for column in graph.used_features]
    unused = [feature for feature in graph.schema if feature.name not in set(graph.used_features)]
    blocks: list[Block] = [Text(f"{counted(len(used), 'column')} of {len(graph.schema)} decide.")]
    titles = [TableColumn("column"), TableColumn("kind"), TableColumn("in training"), TableColumn("missing", "number")]
    if given:
        titles.append(TableColumn(f"in {subject.rows.name if subject.rows else ''}"))
    titles.append(TableColumn("rules", "id"))
    lines = []
    for feature in used:
        known = training.get(feature.name)
        beside = [_range(feature, given.get(feature.name))] if given else []
        lines.append(
            cells(
                Cell(name(feature.name), marks=_marks(feature)),
                _kind(feature),
                _range(feature, known),
                share_text(None if known is None else known.missing),
                *beside,
                ", ".join(rules[feature.name]) or "in a sum",
            )
        )
    if lines:
        blocks.append(ReportTable("Columns that decide", tuple(titles), tuple(lines)))
    if unused:
        rest = tuple(cells(Cell(name(feature.name), marks=_marks(feature)), _kind(feature)) for feature in unused)
        blocks.append(ReportTable("Columns that the model does not read", columns("column", "kind"), rest))
    data = {
        "used": [
            _data(feature, rules[feature.name], training.get(feature.name), given.get(feature.name)) for feature in used
        ],
        "unused": [{"column": f.name, "kind": f.kind, "role": f.role} for f in unused],
    }
    return ReportSection("columns", "Columns", tuple(blocks), data)


def _data(
    feature: Feature, rules: list[str], training: ColumnFigures | None, given: ColumnFigures | None
) -> dict[str, Any]:
    return {
        "column": feature.name,
        "kind": feature.kind,
        "role": feature.role,
        "unit": feature.unit,
        "ordered": feature.ordered,
        "monotone": feature.monotone,
        "missing_tokens": list(feature.missing_tokens),
        "rules": rules,
        "training": None if training is None else training.entry,
        "given": None if given is None else given.entry,
    }


def _marks(feature: Feature) -> tuple[str, ...]:
    role = [_ROLES[feature.role]] if feature.role in _ROLES else []
    return (*role, *([_WAYS[feature.monotone]] if feature.monotone else []))


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
