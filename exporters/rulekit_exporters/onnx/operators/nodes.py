"""Nodes and decisions as operators, numbers in one fixed order.

Short connectives are chains of operators. Longer ones and counts are layers of products over their literals
(`rulekit_exporters.onnx.operators.emitter`), where a product is not dearer than the chains: a chain costs 0.1 ns per
row and operand but 0.25 us per operand and call.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.graph.decisions import Ranked
from rulekit.graph.leaves import by_code, column_of, truth_by_code
from rulekit.graph.nodes import (
    LEAVES,
    Above,
    And,
    AtLeast,
    Column,
    Constant,
    Difference,
    Family,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Rescaled,
    Sided,
    Step,
    Strength,
    is_logic,
)
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.numbers import float32
from rulekit.schema import MISSING_CODE
from rulekit_exporters.onnx.builder import Number, Truth
from rulekit_exporters.onnx.conditions import Membership, StrictCondition, bit_of, is_wide
from rulekit_exporters.onnx.operators.circuits import exponentials, probability, strengths
from rulekit_exporters.onnx.operators.emitter import (
    Emitter,
    enough,
    highest,
    indicator_rows,
    logistic_shares,
    number_row,
    stack,
    unit_rows,
)
from rulekit_exporters.onnx.operators.exact_sums import LiteralCount, indicator_of

# Connectives of more leaves are counts, up to so many multiplications of a layer.
LONGEST_CHAIN = 6
MOST_WEIGHTS = 1 << 12


def leaf(emitter: Emitter, node: Node) -> Truth:
    """A condition on a number; a leaf over a category by its table, or the value that it has for all."""
    schema = emitter.graph.schema
    found = bit_of(node, schema)
    if found is None:
        return bool(truth_by_code(node, schema[column_of(node) or ""])[MISSING_CODE])
    return emitter.inputs.holds(*found)


def connective(emitter: Emitter, node: Node) -> Truth:
    """And or Or: a chain, or layers of counts."""
    inner = [child for child in node.children if is_logic(child)]
    leaves = len(node.children) + sum(len(child.children) - 1 for child in inner)
    if LONGEST_CHAIN < leaves <= MOST_WEIGHTS / (1 + len(inner)):
        return counted(emitter, node)
    return emitter.builder.chain(type(node).__name__, map(emitter.truth, node.children))


def counted(emitter: Emitter, node: Node) -> Truth:
    """A connective or a count as a count of its literals, or of its children where it has too many layers."""
    found = indicator_of(node, emitter.graph.schema)
    if isinstance(found, bool):
        return found
    indicator, positive = found
    if isinstance(indicator, StrictCondition | Membership):
        return emitter.inputs.holds(indicator, positive)
    if isinstance(indicator, LiteralCount):
        held = _holds(emitter, indicator)
    elif indicator is not node:
        held = emitter.truth(indicator)
    else:
        truths = [emitter.truth(child) for child in node.children]
        least = node.k if isinstance(node, AtLeast) else len(truths) if isinstance(node, And) else 1
        least -= sum(truth is True for truth in truths)
        parts = tuple(
            (child, True) for child, truth in zip(node.children, truths, strict=True) if isinstance(truth, str)
        )
        if not 0 < least <= len(parts):
            return least <= 0
        held = _holds(emitter, LiteralCount(parts, least, 1))
    return held if positive else emitter.builder.negate(held)


def _holds(emitter: Emitter, count: LiteralCount) -> Truth:
    rows, held = indicator_rows(emitter, [part for part, _ in count.parts])
    return enough(emitter.builder, rows, held, [count])


def odd(emitter: Emitter, node: Odd) -> Truth:
    """Whether an odd number of Boolean nodes is true; what is constant, denied or there twice takes no operator."""
    turned = sum(emitter.truth(child) is True for child in node.children) % 2 == 1
    counted = [child for child in node.children if isinstance(emitter.truth(child), str)]
    if not counted:
        return turned
    stacked = stack(emitter, counted)
    turned ^= sum(not stacked.positive[child] for child in counted) % 2 == 1
    times = Counter(stacked.row[child] for child in counted)
    places = [place for place in times if times[place] % 2]
    if not places:
        return turned
    builder = emitter.builder
    found = builder.halved("Xor", builder.picked(stacked.rows, places, stacked.height), len(places))
    return builder.negate(found) if turned else found


def linear_threshold(emitter: Emitter, node: LinearThreshold) -> Truth:
    block = emitter.sums.block_of(node)
    if block is not None:
        return unit_rows(emitter, block, [node])
    total = sum_of(emitter, node.terms, node.bias)
    # a sum that overflowed to NaN is not >= 0, so the comparison is not built from its contrary
    if not isinstance(total, str):
        return total >= 0.0
    return emitter.builder.operate("GreaterOrEqual", total, emitter.builder.double(0.0))


LOGIC: Mapping[type[Node], Callable[[Emitter, Any], Truth]] = {
    **dict.fromkeys(LEAVES, leaf),
    Constant: lambda emitter, node: bool(node.value),
    Not: lambda emitter, node: emitter.builder.negate(emitter.truth(node.child)),
    And: connective,
    Or: connective,
    AtLeast: counted,
    Odd: odd,
    LinearThreshold: linear_threshold,
    Above: lambda emitter, node: emitter.builder.above(emitter.number(node.score), node.threshold),
}


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


def argmax(emitter: Emitter, ranked: Sequence[Ranked]) -> str:
    """[N] int64: the class index.

    The masked scores stand in order of preference below a row of minus infinity, which wins, as the first of equals,
    exactly where no class takes part.
    """
    found = highest(emitter, ranked)
    if found is not None:
        return found
    builder = emitter.builder
    rows = []
    for _, node, threshold in ranked:
        score = emitter.number(node)
        candidate = builder.above(score, threshold)
        rows.append(emitter.row(builder.choose(candidate, score, -math.inf)))
    none = builder.constant([1, 0, 0, 0], np.int64)
    stacked = builder.operate("Pad", builder.operate("Concat", *rows, axis=0), none, builder.double(-math.inf))
    best = builder.operate("ArgMax", stacked, axis=0, keepdims=0)
    table = builder.constant([emitter.graph.default, *(k for k, _, _ in ranked)], np.int64)
    return builder.operate("Gather", table, best, axis=0)


def median(emitter: Emitter, above: Sequence[Node]) -> str:
    """[N] int64: the number of nodes that hold."""
    builder = emitter.builder
    total = ""
    for node in above:
        row = builder.cast(emitter.row(emitter.truth(node)), np.float32)
        total = builder.operate("Add", total, row) if total else row
    flat = builder.operate("Reshape", total, builder.constant([-1], np.int64))
    return builder.cast(flat, np.int64)


def emit_outputs(emitter: Emitter) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float."""
    builder, graph = emitter.builder, emitter.graph
    ranked, roots = graph.decision.ranked, graph.decision.roots
    if not ranked and not graph.decision.ordered:
        index, one_hot = binary(emitter, *roots)
        return index, reported(emitter) or one_hot
    index = argmax(emitter, ranked) if ranked else median(emitter, roots)
    one_hot = builder.operate("Gather", builder.constant(np.eye(len(graph.classes), dtype=np.float32)), index, axis=0)
    return index, reported(emitter) or one_hot


def binary(emitter: Emitter, formula: Node) -> tuple[str, str]:
    """The class index [N] int64 by ArgMax, portable unlike a cast to int64, of the [N, 2] float of 0 and 1."""
    builder = emitter.builder
    row = builder.cast(emitter.row(emitter.truth(formula)), np.float32)
    weights, offset = builder.constant([[-1.0, 1.0]], np.float32), builder.constant([1.0, 0.0], np.float32)
    one_hot = builder.operate("Gemm", row, weights, offset, transA=1)
    return builder.operate("ArgMax", one_hot, axis=1, keepdims=0), one_hot


def reported(emitter: Emitter) -> str:
    """[N, K] float probabilities, computed in double; "" where the decision itself is reported."""
    builder, graph = emitter.builder, emitter.graph
    if not graph.probability:
        return ""
    found = logistic_shares(emitter)
    if found is not None:
        return found
    values = [emitter.number(node) for node in graph.reported]
    if len(values) == 1:
        values = [builder.subtract(1.0, values[0]), values[0]]
    else:
        values = shares(emitter, values)
    stacked = builder.cast(builder.operate("Concat", *map(emitter.row, values), axis=0), np.float32)
    return builder.operate("Transpose", stacked, perm=[1, 0])


def shares(emitter: Emitter, values: list[Number]) -> list[Number]:
    """Each value by the sum of all, added from left to right; the default class where all are zero."""
    builder = emitter.builder
    total = values[0]
    for value in values[1:]:
        total = builder.add(total, value)
    if not isinstance(total, str):
        default = [float(k == emitter.graph.default) for k in range(len(values))]
        return [value / total for value in values if not isinstance(value, str)] if total else list(default)
    zero = builder.operate("Equal", total, builder.double(0.0))
    result: list[Number] = []
    for k, value in enumerate(values):
        share = builder.operate("Div", builder.number(value), total)
        result.append(builder.choose(zero, float(k == emitter.graph.default), share))
    return result
