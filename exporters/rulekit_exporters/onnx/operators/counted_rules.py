"""Rules that decide and a sum that reports on their side, as two products of one comparison of all that they read.

x >= bound is all that is asked, of categories as codes: x < bound holds where x >= -inf and not x >= bound, and a level
is its code and no higher one. A rule counts as 1 where it holds, else as 0 or less, and none as 1/2: the first of the
largest decides, and between which bounds the log odds are. What a rule adds to these stands beside the comparisons.

`rules` with a score card over many columns need it: on german one row takes 2.4 times as long as operators; on heart,
titanic and breast cancer the table in its place would be as fast, and 2 to 13 times as large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rulekit.arrays import Array
from rulekit.exactness import SINGLE_BITS
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import And, Linear, Logistic, Node, Or, Rescaled, Sided
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import log_odds
from rulekit_exporters.onnx.cell_tables.graph_bits import NotOfBitsError
from rulekit_exporters.onnx.conditions import StrictCondition, is_wide, next_above
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.exact_sums import ExactSum, exact_sum

MOST_RULES = 16
CERTAIN = 800.0  # log odds beyond which the exponential is 0 or infinite
CONSTANT = ("", 0.0)


@dataclass(frozen=True, slots=True)
class CountedRules:
    """What is added up where x >= bound, by the keys of such comparisons and, at last, in any case.

    rules [K, keys + 1]: to the counts; total [keys + 1] and, for each rule that holds, points [K]: to the log odds.
    grid: of which these are multiples, 0 for none; bounds: of the log odds below and above.
    """

    keys: list[tuple[str, float]]
    rules: Array
    total: Array
    points: Array
    grid: float
    bounds: tuple[float, float]


def counted_rules(graph: RuleGraph) -> CountedRules:
    """Raises NotOfBitsError with the reason for other graphs."""
    schema, sided = graph.schema, graph.probability[0] if graph.probability else None
    if not isinstance(sided, Sided) or graph.decision != Fires(sided.rule):
        raise NotOfBitsError("no probability is on the side of the rules that decide")
    rules = {rule: [*dict.fromkeys(parts_of(rule, And))] for rule in parts_of(sided.rule, Or)}
    if len(rules) > MOST_RULES or any(is_wide(schema[name]) for name in graph.used_features):
        raise NotOfBitsError(f"it has more than {MOST_RULES} rules, or reads a float64 column")
    node, scale, offset = sided.probability, 1.0, 0.0
    if isinstance(node, Rescaled):
        offset = log_odds(node.odds / (1.0 + node.odds))
        node = node.probability
    linear = node.linear if isinstance(node, Logistic) else None
    if isinstance(linear, Linear) and len(linear.terms) == 1 and isinstance(linear.terms[0][1], Linear):
        offset, (scale, linear) = offset + linear.bias, linear.terms[0]
    if not isinstance(linear, Linear):
        raise NotOfBitsError("it reports no logistic function of a sum")
    whole = exact_sum(linear.terms, linear.bias, schema)
    rest = [(weight, term) for weight, term in linear.terms if not isinstance(term, And) or term not in rules]
    sums = [exact_sum([(1.0, part) for part in parts], 1.0 - len(parts), schema) for parts in rules.values()]
    weights = [_weights(found) for found in (*sums, exact_sum(rest, linear.bias, schema))]
    keys = [*dict.fromkeys(key for each in weights for key in each if key != CONSTANT), CONSTANT]
    if whole is None or len(keys) == 1:
        raise NotOfBitsError("it is constant")
    table = np.array([[each.get(key, 0.0) for key in keys] for each in weights])
    points = [sum(weight for weight, term in linear.terms if isinstance(rule, And) and term == rule) for rule in rules]
    total = scale * table[-1]
    total[-1] += offset
    below, above = (
        min(max(log_odds(p), -CERTAIN), CERTAIN) if 0.0 < p < 1.0 else math.copysign(CERTAIN, p - 0.5)
        for p in (sided.below, sided.above)
    )
    grid = 2.0**whole.span.grid if (scale, offset) == (1.0, 0.0) else 0.0
    return CountedRules(keys[:-1], table[:-1], total, scale * np.array(points), grid, (below, above))


def parts_of(formula: Node, connective: type[Node]) -> Iterator[Node]:
    """What a connective joins, also by connectives of its kind within it, from left to right."""
    stack = [formula]
    while stack:
        node = stack.pop()
        if isinstance(node, connective):
            stack.extend(reversed(node.children))
        else:
            yield node


def _weights(found: ExactSum | None) -> dict[tuple[str, float], float]:
    """A sum of conditions and points by level as one of comparisons."""
    total: dict[tuple[str, float], float] = {}

    def add(name: str, bound: float, weight: float) -> None:
        total[name, bound] = total.get((name, bound), 0.0) + weight

    if found is None or found.columns or not all(isinstance(bit, StrictCondition) for bit in found.jumps):
        raise NotOfBitsError("it has something else than conditions and points by level")
    add(*CONSTANT, found.constant)
    for bit, jump in found.jumps.items():
        assert isinstance(bit, StrictCondition)
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
    builder, n_rules = emitter.builder, len(found.rules)
    cells = emitter.inputs.side_by_side_rows([name for name, _ in found.keys])
    bits = builder.operate("GreaterOrEqual", cells, builder.constant([[bound] for _, bound in found.keys], np.float32))
    counts = np.vstack([0.0 * found.total, found.rules])
    counts[0, -1] = 0.5
    table, start = (builder.constant(part, np.float32) for part in (counts[:, :-1], counts[:, -1:]))
    scores = builder.operate("Gemm", table, builder.cast(bits, np.float32), start)
    first = builder.operate("ArgMax", scores, axis=0, keepdims=0)
    weights, points = found.total[:-1], np.array([0.0, *found.points])
    if points.any():
        holds = builder.operate("GreaterOrEqual", scores, builder.constant([[1.0]], np.float32))
        bits, weights = builder.operate("Concat", bits, holds, axis=0), np.concatenate([weights, points])
    # In float32 where multiples of the grid add up exactly in any order.
    exact = np.abs(weights).sum() + abs(found.total[-1]) <= 2.0**SINGLE_BITS * found.grid
    width = np.float32 if exact else np.float64
    pair, start = (builder.constant(np.multiply.outer(part, [0.0, 1.0]), width) for part in (weights, found.total[-1]))
    logits = builder.operate("Gemm", builder.cast(bits, width), pair, start, transA=1)
    low, high = (
        builder.operate("Gather", builder.constant([[0.0, end] for end in ends], np.float64), first, axis=0)
        for ends in ((-CERTAIN, *[found.bounds[1]] * n_rules), (found.bounds[0], *[CERTAIN] * n_rules))
    )
    doubles = logits if width is np.float64 else builder.cast(logits, np.float64)
    inside = builder.operate("Min", builder.operate("Max", doubles, low), high)
    chances = builder.operate("Softmax", inside, axis=1)
    return first, builder.cast(chances, np.float32), [0, *[1] * n_rules]
