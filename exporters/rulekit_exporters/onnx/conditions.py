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
from rulekit.graph.nodes import Compare, IsTrue, Missing, Node
from rulekit.numbers import float32, next_float32
from rulekit.schema import Feature, Schema


@dataclass(frozen=True, slots=True)
class Condition:
    """`x > bound`, `x < bound` or x is missing; false for NaN but for the last."""

    feature: str
    relation: Literal[">", "<", "missing"]
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Signed:
    """A condition or its negation."""

    condition: Condition
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Membership:
    """The code of a category has the value true in a table: missing, unseen, the levels."""

    feature: str
    table: tuple[bool, ...]


Bit = Condition | Membership


def bit_of(leaf: Node, schema: Schema) -> tuple[Bit, bool] | None:
    """What a leaf asks of its column, and the sign; None for a node of another kind, or one that is constant."""
    literal = literal_of(leaf, schema)
    if literal is not None:
        return literal.condition, literal.positive
    if column_of(leaf) is not None and schema[column_of(leaf) or ""].kind == "categorical":
        table = membership(leaf, schema)
        return (table, True) if len(set(table.table)) == 2 else None
    return None


def membership(leaf: Node, schema: Schema) -> Membership:
    """The table of a leaf over a category."""
    feature = schema[column_of(leaf) or ""]
    return Membership(feature.name, tuple(truth_by_code(leaf, feature).tolist()))


def literal_of(leaf: Node, schema: Schema) -> Signed | None:
    """The literal of a leaf over a numeric or Boolean column; None for a node of another kind."""
    if isinstance(leaf, Compare):
        return compare(schema[leaf.feature], leaf.op, leaf.value, leaf.missing)
    if isinstance(leaf, IsTrue):
        return compare(schema[leaf.feature], ">", 0.5, leaf.missing)
    if isinstance(leaf, Missing) and schema[leaf.feature].kind != "categorical":
        return Signed(Condition(leaf.feature, "missing"))
    return None


def compare(feature: Feature, op: str, value: float, missing: bool) -> Signed:
    """The literal of `x > value` or `x <= value`."""
    wide = is_wide(feature)
    t = value if wide else float32(value)
    # the comparison to make is the one that must be false for NaN
    strict = op if not missing else ("<=" if op == ">" else ">")
    if strict == ">":
        return Signed(Condition(feature.name, ">", t), not missing)
    return Signed(Condition(feature.name, "<", next_above(t, wide)), not missing)


def next_above(value: float, wide: bool) -> float:
    """The next number of a column's width, never -0.0."""
    return (math.nextafter(value, math.inf) if wide else next_float32(value)) + 0.0


def is_wide(feature: Feature) -> bool:
    """Whether a column is compared in double."""
    return feature.kind == "numeric" and feature.precision == "float64"


def bound_of(bit: Condition, feature: Feature) -> float:
    """The t of `x > t`, or of `x <= t`, which stands as x < t' in the condition."""
    if bit.relation == ">":
        return bit.bound
    if is_wide(feature):
        return math.nextafter(bit.bound, -math.inf)
    return -next_float32(-bit.bound) + 0.0
