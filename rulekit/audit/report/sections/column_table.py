"""The columns of the model's table: which it uses, and what training found in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.audit.report.blocks import Block, Cell, Column, Section, Table, Text, cells
from rulekit.audit.report.numbers import NONE, share_text
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.readable import amount, counted
from rulekit.graph.language.words import name
from rulekit.graph.rules import columns_of
from rulekit.names import printable
from rulekit.schema import Feature

MOST_LEVELS = 12
_ROLES = {"audit": "for audit only", "forbidden": "forbidden"}
_WAYS = {1: "increasing", -1: "decreasing"}


def columns_section(subject: Subject) -> Section:
    """Columns that rules read, with their values in training; then the others, which decide nothing."""
    graph = subject.measured
    rules = {column: [] for column in graph.schema.names}  # type: dict[str, list[str]]
    for rule in subject.rules:
        for column in columns_of(rule.node):
            rules[column].append(rule.id)
    training = _columns(graph.statistics)
    given = _columns(graph.statistics.get(subject.name_of_rows)) if subject.rows is not None else {}
    used = [graph.schema[column] for column in graph.used_features]
    unused = [feature for feature in graph.schema if feature.name not in set(graph.used_features)]
    blocks: list[Block] = [Text(f"{counted(len(used), 'column')} of {len(graph.schema)} decide.")]
    titles = [Column("column"), Column("kind"), Column("in training"), Column("missing", "number")]
    if given:
        titles.append(Column(f"in {subject.rows.name if subject.rows else ''}"))
    titles.append(Column("rules", "id"))
    lines = []
    for feature in used:
        beside = [_range(feature, given.get(feature.name, {}))] if given else []
        lines.append(
            cells(
                Cell(name(feature.name), marks=_marks(feature)),
                _kind(feature),
                _range(feature, training.get(feature.name, {})),
                share_text(_share(training.get(feature.name, {}).get("missing"))),
                *beside,
                ", ".join(rules[feature.name]) or "in a sum",
            )
        )
    if lines:
        blocks.append(Table("Columns that decide", tuple(titles), tuple(lines)))
    if unused:
        rest = tuple(cells(Cell(name(feature.name), marks=_marks(feature)), _kind(feature)) for feature in unused)
        blocks.append(Table("Columns that the model does not read", (Column("column"), Column("kind")), rest))
    data = {
        "used": [_data(feature, rules[feature.name], training, given) for feature in used],
        "unused": [{"column": f.name, "kind": f.kind, "role": f.role} for f in unused],
    }
    return Section("columns", "Columns", tuple(blocks), data)


def _data(feature: Feature, rules: list[str], training: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "column": feature.name,
        "kind": feature.kind,
        "role": feature.role,
        "unit": feature.unit,
        "ordered": feature.ordered,
        "monotone": feature.monotone,
        "missing_tokens": list(feature.missing_tokens),
        "rules": rules,
        "training": training.get(feature.name),
        "given": given.get(feature.name),
    }


def _marks(feature: Feature) -> tuple[str, ...]:
    role = [_ROLES[feature.role]] if feature.role in _ROLES else []
    return (*role, *([_WAYS[feature.monotone]] if feature.monotone else []))


def _kind(feature: Feature) -> str:
    kind: str = feature.display if feature.display not in ("plain", "integer", "count") else feature.kind
    kind = "ordered category" if feature.ordered else kind
    return f"{kind}, in {printable(feature.unit)}" if feature.unit else kind


def _columns(block: Any) -> Mapping[str, Mapping[str, Any]]:
    found = block.get("columns") if isinstance(block, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {column: entry for column, entry in found.items() if isinstance(entry, Mapping)}


def _range(feature: Feature, entry: Mapping[str, Any]) -> str:
    """From the least to the largest number, or the levels with their shares."""
    levels = entry.get("levels")
    if isinstance(levels, Mapping):
        shares = {level: value for level, part in levels.items() if (value := _share(part)) is not None}
        shown = sorted(shares, key=lambda level: -shares[level]) if not feature.ordered else list(shares)
        said = ", ".join(f"{name(level)} {share_text(shares[level])}" for level in shown[:MOST_LEVELS])
        more = len(shown) - MOST_LEVELS
        new = _share(entry.get("unseen"))
        said += f" and {more} more" if more > 0 else ""
        return said + (f"; new levels {share_text(new)}" if new else "")
    low, high = entry.get("low"), entry.get("high")
    if isinstance(low, int | float) and isinstance(high, int | float):
        if feature.kind == "boolean":
            return "true and false" if low < high else ("true" if high else "false")
        return f"{amount(float(low), feature)} to {amount(float(high), feature)}"
    return "text" if feature.kind == "text" else NONE


def _share(value: Any) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if fits else None
