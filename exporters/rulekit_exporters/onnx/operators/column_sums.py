"""Sums over cleaned columns and literals whose every partial sum is exact: what they are made of, and in which width.

A `Column` with a step is an integer of that many steps. Where all weighted steps, jumps and constants of a sum are
multiples of g, and the largest values that its terms can take add up to at most 2^24 g, every partial sum is exact in
float32 in whatever order, to 2^53 g in double; so all such sums of a graph can be one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rulekit.exactness import SINGLE_BITS, Span, total
from rulekit.graph.nodes import Column, Linear, LinearThreshold
from rulekit.numbers import float32
from rulekit_exporters.onnx.conditions import Condition, is_wide
from rulekit_exporters.onnx.operators.grid_sums import jumps_of

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Steps, and values in steps, that stay far from where float32 ends.
SMALLEST, LARGEST = 2.0**-60, 2.0**60


@dataclass(frozen=True, slots=True)
class ExactSum:
    """constant + sum of weight * column, in steps of it, + sum of jump where its condition holds.

    single: whether float32 suffices.
    """

    constant: float
    columns: dict[Column, float]
    jumps: dict[Condition, float]
    single: bool


def exact_sum(emitter: Emitter, node: Linear | LinearThreshold) -> ExactSum | None:
    """The parts of a sum; None where it has other terms or needs more than 53 bits."""
    constants = [Fraction(node.bias)]
    columns: dict[Column, Fraction] = {}
    jumps: dict[Condition, float] = {}
    spans = [Span.of(node.bias)]
    for weight, child in node.terms:
        if isinstance(child, Column):
            if not is_plain(emitter, child):
                return None
            steps = Fraction(weight) * Fraction(child.step)
            columns[child] = columns.get(child, Fraction(0)) + steps
            ends = (round(Fraction(end) / Fraction(child.step)) for end in (child.low, child.high))
            spans.append(Span.of(steps).times(Span.of(1, *ends, Fraction(child.missing) / Fraction(child.step))))
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
    return ExactSum(float(sum(constants)), kept, {c: jump for c, jump in jumps.items() if jump}, span.fits(SINGLE_BITS))


def is_plain(emitter: Emitter, column: Column) -> bool:
    """Whether float32 carries out the cleaning of a column without a rounding: bounds, steps and missing value fit."""
    if is_wide(emitter.graph.schema[column.feature]) or not SMALLEST <= column.step <= LARGEST:
        return False
    missing = column.missing / column.step
    return all(float32(value) == value and abs(value) <= LARGEST for value in (column.low, column.high, missing))
