"""Rules that decide and a sum that reports on their side, as two products of one comparison of all that they read.

x >= bound is all that is asked, of categories as codes: x < bound holds where x >= -inf and not x >= bound, and a level
is its code and no higher one. A rule counts as 1 where it holds, else as 0 or less, and none as 1/2: the first of the
largest decides. Each stands twice, the second time with a small multiple of how far the sum is on its side: where the
first one wins, a logit that is looked up stands far above that of the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.exactness import SINGLE_BITS
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import And, Linear, Logistic, Or, Rescaled, Sided
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import log_odds
from rulekit.tables.table import Array
from rulekit_exporters.onnx.cell_tables.graph_bits import NotOfBitsError
from rulekit_exporters.onnx.conditions import Condition, is_wide, next_above
from rulekit_exporters.onnx.operators.clauses import parts_of
from rulekit_exporters.onnx.operators.exact_sums import ExactSum, exact_sum

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

MOST_RULES = 16
CERTAIN = 800.0  # log odds beyond which the exponential is 0 or infinite
CONSTANT = ("", 0.0)


@dataclass(frozen=True, slots=True)
class CountedRules:
    """Weights of the comparisons x >= bound, the last of which is a constant: of rules [K, keys], of a sum [keys].

    The log odds are scale * sum + offset, the sum is a multiple of grid; bounds: of the log odds below and above.
    """

    keys: list[tuple[str, float]]
    rules: Array
    total: Array
    grid: float
    scale: float
    offset: float
    bounds: tuple[float, float]


def counted_rules(graph: RuleGraph) -> CountedRules:
    """Raises NotOfBitsError with the reason for other graphs."""
    schema, sided = graph.schema, graph.probability[0] if graph.probability else None
    if not isinstance(sided, Sided) or graph.decision != Fires(sided.rule):
        raise NotOfBitsError("no probability is on the side of the rules that decide")
    clauses = [dict.fromkeys(parts_of(node, And)) for node in parts_of(sided.rule, Or)]
    if len(clauses) > MOST_RULES or any(is_wide(schema[name]) for name in graph.used_features):
        raise NotOfBitsError(f"it has more than {MOST_RULES} rules, or reads a float64 column")
    node, scale, offset = sided.probability, 1.0, 0.0
    if isinstance(node, Rescaled):
        offset = log_odds(node.odds / (1.0 + node.odds))
        node = node.probability
    linear = node.linear if isinstance(node, Logistic) else None
    if isinstance(linear, Linear) and len(linear.terms) == 1 and isinstance(linear.terms[0][1], Linear):
        offset, (scale, linear) = offset + linear.bias, linear.terms[0]
    if not isinstance(linear, Linear) or scale <= 0.0:
        raise NotOfBitsError("it reports no logistic function of a sum")
    total = exact_sum(linear.terms, linear.bias, schema)
    sums = [exact_sum([(1.0, part) for part in clause], 1.0 - len(clause), schema) for clause in clauses]
    weights = [_weights(found) for found in (*sums, total)]
    keys = [*dict.fromkeys(key for each in weights for key in each if key != CONSTANT), CONSTANT]
    if total is None or len(keys) == 1:
        raise NotOfBitsError("it is constant")
    table = np.array([[each.get(key, 0.0) for key in keys] for each in weights])
    below, above = (
        min(max(log_odds(p), -CERTAIN), CERTAIN) if 0.0 < p < 1.0 else math.copysign(CERTAIN, p - 0.5)
        for p in (sided.below, sided.above)
    )
    return CountedRules(keys[:-1], table[:-1], table[-1], 2.0**total.span.grid, scale, offset, (below, above))


def _weights(found: ExactSum | None) -> dict[tuple[str, float], float]:
    """A sum of conditions and points by level as one of comparisons."""
    total: dict[tuple[str, float], float] = {}

    def add(name: str, bound: float, weight: float) -> None:
        total[name, bound] = total.get((name, bound), 0.0) + weight

    if found is None or found.columns or not all(isinstance(bit, Condition) for bit in found.jumps):
        raise NotOfBitsError("it has something else than conditions and points by level")
    add(*CONSTANT, found.constant)
    for bit, jump in found.jumps.items():
        assert isinstance(bit, Condition)
        if bit.relation == ">":
            add(bit.feature, next_above(bit.bound, wide=False), jump)
            continue
        add(bit.feature, -math.inf, jump if bit.relation == "<" else -jump)
        add(*((bit.feature, bit.bound, -jump) if bit.relation == "<" else (*CONSTANT, jump)))
    for name, points in found.points.items():
        add(*CONSTANT, points[0])
        for code, (low, high) in enumerate(pairwise(points), 1):
            add(name, float(code), high - low)
    return {key: weight for key, weight in total.items() if weight or key == CONSTANT}


def emit_counted_rules(emitter: Emitter, found: CountedRules) -> tuple[str, str, list[int]]:
    """The tensors of what decides [N] int64 and of the probabilities [N, 2], and which class each place decides."""
    builder = emitter.builder
    cells = emitter.inputs.side_by_side_rows([name for name, _ in found.keys])
    bits = builder.operate("GreaterOrEqual", cells, builder.constant([[bound] for _, bound in found.keys], np.float32))

    def product(rows: Array, grid: float) -> tuple[Any, str, Array, Array]:
        """The width in which multiples of the grid add up exactly in any order, and what is multiplied in it."""
        width = np.float32 if np.abs(rows).sum(axis=1).max() <= 2.0**SINGLE_BITS * grid else np.float64
        return width, builder.cast(bits, width), rows[:, :-1], rows[:, -1:]

    logit = found.scale * found.total
    logit[-1] += found.offset
    width, held, weights, start = product(
        np.stack([0.0 * logit, logit]), found.grid * ((found.scale, found.offset) == (1.0, 0.0))
    )
    logits = builder.operate(
        "Gemm", held, builder.constant(weights.T, width), builder.constant(start[:, 0], width), transA=1
    )
    doubles = logits if width is np.float64 else builder.cast(logits, np.float64)
    far, size = math.ceil(np.abs(logit).sum()) + 1.0, float(np.abs(found.total).sum()) + found.grid
    small = 2.0 ** -math.frexp(16.0 * size)[1]  # so that 2 * size * small < 1/8
    none = 0.0 * logit
    none[-1] = 0.5
    counts, table, decided = [], [], []
    for k, rule in ((0, none), *((1, rule) for rule in found.rules)):
        bound, sign = found.bounds[k], 2 * k - 1
        steps = math.floor(sign * (bound - found.offset) / found.scale / found.grid) + 0.5  # between two sums
        side = sign * small * found.total
        side[-1] -= small * min(max(steps * found.grid, -size), size)
        counts += [rule, rule + side]
        table += [(far - min(0.0, bound), far + max(0.0, bound)), (-far, -far)]
        decided += [k, k]
    width, held, weights, start = product(np.array(counts), small * found.grid / 2)
    scores = builder.operate("Gemm", builder.constant(weights, width), held, builder.constant(start, width))
    first = builder.operate("ArgMax", scores, axis=0, keepdims=0)
    looked_up = builder.operate("Gather", builder.constant(table, np.float64), first, axis=0)
    chances = builder.operate("Softmax", builder.operate("Max", doubles, looked_up), axis=1)
    return first, builder.cast(chances, np.float32), decided
