"""A linear threshold unit as it decides: weights of a grid over conditions and rounded numbers, so that it is exact.

Every product and every sum of a unit is a number without rounding (rulekit.exactness), whatever the order in which it
is added, in the model as in each of its exports. A condition with a negative weight is written as its contrary, which
does not hold where the column is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.graph.nodes import Column, LinearThreshold, Node
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node
from rulekit.learners.ltu.inputs import Condition
from rulekit.learners.sums_of_rows.histograms import Bools, Floats


@dataclass(frozen=True, slots=True, eq=False)
class ConditionTerm:
    """A weight that is added where a condition holds."""

    weight: float
    condition: Condition

    @property
    def column(self) -> int:
        return self.condition.column

    @property
    def points(self) -> Floats:
        """What is added for each code of the column [n_codes]."""
        return self.weight * self.condition.values

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        return condition_node(columns[self.column], self.condition.holds)


@dataclass(frozen=True, slots=True, eq=False)
class NumberTerm:
    """A weight times the value of a column within bounds, rounded half-even to a multiple of `step` (0: not rounded).

    values [n_codes]: the value of each code, the first that of a missing cell. low, high: the bounds, multiples of
    step. missing: the value where it is missing, a multiple of a power of two that may be finer.
    """

    weight: float
    column: int
    values: Floats
    low: float
    high: float
    missing: float
    step: float

    @property
    def points(self) -> Floats:
        """What is added for each code of the column [n_codes]."""
        found = np.clip(self.values, self.low, self.high)
        if self.step:
            found = np.rint(found / self.step) * self.step
        found[0] = self.missing
        return self.weight * found

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        return Column(columns[self.column].feature.name, self.missing, self.low, self.high, self.step)


Term = ConditionTerm | NumberTerm


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Fires where bias + the sum of its terms is at least 0."""

    terms: tuple[Term, ...]
    bias: float

    def sums(self, codes: Codes, n_rows: int) -> Floats:
        """The sums of rows [n]."""
        total = np.full(n_rows, self.bias)
        for term in self.terms:
            total += term.points[codes[term.column]]
        return total

    def fires(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] on which it fires."""
        return np.asarray(self.sums(codes, n_rows) >= 0.0)

    def node(self, columns: Sequence[BinnedColumn]) -> LinearThreshold:
        """The unit as a node of the rule graph; columns: of the problem."""
        return LinearThreshold([(term.weight, term.node(columns)) for term in self.terms], self.bias)
