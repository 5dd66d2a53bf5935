"""Exact sums over cells: numbers as functions of cells, without rounding, their range, and what they can add up to.

A `CellSum` is constant + one table per column + weight x truth value + weight x atom, with rational numbers. An atom
is a number that is known by its making only, such as the rounded product of two sums, and is named by an integer. Sums
are canonical (a table is 0 in its first cell, nothing has weight 0), so equal sums are equal functions, and comparing
them needs no search.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.axis import cells_of
from rulekit.cells.space import product
from rulekit.exactness import ZERO_GRID, Span, span_of_sum, total
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import FALSE, TRUE, Family, Linear, Node
from rulekit.graph.rules import conjuncts
from rulekit.numbers import threshold_between
from rulekit.schema import Feature, Schema


class CellNumbers(tuple[Fraction, ...]):
    """The number of each cell of a column; partial sums share it, so its span and places are worked out once."""

    @cached_property
    def span(self) -> Span:
        return Span.of(*self)

    @cached_property
    def places(self) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """For each cell the place of its number among the distinct ones, and these, as they first occur."""
        known: dict[Fraction, int] = {}
        return tuple(known.setdefault(value, len(known)) for value in self), tuple(known)


Weights = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True)
class CellSum:
    """constant + sum of tables[axis][cell] + sum of weight * edge + sum of weight * atom."""

    constant: Fraction
    tables: tuple[tuple[int, CellNumbers], ...] = ()
    edges: Weights = ()
    atoms: Weights = ()

    @property
    def fixed(self) -> bool:
        """Whether it is one number for all rows."""
        return not (self.tables or self.edges or self.atoms)


def number(value: float | Fraction) -> CellSum:
    """A constant sum; the value is finite."""
    return CellSum(Fraction(value))


def table(axis: int, values: Iterable[float | Fraction]) -> CellSum:
    """The number that each cell of one column has."""
    exact = [Fraction(value) for value in values]
    base = exact[0]
    rest = CellNumbers(value - base for value in exact)
    return CellSum(base, ((axis, rest),) if any(rest) else ())


def truth(edge: int) -> CellSum:
    """1 where an edge that is no constant and no literal holds, else 0."""
    return CellSum(Fraction(edge & 1), edges=((edge & ~1, Fraction(-1 if edge & 1 else 1)),))


def atom(name: int) -> CellSum:
    """A number known by its making."""
    return CellSum(Fraction(0), atoms=((name, Fraction(1)),))


def add(first: CellSum, second: CellSum, factor: int | Fraction = 1) -> CellSum:
    """The sum of the first and `factor` times the second, without rounding."""
    tables: dict[int, CellNumbers] = dict(first.tables)
    for axis, values in second.tables:
        old = tables.get(axis)
        scaled = values if factor == 1 else CellNumbers(factor * value for value in values)
        tables[axis] = scaled if old is None else CellNumbers(a + b for a, b in zip(old, scaled, strict=True))
    return CellSum(
        first.constant + factor * second.constant,
        tuple(sorted((axis, values) for axis, values in tables.items() if any(values))),
        _weighted(first.edges, second.edges, factor),
        _weighted(first.atoms, second.atoms, factor),
    )


def add_all(values: Sequence[CellSum]) -> CellSum:
    """The sum of many, without rounding, in time linear in their parts."""
    if len(values) == 1:
        return values[0]
    tables: dict[int, list[Fraction]] = {}
    for axis, table_of_axis in (pair for value in values for pair in value.tables):
        held = tables.setdefault(axis, [Fraction(0)] * len(table_of_axis))
        for cell, own in enumerate(table_of_axis):
            if own:
                held[cell] += own
    return CellSum(
        sum((value.constant for value in values), Fraction(0)),
        tuple((axis, CellNumbers(held)) for axis, held in sorted(tables.items()) if any(held)),
        _weighted((), (pair for value in values for pair in value.edges), 1),
        _weighted((), (pair for value in values for pair in value.atoms), 1),
    )


def scale(value: CellSum, factor: Fraction) -> CellSum:
    """A multiple, without rounding."""
    return add(number(0), value, factor)


def _weighted(first: Weights, second: Iterable[tuple[int, Fraction]], factor: int | Fraction) -> Weights:
    weights = dict(first)
    for key, weight in second:
        weights[key] = weights.get(key, Fraction(0)) + factor * weight
    return tuple(sorted((key, weight) for key, weight in weights.items() if weight))


def sum_with_cell(value: CellSum, axis: int, cell: int) -> CellSum:
    """The constant and the tables of a sum where one column is in one cell."""
    own = sum((values[cell] for place, values in value.tables if place == axis), value.constant)
    return CellSum(own, tuple((place, values) for place, values in value.tables if place != axis))


def span(value: CellSum, known: Mapping[int, Span]) -> Span | None:
    """The span of all partial sums; known: that of some atoms. None where an atom is not known."""
    if not all(key in known for key, _ in value.atoms):
        return None
    parts = [Span.of(value.constant), *(values.span for _, values in value.tables)]
    parts += [Span.of(weight) for _, weight in value.edges]
    parts += [Span.of(weight).times(known[key]) for key, weight in value.atoms]
    return total(parts)


def range_of(
    value: CellSum,
    box: Sequence[int] = (),
    held: Callable[[int], bool | None] = lambda edge: None,
    sizes: Mapping[int, Fraction] | None = None,
) -> tuple[Fraction, Fraction] | None:
    """The smallest and largest value that the parts allow, None where an atom enters of which no size is known.

    box: by axis a set of cells, as bits, if not all; held: of an edge whether it holds there, None where that is open;
    sizes: of atoms.
    """
    low = high = value.constant
    for name, weight in value.atoms:
        if sizes is None or name not in sizes:
            return None
        low, high = low - abs(weight) * sizes[name], high + abs(weight) * sizes[name]
    for axis, values in value.tables:
        own = [one for cell, one in enumerate(values) if box[axis] >> cell & 1] if box else values
        low, high = low + min(own), high + max(own)
    for edge, weight in value.edges:
        known = held(edge)
        low += weight if known else min(weight, Fraction(0)) if known is None else 0
        high += weight if known else max(weight, Fraction(0)) if known is None else 0
    return low, high


def primitive(value: CellSum) -> CellSum:
    """A positive multiple with coprime integer parts (the constant aside), and an integer constant.

    The multiple is above zero exactly where the sum is: a constant between two integers is taken up or down to where
    no value of the parts can lie between.
    """
    parts = [v for _, values in value.tables for v in values] + [w for _, w in (*value.edges, *value.atoms)]
    unit = common_unit(parts)
    if unit is None:
        return value
    scaled = scale(value, 1 / unit)  # an atom's values need be no integers
    return scaled if value.atoms else replace(scaled, constant=Fraction(math.ceil(scaled.constant)))


def grid_of_parts(value: CellSum, known: Mapping[int, Span]) -> Fraction | None:
    """A number of which all parts are multiples, the constant aside; None where an atom has no grid, or no part is."""
    parts = [v for _, values in value.tables for v in values] + [weight for _, weight in value.edges]
    for key, weight in value.atoms:
        if key not in known:
            return None
        parts.append(weight * Fraction(2) ** known[key].grid)
    return common_unit(parts)


def common_unit(values: Iterable[Fraction]) -> Fraction | None:
    """The largest number of which all are multiples; None where all are zero."""
    parts = [value for value in values if value]
    denominator = math.lcm(*(part.denominator for part in parts))
    return Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator) if parts else None


# The totals of a sum of a graph --------------------------------------------------------------------------------------
#
# Columns are read one after another. What matters of those that were read is how many points they gave and which rules
# may still hold, so that rows alike in both are one state. A rule is a conjunction of conditions on single columns; any
# other condition is taken to hold or not, whatever the others do.


MOST_TOTALS = 200
_MOST_STATES = 1 << 20
_MOST_RULES = 62


def attainable_totals(node: Linear, schema: Schema, most: int = MOST_TOTALS) -> tuple[float, ...] | None:
    """The values that a sum has on some row, ascending; None where they are more than `most`, or not known.

    Where the rules meet in too many ways to go through, those are among them that the rules would add up to if any of
    them could hold together.
    """
    span = span_of_sum(node)
    if span is None or not span.fits() or has_column(node):
        return None
    grid = 2.0**span.grid if span.grid < ZERO_GRID else 1.0
    totals = _Points(node, schema, grid).totals()
    return None if totals is None or len(totals) > most else tuple((totals * grid + node.bias).tolist())


def half_way(node: Linear, schema: Schema, bound: float) -> float:
    """The threshold that parts the totals up to a bound from those above it, half-way between two of them.

    Where the totals are not known it is the bound itself, or half-way between two multiples of their grid. One that
    would have many digits is a shorter decimal in the middle half of the gap.
    """
    totals, span = attainable_totals(node, schema), span_of_sum(node)
    if totals is None:
        if span is None or not span.fits() or has_column(node):
            return bound
        grid = 2.0 ** min(span.grid, 1000)
        low = math.floor(bound / grid) * grid
        high = low + grid
    else:  # beyond all totals, where every row, or none, is above, as if there were one more
        place = bisect_right(totals, bound)
        low = totals[place - 1] if place else totals[0] - 1.0
        high = totals[place] if place < len(totals) else totals[-1] + 1.0
    middle, quarter = low + (high - low) / 2.0, (high - low) / 4.0
    return middle if (2.0 * middle).is_integer() else threshold_between(low + quarter, high - quarter, "float64")


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """What the values of a column tell apart: read, the rules with a condition on it; of each cell which rules it lets
    hold, as bits [cells], and its points [cells].
    """

    read: frozenset[int]
    rules: Ints
    points: Ints


class _Points:
    """The terms of a sum, in multiples of its grid.

    points: of each rule. columns: by name. loose: points of what holds or not, whatever the others do. always: what
    every row gets.
    """

    def __init__(self, node: Linear, schema: Schema, grid: float) -> None:
        self.points: list[int] = []
        self.loose: list[int] = []
        self.always = 0
        literals: dict[str, list[tuple[int, Node]]] = {}  # by column the number of a rule and its condition
        values: dict[str, list[tuple[float, Node]]] = {}
        for weight, child in node.terms:
            if child.family is Family.REAL:
                (name,) = readers([child])
                values.setdefault(name, []).append((weight / grid, child))
            elif child is TRUE:
                self.always += round(weight / grid)
            elif child is not FALSE and weight:
                own = [(tuple(readers([part])), part) for part in conjuncts(child)]
                if len(self.points) == _MOST_RULES or any(len(names) != 1 for names, _ in own):
                    self.loose.append(round(weight / grid))
                    continue
                for (name,), part in own:
                    literals.setdefault(name, []).append((len(self.points), part))
                self.points.append(round(weight / grid))
        names = [name for name in schema.names if name in literals or name in values]
        self.columns = {
            name: self._column(schema[name], literals.get(name, []), values.get(name, [])) for name in names
        }

    def _column(
        self, feature: Feature, literals: Sequence[tuple[int, Node]], values: Sequence[tuple[float, Node]]
    ) -> _Column:
        nodes = [node for _, node in [*literals, *values]]
        cells = cells_of(feature, readers(nodes)[feature.name]).encoded()
        found = evaluate_nodes(list(dict.fromkeys(nodes)), product([feature], [cells]))
        rules = np.full(len(cells), (1 << len(self.points)) - 1, dtype=np.int64)
        for k, node in literals:
            rules &= ~np.where(found[node], 0, np.int64(1) << k)
        points = np.zeros(len(cells), dtype=np.int64)
        for weight, node in values:
            points += np.rint(weight * found[node]).astype(np.int64)
        return _Column(frozenset(k for k, _ in literals), *_different(rules, points))

    def totals(self) -> Ints | None:
        """All that the terms can add up to on some row, ascending; None where there are too many states."""
        totals, loose = self._reached(), list(self.loose)
        if totals is None:  # as if any rules could hold together
            totals, loose = np.zeros(1, dtype=np.int64), [*loose, *self.points]
            for own in (np.unique(column.points) for column in self.columns.values()):
                if len(totals) * len(own) > _MOST_STATES:
                    return None
                totals = np.unique(totals[:, None] + own)
        for points in loose:
            if len(totals) > _MOST_STATES:
                return None
            totals = np.unique(np.concatenate([totals, totals + points]))
        return np.unique(totals + self.always)

    def _reached(self) -> Ints | None:
        """The totals of some row, but for what is loose; None where there are too many states."""
        totals, rules = np.zeros(1, dtype=np.int64), np.full(1, (1 << len(self.points)) - 1, dtype=np.int64)
        left = dict(self.columns)
        opened: set[int] = set()

        def price(name: str) -> tuple[int, int]:
            """How many rules are open after a column, and how many cells it has: the smallest goes first."""
            rest = _read(column for other, column in left.items() if other != name)
            return len((opened | left[name].read) & rest), len(left[name].points)

        while left:
            column = left.pop(min(left, key=price))
            if len(totals) * len(column.points) > _MOST_STATES:
                return None
            totals = (totals[:, None] + column.points).ravel()
            rules = (rules[:, None] & column.rules).ravel()
            later = _read(left.values())
            opened |= column.read
            for k in sorted(opened - later):
                totals = totals + (rules >> k & 1) * self.points[k]
                rules = rules & ~(np.int64(1) << k)
            opened &= later
            rules, totals = _different(rules, totals)
        return np.unique(totals)


def _read(columns: Iterable[_Column]) -> set[int]:
    return {k for column in columns for k in column.read}


def _different(rules: Ints, points: Ints) -> tuple[Ints, Ints]:
    order = np.lexsort((points, rules))
    rules, points = rules[order], points[order]
    first = np.ones(len(rules), dtype=bool)
    first[1:] = (rules[1:] != rules[:-1]) | (points[1:] != points[:-1])
    return rules[first], points[first]
