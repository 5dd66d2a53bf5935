"""Leaves over numbers as strict comparisons, which are false for NaN in every runtime.

`x > t` is a strict comparison as it stands, and `x <= t` is `x < t'` with t' the next number above t in the column's
width. A leaf that is true where x is missing is the negation of the opposite strict comparison
(docs/onnx.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rulekit.graph.leaves import column_of, truth_by_code
from rulekit.graph.nodes import Compare, Family, IsTrue, Missing, Node
from rulekit.numbers import float32, next_float32
from rulekit.schema import Feature, Schema


@dataclass(frozen=True, slots=True)
class StrictCondition:
    """`x > bound`, `x < bound` or x is missing; false for NaN but for the last."""

    feature: str
    relation: Literal[">", "<", "missing"]
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Membership:
    """The code of a category has the value true in a table: missing, unseen, the levels."""

    feature: str
    table: tuple[bool, ...]


Bit = StrictCondition | Membership


def bit_of(leaf: Node, schema: Schema) -> tuple[Bit, bool] | None:
    """What a leaf asks of its column, and the sign; None for a node of another kind, or one that is constant."""
    name = column_of(leaf) if leaf.family is Family.BOOLEAN else None
    feature = schema[name] if name is not None else None
    if feature is not None and feature.kind == "categorical":
        table = tuple(truth_by_code(leaf, feature).tolist())
        return (Membership(feature.name, table), True) if len(set(table)) == 2 else None
    if isinstance(leaf, Compare):
        return _compared(schema[leaf.feature], leaf.op, leaf.value, leaf.missing)
    if isinstance(leaf, IsTrue):
        return _compared(schema[leaf.feature], ">", 0.5, leaf.missing)
    return (StrictCondition(leaf.feature, "missing"), True) if isinstance(leaf, Missing) else None


def _compared(feature: Feature, op: str, value: float, missing: bool) -> tuple[StrictCondition, bool]:
    """The literal of `x > value` or `x <= value`: the comparison to make is the one that must be false for NaN."""
    wide = is_wide(feature)
    t = value if wide else float32(value)
    if (op == ">") is not missing:
        return StrictCondition(feature.name, ">", t), not missing
    return StrictCondition(feature.name, "<", next_above(t, wide)), not missing


def next_above(value: float, wide: bool) -> float:
    """The next number of a column's width, never -0.0."""
    return (math.nextafter(value, math.inf) if wide else next_float32(value)) + 0.0


def is_wide(feature: Feature) -> bool:
    """Whether a column is compared in double."""
    return feature.kind == "numeric" and feature.precision == "float64"


def bound_of(bit: StrictCondition, feature: Feature) -> float:
    """The t of `x > t`, or of `x <= t`, which stands as x < t' in the condition."""
    if bit.relation == ">":
        return bit.bound
    if is_wide(feature):
        return math.nextafter(bit.bound, -math.inf)
    return -next_float32(-bit.bound) + 0.0


def contrary_of(bit: StrictCondition, feature: Feature) -> StrictCondition:
    """The comparison that holds where a comparison fails and its column is not missing."""
    if bit.relation == ">":
        return StrictCondition(bit.feature, "<", next_above(bit.bound, is_wide(feature)))
    return StrictCondition(bit.feature, ">", bound_of(bit, feature))
