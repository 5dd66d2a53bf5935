"""Nodes and decisions as operators, numbers in one fixed order.

Short connectives are chains of operators. Longer ones and counts are layers of products over their literals
(`rulekit_exporters.onnx.operators.emitter`), where a product is not dearer than the chains: a chain costs 0.1 ns per
row and operand but 0.25 us per operand and call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Ranked
from rulekit.graph.leaves import by_code
from rulekit.numbers import float32
from rulekit_exporters.onnx import conditions as cond
from rulekit_exporters.onnx.builder import Number, Truth
from rulekit_exporters.onnx.operators.emitter import PROBABILITIES, Emitter, held, number_row, score_rows, unit_rows

# Connectives of more leaves are counts, up to so many multiplications of a layer.
LONGEST_CHAIN = 6
MOST_WEIGHTS = 1 << 12


def leaf(emitter: Emitter, node: rg.Node) -> Truth:
    """A condition on a number; a leaf over a category by its table, or the value that it has for all."""
    found = cond.leaf_of(node, emitter.schema)
    return found if isinstance(found, bool) else emitter.holds(*found)


def connective(emitter: Emitter, node: rg.Node) -> Truth:
    """And or Or: a chain, or layers of counts."""
    inner = [child for child in node.children if rg.is_logic(child)]
    leaves = len(node.children) + sum(len(child.children) - 1 for child in inner)
    if LONGEST_CHAIN < leaves <= MOST_WEIGHTS / (1 + len(inner)):
        return counted(emitter, node)
    return emitter.chain(type(node).__name__, map(emitter.truth, node.children))


def counted(emitter: Emitter, node: rg.Node) -> Truth:
    """A connective or a count as a count of its literals, or of its children where it has too many layers."""
    found = cond.indicator_of(node, emitter.schema)
    if not isinstance(found, bool) and found[0] is node:
        truths = [(child, emitter.truth(child)) for child in node.children]
        found = cond.connected(node, [truth if isinstance(truth, bool) else (child, True) for child, truth in truths])
    if isinstance(found, bool):
        return found
    indicator, positive = found
    if isinstance(indicator, cond.StrictCondition | cond.Membership):
        return emitter.holds(indicator, positive)
    if isinstance(indicator, cond.LiteralCount):
        truth: Truth = held(emitter, indicator)
    else:
        truth = emitter.truth(indicator)
    return truth if positive else emitter.negate(truth)


def odd(emitter: Emitter, node: rg.Odd) -> Truth:
    """Whether an odd number of Boolean nodes is true; what is constant takes no operator."""
    truths = [emitter.truth(child) for child in node.children]
    rows = [truth for truth in truths if isinstance(truth, str)]
    found: Truth = reduce(partial(emitter.operate, "Xor"), rows) if rows else False
    return emitter.negate(found) if sum(truth is True for truth in truths) % 2 else found


def linear_threshold(emitter: Emitter, node: rg.LinearThreshold) -> Truth:
    block = emitter.block_of(node)
    if block is not None:
        return unit_rows(emitter, block, [node])
    total = sum_of(emitter, node.terms, node.bias)
    # a sum that overflowed to NaN is not >= 0, so the comparison is not built from its contrary
    if not isinstance(total, str):
        return total >= 0.0
    return emitter.operate("GreaterOrEqual", total, emitter.double(0.0))


LOGIC: Mapping[type[rg.Node], Callable[[Emitter, Any], Truth]] = {
    **dict.fromkeys(rg.LEAVES, leaf),
    rg.Constant: lambda emitter, node: bool(node.value),
    rg.Not: lambda emitter, node: emitter.negate(emitter.truth(node.child)),
    rg.And: connective,
    rg.Or: connective,
    rg.AtLeast: counted,
    rg.Odd: odd,
    rg.LinearThreshold: linear_threshold,
    rg.Above: lambda emitter, node: emitter.above(emitter.number(node.score), node.threshold),
}


def column(emitter: Emitter, node: rg.Column) -> Number:
    """Clip, round half-even to a multiple of the step, replace what is missing."""
    feature = emitter.schema[node.feature]
    row = emitter.column_row(node.feature)
    value = row if cond.is_wide(feature) else emitter.cast(row, np.float64)
    value = emitter.operate("Clip", value, emitter.double(node.low), emitter.double(node.high))
    if node.step:
        step = emitter.double(node.step)
        rounded = emitter.operate("Round", emitter.operate("Div", value, step))
        value = emitter.operate("Mul", rounded, step)
    missing = emitter.operate("IsNaN", row)
    return emitter.operate("Where", missing, emitter.double(node.missing), value)


def step(emitter: Emitter, node: rg.Step, weight: float = 1.0) -> Number:
    """Weight * values[count of cuts below x], the table holding one entry more for missing, and the products."""
    feature = emitter.schema[node.feature]
    values = [weight * value for value in (*node.values, node.missing)]
    if len(set(values)) == 1:
        return values[0]
    width = np.float64 if cond.is_wide(feature) else np.float32
    row = emitter.column_row(node.feature)
    marks = []
    counts = [1.0] * len(node.cuts)
    if node.cuts:
        cuts = np.array([[cut if cond.is_wide(feature) else float32(cut)] for cut in node.cuts], dtype=width)
        marks.append(emitter.operate("Greater", row, emitter.constant(cuts)))
    if values[-1] != values[0]:
        marks.append(emitter.operate("IsNaN", row))  # no cut is below NaN, so this alone leads to the last entry
        counts.append(len(node.cuts) + 1.0)
    stacked = emitter.joined(marks)
    # exact in float32: a count below 2^24
    count = emitter.operate("MatMul", emitter.constant([counts], np.float32), emitter.cast(stacked, np.float32))
    return emitter.operate("Gather", emitter.constant(values, np.float64), emitter.cast(count, np.int64), axis=0)


def level_points(emitter: Emitter, node: rg.LevelPoints, weight: float = 1.0) -> Number:
    """Weight * points by code of the category: one table lookup, whose products are made when it is written."""
    values = [weight * value for value in by_code(node, emitter.schema[node.feature]).tolist()]
    return emitter.looked_up(node.feature, [values], np.float64) if len(set(values)) > 1 else values[0]


def linear(emitter: Emitter, node: rg.Linear) -> Number:
    block = emitter.block_of(node)
    if block is not None:
        return number_row(emitter, block, node)
    return sum_of(emitter, node.terms, node.bias)


def sum_of(emitter: Emitter, terms: Sequence[tuple[float, rg.Node]], bias: float) -> Number:
    """Bias + sum of weight * child, term by term from the left."""
    total: Number = bias
    for weight, child in terms:
        total = emitter.add(total, term(emitter, weight, child))
    return total


def term(emitter: Emitter, weight: float, child: rg.Node) -> Number:
    if child.family is rg.Family.BOOLEAN:
        return emitter.choose(emitter.truth(child), weight, 0.0)
    if isinstance(child, rg.Step):
        return step(emitter, child, weight)
    if isinstance(child, rg.LevelPoints):
        return level_points(emitter, child, weight)
    return emitter.multiply(weight, emitter.number(child))


def rescaled(emitter: Emitter, node: rg.Rescaled) -> Number:
    p = emitter.number(node.probability)
    part = emitter.multiply(node.odds, p)
    whole = emitter.add(emitter.subtract(1.0, p), part)
    if not isinstance(part, str) and not isinstance(whole, str):
        return part / whole
    return emitter.operate("Div", emitter.tensor(part), emitter.tensor(whole))


def difference(emitter: Emitter, node: rg.Difference) -> Number:
    more, less = emitter.number(node.more), emitter.number(node.less)
    rest = emitter.subtract(more, less)
    return emitter.choose(emitter.above(rest, 0.0), rest, 0.0)


def sided(emitter: Emitter, node: rg.Sided) -> Number:
    p = emitter.number(node.probability)
    raised = emitter.choose(emitter.above(p, node.above), p, node.above)
    lowered = emitter.choose(emitter.above(p, node.below), node.below, p)
    return emitter.choose(emitter.truth(node.rule), raised, lowered)


def logistic(emitter: Emitter, node: rg.Logistic) -> Number:
    """1 / (1 + exp(-z)): reported only, since an exponential is not the same bits everywhere."""
    return emitter.logistic(emitter.row(emitter.number(node.linear)))


NUMBERS: Mapping[type[rg.Node], Callable[[Emitter, Any], Number]] = {
    rg.Column: column,
    rg.Step: step,
    rg.LevelPoints: level_points,
    rg.Linear: linear,
    **PROBABILITIES,
    rg.Logistic: logistic,
    rg.Rescaled: rescaled,
    rg.Difference: difference,
    rg.Sided: sided,
}


def argmax(emitter: Emitter, ranked: Sequence[Ranked]) -> str:
    """[N] int64: the class index.

    A score that is not above its threshold is minus infinity. The scores stand in order of preference below a row of
    minus infinity, which wins, as the first of equals, exactly where no class takes part.
    """
    classes, nodes, thresholds = map(list, zip(*ranked, strict=True))
    scores, width = score_rows(emitter, nodes)
    if width is not None and max(thresholds) == -math.inf:
        best = emitter.operate("ArgMax", scores, axis=0, keepdims=0)
        if classes == sorted(classes):
            return best
    else:
        doubles = emitter.cast(scores, np.float64) if width is np.float32 else scores
        least = emitter.constant(-math.inf, np.float64)
        takes_part = emitter.operate("Greater", doubles, emitter.constant([[t] for t in thresholds], np.float64))
        masked = emitter.operate("Where", takes_part, doubles, least)
        none = emitter.constant([1, 0, 0, 0], np.int64)
        best = emitter.operate("ArgMax", emitter.operate("Pad", masked, none, least), axis=0, keepdims=0)
        classes = [emitter.graph.default, *classes]
    return emitter.operate("Gather", emitter.constant(classes, np.int64), best, axis=0)


def median(emitter: Emitter, above: Sequence[rg.Node]) -> str:
    """[N] int64: the number of nodes that hold."""
    rows = emitter.cast(emitter.joined([emitter.row(emitter.truth(node)) for node in above]), np.float32)
    return emitter.cast(emitter.operate("MatMul", emitter.constant([1.0] * len(above), np.float32), rows), np.int64)


def emit_outputs(emitter: Emitter) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float.

    The index of two classes is the ArgMax, portable unlike a cast to int64, of the [N, 2] float of 0 and 1.
    """
    graph, ranked, roots = emitter.graph, emitter.graph.decision.ranked, emitter.graph.decision.roots
    if not ranked and not graph.decision.ordered:
        row = emitter.cast(emitter.row(emitter.truth(roots[0])), np.float32)
        weights, offset = emitter.constant([[-1.0, 1.0]], np.float32), emitter.constant([1.0, 0.0], np.float32)
        one_hot = emitter.operate("Gemm", row, weights, offset, transA=1)
        index = emitter.operate("ArgMax", one_hot, axis=1, keepdims=0)
    else:
        index = argmax(emitter, ranked) if ranked else median(emitter, roots)
        one_hot = emitter.operate(
            "Gather", emitter.constant(np.eye(len(graph.classes), dtype=np.float32)), index, axis=0
        )
    return index, reported(emitter) or one_hot


def reported(emitter: Emitter) -> str:
    """[N, K] float probabilities, computed in double; "" where the decision itself is reported."""
    nodes, size = emitter.graph.reported, len(emitter.graph.classes)
    if not emitter.graph.probability:
        return ""
    if len(nodes) == 1:
        chance = emitter.number(nodes[0])
        rows = emitter.joined([emitter.row(emitter.subtract(1.0, chance)), emitter.row(chance)])
    else:
        chances, total = chances_of_classes(emitter, nodes)
        default = emitter.constant(np.eye(size)[:, [emitter.graph.default]])
        none = emitter.operate("Equal", total, emitter.double(0.0))
        rows = emitter.operate("Where", none, default, emitter.operate("Div", chances, total))
    return emitter.operate("Transpose", emitter.cast(rows, np.float32), perm=[1, 0])


def chances_of_classes(emitter: Emitter, nodes: Sequence[rg.Node]) -> tuple[str, str]:
    """[K, N] doubles and their sum [1, N], added from left to right but for logistic functions of sums of one block."""
    sums = [node.linear for node in nodes if isinstance(node, rg.Logistic)]
    scores, width = score_rows(emitter, sums) if len(sums) == len(nodes) else ("", None)
    if width is not None:
        chances = emitter.logistic(scores if width is np.float64 else emitter.cast(scores, np.float64))
        return chances, emitter.operate("MatMul", emitter.constant(np.ones((1, len(nodes)))), chances)
    rows = [emitter.row(emitter.number(node)) for node in nodes]
    return emitter.joined(rows), reduce(partial(emitter.operate, "Add"), rows)
