"""What a real unit adds up, by column: conditions of positive weight, and numbers.

The conditions of one column exclude or imply one another, so that what matters of them is what they add together for
each code. That is written anew as nested conditions, each with the step from one sum to the next: a negative weight
so stands on the contrary condition, levels of one weight are one set, and no weight is negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from rulekit.learners.data.codes import Codes
from rulekit.learners.ltu.inputs import Condition, Inputs, Number
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.schema import MISSING_CODE, UNSEEN_CODE

ROUNDING = 2.0**-48  # of the largest size of a sum: differences below it are those of the order of adding up
_FINEST_STEPS = 1 << 12
_LOOKED_AT = 64  # values that tell of most columns that they have no step


@dataclass(frozen=True, slots=True, eq=False)
class NumberPart:
    """A real weight of a numeric column; values [n_codes]: of its codes, first where it is missing; spread: deviation.

    step: the power of two of at most 1 of which all values are multiples, 0 where there is none that is not fine.
    may_be_missing: whether some training rows are.
    """

    weight: float
    column: int
    values: Floats
    spread: float
    step: float
    may_be_missing: bool

    @property
    def low(self) -> float:
        return float(self.values[1])

    @property
    def high(self) -> float:
        return float(self.values[-1])

    @property
    def ends(self) -> tuple[float, float, float]:
        """Values that no other one is below or above."""
        return self.low, self.high, float(self.values[MISSING_CODE])


@dataclass(frozen=True, eq=False)
class RealUnit:
    """Fires where bias + the heights [k] > 0 of conditions that hold + weights times numbers is at least 0."""

    conditions: tuple[Condition, ...]
    heights: Floats
    numbers: tuple[NumberPart, ...]
    bias: float

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it reads, ascending."""
        return tuple(sorted({c.column for c in self.conditions} | {part.column for part in self.numbers}))

    @property
    def tables(self) -> list[tuple[int, Floats]]:
        """Of each term its column, and what it adds for each code of it."""
        found = [(c.column, h * c.values) for c, h in zip(self.conditions, self.heights.tolist(), strict=True)]
        return found + [(part.column, part.weight * part.values) for part in self.numbers]

    @cached_property
    def tolerance(self) -> float:
        """A sum within it of 0 is 0, which fires."""
        largest = [abs(part.weight) * max(map(abs, part.ends)) for part in self.numbers]
        return ROUNDING * (abs(self.bias) + float(self.heights.sum()) + sum(largest))

    def fires_by_code(self, column: int) -> Bools:
        """On which codes of the only column that it reads it fires."""
        total = self.bias + sum(table for own, table in self.tables if own == column)
        return np.asarray(total >= -self.tolerance)


def real_unit(weights: Floats, bias: float, inputs: Inputs, seen: Seen) -> RealUnit:
    """The unit with these weights [d] of inputs as they are."""
    numbers, conditions = dict[int, NumberPart](), dict[int, Floats]()
    for k in np.flatnonzero(weights).tolist():
        item, weight = inputs.items[k], float(weights[k])
        if isinstance(item, Number):
            step, may_be_missing = step_of(item.values[1:]), item.column in seen.missing
            spread = float(inputs.scales[k])
            numbers[item.column] = NumberPart(weight, item.column, item.values, spread, step, may_be_missing)
        else:
            conditions[item.column] = conditions.get(item.column, 0.0) + weight * item.values
    for column in numbers.keys() & conditions.keys():
        joined = _with_missing(numbers[column], float(conditions[column][MISSING_CODE]))
        if joined is not None:
            numbers[column] = joined
            del conditions[column]
    found = list[tuple[float, Condition]]()
    small = ROUNDING * float(np.abs(weights).max(initial=0.0))
    for column, added in conditions.items():
        base, steps = _ladder(added, seen.codes(column, len(added)), small)
        bias += base
        found += [(height, Condition(column, holds)) for height, holds in steps]
    heights = np.array([height for height, _ in found])
    return RealUnit(tuple(condition for _, condition in found), heights, tuple(numbers.values()), bias)


@dataclass(frozen=True, slots=True)
class Seen:
    """The columns that may be missing, and those that have code 1 in some rows.

    Of a category that is a pooled level or one never seen, which may not occur; of other columns a value.
    """

    missing: frozenset[int]
    first: frozenset[int]

    @classmethod
    def of(cls, inputs: Inputs, codes: Codes) -> Self:
        """In the rows of codes."""
        conditions = [item for item in inputs.items if isinstance(item, Condition)]
        said = {item.column for item in conditions if item.says_missing}
        missing = {item.column for item in inputs.items if (codes[item.column] == MISSING_CODE).any()}
        columns = {item.column for item in conditions}
        first = frozenset(column for column in columns if (codes[column] == UNSEEN_CODE).any())
        return cls(frozenset(said | missing), first)

    def joined(self, other: Self) -> Self:
        """What can be in these rows or in others."""
        return type(self)(self.missing | other.missing, self.first | other.first)

    def codes(self, column: int, n_codes: int) -> Bools:
        """Which codes of a column [n_codes] can occur."""
        found = np.ones(n_codes, dtype=bool)
        found[MISSING_CODE], found[UNSEEN_CODE] = column in self.missing, column in self.first
        return found


def _with_missing(part: NumberPart, added: float) -> NumberPart | None:
    """The number with what is added where it is missing in its value there; None where no value of it is so large."""
    own = float(part.values[MISSING_CODE]) + added / part.weight
    if not part.low <= own <= part.high:
        return None
    values = part.values.copy()
    values[MISSING_CODE] = own
    return replace(part, values=values)


def _ladder(added: Floats, seen: Bools, small: float) -> tuple[float, list[tuple[float, Bools]]]:
    """The least that the codes of a column add [n_codes], and conditions, each with what it adds to the one before.

    seen [n_codes]: codes that can occur; another one has what it adds or less, and no condition holds of a missing cell
    that cannot. Sums that differ by no more than `small` are one.
    """
    levels = _distinct(added[MISSING_CODE + 1 :][seen[MISSING_CODE + 1 :]], small)
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


def _distinct(values: Floats, small: float) -> list[float]:
    """The values in ascending order, without those that differ from the one before by no more than `small`."""
    ordered = np.unique(values)
    return [float(value) for value in ordered[np.diff(ordered, prepend=-np.inf) > small]]


def step_of(values: Floats) -> float:
    """The largest power of two of at most 1 of which all values are multiples, 0 where there is none above 2^-12."""
    for part in (values[:_LOOKED_AT], values):
        scaled = part * _FINEST_STEPS
        if not (np.abs(scaled) < 2.0**62).all() or (scaled != np.rint(scaled)).any():
            return 0.0
    bits = int(np.bitwise_or.reduce(scaled.astype(np.int64)))
    return min(1.0, (bits & -bits) / _FINEST_STEPS) if bits else 1.0
