"""What bounds of its operands say of a node: for truths whether it must and whether it can hold, for numbers both ends.

The operations are those of the evaluator in the same order, on the ends of the intervals. Rounding never turns an order
round, so that the ends bound what the evaluator computes; where an operation is no monotone one in floating point
(a mixture, an exponential), the interval is widened by more than its roundings can be. No number (infinity less
infinity) may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rulekit.cells.axis import cleaned
from rulekit.graph.nodes import (
    Above,
    AtLeast,
    Column,
    Compare,
    Difference,
    Logistic,
    Missing,
    Node,
    Not,
    Odd,
    Probability,
    Rescaled,
    Sided,
    Step,
    Strength,
)
from rulekit.graph.probability.circuits import Bit, Complement, Fixed, Given, Mix, Product, build_circuit
from rulekit.schema import Feature
from rulekit.tables.table import Array, encoded_dtype

Bounds = tuple[Array, Array]

_WIDER = 1e-14


def sum_bounds(bias: float, terms: Sequence[tuple[float, Bounds]], n: int) -> Bounds:
    """Of a weighted sum, added from left to right."""
    low, high = np.full(n, bias), np.full(n, bias)
    for weight, (least, most) in terms:
        low = low + np.multiply(least if weight >= 0 else most, weight)
        high = high + np.multiply(most if weight >= 0 else least, weight)
    return known(low, high)


def known(low: Array, high: Array) -> Bounds:
    """The bounds, with any number where one of them is none."""
    nothing = np.isnan(low) | np.isnan(high)
    if nothing.any():
        low, high = np.where(nothing, -np.inf, low), np.where(nothing, np.inf, high)
    return low, high


def wider(low: Array, high: Array) -> Bounds:
    """The bounds, apart by more than a few roundings where they are not one number."""
    apart = np.where(low < high, _WIDER, 0.0)
    return low - apart * np.abs(low) - apart * 1e-300, high + apart * np.abs(high) + apart * 1e-300


def _times(a: Bounds, b: Bounds) -> Bounds:
    corners = np.stack([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]])
    return known(corners.min(axis=0), corners.max(axis=0))


def _chosen(truth: Bounds, on: float, off: float) -> Bounds:
    code = truth[0].view(np.uint8) + truth[1].view(np.uint8)  # never, perhaps, always
    return np.array([off, min(on, off), on]).take(code), np.array([off, max(on, off), on]).take(code)


def _mixed(p: Bounds, high: Bounds, low: Bounds) -> Bounds:
    """P * high + (1 - p) * low: linear in p, so that an end of p makes each end of it."""
    ends = [
        (np.multiply(at, a) + np.multiply(1.0 - at, b))
        for at in (p[0], p[1])
        for a, b in ((high[0], low[0]), (high[1], low[1]))
    ]
    return wider(np.minimum(ends[0], ends[2]), np.maximum(ends[1], ends[3]))


def _probability(node: Probability, operands: Sequence[Bounds]) -> Bounds:
    circuit = build_circuit(node.formula)
    given = dict(zip(circuit.causes, operands, strict=True))
    values: list[Any] = []
    for step in circuit.steps:
        match step:
            case Bit(cause, on, off):
                values.append(_chosen(given[cause], on, off))
            case Given(cause):
                values.append(_chosen(given[cause], 1.0, 0.0))
            case Fixed(value):
                values.append((np.float64(value), np.float64(value)))
            case Complement(a):
                values.append((1.0 - values[a][1], 1.0 - values[a][0]))
            case Product(a, b):
                values.append(_times(values[a], values[b]))
            case Mix(p, high, low):
                values.append(_mixed(values[p], values[high], values[low]))
    low, high = values[-1]
    return np.asarray(low), np.asarray(high)


def _strength(node: Strength, operands: Sequence[Bounds]) -> Bounds:
    chosen = [_chosen(truth, on, off) for truth, (_, on, off) in zip(operands, node.terms, strict=True)]
    return sum_bounds(0.0, [(1.0, bounds) for bounds in chosen], len(chosen[0][0]) if chosen else 1)


def _logistic(node: Logistic, operands: Sequence[Bounds]) -> Bounds:
    low, high = (1.0 / (1.0 + np.exp(-end)) for end in operands[0])
    return wider(low, high)


def _rescaled(node: Rescaled, operands: Sequence[Bounds]) -> Bounds:
    low, high = (node.odds * end / (1.0 - end + node.odds * end) for end in operands[0])
    return wider(*known(low, high))


def _sided(node: Sided, operands: Sequence[Bounds]) -> Bounds:
    (low, high), (must, can) = operands
    least = np.where(must, np.maximum(low, node.above), np.minimum(low, node.below))
    most = np.where(can, np.maximum(high, node.above), np.minimum(high, node.below))
    return least, most


def _odd(node: Odd, operands: Sequence[Bounds]) -> Bounds:
    odd, open_ = operands[0][0] ^ operands[0][0], operands[0][0] ^ operands[0][0]
    for must, can in operands:
        odd, open_ = odd ^ must, open_ | (must ^ can)
    return odd & ~open_, odd | open_


def _at_least(node: AtLeast, operands: Sequence[Bounds]) -> Bounds:
    low, high = (np.array([truth[end] for truth in operands]).sum(axis=0) >= node.k for end in (0, 1))
    return low, high


BOUNDS: dict[type[Node], Callable[[Any, Sequence[Bounds]], Bounds]] = {
    Not: lambda node, operands: (~operands[0][1], ~operands[0][0]),
    AtLeast: _at_least,
    Odd: _odd,
    Above: lambda node, operands: (operands[0][0] > node.threshold, operands[0][1] > node.threshold),
    Probability: _probability,
    Strength: _strength,
    Logistic: _logistic,
    Rescaled: _rescaled,
    Difference: lambda node, operands: known(
        np.maximum(operands[0][0] - operands[1][1], 0.0), np.maximum(operands[0][1] - operands[1][0], 0.0)
    ),
    Sided: _sided,
}


# Leaves over intervals of numbers ----------------------------------------------------------------------------------


def _compare(node: Compare, feature: Feature, low: Array, high: Array) -> Bounds:
    cut = float(encoded_dtype(feature).type(node.value))
    return (low > cut, high > cut) if node.op == ">" else (high <= cut, low <= cut)


def _step(node: Step, feature: Feature, low: Array, high: Array) -> Bounds:
    cuts = np.asarray(node.cuts).astype(encoded_dtype(feature)).astype(np.float64)
    first, last = (np.searchsorted(cuts, end, side="left") for end in (low, high))
    values = np.asarray(node.values)
    least, most = values[first], values[first]
    for shift in range(1, len(values)):
        at = values[np.minimum(first + shift, last)]
        least, most = np.minimum(least, at), np.maximum(most, at)
    return least, most


def _column(node: Column, feature: Feature, low: Array, high: Array) -> Bounds:
    return cleaned(feature, node, low), cleaned(feature, node, high)


_INTERVALS: dict[type[Node], Callable[[Any, Feature, Array, Array], Bounds]] = {
    Compare: _compare,
    Step: _step,
    Column: _column,
}


def leaf_bounds(node: Node, feature: Feature, low: Array, high: Array, missing: Array) -> Bounds:
    """Of a leaf where its column is in an interval (in none where low is above high), or perhaps missing."""
    empty = low > high
    if isinstance(node, Missing):
        return missing & empty, missing
    least, most = _INTERVALS[type(node)](node, feature, np.where(empty, 0.0, low), np.where(empty, 0.0, high))
    there = getattr(node, "missing")  # noqa: B009 - of a node of any type
    if least.dtype == bool:
        return (least | empty) & (there | ~missing), (most & ~empty) | (missing & there)
    least, most = np.where(empty, np.inf, least), np.where(empty, -np.inf, most)
    return np.where(missing, np.minimum(least, there), least), np.where(missing, np.maximum(most, there), most)
