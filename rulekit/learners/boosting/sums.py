"""The sum of the votes so far on the training rows, and the coarsest grid on which no row of them is decided otherwise.

Votes are learned on a fine grid, so that sums are exact. What stands in the model is each vote rounded to a multiple of
a power of two: of 2^-6 (a reported probability moves by less than a percent with each condition), and half of that
as often as a training row, of this size or of a smaller one, would be decided otherwise or a vote be lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Node
from rulekit.learners.boosting.stumps import Stump
from rulekit.learners.contract import Frame
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.additive import ScoreCard
from rulekit.learners.models.giving_points import totals_of
from rulekit.learners.sums_of_rows.kernels import compiled, run_threads
from rulekit.tables.table import Table

_PART = 1 << 16
"""Rows that one thread takes at a time."""
FINE = 2.0**-32
LARGEST_SUM = 2.0**13
SIGMOID = 2.0  # the scale of the reported probability
SEVERAL = 2.0**-10  # where the largest of several sums decides, its side of 0 says nothing
_COARSE = 2.0**-6
_BITS = 24  # of every sum of the votes of a model, as `on_grid` has it


def parts_of(n_rows: int) -> list[slice]:
    """All rows in their order, some at a time."""
    return [slice(start, min(start + _PART, n_rows)) for start in range(0, n_rows, _PART)]


def _each(task: Callable[[slice], None], n_rows: int, n_threads: int) -> None:
    run_threads(task, parts_of(n_rows), n_threads)


def weigh(rows: Ints, factors: Floats, scale: float, weights: Ints, n_threads: int) -> None:
    """Write the weights [n]: of each row its own times its factor, which is rounded to a whole number of 1 / scale."""
    one = rows.strides == (0,)

    def task(part: slice) -> None:
        _weigh(rows[:1].copy() if one else rows[part], factors[part], scale, weights[part])

    _each(task, len(rows), n_threads)


@compiled
def _weigh(rows: Any, factors: Any, scale: float, weights: Any) -> None:
    one = len(rows) < len(weights)
    for i in range(len(weights)):
        weights[i] = rows[0 if one else i] * np.int64(np.rint(factors[i] * scale))


def multiply(factors: Floats, labels: npt.NDArray[Any], codes: npt.NDArray[Any], by: Floats, n_threads: int) -> None:
    """Multiply the factor [n] of each row, in place, by that of its label and code [2, n_codes]."""
    _each(lambda part: _multiply(factors[part], labels[part], codes[part], by), len(factors), n_threads)


@compiled
def _multiply(factors: Any, labels: Any, codes: Any, by: Any) -> None:
    for i in range(len(factors)):
        factors[i] *= by[1 if labels[i] == 1 else 0, codes[i]]


def add_votes(
    sums: Floats,
    rounded: npt.NDArray[np.int32],
    codes: npt.NDArray[Any],
    votes: Floats,
    steps: npt.NDArray[np.int32] | None,
    n_threads: int,
) -> Bools:
    """Add to the sums [n], in place, the votes [n_codes] of their codes; says which are above 0.

    rounded [n]: to which the steps [n_codes] are added where there are any.
    """
    yes = np.empty(len(sums), dtype=bool)

    def task(part: slice) -> None:
        _add_votes(sums[part], codes[part], votes, yes[part])
        if steps is not None:
            _add_steps(rounded[part], codes[part], steps)

    _each(task, len(sums), n_threads)
    return yes


@compiled
def _add_votes(sums: Any, codes: Any, votes: Any, yes: Any) -> None:
    for i in range(len(sums)):
        sums[i] += votes[codes[i]]
        yes[i] = sums[i] > 0.0


@compiled
def _add_steps(rounded: Any, codes: Any, steps: Any) -> None:
    for i in range(len(rounded)):
        rounded[i] += steps[codes[i]]


@dataclass(frozen=True, slots=True, eq=False)
class Boosted(ScoreCard):
    """A score card of votes; votes: the sum of their sizes, which is the largest that a row's sum can have."""

    votes: float = 0.0

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        return totals_of(self.terms(), codes, n_rows)

    def shares(self, frame: Frame, rows: Table) -> Floats:
        return share_of_votes(self.score(frame, "").node, rows, self.votes)


@runtime_checkable
class Voting(Protocol):
    """A model of votes."""

    def shares(self, frame: Frame, rows: Table) -> Floats:
        """The votes for yes less those for no [n] of rows of a table, as a share of all votes."""


def share_of_votes(total: Node, rows: Table, votes: float) -> Floats:
    """What a sum of votes is on rows of a table [n], as a share of all votes."""
    return np.asarray(evaluate_nodes([total], rows)[total]) / (votes or 1.0)


class Votes:
    """Stumps with their votes, which are multiples of FINE, and their sums [n] on the rows of a problem.

    step: what the votes of the model are multiples of; searched: whether it is looked for. rounded [n]: the sums of the
    votes of the model, in steps. points, bias, votes: the score card's. largest: what a sum can be; least: the smallest
    vote but 0.
    """

    def __init__(self, problem: Problem, searched: bool, n_threads: int = 1) -> None:
        n = len(problem.labels)
        self.problem, self.searched, self.n_threads = problem, searched, n_threads
        self.stumps, self.points = list[tuple[Stump, float]](), dict[int, Floats]()
        self.step = _COARSE if searched else SEVERAL
        self.sums, self.rounded = np.zeros(n), np.zeros(n if searched else 0, dtype=np.int32)
        self.bias, self.votes, self.largest, self.least = 0.0, 0.0, 0.0, math.inf

    @property
    def card(self) -> Boosted:
        return Boosted(dict(self.points), self.bias, SIGMOID, votes=self.votes)

    def add(self, stump: Stump, vote: float, codes: npt.NDArray[Any]) -> Bools:
        """One stump more, with its codes of the rows [n]; says which rows [n] are answered by yes."""
        self.stumps.append((stump, vote))
        self.largest += abs(vote)
        self.least = min(self.least, abs(vote) or math.inf)
        size = self._join(stump, vote)
        steps = self._in_steps(size * stump.votes) if self.searched else None
        yes = add_votes(self.sums, self.rounded, codes, vote * stump.votes, steps, self.n_threads)
        if self.searched:
            self._refine(yes)
        return yes

    def _refine(self, yes: Bools) -> None:
        """Halve the step until every row is decided as the votes decide it and none is lost, or it is the finest.

        Of a finer step the rows are asked first that a coarser one decides otherwise: all are summed up anew only where
        these are right.
        """
        failed = np.flatnonzero((self.rounded > 0) != yes)
        behind = False  # the sums of all rows are those of a coarser step
        while (len(failed) or 2.0 * self.least <= self.step) and not self._is_finest():
            self.step /= 2.0
            self.points, self.bias, self.votes, behind = {}, 0.0, 0.0, True
            for stump, vote in self.stumps:
                self._join(stump, vote)
            failed = failed[(self._summed(failed) > 0) != yes[failed]]
            if not len(failed):
                self.rounded, behind = self._summed(slice(None)), False
                failed = np.flatnonzero((self.rounded > 0) != yes)
        if behind:
            self.rounded = self._summed(slice(None))

    def _is_finest(self) -> bool:
        """Whether half of the step is too fine for a sum of 24 bits."""
        return self.step / 2.0 < 2.0 ** (math.frexp(self.largest)[1] + 1 - _BITS)

    def _join(self, stump: Stump, vote: float) -> float:
        """Let the score card have one stump more; says what its vote is on the grid."""
        size = round(vote / self.step) * self.step
        self.votes += abs(size)
        if stump.column is None:
            self.bias += size * float(stump.votes[0])
        else:
            self.points[stump.column] = self.points.get(stump.column, 0.0) + size * stump.votes
        return size

    def _in_steps(self, points: Floats) -> npt.NDArray[np.int32]:
        return np.rint(points / self.step).astype(np.int32)

    def _summed(self, rows: npt.NDArray[np.int64] | slice) -> npt.NDArray[np.int32]:
        total = np.full(len(self.sums[rows]), round(self.bias / self.step), dtype=np.int32)
        for column, points in self.points.items():
            total += self._in_steps(points)[self.problem.codes[column][rows]]
        return total
