"""Which clauses keep the constraints of a model: for the search, which never leaves them.

A clause is a conjunction for the positive class (or for a rank and those above). Where it is monotone in a column,
its condition allows the codes from one on, or up to one; where missing values never help, no condition allows a missing
cell or a level never seen. What each clause keeps, their disjunction keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import FixedColumn
from rulekit.learners.models.rule_sets import Clause
from rulekit.schema import FIRST_LEVEL_CODE, Constraints


@dataclass(frozen=True, slots=True, eq=False)
class Allowed:
    """directions [columns]: 1 where a condition holds from a code on, -1 up to one, 0 for any set of codes.

    unknown [columns]: how many of the first codes (missing, and of a category those never seen) no condition allows.
    apart [columns, columns]: which may not stand in one clause; [0, 0] where all may. usable [columns]: which may stand
    in a clause at all: not a condition that is fixed, of which nobody knows what it keeps.
    """

    directions: Ints
    unknown: Ints
    apart: Bools
    usable: Bools

    @property
    def free(self) -> bool:
        """Whether every clause is allowed."""
        return not (self.directions.any() or self.unknown.any() or self.apart.any())

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn], constraints: Constraints) -> Allowed:
        """What the columns' own directions and the constraints allow."""
        usable = np.array([not isinstance(column, FixedColumn) for column in columns], dtype=bool)
        directions = np.array([column.feature.monotone for column in columns], dtype=np.int64) * usable
        first = [FIRST_LEVEL_CODE if column.feature.kind == "categorical" else 1 for column in columns]
        unknown = np.array(first, dtype=np.int64) * usable * constraints.missing_never_helps
        apart = np.zeros((0, 0), dtype=bool)
        if constraints.apart:
            names = np.array([column.feature.name for column in columns], dtype=object)
            apart = np.zeros((len(names), len(names)), dtype=bool)
            for group in constraints.apart:
                inside = np.isin(names, np.array(group, dtype=object)) & usable
                apart |= inside[:, None] & inside
            np.fill_diagonal(apart, False)
        return cls(directions, unknown, apart, usable)

    def among(self, columns: Ints) -> Allowed:
        """The same of some of the columns, in their order."""
        apart = self.apart[np.ix_(columns, columns)] if len(self.apart) else self.apart
        return Allowed(self.directions[columns], self.unknown[columns], apart, self.usable[columns])

    def taken_by(self, columns: Sequence[int]) -> Bools:
        """The columns [columns] that cannot join a clause over some columns."""
        taken = np.zeros(len(self.usable), dtype=bool)
        taken[list(columns)] = True
        return taken | self.apart[:, list(columns)].any(axis=1) if len(self.apart) else taken

    def relaxed(self, clause: Clause) -> Clause:
        """An allowed clause near a clause: conditions are widened in their direction, or left out."""
        if self.free:
            return clause
        found: Clause = {}
        for column, condition in clause.items():
            own = self._condition(column, condition)
            if own is not None and self.usable[column] and not self.taken_by(list(found))[column]:
                found[column] = own
        return found

    def _condition(self, column: int, condition: Bools) -> Bools | None:
        """The codes of an allowed condition, None where it would say nothing."""
        own, unknown, direction = condition.copy(), int(self.unknown[column]), int(self.directions[column])
        own[:unknown] = False
        held = np.flatnonzero(own[1:]) + 1
        if direction and len(held):
            own[slice(held[0], None) if direction > 0 else slice(max(1, unknown), held[-1] + 1)] = True
        return own if own.any() and not own[max(1, unknown) :].all() else None


def all_allowed(n_columns: int) -> Allowed:
    """Every clause over so many columns."""
    nothing = np.zeros(n_columns, dtype=np.int64)
    return Allowed(nothing, nothing, np.zeros((0, 0), dtype=bool), np.ones(n_columns, dtype=bool))
