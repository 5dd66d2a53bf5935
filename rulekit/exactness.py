"""Whether a sum is exact in any order: numbers on a power-of-two grid whose sizes fit the bits of a format.

Where all parts of a sum are multiples of one 2^grid, and the largest sizes that they can take add up to at most
2^(grid + b), every partial sum in whatever order is a multiple of 2^grid of at most b bits. A format of b bits then
rounds none of them, so that every order gives the same number: the sum without rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from rulekit.graph.nodes import Column, Family, LevelPoints, Node, Step, WeightedSum

SINGLE_BITS, DOUBLE_BITS = 24, 53
ZERO_GRID, NO_GRID = 5000, -5000  # of zero, which lies on every grid, and of what is no multiple of any power of two
# By format the finest grid and the exponent of the largest sizes, both far from the ends of its range.
_RANGE = {SINGLE_BITS: (-120, 100), DOUBLE_BITS: (-1070, 1000)}


@dataclass(frozen=True, slots=True)
class Span:
    """What bounds a number: its largest size, and the exponent of a power of two of which it is a multiple."""

    size: Fraction = Fraction(0)
    grid: int = ZERO_GRID

    @classmethod
    def of(cls, *values: float | Fraction) -> Self:
        """The span of a number that is one of these finite values."""
        exact = [Fraction(value) for value in values]
        return cls(max(map(abs, exact)), min(map(grid_of, exact)))

    def __add__(self, other: Span) -> Span:
        return Span(self.size + other.size, min(self.grid, other.grid))

    def times(self, other: Span) -> Span:
        """The span of a product."""
        size = self.size * other.size
        return Span(size, self.grid + other.grid) if size else Span()

    @property
    def bits(self) -> int:
        """The bits that hold every multiple of the grid up to the size; 2^24 itself still fits into 24."""
        return (-(-self.size // Fraction(2) ** self.grid) - 1).bit_length() if self.size else 0

    def fits(self, bits: int = DOUBLE_BITS) -> bool:
        """Whether all of it are numbers of so many bits, within the range of the float format that has them."""
        finest, largest = _RANGE.get(bits, _RANGE[DOUBLE_BITS])
        inside = finest <= self.grid and self.size < Fraction(2) ** largest
        return not self.size or (inside and self.size <= Fraction(2) ** (self.grid + bits))


NO_SPAN = Span(Fraction(1), NO_GRID)  # of a number of which nothing is known: fits no format


def total(spans: Iterable[Span]) -> Span:
    """The span of every partial sum, in any order."""
    return sum(spans, Span())


@lru_cache(maxsize=1 << 16)
def grid_of(value: float | Fraction) -> int:
    """The exponent of the lowest set bit of a number; `ZERO_GRID` for zero, `NO_GRID` for what is no dyadic number."""
    numerator, denominator = value.as_integer_ratio()
    if numerator == 0:
        return ZERO_GRID
    if denominator & (denominator - 1):
        return NO_GRID
    return (numerator & -numerator).bit_length() - denominator.bit_length()


def is_exact_difference(a: float, b: float) -> bool:
    """Whether b - a is no rounded number."""
    difference = b - a
    return abs(difference) < float("inf") and Fraction(difference) == Fraction(b) - Fraction(a)


def span_of_term(child: Node) -> Span | None:
    """The span of a child of a sum; None where its values lie on no grid that is known."""
    if child.family is Family.BOOLEAN:
        return Span(Fraction(1), 0)
    if isinstance(child, Step):
        return Span.of(*child.values, child.missing)
    if isinstance(child, LevelPoints):
        return Span.of(*(points for _, points in child.points), child.missing, child.unseen)
    if isinstance(child, Column) and child.step:
        rounded = Span(max(abs(Fraction(end)) for end in (child.low, child.high)) + Fraction(child.step) / 2)
        missing = Span.of(child.missing)
        return Span(max(rounded.size, missing.size), min(grid_of(child.step), missing.grid))
    return None


def span_of_sum(node: WeightedSum) -> Span | None:
    """The span of every partial sum of a node, in any order; None where that of some term is not known."""
    found = [(weight, span_of_term(child)) for weight, child in node.terms]
    spans = [Span.of(weight).times(span) for weight, span in found if span is not None]
    return total([Span.of(node.bias), *spans]) if len(spans) == len(found) else None
