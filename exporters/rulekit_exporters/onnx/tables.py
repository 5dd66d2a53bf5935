"""A graph as a table over the cells of its columns, or as few rules that are counted.

A table: the mixed-radix index of a row, and what stands there. m thresholds of a column give m + 1 levels and missing,
the memberships of a category as many as tell its levels apart. The label and the probabilities of every combination
are computed here, by the graph's own evaluator; so the decision is the same by construction, and the probability is the
same float32 everywhere. Most models of `rules`, `cnll` and `noisy-or` need it, and `additive` on few columns: as
operators one row takes 1.5 to 4.4 times as long, a row of a batch 1.2 to 2.9 times.

Counted rules: rules that decide and a sum that reports on their side, as two products of one comparison of all that
they read. x >= bound is all that is asked, of categories as codes: x < bound holds where x >= -inf and not x >= bound,
and a level is its code and no higher one. A rule counts as 1 where it holds, else as 0 or less, and none as 1/2: the
first of the largest decides, and between which bounds the log odds are. `rules` with a score card over many columns
need them: on german one row takes 2.4 times as long as operators; on heart, titanic and breast cancer the table in
their place would be as fast, and 2 to 13 times as large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.axis import cells_of
from rulekit.cells.space import product
from rulekit.exactness import SINGLE_BITS
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.leaves import by_code, readers
from rulekit.graph.nodes import And, Linear, Logistic, Node, Or, Rescaled, Sided
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import log_odds
from rulekit.schema import Feature
from rulekit.tables.table import encoded_dtype
from rulekit_exporters.onnx.conditions import Bit, NotOfBitsError, StrictCondition, is_wide, next_above, reads
from rulekit_exporters.onnx.metadata import is_largest
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.exact_sums import ExactSum, exact_sum

MOST_CELLS = 1 << 16


@dataclass(frozen=True, slots=True)
class Digit:
    """One column's part of the index: how many of the conditions hold, or the entry of the code of a category."""

    feature: str
    conditions: tuple[tuple[StrictCondition, int], ...]
    codes: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class CellTable:
    """labels [cells] and float32 probabilities [cells, K]; the first digit has the largest stride."""

    digits: tuple[Digit, ...]
    labels: Array
    probabilities: Array


def cell_table(graph: RuleGraph) -> CellTable:
    """The table of a graph; raises NotOfBitsError where it has none or more than MOST_CELLS cells."""
    reads(graph)
    grouped = readers(graph.roots)
    axes = [axis for name, leaves in grouped.items() if len((axis := _axis(graph.schema[name], leaves)).values) > 1]
    sizes = [len(axis.values) for axis in axes]
    if not sizes or math.prod(sizes) > MOST_CELLS:
        raise NotOfBitsError(f"it has {math.prod(sizes)} cells")
    told_apart = [axis.feature for axis in axes]
    unread = [graph.schema[name] for name in graph.used_features if graph.schema[name] not in told_apart]
    features = [*told_apart, *unread]
    values = [*(axis.values for axis in axes), *([0.0] for _ in unread)]
    cells = [np.array(v, dtype=encoded_dtype(f)) for f, v in zip(features, values, strict=True)]
    table = product(features, cells)
    labels = decide(graph, table).reshape(sizes)
    chances = probabilities(graph, table).astype(np.float32).reshape(*sizes, -1)
    digits = []
    for place, axis in enumerate(axes):
        digit, kept = _digit(axis, labels, chances, place)
        digits.append(digit)
        labels, chances = labels.take(kept, place), chances.take(kept, place)
    if labels.size == 1:
        raise NotOfBitsError("it is constant")
    return CellTable(tuple(digits), labels.reshape(-1), chances.reshape(labels.size, -1))


@dataclass(frozen=True, slots=True)
class _Axis:
    """The cells of a column: an encoded value of each, in order of the intervals, missing the last.

    like: the interval with which missing shares a cell, 0 the lowest, -1 the highest; None where it has its own.
    """

    feature: Feature
    values: list[float]
    thresholds: list[float]
    like: int | None
    codes: tuple[int, ...] = ()


def _axis(feature: Feature, leaves: Sequence[Node]) -> _Axis:
    if feature.kind == "categorical":
        patterns: dict[tuple[float, ...], tuple[int, int]] = {}
        codes = []
        for code, pattern in enumerate(zip(*(by_code(leaf, feature).tolist() for leaf in leaves), strict=True)):
            codes.append(patterns.setdefault(pattern, (len(patterns), code))[0])
        return _Axis(feature, [float(code) for _, code in patterns.values()], [], None, tuple(codes))
    cells = cells_of(feature, leaves)
    thresholds = [0.5] if feature.kind == "boolean" else list(cells.cuts)
    values = [value for value in cells.encoded().tolist() if math.isfinite(value)]
    values += [math.inf] * (len(thresholds) + 1 - len(values))  # above the largest number of its width
    readings = [cells.reading(leaf) for leaf in leaves]
    for like in (0, len(thresholds)):  # missing is as the lowest or highest values are
        if all(reading[-1] == reading[like] for reading in readings):
            return _Axis(feature, values, thresholds, -1 if like else 0)
    return _Axis(feature, [*values, math.nan], thresholds, None)


def _digit(axis: _Axis, labels: Array, chances: Array, place: int) -> tuple[Digit, list[int]]:
    """The digit of a column, and in which order its cells stand; missing is joined with an end if it is like it."""
    feature, top, like = axis.feature, len(axis.thresholds), axis.like
    if feature.kind == "categorical":
        return Digit(feature.name, (), axis.codes, len(axis.values)), list(range(len(axis.values)))
    if like is None:
        missing, *ends = ((labels.take(i, place), chances.take(i, place)) for i in (top + 1, 0, top))
        alike = [all(np.array_equal(a, b) for a, b in zip(end, missing, strict=True)) for end in ends]
        like = 0 if alike[0] else -1 if alike[1] else None
    if like == -1:  # x <= t is false for missing: counted from the top
        below = [next_above(threshold, is_wide(feature)) for threshold in axis.thresholds]
        counted = tuple((StrictCondition(feature.name, "<", bound), 1) for bound in below)
        return Digit(feature.name, counted, (), top + 1), list(range(top, -1, -1))
    counted = tuple((StrictCondition(feature.name, ">", threshold), 1) for threshold in axis.thresholds)
    if like == 0:
        return Digit(feature.name, counted, (), top + 1), list(range(top + 1))
    return Digit(feature.name, (*counted, (StrictCondition(feature.name, "missing"), top + 1)), (), top + 2), list(
        range(top + 2)
    )


# Operators ---------------------------------------------------------------------------------------------------------


def emit_table(emitter: Emitter, table: CellTable) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float."""
    builder = emitter.builder
    index = builder.cast(_index(emitter, table), np.int64)
    chances = builder.operate("Gather", builder.constant(table.probabilities), index, axis=0)
    if is_largest(table.labels, table.probabilities):
        return builder.operate("ArgMax", chances, axis=1, keepdims=0), chances
    return builder.operate("Gather", builder.constant(table.labels, np.int64), index, axis=0), chances


def _index(emitter: Emitter, table: CellTable) -> str:
    """[N] float: sums of whole numbers below 2^24, exact in any order."""
    builder = emitter.builder
    steps: dict[Bit, int] = {}
    looked_up: list[str] = []
    stride = len(table.labels)
    for digit in table.digits:
        stride //= digit.size
        for condition, count in digit.conditions:
            steps[condition] = count * stride
        if digit.codes:
            entries = [float(code * stride) for code in digit.codes]
            looked_up.append(emitter.inputs.looked_up(digit.feature, entries, np.float32))
    parts, weights = [], []
    if steps:
        bits, order = emitter.inputs.literals(list(steps))
        weights += [steps[condition] for condition in order]
        parts.append(builder.cast(bits, np.float32))
    parts += looked_up
    weights += [1] * len(looked_up)
    rows = builder.joined(parts)
    return builder.operate("MatMul", builder.constant(weights, np.float32), rows)


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
