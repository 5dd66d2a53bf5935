"""What may be a cause: conditions on one binned column, and their sums from counts by code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import Node
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """A condition [n_codes] on the codes of one column; it does not hold where the column is missing, or only there."""

    column: int
    condition: Bools

    def holds(self, codes: Codes) -> Bools:
        """The rows [n] on which it holds."""
        return np.asarray(self.condition[codes[self.column]])

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        """The condition as a Boolean node."""
        return condition_node(columns[self.column], self.condition)

    def same(self, other: Cause) -> bool:
        """Whether it is the same condition."""
        return self.column == other.column and np.array_equal(self.condition, other.condition)


@dataclass(frozen=True, slots=True)
class Causes:
    """The possible causes of one column: n_below `x <= c`, n_above `x > c`, or levels and their contraries; missing.

    first: the first code of a known value; rare levels, which share a code with those never seen, are one level.
    """

    column: int
    n_codes: int
    first: int
    ordered: bool
    contraries: bool
    direction: int
    missing: bool

    @classmethod
    def of(cls, index: int, column: BinnedColumn, *, general: bool, missing: bool, direction: int) -> Causes:
        """Those of a column.

        general: contraries of Boolean columns and of levels, too. missing: whether a missing cell may be one.
        direction: +1 `x > c` alone, -1 `x <= c` alone.
        """
        first = FIRST_LEVEL_CODE if column.feature.kind == "categorical" and column.ordered else 1
        both = general or (column.ordered and column.feature.kind != "boolean")
        return cls(index, column.n_codes, first, column.ordered, both, direction, missing)

    @property
    def n_conditions(self) -> int:
        """How many conditions there are."""
        return self._n_of_a_side * self._sides + int(self.missing)

    @property
    def _n_of_a_side(self) -> int:
        return max(0, self.n_codes - self.first - int(self.ordered))

    @property
    def _sides(self) -> int:
        return 1 if self.direction else 1 + int(self.contraries)

    def sums(self, by_code: Floats) -> Floats:
        """The sums [n_causes, m] of values by code [n_codes, m]: of the codes on which each cause holds."""
        known = by_code[self.first :]
        if self.ordered:
            below = np.cumsum(known, axis=0)
            parts = [below[-1:] - below[:-1], below[:-1]] if len(known) else [known, known]
        else:
            parts = [known, known.sum(axis=0) - known]
        if self.direction < 0:
            parts = parts[1:]
        elif self.direction > 0 or not self.contraries:
            parts = parts[:1]
        return np.concatenate([*parts, by_code[: int(self.missing)]])

    def cause(self, place: int) -> Cause:
        """The cause at a place of `sums`."""
        n = self._n_of_a_side
        sides = self._sides * n
        condition = np.zeros(self.n_codes, dtype=bool)
        if place >= sides:
            condition[MISSING_CODE] = True
            return Cause(self.column, condition)
        at, contrary = self.first + place % n, (place >= n) != (self.direction < 0)
        if self.ordered:
            condition[self.first : at + 1] = contrary
            condition[at + 1 :] = not contrary
        else:
            condition[self.first :] = contrary
            condition[at] = not contrary
        return Cause(self.column, condition)


def causes_of(
    columns: Sequence[BinnedColumn], usable: Sequence[int], *, general: bool, missing: Bools, flipped: bool
) -> list[Causes]:
    """The possible causes of the columns.

    usable: which columns may have some; missing [n_columns]: whether a missing cell may be a cause. flipped: causes
    speak against the positive class, so that the directions of monotone columns are the other way round.
    """
    sign = -1 if flipped else 1
    return [
        Causes.of(
            k,
            columns[k],
            general=general,
            missing=bool(missing[k]),
            direction=sign * columns[k].feature.monotone,
        )
        for k in usable
    ]
