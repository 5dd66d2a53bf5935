"""Sums over cleaned columns, step functions, points by level and literals whose every partial sum is exact.

A `Column` with a step is an integer of that many steps; a step function is its first value plus one jump per cut. Where
all weighted steps, jumps and constants of a sum are multiples of g, and the largest values that its terms can take add
up to at most 2^24 g, every partial sum is exact in float32 in whatever order, to 2^53 g in double, and equals the sum
from left to right; so it is one matrix product, and all such sums of a graph over columns are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rulekit.exactness import SINGLE_BITS, Span, is_exact_difference, total
from rulekit.graph.leaves import by_code
from rulekit.graph.nodes import Column, LevelPoints, Node, Step
from rulekit.numbers import float32
from rulekit.tables.table import Array
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.conditions import Condition, bit_of, is_wide

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Steps, and values in steps, that stay far from where float32 ends.
SMALLEST, LARGEST = 2.0**-60, 2.0**60
# Fewer terms than this are cheaper one by one.
FEWEST_TERMS = 3


@dataclass(frozen=True, slots=True)
class ExactSum:
    """constant + sum of weight * column, in steps of it, + sum of jump where its condition holds + looked up points.

    points: by category the points of each code. single: whether float32 suffices.
    """

    constant: float
    columns: dict[Column, float]
    jumps: dict[Condition, float]
    points: dict[str, Array]
    single: bool


def exact_sum(emitter: Emitter, terms: Sequence[tuple[float, Node]], bias: float) -> ExactSum | None:
    """The parts of bias + sum of weight * child; None where it has other terms or needs more than 53 bits."""
    constants = [Fraction(bias)]
    columns: dict[Column, Fraction] = {}
    jumps: dict[Condition, float] = {}
    points: dict[str, Array] = {}
    spans = [Span.of(bias)]
    for weight, child in terms:
        if isinstance(child, Column):
            if not is_plain(emitter, child):
                return None
            steps = Fraction(weight) * Fraction(child.step)
            columns[child] = columns.get(child, Fraction(0)) + steps
            ends = (round(Fraction(end) / Fraction(child.step)) for end in (child.low, child.high))
            spans.append(Span.of(steps).times(Span.of(1, *ends, Fraction(child.missing) / Fraction(child.step))))
            continue
        if isinstance(child, LevelPoints):
            values = weight * by_code(child, emitter.graph.schema[child.feature])
            if not np.isfinite(values).all():
                return None
            points[child.feature] = points.get(child.feature, 0.0) + values
            spans.append(Span.of(*values.tolist()))
            continue
        parts = jumps_of(emitter, weight, child)
        if parts is None:
            return None
        constants.append(Fraction(parts[0]))
        spans.append(Span.of(constants[-1]))
        for condition, jump in parts[1]:
            jumps[condition] = jumps.get(condition, 0.0) + jump
            spans.append(Span.of(jump))
    span = total(spans)
    if not span.fits():
        return None
    kept = {column: float(weight) for column, weight in columns.items() if weight}
    turning = {c: jump for c, jump in jumps.items() if jump}
    return ExactSum(float(sum(constants)), kept, turning, points, span.fits(SINGLE_BITS))


def is_plain(emitter: Emitter, column: Column) -> bool:
    """Whether float32 carries out the cleaning of a column without a rounding: bounds, steps and missing value fit."""
    if is_wide(emitter.graph.schema[column.feature]) or not SMALLEST <= column.step <= LARGEST:
        return False
    missing = column.missing / column.step
    return all(float32(value) == value and abs(value) <= LARGEST for value in (column.low, column.high, missing))


def jumps_of(emitter: Emitter, weight: float, child: Node) -> tuple[float, list[tuple[Condition, float]]] | None:
    """Weight * child as a constant and jumps where conditions hold; None for a child of another kind."""
    schema = emitter.graph.schema
    if isinstance(child, Step) and not is_wide(schema[child.feature]):
        values = [weight * value for value in (*child.values, child.missing)]
        rows = []
        for cut, (low, high) in zip(child.cuts, pairwise(values[:-1]), strict=True):
            rows.append((Condition(child.feature, ">", float32(cut)), high - low))
        rows.append((Condition(child.feature, "missing"), values[-1] - values[0]))
        exact = all(is_exact_difference(a, b) for a, b in (*pairwise(values[:-1]), (values[0], values[-1])))
        return (values[0], rows) if exact else None
    bit, positive = bit_of(child, schema) or (None, False)
    if not isinstance(bit, Condition) or is_wide(schema[bit.feature]):
        return None
    return (0.0, [(bit, weight)]) if positive else (weight, [(bit, -weight)])


def grid_sum(emitter: Emitter, terms: Sequence[tuple[float, Node]], bias: float) -> Number | None:
    """A double row: a sum without columns as one product with literals and points; None where not exact or short."""
    found = exact_sum(emitter, terms, bias) if len(terms) >= FEWEST_TERMS else None
    if found is None or found.columns or not (found.jumps or found.points):
        return None
    builder, width = emitter.builder, np.float32 if found.single else np.float64
    weights, parts = list[float](), list[str]()
    if found.jumps:
        block, order = emitter.inputs.conditions(list(found.jumps))
        weights += [found.jumps[condition] for condition in order]
        parts.append(builder.cast(block, width))
    weights += [1.0] * len(found.points)
    parts += [emitter.inputs.looked_up(column, values.tolist(), width) for column, values in found.points.items()]
    result = builder.operate("MatMul", builder.constant([weights], width), builder.joined(parts))
    if found.constant:
        result = builder.operate("Add", result, builder.constant(found.constant, width))
    return builder.cast(result, np.float64) if found.single else result
