"""Sums over cleaned columns, step functions, points by level and truth values whose every partial sum is exact.

A `Column` with a step is an integer of that many steps; a step function is its first value plus one jump per cut; level
sets of a category are a number for each of its codes; a Boolean child is an indicator. Where all weighted steps, jumps
and constants of a sum are multiples of g, and the largest values that its terms can take add up to at most 2^24 g,
every partial sum is exact in float32 in whatever order, to 2^53 g in double, and equals the sum from left to right; so
it is one matrix product, and all such sums of a graph are one.

Indicators are bits of columns, counts of them in layers, and truth values from elsewhere. A conjunction holds where all
of its literals do, a disjunction is the contrary of a conjunction of contraries, and an at-least counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from rulekit.exactness import SINGLE_BITS, Span, is_exact_difference, total
from rulekit.graph.leaves import by_code, column_of, truth_by_code
from rulekit.graph.nodes import (
    LEAVES,
    And,
    AtLeast,
    Column,
    Constant,
    Family,
    LevelPoints,
    Linear,
    LinearThreshold,
    Node,
    Not,
    Odd,
    Or,
    Step,
    is_logic,
    topological,
)
from rulekit.numbers import float32
from rulekit.schema import MISSING_CODE, Schema
from rulekit_exporters.onnx.conditions import Bit, Membership, StrictCondition, bit_of, contrary_of, is_wide

# A connective that stands on more layers of counts is computed by itself, so that no chain of them is nested deeply.
MOST_LAYERS = 3


@dataclass(frozen=True, slots=True)
class LiteralCount:
    """At least `least` of the parts are as their signs say; layer: 1 over bits, else one more than its highest part."""

    parts: tuple[Signed, ...]
    least: int
    layer: int

    @property
    def is_conjunction(self) -> bool:
        return self.least == len(self.parts)


# A node stands for its own truth value, which is computed elsewhere.
Indicator = Bit | LiteralCount | Node
Signed = tuple[Indicator, bool]


def stands_on_node(indicator: Indicator) -> bool:
    """Whether its truth value is, or counts, one that is computed elsewhere."""
    if isinstance(indicator, LiteralCount):  # of at most MOST_LAYERS layers
        return any(stands_on_node(part) for part, _ in indicator.parts)
    return isinstance(indicator, Node)


def indicator_of(root: Node, schema: Schema) -> Signed | bool:
    """What a Boolean node asks, and its sign; a truth value where all rows have the same."""
    found: dict[Node, Signed | bool] = {}
    for node in topological([root], lambda node: node.children if _counts(node) else ()):
        if _counts(node):
            value = _connective(node, [found[child] for child in node.children], schema)
            deep = not isinstance(value, bool) and layer_of(value[0]) > MOST_LAYERS
            found[node] = (node, True) if deep else value
        elif isinstance(node, Constant):
            found[node] = bool(node.value)
        elif isinstance(node, LEAVES):
            constant = node.feature and schema[node.feature].kind == "categorical" and bit_of(node, schema) is None
            found[node] = (
                bool(truth_by_code(node, schema[column_of(node) or ""])[MISSING_CODE])
                if constant
                else bit_of(node, schema) or (node, True)
            )
        else:
            found[node] = (node, True)
    return found[root]


def _counts(node: Node) -> bool:
    """Whether a node is logic that a count says; that a count is odd is computed by itself."""
    return is_logic(node) and not isinstance(node, Odd)


def layer_of(indicator: Indicator) -> int:
    """How many layers of counts an indicator has."""
    return indicator.layer if isinstance(indicator, LiteralCount) else 0


def _connective(node: Node, parts: Sequence[Signed | bool], schema: Schema) -> Signed | bool:
    if isinstance(node, Not):
        return contrary(parts[0])
    if isinstance(node, And):
        return _all_of(parts, schema)
    if isinstance(node, Or):
        return contrary(_all_of([contrary(part) for part in parts], schema))
    assert isinstance(node, AtLeast)
    open_parts = tuple(part for part in parts if not isinstance(part, bool))
    least = node.k - sum(part is True for part in parts)
    if least <= 0 or least > len(open_parts):
        return least <= 0
    if least == len(open_parts):
        return _all_of(open_parts, schema)
    if least == 1:
        return contrary(_all_of([contrary(part) for part in open_parts], schema))
    return _count(open_parts, least), True


def contrary(value: Signed | bool) -> Signed | bool:
    """The contrary of a truth value."""
    return not value if isinstance(value, bool) else (value[0], not value[1])


def _all_of(parts: Sequence[Signed | bool], schema: Schema) -> Signed | bool:
    """A conjunction; one that stands within it is part of it, and that a column is there is part of its literals."""
    distinct: dict[Signed, None] = {}
    for part in parts:
        if isinstance(part, bool):
            if not part:
                return False
            continue
        inner, positive = part
        joins = positive and isinstance(inner, LiteralCount) and inner.is_conjunction
        distinct.update(dict.fromkeys(inner.parts if joins and isinstance(inner, LiteralCount) else (part,)))
    if any((indicator, not positive) in distinct for indicator, positive in distinct):
        return False
    for indicator, positive in list(distinct):
        if isinstance(indicator, StrictCondition) and indicator.relation == "missing" and not positive:
            distinct = _where_there(distinct, indicator, schema)
    if len(distinct) < 2:
        return next(iter(distinct), True)
    return _count(tuple(distinct), len(distinct)), True


def _where_there(parts: dict[Signed, None], missing: StrictCondition, schema: Schema) -> dict[Signed, None]:
    """A conjunction in which a column is not missing, by comparisons of that column, which fail where it is missing."""
    found: dict[Signed, None] = {}
    said = False
    for part in parts:
        indicator, positive = part
        if isinstance(indicator, StrictCondition) and indicator.feature == missing.feature and indicator != missing:
            said = True
            part = part if positive else (contrary_of(indicator, schema[missing.feature]), True)
        found[part] = None
    if said:
        del found[missing, False]
    return found


def _count(parts: tuple[Signed, ...], least: int) -> LiteralCount:
    return LiteralCount(parts, least, 1 + max(layer_of(indicator) for indicator, _ in parts))


# Steps, and values in steps, that stay far from where float32 ends.
SMALLEST, LARGEST = 2.0**-60, 2.0**60
# Sums of fewer rows than this are cheaper one by one.
FEWEST_ROWS = 3

Points = tuple[float, ...]  # by code: missing, unseen, the levels
Part = Column | Indicator | tuple[str, Points]


@dataclass(frozen=True, slots=True)
class ExactSum:
    """constant + sum of weight * column, in steps of it, + sum of jump where its indicator holds + points by level.

    points: by the name of a category; span: of all partial sums.
    """

    constant: float
    columns: dict[Column, float]
    jumps: dict[Indicator, float]
    points: dict[str, Points]
    span: Span

    @property
    def single(self) -> bool:
        """Whether float32 suffices."""
        return self.span.fits(SINGLE_BITS)

    @property
    def weights(self) -> dict[Part, float]:
        """The weight of each row that the sum adds up."""
        rows: list[tuple[Part, float]] = [*self.columns.items(), *self.jumps.items()]
        return dict(rows + [(points, 1.0) for points in self.points.items()])


@dataclass(slots=True)
class SumInProgress:
    """What was met so far of a sum."""

    schema: Schema
    constant: Fraction
    columns: dict[Column, Fraction]
    jumps: dict[Indicator, Fraction]
    points: dict[str, list[Fraction]]
    spans: list[Span]

    def add_constant(self, value: float) -> None:
        self.constant += Fraction(value)
        self.spans.append(Span.of(value))

    def add_jump(self, indicator: Indicator, jump: float) -> None:
        """A number where an indicator holds; that of a level set stands at its levels."""
        self.spans.append(Span.of(jump))
        if isinstance(indicator, Membership):
            points = self.points.setdefault(indicator.feature, [Fraction(0)] * len(indicator.table))
            for code, holds in enumerate(indicator.table):
                points[code] += Fraction(jump) if holds else 0
        else:
            self.jumps[indicator] = self.jumps.get(indicator, Fraction(0)) + Fraction(jump)


def exact_sum(terms: Sequence[tuple[float, Node]], bias: float, schema: Schema) -> ExactSum | None:
    """The parts of bias + sum of weight * child; None where it has other terms or needs more than 53 bits."""
    parts = SumInProgress(schema, Fraction(bias), {}, {}, {}, [Span.of(bias)])
    if not all(_add(parts, weight, child) for weight, child in terms):
        return None
    span = total(parts.spans)
    if not span.fits():
        return None
    return ExactSum(
        float(parts.constant),
        {column: float(weight) for column, weight in parts.columns.items() if weight},
        {indicator: float(jump) for indicator, jump in parts.jumps.items() if jump},
        {name: tuple(map(float, points)) for name, points in parts.points.items() if any(points)},
        span,
    )


def _add(parts: SumInProgress, weight: float, child: Node, within: bool = False) -> bool:
    """Take up weight * child; whether it can be. within: it stands in a sum within the sum."""
    if isinstance(child, Linear) and not within:
        return _add_sum(parts, weight, child)
    if isinstance(child, Column):
        return _add_column(parts, weight, child)
    if isinstance(child, Step):
        return _add_step(parts, weight, child)
    if isinstance(child, LevelPoints):
        return _add_points(parts, weight, child)
    if child.family is not Family.BOOLEAN:
        return False
    found = indicator_of(child, parts.schema)
    if isinstance(found, bool):
        parts.add_constant(weight if found else 0.0)
        return True
    indicator, positive = found
    if not positive:
        parts.add_constant(weight)
    parts.add_jump(indicator, weight if positive else -weight)
    return True


def _add_sum(parts: SumInProgress, weight: float, child: Linear) -> bool:
    """A multiple of another sum, as twice a vote in a logistic function: its terms, where no weight is rounded."""
    weights = [weight * own for own in (child.bias, *child.weights)]
    exact = [Fraction(weight) * Fraction(own) for own in (child.bias, *child.weights)]
    if not all(math.isfinite(found) and found == wanted for found, wanted in zip(weights, exact, strict=True)):
        return False
    parts.add_constant(weights[0])
    return all(_add(parts, found, node, within=True) for found, node in zip(weights[1:], child.children, strict=True))


def _add_column(parts: SumInProgress, weight: float, column: Column) -> bool:
    if not is_plain(parts.schema, column):
        return False
    steps = Fraction(weight) * Fraction(column.step)
    parts.columns[column] = parts.columns.get(column, Fraction(0)) + steps
    ends = (round(Fraction(end) / Fraction(column.step)) for end in (column.low, column.high))
    parts.spans.append(Span.of(steps).times(Span.of(1, *ends, Fraction(column.missing) / Fraction(column.step))))
    return True


def _add_step(parts: SumInProgress, weight: float, step: Step) -> bool:
    """The first value, a jump for each cut, and one where the column is missing."""
    values = [weight * value for value in (*step.values, step.missing)]
    steps = [*pairwise(values[:-1]), (values[0], values[-1])]
    if not all(is_exact_difference(a, b) for a, b in steps):
        return False
    wide = is_wide(parts.schema[step.feature])
    parts.add_constant(values[0])
    for cut, (low, high) in zip(step.cuts, steps, strict=False):
        parts.add_jump(StrictCondition(step.feature, ">", cut if wide else float32(cut)), high - low)
    parts.add_jump(StrictCondition(step.feature, "missing"), values[-1] - values[0])
    return True


def _add_points(parts: SumInProgress, weight: float, points: LevelPoints) -> bool:
    values = [weight * value for value in by_code(points, parts.schema[points.feature]).tolist()]
    if not all(map(math.isfinite, values)):
        return False
    parts.spans.append(Span.of(*values))
    known = parts.points.setdefault(points.feature, [Fraction(0)] * len(values))
    parts.points[points.feature] = [before + Fraction(value) for before, value in zip(known, values, strict=True)]
    return True


def is_plain(schema: Schema, column: Column) -> bool:
    """Whether float32 carries out the cleaning of a column without a rounding: bounds, steps and missing value fit."""
    if is_wide(schema[column.feature]) or not SMALLEST <= column.step <= LARGEST:
        return False
    missing = column.missing / column.step
    return all(float32(value) == value and abs(value) <= LARGEST for value in (column.low, column.high, missing))


@dataclass(slots=True)
class SumBlock:
    """Exact sums of one width, a row each; totals: their tensor, once the first of them is asked for."""

    width: Any
    sums: dict[Node, ExactSum] = field(default_factory=dict)
    totals: str = ""

    def row(self, node: Node) -> int:
        return list(self.sums).index(node)


@dataclass(slots=True)
class SumBlocks:
    """The sums of a graph that are products."""

    blocks: list[SumBlock] = field(default_factory=list)

    def prepare(self, schema: Schema, nodes: Sequence[Node]) -> None:
        """Find them among the nodes of a graph."""
        narrow, wide = SumBlock(np.float32), SumBlock(np.float64)
        alone: list[SumBlock] = []
        for node in nodes:
            if not isinstance(node, Linear | LinearThreshold):
                continue
            found = exact_sum(node.terms, node.bias, schema)
            if found is not None and (found.columns or len(found.weights) >= FEWEST_ROWS):
                block = narrow if found.single else wide
                if any(map(stands_on_node, found.jumps)):  # which may hang on another sum
                    alone.append(block := SumBlock(block.width))
                block.sums[node] = found
        self.blocks = [block for block in (narrow, wide, *alone) if block.sums]

    def block_of(self, node: Node) -> SumBlock | None:
        return next((block for block in self.blocks if node in block.sums), None)
