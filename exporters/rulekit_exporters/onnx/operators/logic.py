"""Boolean nodes: leaves, connectives, linear threshold units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.graph.leaves import column_of, truth_by_code
from rulekit.graph.nodes import (
    LEAVES,
    Above,
    And,
    AtLeast,
    Constant,
    Family,
    Linear,
    LinearThreshold,
    Node,
    Not,
    Odd,
    Or,
)
from rulekit.schema import MISSING_CODE
from rulekit_exporters.onnx.builder import Truth
from rulekit_exporters.onnx.conditions import bit_of
from rulekit_exporters.onnx.operators.numbers import sum_of
from rulekit_exporters.onnx.operators.parities import odd
from rulekit_exporters.onnx.operators.stacking import stack
from rulekit_exporters.onnx.operators.sum_blocks import unit_rows

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# A connective of more operands is one count (Gather, Cast, MatMul, Greater) instead of a chain of operators; a chain
# costs 0.1 ns per row and operand but 0.25 us per operand and call.
LONGEST_CHAIN = 6


def leaf(emitter: Emitter, node: Node) -> Truth:
    """A condition on a number; a leaf over a category by its table, or the value that it has for all."""
    schema = emitter.graph.schema
    found = bit_of(node, schema)
    if found is None:
        return bool(truth_by_code(node, schema[column_of(node) or ""])[MISSING_CODE])
    return emitter.inputs.holds(*found)


def connective(emitter: Emitter, node: Node) -> Truth:
    """And or Or: a chain, or one count where that is cheaper: many operands, most of them rows of the literal block."""
    planes = HalfPlanes.of(node)
    if planes is not None:
        return emit_half_planes(emitter, planes)
    children = tuple(dict.fromkeys(node.children))
    inside = sum(emitter.literal(child) is not None for child in children)
    if len(children) > LONGEST_CHAIN and 2 * inside > len(children):
        return count_above(emitter, children, len(children) - 1 if isinstance(node, And) else 0)
    return emitter.builder.chain(type(node).__name__, map(emitter.truth, children))


def at_least(emitter: Emitter, node: AtLeast) -> Truth:
    if node.k <= 0 or node.k > len(node.children):
        return node.k <= 0
    return count_above(emitter, node.children, node.k - 1)


def count_above(emitter: Emitter, children: Sequence[Node], bound: int) -> Truth:
    """Whether more than `bound` children are true: one product with a row of small integers, exact in float32."""
    builder = emitter.builder
    known = [child for child in children if emitter.truth(child) is True]
    counted = [child for child in children if isinstance(emitter.truth(child), str)]
    bound -= len(known)
    if not counted:
        return bound < 0
    stacked = stack(emitter, counted)
    weights = np.zeros((1, stacked.height), dtype=np.float32)
    for child in counted:
        positive = stacked.positive[child]
        weights[0, stacked.row[child]] += 1 if positive else -1
        bound -= not positive
    count = builder.operate("MatMul", builder.constant(weights), builder.cast(stacked.rows, np.float32))
    return builder.operate("Greater", count, builder.constant(bound + 0.5, np.float32))


def linear_threshold(emitter: Emitter, node: LinearThreshold) -> Truth:
    place = emitter.sums.unit_place(node)
    if place is not None:
        return unit_rows(emitter, [place])[0]
    total = sum_of(emitter, node.terms, node.bias)
    # a sum that overflowed to NaN is not >= 0, so the comparison is not built from its contrary
    if not isinstance(total, str):
        return total >= 0.0
    return emitter.builder.operate("GreaterOrEqual", total, emitter.builder.double(0.0))


LOGIC: dict[type[Node], Callable[[Emitter, Any], Truth]] = {
    **dict.fromkeys(LEAVES, leaf),
    Constant: lambda emitter, node: bool(node.value),
    Not: lambda emitter, node: emitter.builder.negate(emitter.truth(node.child)),
    And: connective,
    Or: connective,
    AtLeast: at_least,
    Odd: odd,
    LinearThreshold: linear_threshold,
    Above: lambda emitter, node: emitter.builder.above(emitter.number(node.score), node.threshold),
}


_FEWEST = 3


@dataclass(frozen=True, slots=True)
class HalfPlanes:
    """All comparisons hold: first * one + second * other > threshold; contrary: some does not.

    They are the tangents by which a gated noisy-or decides, in double from left to right.
    """

    one: Node
    other: Node
    first: tuple[float, ...]
    second: tuple[float, ...]
    thresholds: tuple[float, ...]
    contrary: bool

    @classmethod
    def of(cls, node: Node) -> HalfPlanes | None:
        """The comparisons that an And joins, or whose contraries an Or does; None of other nodes, or of few."""
        contrary = isinstance(node, Or)
        if not isinstance(node, And | Or) or len(node.children) < _FEWEST:
            return None
        parts = [child.child for child in node.children if isinstance(child, Not)] if contrary else node.children
        found = [_comparison(part) for part in dict.fromkeys(parts)]
        same = {item[:2] for item in found if item is not None}
        if len(parts) < len(node.children) or None in found or len(same) != 1:
            return None
        one, other = same.pop()
        first, second, thresholds = zip(*(item[2:] for item in found if item is not None), strict=True)
        return cls(one, other, first, second, thresholds, contrary)


def emit_half_planes(emitter: Emitter, planes: HalfPlanes) -> Truth:
    """[1, N] bool: all slopes are one column, so that the same few operators do for any number of comparisons."""
    builder = emitter.builder
    numbers = [emitter.row(emitter.number(node)) for node in (planes.one, planes.other)]
    products = [
        builder.operate("Mul", builder.constant(_column(weights), np.float64), row)
        for weights, row in zip((planes.first, planes.second), numbers, strict=True)
    ]
    total = builder.operate("Add", *products)
    above = builder.operate("Greater", total, builder.constant(_column(planes.thresholds), np.float64))
    n = len(planes.thresholds)
    ones = builder.constant(np.ones((1, n), dtype=np.float32))
    count = builder.operate("MatMul", ones, builder.cast(above, np.float32))
    kind = "Less" if planes.contrary else "Greater"
    return builder.operate(kind, count, builder.constant(n - 0.5, np.float32))


def _column(values: Sequence[float]) -> list[list[float]]:
    """[k, 1], or [1, 1] of values that are all alike."""
    return [[values[0]]] if len(set(values)) == 1 else [[value] for value in values]


def _comparison(node: Node) -> tuple[Node, Node, float, float, float] | None:
    """The two numbers that are added up, neither of them a truth value, their weights, and the threshold."""
    if not (isinstance(node, Above) and isinstance(node.score, Linear) and len(node.score.terms) == 2):
        return None
    (first, one), (second, other) = node.score.terms
    if node.score.bias != 0.0 or {one.family, other.family} != {Family.REAL}:
        return None
    return one, other, first, second, node.threshold
