"""Numbers of a row: cleaned columns, step functions, sums and what is made of probabilities, in one fixed order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.graph.leaves import by_code
from rulekit.graph.nodes import (
    Column,
    Difference,
    Family,
    LevelPoints,
    Linear,
    Logistic,
    Node,
    Probability,
    Rescaled,
    Sided,
    Step,
    Strength,
)
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.numbers import float32
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.conditions import is_wide
from rulekit_exporters.onnx.operators.circuits import exponentials, probability, strengths
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.sums import number_row


def column(emitter: Emitter, node: Column) -> Number:
    """Clip, round half-even to a multiple of the step, replace what is missing."""
    builder, feature = emitter.builder, emitter.graph.schema[node.feature]
    row = emitter.inputs.row(node.feature)
    value = row if is_wide(feature) else builder.cast(row, np.float64)
    value = builder.operate("Clip", value, builder.double(node.low), builder.double(node.high))
    if node.step:
        step = builder.double(node.step)
        rounded = builder.operate("Round", builder.operate("Div", value, step))
        value = builder.operate("Mul", rounded, step)
    missing = builder.operate("IsNaN", row)
    return builder.operate("Where", missing, builder.double(node.missing), value)


def step(emitter: Emitter, node: Step, weight: float = 1.0) -> Number:
    """Weight * values[count of cuts below x], the table holding one entry more for missing, and the products."""
    builder, feature = emitter.builder, emitter.graph.schema[node.feature]
    values = [weight * value for value in (*node.values, node.missing)]
    if len(set(values)) == 1:
        return values[0]
    width = np.float64 if is_wide(feature) else np.float32
    row = emitter.inputs.row(node.feature)
    marks = []
    counts = [1.0] * len(node.cuts)
    if node.cuts:
        cuts = np.array([[cut if is_wide(feature) else float32(cut)] for cut in node.cuts], dtype=width)
        marks.append(builder.operate("Greater", row, builder.constant(cuts)))
    if values[-1] != values[0]:
        marks.append(builder.operate("IsNaN", row))  # no cut is below NaN, so this alone leads to the last entry
        counts.append(len(node.cuts) + 1.0)
    stacked = builder.joined(marks)
    # exact in float32: a count below 2^24
    count = builder.operate("MatMul", builder.constant([counts], np.float32), builder.cast(stacked, np.float32))
    return builder.operate("Gather", builder.constant(values, np.float64), builder.cast(count, np.int64), axis=0)


def level_points(emitter: Emitter, node: LevelPoints, weight: float = 1.0) -> Number:
    """Weight * points by code of the category: one table lookup, whose products are made when it is written."""
    values = [weight * value for value in by_code(node, emitter.graph.schema[node.feature]).tolist()]
    return emitter.inputs.looked_up(node.feature, values, np.float64) if len(set(values)) > 1 else values[0]


def linear(emitter: Emitter, node: Linear) -> Number:
    block = emitter.sums.block_of(node)
    if block is not None:
        return number_row(emitter, block, node)
    return sum_of(emitter, node.terms, node.bias)


def sum_of(emitter: Emitter, terms: Sequence[tuple[float, Node]], bias: float) -> Number:
    """Bias + sum of weight * child, term by term from the left."""
    builder = emitter.builder
    total: Number = bias
    for weight, child in terms:
        total = builder.add(total, term(emitter, weight, child))
    return total


def term(emitter: Emitter, weight: float, child: Node) -> Number:
    if child.family is Family.BOOLEAN:
        return emitter.builder.choose(emitter.truth(child), weight, 0.0)
    if isinstance(child, Step):
        return step(emitter, child, weight)
    if isinstance(child, LevelPoints):
        return level_points(emitter, child, weight)
    return emitter.builder.multiply(weight, emitter.number(child))


def rescaled(emitter: Emitter, node: Rescaled) -> Number:
    builder, p = emitter.builder, emitter.number(node.probability)
    part = builder.multiply(node.odds, p)
    whole = builder.add(builder.subtract(1.0, p), part)
    if not isinstance(part, str) and not isinstance(whole, str):
        return part / whole
    return builder.operate("Div", builder.number(part), builder.number(whole))


def difference(emitter: Emitter, node: Difference) -> Number:
    builder, more, less = emitter.builder, emitter.number(node.more), emitter.number(node.less)
    rest = builder.subtract(more, less)
    return builder.choose(builder.above(rest, 0.0), rest, 0.0)


def sided(emitter: Emitter, node: Sided) -> Number:
    builder, p = emitter.builder, emitter.number(node.probability)
    raised = builder.choose(builder.above(p, node.above), p, node.above)
    lowered = builder.choose(builder.above(p, node.below), node.below, p)
    return builder.choose(emitter.truth(node.rule), raised, lowered)


def logistic(emitter: Emitter, node: Logistic) -> Number:
    """1 / (1 + exp(-z)): reported only, since an exponential is not the same bits everywhere."""
    return emitter.builder.logistic(emitter.row(emitter.number(node.linear)))


NUMBERS: Mapping[type[Node], Callable[[Emitter, Any], Number]] = {
    Column: column,
    Step: step,
    LevelPoints: level_points,
    Linear: linear,
    Strength: strengths,
    Exponentials: exponentials,
    Probability: probability,
    Logistic: logistic,
    Rescaled: rescaled,
    Difference: difference,
    Sided: sided,
}
