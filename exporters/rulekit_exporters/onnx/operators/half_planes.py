"""Many comparisons of two sums with constants at once: the tangents by which a gated noisy-or decides.

Each compares slope * s - h, in double from left to right, with a threshold. All slopes are one column, so that the same
few operators do for any number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rulekit.graph.nodes import Above, And, Family, Linear, Node, Not, Or
from rulekit_exporters.onnx.builder import Truth

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

_FEWEST = 3


@dataclass(frozen=True, slots=True)
class HalfPlanes:
    """All comparisons hold: first * one + second * other > threshold; contrary: some does not."""

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
    """[1, N] bool."""
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
