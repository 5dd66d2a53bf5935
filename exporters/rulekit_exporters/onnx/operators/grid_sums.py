"""Sums whose terms lie on a power-of-two grid: exact in any order, so one matrix product over the literals.

A step function is its first value plus one jump per cut. Where bias, first values and jumps are multiples of g and
their absolute values add up to at most 2^24 g, every partial sum is exact in float32 whatever the order, to 2^53 g in
double, and equals the sum from left to right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rulekit.exactness import SINGLE_BITS, Span, is_exact_difference, total
from rulekit.graph.nodes import Family, Node, Step
from rulekit.numbers import float32
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.conditions import Bit, Condition, Signed, is_wide, literal_of
from rulekit_exporters.onnx.inputs import MANY_LITERALS

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Fewer terms than this are cheaper one by one.
FEWEST_TERMS = 3


def grid_sum(emitter: Emitter, terms: Sequence[tuple[float, Node]], bias: float) -> Number | None:
    """The sum as one product with the literal rows, or None where it is not of this form or not exact."""
    if len(terms) < FEWEST_TERMS:
        return None
    constants = [bias]
    jumps: dict[Condition, float] = {}
    sizes: list[float] = []
    for weight, child in terms:
        parts = jumps_of(emitter, weight, child)
        if parts is None:
            return None
        base, rows = parts
        constants.append(base)
        for condition, jump in rows:
            sizes.append(jump)
            jumps[condition] = jumps.get(condition, 0.0) + jump
    span = total(Span.of(number) for number in (*constants, *sizes))
    jumps = {condition: jump for condition, jump in jumps.items() if jump}
    if not span.fits() or not jumps:
        return None
    return product(emitter, jumps, math.fsum(constants), np.float32 if span.fits(SINGLE_BITS) else np.float64)


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
    if child.family is Family.BOOLEAN:
        literal = literal_of(child, schema)
        if isinstance(literal, Signed) and not is_wide(schema[literal.condition.feature]):
            return (
                (0.0, [(literal.condition, weight)]) if literal.positive else (weight, [(literal.condition, -weight)])
            )
    return None


def product(emitter: Emitter, jumps: dict[Condition, float], constant: float, width: type) -> Number:
    """Constant + weights [1, L] times literals [L, N], as a double row."""
    builder = emitter.builder
    conditions = list(jumps)
    order: Sequence[Bit]
    if len(conditions) < MANY_LITERALS:
        block, order = emitter.inputs.block(conditions)
    else:
        block, order = emitter.inputs.large_block(conditions)
    weights = builder.constant([[jumps[bit] for bit in order if isinstance(bit, Condition)]], width)
    total = builder.operate("MatMul", weights, builder.cast(block, width))
    if constant:
        total = builder.operate("Add", total, builder.constant(constant, width))
    return total if width is np.float64 else builder.cast(total, np.float64)
