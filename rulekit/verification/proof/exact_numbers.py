"""Numbers as functions of cells, without rounding: sums of tables over columns, of truth values, and of other numbers.

A `Sum` is constant + one table per column + weight x truth value + weight x atom, with rational numbers. An atom is a
number that is known by its making only, such as the rounded product of two sums, and is named by an integer. Sums are
canonical (a table is 0 in its first cell, nothing has weight 0), so equal sums are equal functions, and comparing them
needs no search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

DOUBLE_BITS = 53


class Table(tuple[Fraction, ...]):
    """The number of each cell of a column; partial sums share it, so its extent is worked out once."""

    @cached_property
    def extent(self) -> tuple[Fraction, int]:
        """The largest number in size, and the exponent of a power of two that divides all."""
        return max(map(abs, self)), min(map(grid_of, self))


@dataclass(frozen=True, slots=True)
class Sum:
    """constant + sum of tables[axis][cell] + sum of weight * edge + sum of weight * atom."""

    constant: Fraction
    tables: tuple[tuple[int, Table], ...] = ()
    edges: tuple[tuple[int, Fraction], ...] = ()
    atoms: tuple[tuple[int, Fraction], ...] = ()

    @property
    def fixed(self) -> bool:
        """Whether it is one number for all rows."""
        return not (self.tables or self.edges or self.atoms)


def number(value: float | Fraction) -> Sum:
    """A constant sum; the value is finite."""
    return Sum(Fraction(value))


def table(axis: int, values: Iterable[float | Fraction]) -> Sum:
    """The number that each cell of one column has."""
    exact = [Fraction(value) for value in values]
    base = exact[0]
    rest = Table(value - base for value in exact)
    return Sum(base, ((axis, rest),) if any(rest) else ())


def truth(edge: int) -> Sum:
    """1 where an edge that is no constant and no literal holds, else 0."""
    return Sum(Fraction(edge & 1), edges=((edge & ~1, Fraction(-1 if edge & 1 else 1)),))


def atom(name: int) -> Sum:
    """A number known by its making."""
    return Sum(Fraction(0), atoms=((name, Fraction(1)),))


def add(first: Sum, second: Sum, factor: int | Fraction = 1) -> Sum:
    """The sum of the first and `factor` times the second, without rounding."""
    tables: dict[int, Table] = dict(first.tables)
    for axis, values in second.tables:
        old = tables.get(axis)
        scaled = values if factor == 1 else Table(factor * value for value in values)
        tables[axis] = scaled if old is None else Table(a + b for a, b in zip(old, scaled, strict=True))
    return Sum(
        first.constant + factor * second.constant,
        tuple(sorted((axis, values) for axis, values in tables.items() if any(values))),
        _weighted(first.edges, second.edges, factor),
        _weighted(first.atoms, second.atoms, factor),
    )


def scale(value: Sum, factor: Fraction) -> Sum:
    """A multiple, without rounding."""
    return add(number(0), value, factor)


Weights = tuple[tuple[int, Fraction], ...]


def _weighted(first: Weights, second: Weights, factor: int | Fraction) -> Weights:
    weights = dict(first)
    for key, weight in second:
        weights[key] = weights.get(key, Fraction(0)) + factor * weight
    return tuple(sorted((key, weight) for key, weight in weights.items() if weight))


def extent(value: Sum, known: Mapping[int, tuple[Fraction, Fraction]]) -> tuple[Fraction, int] | None:
    """A bound of all partial sums in size, and the exponent of a power of two that divides every part.

    known: for atoms of which that is known, the bound and the grid. None where an atom is not known.
    """
    bound, grid = abs(value.constant), grid_of(value.constant)
    for _, values in value.tables:
        size, step = values.extent
        bound += size
        grid = min(grid, step)
    for _, weight in value.edges:
        bound += abs(weight)
        grid = min(grid, grid_of(weight))
    for key, weight in value.atoms:
        if key not in known:
            return None
        size, unit = known[key]
        bound += abs(weight) * size
        grid = min(grid, grid_of(weight) + grid_of(unit))
    return bound, grid


def fits(bound: Fraction, grid: int, bits: int = DOUBLE_BITS) -> bool:
    """Whether every multiple of 2^grid up to the bound is a number of so many bits, within the range of doubles."""
    if bound == 0:
        return True
    return bound <= Fraction(2) ** (grid + bits) and grid >= -1070 and bound < Fraction(2) ** 1000


@lru_cache(maxsize=1 << 16)
def grid_of(value: Fraction) -> int:
    """The exponent of the lowest set bit of a dyadic number; large for zero, tiny for what is no dyadic number."""
    if value == 0:
        return 5000
    denominator = value.denominator
    if denominator & (denominator - 1):
        return -5000
    return (value.numerator & -value.numerator).bit_length() - denominator.bit_length()


def range_of(value: Sum) -> tuple[Fraction, Fraction] | None:
    """The smallest and largest value that the parts allow, None where atoms enter."""
    if value.atoms:
        return None
    low = high = value.constant
    for _, values in value.tables:
        low, high = low + min(values), high + max(values)
    for _, weight in value.edges:
        low, high = low + min(weight, Fraction(0)), high + max(weight, Fraction(0))
    return low, high


def primitive(value: Sum) -> Sum:
    """A positive multiple with coprime integer parts (the constant aside), and an integer constant.

    The multiple is above zero exactly where the sum is: a constant between two integers is taken up or down to where
    no value of the parts can lie between.
    """
    parts = [v for _, values in value.tables for v in values] + [w for _, w in (*value.edges, *value.atoms)]
    parts = [part for part in parts if part]
    if not parts:
        return value
    denominator = math.lcm(*(part.denominator for part in parts))
    divisor = math.gcd(*(int(part * denominator) for part in parts))
    scaled = scale(value, Fraction(denominator, divisor))
    if value.atoms:  # whose values need be no integers
        return scaled
    constant = Fraction(math.ceil(scaled.constant))
    return Sum(constant, scaled.tables, scaled.edges, scaled.atoms)
