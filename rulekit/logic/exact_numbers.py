"""Numbers as functions of cells, without rounding: sums of tables over columns, of truth values, and of other numbers.

A `CellSum` is constant + one table per column + weight x truth value + weight x atom, with rational numbers. An atom
is a number that is known by its making only, such as the rounded product of two sums, and is named by an integer. Sums
are canonical (a table is 0 in its first cell, nothing has weight 0), so equal sums are equal functions, and comparing
them needs no search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from rulekit.exactness import Span, total


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


@dataclass(frozen=True, slots=True)
class CellSum:
    """constant + sum of tables[axis][cell] + sum of weight * edge + sum of weight * atom."""

    constant: Fraction
    tables: tuple[tuple[int, CellNumbers], ...] = ()
    edges: tuple[tuple[int, Fraction], ...] = ()
    atoms: tuple[tuple[int, Fraction], ...] = ()

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


Weights = tuple[tuple[int, Fraction], ...]


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
    scaled = scale(value, 1 / unit)
    if value.atoms:  # whose values need be no integers
        return scaled
    constant = Fraction(math.ceil(scaled.constant))
    return CellSum(constant, scaled.tables, scaled.edges, scaled.atoms)


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
