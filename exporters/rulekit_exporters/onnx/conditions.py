"""What a graph reads of its columns: leaves as strict comparisons, counts of them, and sums that no order rounds.

`x > t` is a strict comparison as it stands, false for NaN in every runtime, and `x <= t` is `x < t'` with t' the next
number above t in the width of the column. A leaf that is true where x is missing is the negation of the opposite strict
comparison (docs/onnx.md).

Indicators are such bits of columns, counts of them in layers, and truth values from elsewhere. A conjunction holds
where all of its literals do, a disjunction is the contrary of a conjunction of contraries, and an at-least counts.

In a sum a `Column` with a step is an integer of that many steps; a step function is its first value plus one jump per
cut; level sets of a category are a number for each of its codes; a Boolean child is an indicator. Where all weighted
steps, jumps and constants of a sum are multiples of g, and the largest values that its terms can take add up to at most
2^24 g, every partial sum is exact in float32 in whatever order, to 2^53 g in double, and equals the sum from left to
right; so it is one matrix product, and all such sums of a graph are one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from rulekit.exactness import SINGLE_BITS, Span, is_exact_difference, total
from rulekit.graph import nodes as rg
from rulekit.graph.leaves import by_code, column_of, truth_by_code
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32, next_float32
from rulekit.schema import MISSING_CODE, Feature, Schema


@dataclass(frozen=True, slots=True)
class StrictCondition:
    """`x > bound`, `x < bound` or x is missing; false for NaN but for the last."""

    feature: str
    relation: Literal[">", "<", "missing"]
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Membership:
    """The code of a category has the value true in a table: missing, unseen, the levels."""

    feature: str
    table: tuple[bool, ...]


Bit = StrictCondition | Membership


def bit_of(leaf: rg.Node, schema: Schema) -> tuple[Bit, bool] | None:
    """What a leaf asks of its column, and the sign; None for a node of another kind, or one that is constant."""
    name = column_of(leaf) if leaf.family is rg.Family.BOOLEAN else None
    feature = schema[name] if name is not None else None
    if feature is not None and feature.kind == "categorical":
        table = tuple(truth_by_code(leaf, feature).tolist())
        return (Membership(feature.name, table), True) if len(set(table)) == 2 else None
    if isinstance(leaf, rg.Compare):
        return _compared(schema[leaf.feature], leaf.op, leaf.value, leaf.missing)
    if isinstance(leaf, rg.IsTrue):
        return _compared(schema[leaf.feature], ">", 0.5, leaf.missing)
    return (StrictCondition(leaf.feature, "missing"), True) if isinstance(leaf, rg.Missing) else None


def _compared(feature: Feature, op: str, value: float, missing: bool) -> tuple[StrictCondition, bool]:
    """The literal of `x > value` or `x <= value`: the comparison to make is the one that must be false for NaN."""
    wide = is_wide(feature)
    t = value if wide else float32(value)
    if (op == ">") is not missing:
        return StrictCondition(feature.name, ">", t), not missing
    return StrictCondition(feature.name, "<", next_above(t, wide)), not missing


def next_above(value: float, wide: bool) -> float:
    """The next number of a column's width, never -0.0."""
    return (math.nextafter(value, math.inf) if wide else next_float32(value)) + 0.0


def is_wide(feature: Feature) -> bool:
    """Whether a column is compared in double."""
    return feature.kind == "numeric" and feature.precision == "float64"


def bound_of(bit: StrictCondition, feature: Feature) -> float:
    """The t of `x > t`, or of `x <= t`, which stands as x < t' in the condition."""
    if bit.relation == ">":
        return bit.bound
    if is_wide(feature):
        return math.nextafter(bit.bound, -math.inf)
    return -next_float32(-bit.bound) + 0.0


class NotOfBitsError(Exception):
    """What a graph decides is no function of few enough bits; the text says why."""


def reads(graph: RuleGraph) -> tuple[list[rg.Node], list[Bit]]:
    """The largest nodes of pure logic that the decision and the probabilities read, and the bits of steps and points.

    Raises NotOfBitsError where a sum takes up the values of a column.
    """
    found = [*graph.decision.roots, *graph.probability]
    logical = rg.fold(found, lambda node, parts: is_logical(node) and all(parts))
    roots: dict[rg.Node, None] = {}
    bits: dict[Bit, None] = {}
    done: set[rg.Node] = set()
    stack = found[::-1]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        done.add(node)
        if logical[node]:
            roots[node] = None
        elif isinstance(node, rg.Column):
            raise NotOfBitsError(f"a sum takes up the values of the column {node.feature!r}")
        elif isinstance(node, rg.Step):
            bits.update(dict.fromkeys(bits_of_steps(graph, node)))
        elif isinstance(node, rg.LevelPoints):
            values = by_code(node, graph.schema[node.feature]).tolist()
            # the last one of the sets of codes with the same points is what no other is
            sets = [tuple(value == points for value in values) for points in dict.fromkeys(values)][:-1]
            bits.update((Membership(node.feature, held), None) for held in sets)
        else:
            stack.extend(reversed(node.children))
    return list(roots), list(bits)


def is_logical(node: rg.Node) -> bool:
    """Whether a node is a Boolean leaf or connective, whatever stands below it."""
    return rg.is_logic(node) or (node.family is rg.Family.BOOLEAN and not node.children)


def bits_of_steps(graph: RuleGraph, node: rg.Step) -> list[Bit]:
    """The cuts of a step function that are passed, and its column missing where that is like neither end."""
    wide = is_wide(graph.schema[node.feature])
    cuts = [(cut if wide else float32(cut)) + 0.0 for cut in node.cuts]
    if node.missing == node.values[-1] != node.values[0]:  # x < t' is false for missing, as above all cuts
        return [StrictCondition(node.feature, "<", next_above(cut, wide)) for cut in cuts]
    passed: list[Bit] = [StrictCondition(node.feature, ">", cut) for cut in cuts]
    return passed if node.missing == node.values[0] else [*passed, StrictCondition(node.feature, "missing")]


# A connective that stands on more layers of counts is computed by itself, so that no chain of them is nested deeply.
MOST_LAYERS = 3


@dataclass(frozen=True, slots=True)
class LiteralCount:
    """At least `least` of the parts are as their signs say; layer: 1 over bits, else one more than its highest part."""

    parts: tuple[Signed, ...]
    least: int
    layer: int


# A node stands for its own truth value, which is computed elsewhere.
Indicator = Bit | LiteralCount | rg.Node
Signed = tuple[Indicator, bool]


def stands_on_node(indicator: Indicator) -> bool:
    """Whether its truth value is, or counts, one that is computed elsewhere."""
    if isinstance(indicator, LiteralCount):  # of at most MOST_LAYERS layers
        return any(stands_on_node(part) for part, _ in indicator.parts)
    return isinstance(indicator, rg.Node)


def indicator_of(root: rg.Node, schema: Schema) -> Signed | bool:
    """What a Boolean node asks, and its sign; a truth value where all rows have the same."""
    found: dict[rg.Node, Signed | bool] = {}
    for node in rg.topological([root], lambda node: node.children if _counts(node) else ()):
        found[node] = (node, True)
        if _counts(node):
            value = connected(node, [found[child] for child in node.children])
            if isinstance(value, bool) or layer_of(value[0]) <= MOST_LAYERS:
                found[node] = value
        elif isinstance(node, rg.Constant):
            found[node] = bool(node.value)
        elif isinstance(node, rg.LEAVES):
            found[node] = leaf_of(node, schema)
    return found[root]


def leaf_of(leaf: rg.Node, schema: Schema) -> tuple[Bit, bool] | bool:
    """What a leaf asks, and its sign; the value that one over a category has for all."""
    return bit_of(leaf, schema) or bool(truth_by_code(leaf, schema[column_of(leaf) or ""])[MISSING_CODE])


def _counts(node: rg.Node) -> bool:
    """Whether a node is logic that a count says; that a count is odd is computed by itself."""
    return rg.is_logic(node) and not isinstance(node, rg.Odd)


def layer_of(indicator: Indicator) -> int:
    """How many layers of counts an indicator has."""
    return indicator.layer if isinstance(indicator, LiteralCount) else 0


def contrary(value: Signed | bool) -> Signed | bool:
    """The contrary of a truth value."""
    return not value if isinstance(value, bool) else (value[0], not value[1])


def connected(node: rg.Node, parts: Sequence[Signed | bool]) -> Signed | bool:
    """Not, And, Or or AtLeast of some parts."""
    if isinstance(node, rg.Not):
        return contrary(parts[0])
    open_parts = [part for part in parts if not isinstance(part, bool)]
    least = node.k if isinstance(node, rg.AtLeast) else len(parts) if isinstance(node, rg.And) else 1
    least -= sum(part is True for part in parts)
    if not 0 < least <= len(open_parts):
        return least <= 0
    if least == 1:
        return contrary(_all_of([(indicator, not positive) for indicator, positive in open_parts]))
    return _all_of(open_parts) if least == len(open_parts) else (_count(open_parts, least), True)


def _all_of(parts: Sequence[Signed]) -> Signed | bool:
    """A conjunction; one that stands within it is part of it."""
    distinct: dict[Signed, None] = {}
    for part in parts:
        inner, positive = part
        joins = positive and isinstance(inner, LiteralCount) and inner.least == len(inner.parts)
        distinct.update(dict.fromkeys(inner.parts if joins and isinstance(inner, LiteralCount) else (part,)))
    if any((indicator, not positive) in distinct for indicator, positive in distinct):
        return False
    return (_count([*distinct], len(distinct)), True) if len(distinct) > 1 else next(iter(distinct))


def _count(parts: Sequence[Signed], least: int) -> LiteralCount:
    return LiteralCount(tuple(parts), least, 1 + max(layer_of(indicator) for indicator, _ in parts))


# Steps, and values in steps, that stay far from where float32 ends.
SMALLEST, LARGEST = 2.0**-60, 2.0**60
# Sums of fewer rows than this are cheaper one by one.
FEWEST_ROWS = 3

Points = tuple[float, ...]  # by code: missing, unseen, the levels
Part = rg.Column | Indicator | tuple[str, Points]


@dataclass(slots=True)
class ExactSum:
    """constant + sum of weight * column, in steps of it, + sum of jump where its indicator holds + points by level.

    points: by the name of a category; spans: of all that is added up. Where these fit, no addition made here rounds.
    """

    schema: Schema
    constant: float
    columns: dict[rg.Column, float] = field(default_factory=dict)
    jumps: dict[Indicator, float] = field(default_factory=dict)
    points: dict[str, Points] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    @property
    def span(self) -> Span:
        """The span of all partial sums."""
        return total(self.spans)

    @property
    def weights(self) -> dict[Part, float]:
        """The weight of each row that the sum adds up."""
        rows: list[tuple[Part, float]] = [*self.columns.items(), *self.jumps.items()]
        return dict(rows + [(points, 1.0) for points in self.points.items()])

    def add(self, weight: float, child: rg.Node, within: bool = False) -> bool:
        """Take up weight * child; whether it can be. within: it stands in a sum within the sum."""
        if isinstance(child, rg.Linear) and not within:
            return self._add_sum(weight, child)
        if isinstance(child, rg.Column):
            return self._add_column(weight, child)
        if isinstance(child, rg.Step):
            return self._add_step(weight, child)
        if isinstance(child, rg.LevelPoints):
            values = [weight * value for value in by_code(child, self.schema[child.feature]).tolist()]
            return all(map(math.isfinite, values)) and self._add_points(child.feature, values, Span.of(*values))
        if child.family is not rg.Family.BOOLEAN:
            return False
        found = indicator_of(child, self.schema)
        if isinstance(found, bool):
            return self._add_constant(weight if found else 0.0)
        indicator, positive = found
        if not positive:
            self._add_constant(weight)
        return self._add_jump(indicator, weight if positive else -weight)

    def _add_constant(self, value: float) -> bool:
        self.constant += value
        self.spans.append(Span.of(value))
        return True

    def _add_points(self, feature: str, values: Sequence[float], span: Span) -> bool:
        known = self.points.get(feature, (0.0,) * len(values))
        self.points[feature] = tuple(before + value for before, value in zip(known, values, strict=True))
        self.spans.append(span)
        return True

    def _add_jump(self, indicator: Indicator, jump: float) -> bool:
        """A number where an indicator holds; that of a level set stands at its levels."""
        if isinstance(indicator, Membership):
            return self._add_points(indicator.feature, [jump * holds for holds in indicator.table], Span.of(jump))
        self.jumps[indicator] = self.jumps.get(indicator, 0.0) + jump
        self.spans.append(Span.of(jump))
        return True

    def _add_sum(self, weight: float, child: rg.Linear) -> bool:
        """A multiple of another sum, as twice a vote in a logistic function: its terms, where no weight is rounded."""
        weights = [weight * own for own in (child.bias, *child.weights)]
        exact = [Fraction(weight) * Fraction(own) for own in (child.bias, *child.weights)]
        if not all(math.isfinite(found) and found == wanted for found, wanted in zip(weights, exact, strict=True)):
            return False
        self._add_constant(weights[0])
        return all(self.add(found, node, within=True) for found, node in zip(weights[1:], child.children, strict=True))

    def _add_column(self, weight: float, column: rg.Column) -> bool:
        if not is_plain(self.schema, column):
            return False
        steps = Fraction(weight) * Fraction(column.step)
        self.columns[column] = self.columns.get(column, 0.0) + float(steps)
        ends = (round(Fraction(end) / Fraction(column.step)) for end in (column.low, column.high))
        self.spans.append(Span.of(steps).times(Span.of(1, *ends, Fraction(column.missing) / Fraction(column.step))))
        return True

    def _add_step(self, weight: float, step: rg.Step) -> bool:
        """The first value, a jump for each cut, and one where the column is missing."""
        values = [weight * value for value in (*step.values, step.missing)]
        steps = [*pairwise(values[:-1]), (values[0], values[-1])]
        if not all(is_exact_difference(a, b) for a, b in steps):
            return False
        wide = is_wide(self.schema[step.feature])
        self._add_constant(values[0])
        for cut, (low, high) in zip(step.cuts, steps, strict=False):
            self._add_jump(StrictCondition(step.feature, ">", cut if wide else float32(cut)), high - low)
        return self._add_jump(StrictCondition(step.feature, "missing"), values[-1] - values[0])


def exact_sum(terms: Sequence[tuple[float, rg.Node]], bias: float, schema: Schema) -> ExactSum | None:
    """The parts of bias + sum of weight * child; None where it has other terms or needs more than 53 bits."""
    found = ExactSum(schema, bias, spans=[Span.of(bias)])
    if not all(found.add(weight, child) for weight, child in terms) or not found.span.fits():
        return None
    found.columns = {column: weight for column, weight in found.columns.items() if weight}
    found.jumps = {indicator: jump for indicator, jump in found.jumps.items() if jump}
    found.points = {name: points for name, points in found.points.items() if any(points)}
    return found


def is_plain(schema: Schema, column: rg.Column) -> bool:
    """Whether float32 carries out the cleaning of a column without a rounding: bounds, steps and missing value fit."""
    if is_wide(schema[column.feature]) or not SMALLEST <= column.step <= LARGEST:
        return False
    missing = column.missing / column.step
    return all(float32(value) == value and abs(value) <= LARGEST for value in (column.low, column.high, missing))


@dataclass(slots=True)
class SumBlock:
    """Exact sums of one width, a row each; totals: their tensor, once the first of them is asked for."""

    width: Any
    sums: dict[rg.Node, ExactSum] = field(default_factory=dict)
    totals: str = ""

    def row(self, node: rg.Node) -> int:
        return list(self.sums).index(node)


def sum_blocks(schema: Schema, nodes: Sequence[rg.Node]) -> list[SumBlock]:
    """The sums among the nodes of a graph that are products."""
    narrow, wide = SumBlock(np.float32), SumBlock(np.float64)
    alone: list[SumBlock] = []
    for node in nodes:
        if not isinstance(node, rg.Linear | rg.LinearThreshold):
            continue
        found = exact_sum(node.terms, node.bias, schema)
        if found is not None and (found.columns or len(found.weights) >= FEWEST_ROWS):
            block = narrow if found.span.fits(SINGLE_BITS) else wide
            if any(map(stands_on_node, found.jumps)):  # which may hang on another sum
                alone.append(block := SumBlock(block.width))
            block.sums[node] = found
    return [block for block in (narrow, wide, *alone) if block.sums]
