"""Decisions by exact sums, straight from their product: a pair of columns for two classes, one row for each of several.

A sum is a whole number of grid steps, so "above a threshold" is "at least one step above the highest multiple that is
not". With two classes the product gives 1 - u and u, u being how many steps the sum is above, which are clipped to 0
and 1; or -z and z where their logistic functions are reported too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.exactness import DOUBLE_BITS, SINGLE_BITS, Span
from rulekit.graph.decisions import Ranked
from rulekit.graph.nodes import Above, Linear, LinearThreshold, Logistic, Node
from rulekit_exporters.onnx.operators.exact_sums import ExactSum
from rulekit_exporters.onnx.operators.sum_blocks import SumBlock, totals, weighted_rows
from rulekit_exporters.onnx.trees.sum_trees import emit_sum_trees

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# From so many rows on, a product of one row and a pair made of it take less time than a product of two rows.
MANY_ROWS = 40


@dataclass(frozen=True, slots=True)
class _Decided:
    """A sum, its place in its block, and the highest multiple of its grid that is not above the threshold."""

    block: SumBlock
    place: int
    found: ExactSum
    bound: Fraction

    @property
    def bits(self) -> int:
        return SINGLE_BITS if self.block.width is np.float32 else DOUBLE_BITS


def emit_sum_pair(emitter: Emitter, formula: Node) -> str | None:
    """[N, 2] float of 0 and 1, negative and positive: a sum is above its threshold; None for another formula."""
    decided = _decided(emitter, formula)
    if decided is None:
        return None
    grid = Fraction(2) ** decided.found.span.grid
    steps = Span(decided.found.span.size / grid + abs(decided.bound / grid) + 1, 0)
    if not steps.fits(decided.bits):
        return None
    builder, width = emitter.builder, decided.block.width
    pair = _columns(emitter, decided, 1 / grid, decided.bound / grid, 1)
    clipped = builder.operate("Clip", pair, builder.constant(0.0, width), builder.constant(1.0, width))
    return clipped if width is np.float32 else builder.cast(clipped, np.float32)


def emit_logistic_pair(emitter: Emitter, formula: Node) -> tuple[str, str] | None:
    """[N] int64 and [N, 2] float: the class index, and the logistic function of the sum that decides; None elsewhere.

    The sum of the logistic function may be a multiple of the one that decides.
    """
    reported = emitter.graph.probability
    decided = _decided(emitter, formula)
    if decided is None or len(reported) != 1 or not isinstance(reported[0], Logistic):
        return None
    score = _exact(emitter, reported[0].linear, decided.block)
    factor = None if score is None else _multiple(score.found, decided.found)
    if score is None or factor is None:
        return None
    # decided > bound where score > limit
    limit = factor * (decided.bound - Fraction(decided.found.constant)) + Fraction(score.found.constant)
    span = score.found.span + Span.of(2 * limit)
    if not span.fits(score.bits):
        return None
    builder, width = emitter.builder, decided.block.width
    pair = _columns(emitter, score, Fraction(1), Fraction(0), 0)
    compared = pair
    if limit:
        compared = builder.operate("Add", pair, builder.constant([float(2 * limit), 0.0], width))
    doubles = pair if width is np.float64 else builder.cast(pair, np.float64)
    chances = builder.cast(builder.logistic(doubles), np.float32)
    return builder.operate("ArgMax", compared, axis=1, keepdims=0), chances


def _columns(emitter: Emitter, decided: _Decided, factor: Fraction, bound: Fraction, offset: int) -> str:
    """[N, 2] of offset - u and u, with u = factor * sum - bound.

    A product that turns its rows is one operator, but takes 1.7 ns a row for each of them; so only for single rows.
    Otherwise both columns are rows of the product first, or one is, from which a small product makes the other.
    """
    if emitter.trees:
        exactly = Fraction(decided.found.constant) * factor - bound
        return emit_sum_trees(emitter, decided.found, float(factor), (float(offset - exactly), float(exactly)))
    builder, width = emitter.builder, decided.block.width
    rows, weights, constants = weighted_rows(emitter, decided.block)
    own = weights[decided.place] * float(factor)
    constant = float(Fraction(constants[decided.place]) * factor - bound)
    both, start = np.stack([-own, own]) + 0.0, np.array([offset - constant, constant])
    if emitter.optimize == "latency":
        return builder.operate("Gemm", rows, builder.constant(both.T, width), builder.constant(start, width), transA=1)
    if len(own) < MANY_ROWS:
        product = builder.operate("Gemm", builder.constant(both, width), rows, builder.constant(start[:, None], width))
        return builder.operate("Transpose", product, perm=[1, 0])
    row = builder.operate("Gemm", builder.constant(both[1:], width), rows, builder.constant([[constant]], width))
    pair, offsets = builder.constant([[-1.0, 1.0]], width), builder.constant([offset, 0.0], width)
    return builder.operate("Gemm", row, pair, offsets, transA=1)


def _decided(emitter: Emitter, formula: Node) -> _Decided | None:
    """The sum by which a formula decides; None where it is no exact sum, or the same for all rows."""
    if isinstance(formula, Above) and isinstance(formula.score, Linear):
        found, threshold = _exact(emitter, formula.score), Fraction(formula.threshold)
    elif isinstance(formula, LinearThreshold):
        found, threshold = _exact(emitter, formula), None
    else:
        return None
    if found is None:
        return None
    size, grid = found.found.span.size, Fraction(2) ** found.found.span.grid
    bound = -grid if threshold is None else math.floor(threshold / grid) * grid
    return _Decided(found.block, found.place, found.found, bound) if -size <= bound < size else None


def _exact(emitter: Emitter, node: Node, among: SumBlock | None = None) -> _Decided | None:
    """A sum of a block of exact ones, of a certain block where that is given."""
    block = emitter.sums.block_of(node)
    found = None if block is None else block.sums[node]
    if block is None or found is None or not (found.jumps or found.points) or among not in (None, block):
        return None
    return _Decided(block, block.row(node), found, Fraction(0))


def _multiple(score: ExactSum, of: ExactSum) -> Fraction | None:
    """The positive factor by which all weights of one sum are those of another; None where there is none."""
    one, other = score.weights, of.weights
    factors = {Fraction(one[part]) / Fraction(other[part]) for part in other if part in one}
    if len(factors) != 1 or one.keys() != other.keys():
        return None
    (factor,) = factors
    return factor if factor > 0 else None


# Several classes -----------------------------------------------------------------------------------------------------


def score_rows(emitter: Emitter, nodes: Sequence[Node]) -> tuple[str, Any] | None:
    """[K, N] and its type: the sums of one block, in that order; None for other nodes."""
    block = emitter.sums.block_of(nodes[0])
    if len(nodes) < 2 or block is None or not block.exact or any(node not in block.sums for node in nodes):
        return None
    places = [block.row(node) for node in nodes]
    return emitter.builder.picked(totals(emitter, block), places, len(block.sums)), block.width


def highest(emitter: Emitter, ranked: Sequence[Ranked]) -> str | None:
    """[N] int64: the class index by sums of one block; None where the scores are others.

    A score that is not above its threshold is minus infinity, as is a row on top of all, which stands for none.
    """
    found = score_rows(emitter, [node for _, node, _ in ranked])
    if found is None:
        return None
    builder, (scores, width) = emitter.builder, found
    classes = [k for k, _, _ in ranked]
    thresholds = [threshold for _, _, threshold in ranked]
    if max(thresholds) == -math.inf:
        best = builder.operate("ArgMax", scores, axis=0, keepdims=0)
        if classes == sorted(classes):
            return best
    else:
        doubles = scores if width is np.float64 else builder.cast(scores, np.float64)
        least = builder.constant(-math.inf, np.float64)
        takes_part = builder.operate("Greater", doubles, builder.constant([[t] for t in thresholds], np.float64))
        masked = builder.operate("Where", takes_part, doubles, least)
        none = builder.constant([1, 0, 0, 0], np.int64)
        best = builder.operate("ArgMax", builder.operate("Pad", masked, none, least), axis=0, keepdims=0)
        classes = [emitter.graph.default, *classes]
    return builder.operate("Gather", builder.constant(classes, np.int64), best, axis=0)


def logistic_shares(emitter: Emitter) -> str | None:
    """[N, K] float: the logistic functions of the sums of one block, by their sum; None for other probabilities."""
    reported = emitter.graph.probability
    if len(reported) < 2 or not all(isinstance(node, Logistic) for node in reported):
        return None
    found = score_rows(emitter, [node.linear for node in reported if isinstance(node, Logistic)])
    if found is None:
        return None
    builder, (scores, width) = emitter.builder, found
    size = len(reported)
    doubles = scores if width is np.float64 else builder.cast(scores, np.float64)
    chances = builder.logistic(doubles)
    total = builder.operate("MatMul", builder.constant(np.ones((1, size))), chances)
    default = builder.constant(np.eye(size)[:, [emitter.graph.default]], np.float64)
    none = builder.operate("Equal", total, builder.double(0.0))
    share = builder.operate("Where", none, default, builder.operate("Div", chances, total))
    return builder.operate("Transpose", builder.cast(share, np.float32), perm=[1, 0])
