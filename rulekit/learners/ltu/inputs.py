"""What units add up: numbers of columns, and conditions that hold or do not, each with its place among the codes.

A numeric column of three values or more is a number, where it is missing its mean. Whatever else a column may be is
conditions, 1 where they hold and 0 where not: a Boolean column, a number of two values, a word, each level of a
category (one of two levels: the second), each cut of an ordered one; and that it is missing, where training rows say
so. A learner sees them shifted and scaled to mean 0 and standard deviation 1 (`Inputs.standardised`), or as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """1 where the code of a column, by its number, is one of `holds` [n_codes]."""

    column: int
    holds: Bools

    @property
    def values(self) -> Floats:
        """What it is for each code [n_codes]."""
        return self.holds.astype(np.float64)

    @property
    def contrary(self) -> Condition:
        """That it does not hold though the column is known; of the condition that it is missing, that it is known."""
        against = ~self.holds
        against[MISSING_CODE] = False
        return Condition(self.column, against)

    @property
    def says_missing(self) -> bool:
        """Whether it is the condition that the column is missing."""
        return bool(self.holds[MISSING_CODE])


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """The value of a numeric column, by its number; values [n_codes]: of each code, first that of a missing cell."""

    column: int
    values: Floats

    @property
    def low(self) -> float:
        """The least value that training rows have."""
        return float(self.values[1])

    @property
    def high(self) -> float:
        """The largest one."""
        return float(self.values[-1])


Input = Condition | Number


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of units: items, d of them; means, scales [d]: by which rows of `standardised` are moved and divided.

    A scale is the standard deviation on the training rows, 1 of an input that stays as it is.
    """

    items: tuple[Input, ...]
    means: Floats
    scales: Floats

    @classmethod
    def of(cls, problem: Problem, *, only_numbers: bool = False, cut: bool = False) -> Inputs:
        """Those of the columns of a problem, with their means and deviations by the weights of its rows.

        only_numbers: conditions stay 0 and 1, as learners want them that treat them by themselves. cut: there are no
        numbers, but conditions that they lie above the border between two bins.
        """
        items, means, scales = list[Input](), list[float](), list[float]()
        for number, column in enumerate(problem.columns):
            counts = np.bincount(problem.codes[number], problem.weights, column.n_codes).astype(np.float64)
            for item in _inputs_of(column, number, counts, cut):
                mean = float(counts @ item.values / counts.sum())
                variance = float(counts @ (item.values - mean) ** 2 / counts.sum())
                items.append(item)
                as_it_is = variance <= 0.0 or (only_numbers and isinstance(item, Condition))
                means.append(0.0 if as_it_is else mean)
                scales.append(1.0 if as_it_is else float(np.sqrt(variance)))
        return cls(tuple(items), np.array(means), np.array(scales))

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def are_numbers(self) -> Bools:
        """Which inputs [d] are numbers."""
        return np.array([isinstance(item, Number) for item in self.items], dtype=bool)

    def matrix(self, codes: Codes, n_rows: int, which: Sequence[int] | None = None) -> Floats:
        """The inputs of rows [n, d] as they are; which: some of them, by their numbers."""
        chosen = range(len(self)) if which is None else which
        found = np.empty((n_rows, len(chosen)))
        for place, k in enumerate(chosen):
            item = self.items[k]
            found[:, place] = item.values[codes[item.column]]
        return found

    def standardised(self, codes: Codes, n_rows: int) -> Floats:
        """The inputs of rows [n, d], shifted and scaled."""
        found = np.empty((n_rows, len(self)))
        for k, item in enumerate(self.items):
            found[:, k] = ((item.values - self.means[k]) / self.scales[k])[codes[item.column]]
        return found

    def unscaled(self, weights: Floats, biases: Floats) -> tuple[Floats, Floats]:
        """Weights [m, d] and biases [m] for inputs as they are, of those for standardised ones."""
        own = weights / self.scales
        return own, biases - own @ self.means


def _inputs_of(column: BinnedColumn, number: int, counts: Floats, cut: bool) -> list[Input]:
    """The inputs of a column; counts [n_codes]: the weight of the rows of each code; cut: no number is one."""
    found = list[Input]()
    n = column.n_codes
    codes = np.arange(n)
    known = counts[1:] > 0.0
    if column.feature.kind == "categorical":
        levels = codes[FIRST_LEVEL_CODE:]
        if column.ordered:
            found += [Condition(number, codes >= level) for level in levels[1:]]
        else:
            alone = levels[1:] if len(levels) == 2 and not counts[1] else levels
            found += [Condition(number, codes == level) for level in alone]
    elif cut and column.feature.kind == "numeric" and n > 3:
        found += [Condition(number, codes >= code) for code in codes[2:]]
    elif column.feature.kind == "numeric" and n > 3 and not np.isnan(column.low[1:]).any():
        values = column.low.copy()  # of a bin of several values the least
        values[0] = float(counts[1:] @ values[1:] / counts[1:].sum()) if known.any() else float(values[1])
        found.append(Number(number, values))
    elif n > 2:
        found.append(Condition(number, codes == 2))
    if counts[MISSING_CODE] and known.any():
        found.append(Condition(number, codes == MISSING_CODE))
    return found
