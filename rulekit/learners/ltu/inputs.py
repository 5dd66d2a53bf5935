"""What units add up, the rows that they are fitted to, and units as they decide, exactly.

A numeric column of three values or more is a number, where it is missing its mean. Whatever else a column may be is
conditions, 1 where they hold and 0 where not: a Boolean column, a number of two values, a word, each level of a
category (one of two levels: the second), each cut of an ordered one; and that it is missing, where training rows say
so. A learner sees them shifted and scaled to mean 0 and standard deviation 1 (`Inputs.standardised`), or as they are.

What is fitted to real numbers depends on the order in which they are added, so that rows stand in the order of a hash
of what is in them. A row of weight 2 counts as two rows.

Every product and every sum of an exact unit is a number without rounding (rulekit.exactness), whatever the order in
which it is added, in the model as in each of its exports. The conditions of one column exclude or imply one another, so
that what matters of them is what they add together for each code. That is written anew as nested conditions, each with
the step from one sum to the next: a negative weight so stands on the contrary condition, which does not hold where the
column is missing; levels of one weight are one set, and no weight is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.exactness import span_of_sum
from rulekit.graph.nodes import TRUE, Column, LinearThreshold, Node
from rulekit.learners.contract import Question
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.folds import fold_of_rows, row_hashes
from rulekit.learners.data.problem import Problem, condition_node
from rulekit.learners.models.plain import multiples
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE

_PARTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class UnitInput:
    """What a unit weighs of a column, by its number: a condition, or a number.

    values [n_codes]: what it is for each code: of a condition 1 where it holds and else 0.
    """

    column: int
    values: Floats
    is_number: bool


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of units: items, d of them; means, scales [d]: by which rows of `standardised` are moved and divided.

    A scale is the standard deviation on the training rows, 1 of an input that stays as it is.
    """

    items: tuple[UnitInput, ...]
    means: Floats
    scales: Floats

    @classmethod
    def of(cls, problem: Problem, *, only_numbers: bool = False, cut: bool = False) -> Inputs:
        """Those of the columns of a problem, with their means and deviations by the weights of its rows.

        only_numbers: conditions stay 0 and 1, as learners want them that treat them by themselves. cut: there are no
        numbers, but conditions that they lie above the border between two bins.
        """
        items, means, scales = list[UnitInput](), list[float](), list[float]()
        for number, column in enumerate(problem.columns):
            counts = np.bincount(problem.codes[number], problem.weights, column.n_codes).astype(np.float64)
            for values, is_number in _inputs_of(column, counts, cut):
                mean = float(counts @ values / counts.sum())
                variance = float(counts @ (values - mean) ** 2 / counts.sum())
                as_it_is = variance <= 0.0 or (only_numbers and not is_number)
                items.append(UnitInput(number, values, is_number))
                means.append(0.0 if as_it_is else mean)
                scales.append(1.0 if as_it_is else float(np.sqrt(variance)))
        return cls(tuple(items), np.array(means), np.array(scales))

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def are_numbers(self) -> Bools:
        return np.array([item.is_number for item in self.items], dtype=bool)

    def standardised(self, codes: Codes, n_rows: int) -> Floats:
        found = np.empty((n_rows, len(self)))
        for k, item in enumerate(self.items):
            found[:, k] = ((item.values - self.means[k]) / self.scales[k])[codes[item.column]]
        return found

    def unscaled(self, weights: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Weights [m, d] and biases [m] for inputs as they are, of those for standardised ones."""
        own = weights / self.scales
        return own, biases - own @ self.means


def _inputs_of(column: BinnedColumn, counts: Floats, cut: bool) -> list[tuple[Floats, bool]]:
    """Values by code of the inputs of a column, and whether each is a number; cut: none is.

    counts [n_codes]: the weight of the rows of each code.
    """
    n, known, kind = column.n_codes, counts[1:] > 0.0, column.feature.kind
    codes, found = np.arange(n), list[tuple[Floats, bool]]()
    levels, conditions = codes[FIRST_LEVEL_CODE:], list[Bools]()
    if kind == "categorical" and column.ordered:
        conditions += [codes >= level for level in levels[1:]]
    elif kind == "categorical":
        conditions += [codes == level for level in (levels[1:] if len(levels) == 2 and not counts[1] else levels)]
    elif cut and kind == "numeric" and n > 3:
        conditions += [codes >= code for code in codes[2:]]
    elif kind == "numeric" and n > 3 and not np.isnan(column.low[1:]).any():
        values = column.low.copy()  # of a bin of several values the least
        values[0] = float(counts[1:] @ values[1:] / counts[1:].sum()) if known.any() else float(values[1])
        found.append((values, True))
    elif n > 2:
        conditions.append(codes == 2)
    if counts[MISSING_CODE] and known.any():
        conditions.append(codes == MISSING_CODE)
    return found + [(holds.astype(np.float64), False) for holds in conditions]


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRows:
    """Distinct rows: inputs [n, d] standardised, labels [n] of 0 and 1, weights [n], and in which of four parts [n].

    problem: the same rows as they are binned.
    """

    problem: Problem
    inputs: Floats
    labels: Ints
    weights: Ints
    parts: Ints

    def held(self, part: int = 0) -> Bools:
        """Which rows [n] are held out: those of a part; of few rows, or of one kind, none are."""
        return np.asarray((self.parts == part) & bool(self.parts.any()))

    @property
    def in_rows(self) -> Floats:
        """The weights [n] stated in rows, as those learners take them that show rows, or tolerate wrong ones."""
        return np.asarray(self.weights * self.problem.weight_unit, dtype=np.float64)

    @classmethod
    def of(cls, question: Question, inputs: Inputs) -> DistinctRows:
        """Equal rows of one label and part as one, in the order of their hashes; rows of weight 0 are left out."""
        problem = question.problem
        parts = fold_of_rows(problem, _PARTS, question.groups, question.seed)
        hashes = row_hashes(problem, question.seed, problem.labels, parts)
        seen = np.flatnonzero(problem.weights)
        _, first, kind = np.unique(hashes[seen], return_index=True, return_inverse=True)
        weights = np.zeros(len(first), dtype=np.int64)
        np.add.at(weights, kind, problem.weights[seen])
        least = max(1, int(np.gcd.reduce(weights))) if len(weights) else 1
        rows = seen[first]
        taken = replace(problem.take(rows), weights=weights // least, weight_unit=problem.weight_unit * least)
        return cls(taken, inputs.standardised(taken.codes, len(rows)), taken.labels, taken.weights, parts[rows])


ROUNDING = 2.0**-48  # of the largest size of a sum: differences below it are those of the order of adding up
COARSEST, FINEST = 5, 44  # binary places of the spread of a column to which it may be rounded
_FEW_STEPS = _FINEST_STEPS = 1 << 12
_LOOKED_AT = 64  # values that tell of most columns that they have no step


@dataclass(frozen=True, slots=True, eq=False)
class UnitTerm:
    """A weight times a condition or a number; values [n_codes]: of the codes of its column, first a missing cell's.

    number: of a number what it is where it is missing, its bounds, and a power of two of which it is a multiple within
    them, 0 where there is none that is not fine; a missing cell may be a multiple of a finer one. spread: of a real
    number its deviation as a power of two, of a condition 1. may_be_missing: whether some training rows are.
    """

    weight: float
    column: int
    values: Floats
    number: tuple[float, float, float, float] | None = None
    spread: float = 1.0
    may_be_missing: bool = False

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        if self.number is None:
            return condition_node(columns[self.column], self.values > 0.0)
        return Column(columns[self.column].feature.name, *self.number)

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.number is None else self.number[1:3]

    def steps_at(self, places: int) -> tuple[float, float]:
        """To what a number is rounded at so many binary places of its spread, and the value where it is missing.

        It is not rounded where its values have few digits, and never finer than they are; the value where it is missing
        may have to be finer than those of the column.
        """
        assert self.number is not None
        own, fine = self.number[3], math.ldexp(self.spread, -places)
        few = own and max(map(abs, self.bounds)) <= _FEW_STEPS * own
        step = own if few else max(own, fine)
        grid = min(step, fine) if self.may_be_missing and places > COARSEST else step
        return step, float(np.rint(self.values[MISSING_CODE] / grid) * grid)

    def rounded(self, weight: float, places: int) -> UnitTerm:
        """The term with an exact weight, its column rounded to so many binary places of its spread."""
        if self.number is None:
            return UnitTerm(weight, self.column, self.values)
        step, missing = self.steps_at(places)
        low, high = multiples(np.array(self.bounds), step).tolist()
        values = multiples(self.values, step)
        values[MISSING_CODE] = missing
        return UnitTerm(weight, self.column, values, (missing, low, high, step))


@dataclass(frozen=True, eq=False)
class Unit:
    """Fires where bias + the sum of its terms is at least 0; a real one has those of conditions first, above 0."""

    terms: tuple[UnitTerm, ...]
    bias: float

    def sums(self, codes: Codes, n_rows: int) -> Floats:
        total = np.full(n_rows, self.bias)
        for term in self.terms:
            total += (term.weight * term.values)[codes[term.column]]
        return total

    def node(self, columns: Sequence[BinnedColumn]) -> LinearThreshold:
        return LinearThreshold([(term.weight, term.node(columns)) for term in self.terms], self.bias)

    def fits(self, bits: int) -> bool:
        """Whether every sum is a number of so many bits, in whatever order it is made."""
        # which column a term reads does not matter
        terms = [(term.weight, TRUE if term.number is None else Column("", *term.number)) for term in self.terms]
        span = span_of_sum(LinearThreshold(terms, self.bias))
        return span is not None and span.fits(bits)

    @cached_property
    def n_conditions(self) -> int:
        return sum(term.number is None for term in self.terms)

    @cached_property
    def weights(self) -> Floats:
        return np.array([term.weight for term in self.terms])

    @cached_property
    def spreads(self) -> Floats:
        return np.array([term.spread for term in self.terms])

    @cached_property
    def tolerance(self) -> float:
        """A real sum within it of 0 is 0, which fires."""
        largest = [abs(term.weight) * max(map(abs, (*term.bounds, term.values[MISSING_CODE]))) for term in self.terms]
        return ROUNDING * (abs(self.bias) + float(sum(largest)))


def seen_codes(inputs: Inputs, codes: Codes) -> Bools:
    """Whether codes 0 and 1 of each column [columns, 2] can occur: a missing cell; a pooled level or one never seen.

    A column may be missing where some row is, or where an input says so. Of what is no category, 1 is a value.
    """
    found = np.zeros((len(codes), 2), dtype=bool)
    for item in inputs.items:
        own, said = codes[item.column], not item.is_number and bool(item.values[MISSING_CODE])
        found[item.column] |= (said or (own == MISSING_CODE).any(), (own == UNSEEN_CODE).any())
    return found


def can_occur(seen: Bools, n_codes: int) -> Bools:
    """Which codes of a column [n_codes] can occur; seen [2]: see `seen_codes`."""
    return np.append(seen, np.ones(n_codes - 2, dtype=bool))


def real_unit(weights: Floats, bias: float, inputs: Inputs, seen: Bools) -> Unit:
    """The unit with these weights [d] of inputs as they are; seen: see `seen_codes`."""
    numbers, added = dict[int, UnitTerm](), dict[int, Floats]()
    for k in np.flatnonzero(weights).tolist():
        item, weight = inputs.items[k], float(weights[k])
        if item.is_number:
            spread = float(2.0 ** round(math.log2(float(inputs.scales[k]))))
            may_be_missing = bool(seen[item.column, MISSING_CODE])
            ends = (float(item.values[0]), float(item.values[1]), float(item.values[-1]), step_of(item.values[1:]))
            numbers[item.column] = UnitTerm(weight, item.column, item.values, ends, spread, may_be_missing)
        else:
            added[item.column] = added.get(item.column, 0.0) + weight * item.values
    for column in numbers.keys() & added.keys():
        number = numbers[column]  # with what is added where it is missing in its value there, if some value is so large
        low, high = number.bounds
        values = number.values.copy()
        values[MISSING_CODE] += float(added[column][MISSING_CODE]) / number.weight
        if low <= values[MISSING_CODE] <= high:
            numbers[column] = replace(number, values=values)
            del added[column]
    conditions = list[UnitTerm]()
    small = ROUNDING * float(np.abs(weights).max(initial=0.0))
    for column, sums in added.items():
        base, steps = _ladder(sums, can_occur(seen[column], len(sums)), small)
        bias += base
        conditions += [UnitTerm(height, column, holds.astype(np.float64)) for height, holds in steps]
    return Unit((*conditions, *numbers.values()), bias)


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
