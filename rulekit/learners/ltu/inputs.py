"""What units add up, and the rows that they are fitted to.

A numeric column of three values or more is a number, where it is missing its mean. Whatever else a column may be is
conditions, 1 where they hold and 0 where not: a Boolean column, a number of two values, a word, each level of a
category (one of two levels: the second), each cut of an ordered one; and that it is missing, where training rows say
so. A learner sees them shifted and scaled to mean 0 and standard deviation 1 (`Inputs.standardised`), or as they are.

What is fitted to real numbers depends on the order in which they are added, so that rows stand in the order of a hash
of what is in them. A row of weight 2 counts as two rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.contract import Question
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.folds import fold_of_rows, row_hashes
from rulekit.learners.data.problem import Problem
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE

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
                items.append(UnitInput(number, values, is_number))
                as_it_is = variance <= 0.0 or (only_numbers and not is_number)
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
    conditions, numbers = list[Bools](), list[Floats]()
    n = column.n_codes
    codes = np.arange(n)
    known = counts[1:] > 0.0
    if column.feature.kind == "categorical":
        levels = codes[FIRST_LEVEL_CODE:]
        if column.ordered:
            conditions += [codes >= level for level in levels[1:]]
        else:
            alone = levels[1:] if len(levels) == 2 and not counts[1] else levels
            conditions += [codes == level for level in alone]
    elif cut and column.feature.kind == "numeric" and n > 3:
        conditions += [codes >= code for code in codes[2:]]
    elif column.feature.kind == "numeric" and n > 3 and not np.isnan(column.low[1:]).any():
        values = column.low.copy()  # of a bin of several values the least
        values[0] = float(counts[1:] @ values[1:] / counts[1:].sum()) if known.any() else float(values[1])
        numbers.append(values)
    elif n > 2:
        conditions.append(codes == 2)
    if counts[MISSING_CODE] and known.any():
        conditions.append(codes == MISSING_CODE)
    return [(values, True) for values in numbers] + [(holds.astype(np.float64), False) for holds in conditions]


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
        problem = question.problem
        parts = fold_of_rows(problem, _PARTS, question.groups, question.seed)
        problem, parts = merged(problem, parts, question.seed)
        return cls(problem, inputs.standardised(problem.codes, len(parts)), problem.labels, problem.weights, parts)


def merged(problem: Problem, parts: Ints, seed: int) -> tuple[Problem, Ints]:
    """A problem with equal rows of one label and part [n] as one, in the order of their hashes, and their parts.

    Rows of weight 0 are left out.
    """
    hashes = row_hashes(problem, seed, problem.labels, parts)
    seen = np.flatnonzero(problem.weights)
    _, first, kind = np.unique(hashes[seen], return_index=True, return_inverse=True)
    weights = np.zeros(len(first), dtype=np.int64)
    np.add.at(weights, kind, problem.weights[seen])
    least = max(1, int(np.gcd.reduce(weights))) if len(weights) else 1
    taken = problem.take(seen[first])
    return replace(taken, weights=weights // least, weight_unit=problem.weight_unit * least), parts[seen[first]]
