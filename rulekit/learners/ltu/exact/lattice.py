"""Weights and columns of a unit on grids that are coarser or finer, and the rows that must stay on their sides of it.

A weight is a whole number times a power of two near to one over the spread of its column, so that one whole number more
or less matters about as much for every term. A column of few digits is added up as it is; another one is rounded to a
fraction of its spread. So all products are multiples of one power of two.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.exactness import DOUBLE_BITS, ZERO_GRID, grid_of, span_of_sum
from rulekit.graph.nodes import TRUE, Column, LinearThreshold, Node
from rulekit.learners.data.codes import Codes
from rulekit.learners.ltu.exact.parts import NumberPart, RealUnit
from rulekit.learners.ltu.units import ConditionTerm, NumberTerm, Term, Unit
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.schema import MISSING_CODE


def readable(weights: Sequence[float]) -> list[float]:
    """The weights times one positive number: whole numbers without a common divisor, or dyadic ones of fewer digits."""
    grid = min((grid_of(weight) for weight in weights), default=ZERO_GRID)
    if grid == ZERO_GRID:
        return list(weights)
    whole = [int(math.ldexp(weight, -grid)) for weight in weights]
    divisor = math.gcd(*whole)
    whole = [number // divisor for number in whole]
    sizes = Counter(map(abs, whole))  # of hundreds of weights most are equal

    def digits(places: int) -> int:
        return sum(times * len(repr(math.ldexp(size, -places)).removesuffix(".0")) for size, times in sizes.items())

    places = min(range(max(sizes).bit_length() + 1), key=digits)
    return [math.ldexp(number, -places) for number in whole]


def between(low: float, high: float) -> float:
    """A number of few bits in the middle half between two finite ones."""
    middle, quarter = (low + high) / 2.0, (high - low) / 4.0
    if low < 0.0 < high and abs(middle) <= quarter:
        return 0.0
    exponent = math.frexp(quarter)[1] + 1  # the coarsest multiple near the middle, if there is one so near
    while True:
        found = math.ldexp(round(math.ldexp(middle, -exponent)), exponent)
        if abs(found - middle) <= quarter:
            return found
        exponent -= 1


_COARSEST, _FINEST = 5, 44  # binary places of the spread of a column
_FEW_STEPS = 1 << 12


def fits(unit: Unit, bits: int) -> bool:
    """Whether every sum of a unit is a number of so many bits, in whatever order it is made."""
    span = span_of_sum(LinearThreshold([(term.weight, _stand_in(term)) for term in unit.terms], unit.bias))
    return span is not None and span.fits(bits)


def _stand_in(term: Term) -> Node:
    """A node with the values of a term; which column it reads does not matter."""
    return TRUE if isinstance(term, ConditionTerm) else Column("", term.missing, term.low, term.high, term.step)


@dataclass(frozen=True, slots=True, eq=False)
class NearRows:
    """Rows near to a plane: on which [n] the unit fires, its conditions hold [k, n], its numbers are missing.

    values: of the numbers, on each row [n].
    """

    fires: Bools
    holds: Floats
    values: list[Floats]
    missing: list[Bools]

    @classmethod
    def of(cls, unit: RealUnit, rows: SidedRows) -> NearRows:
        """Of those that are tried first."""
        own = rows.rows.take(rows.near)
        numbers = [(part, own.column(part.column)) for part in unit.numbers]
        holds = [condition.values[own.column(condition.column)] for condition in unit.conditions]
        return cls(
            rows.fires[rows.near],
            np.array(holds).reshape(len(holds), len(rows.near)),
            [part.values[codes] for part, codes in numbers],
            [codes == MISSING_CODE for _, codes in numbers],
        )


@dataclass(frozen=True, eq=False)
class Lattice:
    """Weights [k] of a unit, first of its conditions: whole numbers [k] times powers of two times one number.

    factor: what the real unit was multiplied by before it was rounded.
    """

    unit: RealUnit
    whole: Floats
    weights: list[float]
    factor: float

    @classmethod
    def of(cls, unit: RealUnit, most: float) -> Lattice:
        """The weights times the number that makes the largest one so large, rounded."""
        spreads = _spreads(unit)
        real = np.append(unit.heights, [part.weight for part in unit.numbers])
        scale = most / float(np.abs(real * spreads).max())
        whole = np.rint(real * spreads * scale)
        weights = readable((whole / spreads).tolist())
        largest = int(np.abs(whole).argmax())
        return cls(unit, whole, weights, scale * weights[largest] * float(spreads[largest] / whole[largest]))

    @property
    def most(self) -> float:
        return float(np.abs(self.whole).max())

    @property
    def turn(self) -> float:
        """How far the plane is turned, as a part of the length of the weights."""
        spreads = _spreads(self.unit)
        real = np.append(self.unit.heights, [part.weight for part in self.unit.numbers]) * spreads * self.factor
        return float(np.linalg.norm(np.array(self.weights) * spreads - real) / np.linalg.norm(real))

    def coarsest_terms(self, near: NearRows) -> tuple[Term, ...] | None:
        """The terms, columns being as coarse as the rows near the plane allow; None where they are not parted.

        Sums fit a double.
        """
        n = len(self.unit.conditions)
        fixed = np.array(self.weights[:n]) @ near.holds  # on a grid: the same in whatever order it is added
        real = fixed + sum(weight * values for weight, values in zip(self.weights[n:], near.values, strict=True))
        if not _parted(real, near.fires):
            return None
        numbers = [*zip(self.weights[n:], self.unit.numbers, near.values, near.missing, strict=True)]
        for places in range(_COARSEST, _FINEST + 1):
            sums = fixed.copy()
            for weight, part, values, missing in numbers:
                step = _step(part, places)
                sums += weight * np.where(missing, _missing(part, places), np.rint(values / step) * step)
            if _parted(sums, near.fires):
                terms = self.terms(places)
                return terms if fits(Unit(terms, 0.0), DOUBLE_BITS) else None
        return None

    def terms(self, places: int) -> tuple[Term, ...]:
        """The terms, columns being rounded to so many binary places of their spread."""
        n = len(self.unit.conditions)
        conditions = zip(self.weights[:n], self.unit.conditions, strict=True)
        numbers = zip(self.weights[n:], self.unit.numbers, strict=True)
        return (
            *(ConditionTerm(weight, condition) for weight, condition in conditions if weight),
            *(_number_term(weight, part, places) for weight, part in numbers if weight),
        )

    def threshold(self, low: float, high: float) -> float:
        """A threshold above the largest sum of rows on one side, and at most the least one of the others.

        Where there are rows on one side only, that of the real unit is in the middle.
        """
        if math.isinf(low) and math.isinf(high):
            return self.near_threshold(1.0 / 16.0)
        own = self._own_threshold
        if math.isinf(low):
            low = high - 2.0 * max(abs(high - own), self._length / 1024.0)
        if math.isinf(high):
            high = low + 2.0 * max(abs(own - low), self._length / 1024.0)
        return between(low, high) if self.unit.numbers else (low + high) / 2.0

    def near_threshold(self, part: float) -> float:
        """A threshold that is nearer to that of the real unit than this part of the length of the weights."""
        own = self._own_threshold
        return between(own - part * self._length, own + part * self._length)

    @property
    def _own_threshold(self) -> float:
        """The threshold with which the unit is as far from the middle of all columns as the real one."""
        real = [*self.unit.heights.tolist(), *(part.weight for part in self.unit.numbers)]
        middle = [0.5] * len(self.unit.conditions) + [(part.low + part.high) / 2.0 for part in self.unit.numbers]
        moved = (((w - r * self.factor) * x) for w, r, x in zip(self.weights, real, middle, strict=True))
        return math.fsum([-self.unit.bias * self.factor, *moved])

    @property
    def _length(self) -> float:
        return float(np.linalg.norm(np.array(self.weights) * _spreads(self.unit)))


def _spreads(unit: RealUnit) -> Floats:
    """The spread of each term [k] as a power of two: of a condition 1."""
    return np.array([1.0] * len(unit.conditions) + [_spread(part) for part in unit.numbers])


def _spread(part: NumberPart) -> float:
    return float(2.0 ** round(math.log2(part.spread)))


def _step(part: NumberPart, places: int) -> float:
    """To what a column is rounded: to nothing where its values have few digits, and never finer than they are."""
    if part.step and max(abs(part.low), abs(part.high)) <= _FEW_STEPS * part.step:
        return part.step
    return max(part.step, math.ldexp(_spread(part), -places))


def _missing(part: NumberPart, places: int) -> float:
    """The value where the column is missing, which may have to be finer than those of the column."""
    step = _step(part, places)
    if part.may_be_missing and places > _COARSEST:
        step = min(step, math.ldexp(_spread(part), -places))
    return float(np.rint(part.values[MISSING_CODE] / step) * step)


def _number_term(weight: float, part: NumberPart, places: int) -> NumberTerm:
    step = _step(part, places)
    low, high = (float(np.rint(end / step) * step) for end in (part.low, part.high))
    return NumberTerm(weight, part.column, part.values, low, high, _missing(part, places), step)


def _parted(sums: Floats, fires: Bools) -> bool:
    low, high = gap(sums, fires)
    return low < high


_NEAREST = 2048
_ADDED = 512


@dataclass(frozen=True, slots=True, eq=False)
class ComingRows:
    """The rows that come to a unit: n of them, which have the numbers `which` among those of codes (None: all)."""

    codes: Codes
    n: int
    which: Ints | None = None

    def column(self, column: int) -> npt.NDArray[Any]:
        """Their codes [n] in a column."""
        own = self.codes[column]
        return own if self.which is None else own[self.which]

    def take(self, rows: Ints) -> ComingRows:
        """Some of them, by their numbers."""
        return ComingRows(self.codes, len(rows), rows if self.which is None else self.which[rows])

    def sums(self, unit: Unit) -> Floats:
        """The sums [n] of an exact unit."""
        total = np.full(self.n, unit.bias)
        for term in unit.terms:
            total += term.points[self.column(term.column)]
        return total


@dataclass(frozen=True, slots=True, eq=False)
class SidedRows:
    """Rows that come to a unit, and whether it fires on each [n]; near: numbers of those that are tried first."""

    rows: ComingRows
    fires: Bools
    near: Ints

    @classmethod
    def of(cls, unit: RealUnit, rows: ComingRows, doubt: float = 0.0) -> SidedRows:
        """The rows by their side of a real unit; one on the plane is above it, as far as rounding tells.

        Rows within `doubt` of the plane, if it is above 0, are left out.
        """
        margins = np.full(rows.n, unit.bias)
        for column, table in unit.tables:
            margins += table[rows.column(column)]
        if doubt > 0.0:
            kept = np.flatnonzero(np.abs(margins) > doubt)
            rows, margins = rows.take(kept), margins[kept]
        fires = margins >= -unit.tolerance
        near = [_least(np.abs(margins), side, _NEAREST) for side in (np.flatnonzero(fires), np.flatnonzero(~fires))]
        return cls(rows, fires, np.concatenate(near))

    def with_crossing(self, sums: Floats) -> SidedRows:
        """The same, near being also rows that these sums [n] do not part from rows of the other side."""
        low, high = gap(sums, self.fires)
        below, above = np.flatnonzero(self.fires & (sums <= low)), np.flatnonzero(~self.fires & (sums >= high))
        furthest = (_least(sums, below, _ADDED), _least(-sums, above, _ADDED))
        return replace(self, near=np.unique(np.concatenate([self.near, *furthest])))


def gap(sums: Floats, fires: Bools) -> tuple[float, float]:
    """The largest sum of rows where a unit does not fire, and the least of those where it does."""
    return float(sums[~fires].max(initial=-np.inf)), float(sums[fires].min(initial=np.inf))


def _least(values: Floats, which: Ints, most: int) -> Ints:
    """Of some places those with the least values, at most so many, the least first."""
    own = values[which]
    if len(which) > most:
        kept = np.argpartition(own, most)[:most]
        which, own = which[kept], own[kept]
    return which[np.argsort(own, kind="stable")]
