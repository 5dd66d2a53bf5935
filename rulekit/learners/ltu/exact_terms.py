"""Units as they decide, exactly; and what a real unit adds up, by column, before it is rounded.

Every product and every sum of an exact unit is a number without rounding (rulekit.exactness), whatever the order in
which it is added, in the model as in each of its exports.

The conditions of one column exclude or imply one another, so that what matters of them is what they add together for
each code. That is written anew as nested conditions, each with the step from one sum to the next: a negative weight
so stands on the contrary condition, which does not hold where the column is missing; levels of one weight are one set,
and no weight is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.exactness import span_of_sum
from rulekit.graph.nodes import TRUE, Column, LinearThreshold, Node
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import condition_node
from rulekit.learners.ltu.inputs import Inputs
from rulekit.schema import MISSING_CODE, UNSEEN_CODE

ROUNDING = 2.0**-48  # of the largest size of a sum: differences below it are those of the order of adding up
COARSEST, FINEST = 5, 44  # binary places of the spread of a column to which it may be rounded
_FEW_STEPS = _FINEST_STEPS = 1 << 12
_LOOKED_AT = 64  # values that tell of most columns that they have no step


@dataclass(frozen=True, slots=True, eq=False)
class UnitTerm:
    """A weight of a grid times a condition, or times a rounded number; values [n_codes]: of each code of the column.

    number: of a number what it is where it is missing, its bounds, and of what it is a multiple within them; the value
    of a missing cell may be a multiple of a finer power of two.
    """

    weight: float
    column: int
    values: Floats
    number: tuple[float, float, float, float] | None = None

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        if self.number is None:
            return condition_node(columns[self.column], self.values > 0.0)
        return Column(columns[self.column].feature.name, *self.number)


def sums_of(unit: Unit | RealUnit, codes: Codes | ComingRows, n_rows: int) -> Floats:
    total = np.full(n_rows, unit.bias)
    for term in unit.terms:
        total += (term.weight * term.values)[codes[term.column]]
    return total


@dataclass(frozen=True, slots=True, eq=False)
class ComingRows:
    """The rows that come to a unit: n of them, which have the numbers `which` among those of codes (None: all)."""

    codes: Codes
    n: int
    which: Ints | None = None

    def __getitem__(self, column: int) -> Ints:
        own = self.codes[column]
        return np.asarray(own if self.which is None else own[self.which])

    def take(self, rows: Ints) -> ComingRows:
        return ComingRows(self.codes, len(rows), rows if self.which is None else self.which[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Fires where bias + the sum of its terms is at least 0."""

    terms: tuple[UnitTerm, ...]
    bias: float

    def sums(self, codes: Codes, n_rows: int) -> Floats:
        return sums_of(self, codes, n_rows)

    def node(self, columns: Sequence[BinnedColumn]) -> LinearThreshold:
        return LinearThreshold([(term.weight, term.node(columns)) for term in self.terms], self.bias)

    def fits(self, bits: int) -> bool:
        """Whether every sum is a number of so many bits, in whatever order it is made."""
        # which column a term reads does not matter
        terms = [(term.weight, TRUE if term.number is None else Column("", *term.number)) for term in self.terms]
        span = span_of_sum(LinearThreshold(terms, self.bias))
        return span is not None and span.fits(bits)


@dataclass(frozen=True, slots=True, eq=False)
class RealTerm:
    """A real weight of a condition or a number; values [n_codes]: of the codes of its column, first a missing cell's.

    spread: the deviation of a number as a power of two, of a condition 1. step: the power of two of at most 1 of which
    all values are multiples, 0 where there is none that is not fine. may_be_missing: whether some training rows are.
    """

    weight: float
    column: int
    values: Floats
    is_number: bool = False
    spread: float = 1.0
    step: float = 1.0
    may_be_missing: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        return (float(self.values[1]), float(self.values[-1])) if self.is_number else (0.0, 1.0)

    def step_at(self, places: int) -> float:
        """To what it is rounded: to nothing where its values have few digits, and never finer than they are."""
        if self.step and max(map(abs, self.bounds)) <= _FEW_STEPS * self.step:
            return self.step
        return max(self.step, math.ldexp(self.spread, -places))

    def missing_at(self, places: int) -> float:
        """The value where it is missing, which may have to be finer than those of the column."""
        step = self.step_at(places)
        if self.may_be_missing and places > COARSEST:
            step = min(step, math.ldexp(self.spread, -places))
        return float(np.rint(self.values[MISSING_CODE] / step) * step)

    def rounded(self, weight: float, places: int) -> UnitTerm:
        """The term with an exact weight, its column rounded to so many binary places of its spread."""
        if not self.is_number:
            return UnitTerm(weight, self.column, self.values)
        step, missing = self.step_at(places), self.missing_at(places)
        low, high = (float(np.rint(end / step) * step) for end in self.bounds)
        values = np.rint(self.values / step) * step
        values[MISSING_CODE] = missing
        return UnitTerm(weight, self.column, values, (missing, low, high, step))


@dataclass(frozen=True, eq=False)
class RealUnit:
    """Fires where bias + its terms, first those of conditions, is at least 0; weights of conditions are above 0."""

    terms: tuple[RealTerm, ...]
    bias: float

    @cached_property
    def n_conditions(self) -> int:
        return sum(not term.is_number for term in self.terms)

    @cached_property
    def weights(self) -> Floats:
        return np.array([term.weight for term in self.terms])

    @cached_property
    def spreads(self) -> Floats:
        return np.array([term.spread for term in self.terms])

    @cached_property
    def tolerance(self) -> float:
        """A sum within it of 0 is 0, which fires."""
        largest = [abs(term.weight) * max(map(abs, (*term.bounds, term.values[MISSING_CODE]))) for term in self.terms]
        return ROUNDING * (abs(self.bias) + float(sum(largest)))


@dataclass(frozen=True, slots=True)
class Seen:
    """The columns that may be missing, and those that have code 1 in some rows.

    Of a category that is a pooled level or one never seen, which may not occur; of other columns a value.
    """

    missing: frozenset[int]
    first: frozenset[int]

    @classmethod
    def of(cls, inputs: Inputs, codes: Codes) -> Self:
        conditions = [item for item in inputs.items if not item.is_number]
        said = {item.column for item in conditions if item.values[MISSING_CODE]}
        missing = {item.column for item in inputs.items if (codes[item.column] == MISSING_CODE).any()}
        columns = {item.column for item in conditions}
        first = frozenset(column for column in columns if (codes[column] == UNSEEN_CODE).any())
        return cls(frozenset(said | missing), first)

    def joined(self, other: Self) -> Self:
        return type(self)(self.missing | other.missing, self.first | other.first)

    def codes(self, column: int, n_codes: int) -> Bools:
        """Which codes of a column [n_codes] can occur."""
        found = np.ones(n_codes, dtype=bool)
        found[MISSING_CODE], found[UNSEEN_CODE] = column in self.missing, column in self.first
        return found


def real_unit(weights: Floats, bias: float, inputs: Inputs, seen: Seen) -> RealUnit:
    """The unit with these weights [d] of inputs as they are."""
    numbers, added = dict[int, RealTerm](), dict[int, Floats]()
    for k in np.flatnonzero(weights).tolist():
        item, weight = inputs.items[k], float(weights[k])
        if item.is_number:
            spread = float(2.0 ** round(math.log2(float(inputs.scales[k]))))
            own = (spread, step_of(item.values[1:]), item.column in seen.missing)
            numbers[item.column] = RealTerm(weight, item.column, item.values, True, *own)
        else:
            added[item.column] = added.get(item.column, 0.0) + weight * item.values
    for column in numbers.keys() & added.keys():
        joined = _with_missing(numbers[column], float(added[column][MISSING_CODE]))
        if joined is not None:
            numbers[column] = joined
            del added[column]
    conditions = list[RealTerm]()
    small = ROUNDING * float(np.abs(weights).max(initial=0.0))
    for column, sums in added.items():
        base, steps = _ladder(sums, seen.codes(column, len(sums)), small)
        bias += base
        conditions += [RealTerm(height, column, holds.astype(np.float64)) for height, holds in steps]
    return RealUnit((*conditions, *numbers.values()), bias)


def _with_missing(number: RealTerm, added: float) -> RealTerm | None:
    """The number with what is added where it is missing in its value there; None where no value of it is so large."""
    low, high = number.bounds
    own = float(number.values[MISSING_CODE]) + added / number.weight
    if not low <= own <= high:
        return None
    values = number.values.copy()
    values[MISSING_CODE] = own
    return replace(number, values=values)


def _ladder(added: Floats, seen: Bools, small: float) -> tuple[float, list[tuple[float, Bools]]]:
    """The least that the codes of a column add [n_codes], and conditions, each with what it adds to the one before.

    seen [n_codes]: codes that can occur; another one has what it adds or less, and no condition holds of a missing cell
    that cannot. Sums that differ by no more than `small` are one.
    """
    ordered = np.unique(added[MISSING_CODE + 1 :][seen[MISSING_CODE + 1 :]])
    levels = ordered[np.diff(ordered, prepend=-np.inf) > small].tolist()
    base, missing = levels[0], float(added[MISSING_CODE])
    above = added >= np.array(levels[1:])[:, None] - small  # [levels - 1, n_codes]
    beside = seen[MISSING_CODE] and min(abs(missing - level) for level in levels) > small
    if beside or not seen[MISSING_CODE]:
        above[:, MISSING_CODE] = False
    steps = [(high - low, holds) for low, high, holds in zip(levels, levels[1:], above, strict=False)]
    if beside:
        is_missing = np.arange(len(added)) == MISSING_CODE
        steps.append((abs(missing - base), is_missing if missing > base else ~is_missing))
        base = min(base, missing)
    return base, steps


def step_of(values: Floats) -> float:
    """The largest power of two of at most 1 of which all values are multiples, 0 where there is none above 2^-12."""
    for part in (values[:_LOOKED_AT], values):
        scaled = part * _FINEST_STEPS
        if not (np.abs(scaled) < 2.0**62).all() or (scaled != np.rint(scaled)).any():
            return 0.0
    bits = int(np.bitwise_or.reduce(scaled.astype(np.int64)))
    return min(1.0, (bits & -bits) / _FINEST_STEPS) if bits else 1.0
