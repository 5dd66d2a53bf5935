"""The sum of the votes so far on the training rows, and the coarsest grid on which no row of them is decided otherwise.

Votes are learned on a fine grid, so that sums are exact. What stands in the model is each vote rounded to a multiple of
a power of two: of 2^-6 (a reported probability moves by less than a percent with each condition), and half of that
as often as a training row, of this size or of a smaller one, would be decided otherwise or a vote be lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Node
from rulekit.learners.boosting.row_passes import add_votes
from rulekit.learners.boosting.stumps import Stump
from rulekit.learners.contract import Frame
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.additive import ScoreCard
from rulekit.tables.table import Table

FINE = 2.0**-32
LARGEST_SUM = 2.0**13
SIGMOID = 2.0  # the scale of the reported probability
SEVERAL = 2.0**-10  # where the largest of several sums decides, its side of 0 says nothing
_COARSE = 2.0**-6
_BITS = 24  # of every sum of the votes of a model, as `on_grid` has it


@dataclass(frozen=True, slots=True, eq=False)
class Boosted(ScoreCard):
    """A score card of votes; votes: the sum of their sizes, which is the largest that a row's sum can have."""

    votes: float = 0.0

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        """The votes for yes less those for no [n]."""
        return self.terms().totals(codes, n_rows)

    def shares(self, frame: Frame, rows: Table) -> Floats:
        """The same of rows of a table [n], as a share of all votes."""
        return share_of_votes(self.score(frame, "").node, rows, self.votes)


@runtime_checkable
class Voting(Protocol):
    """A model of votes."""

    def shares(self, frame: Frame, rows: Table) -> Floats:
        """The votes for yes less those for no [n] of rows of a table, as a share of all votes."""


def share_of_votes(total: Node, rows: Table, votes: float) -> Floats:
    """What a sum of votes is on rows of a table [n], as a share of all votes."""
    return np.asarray(evaluate_nodes([total], rows)[total]) / (votes or 1.0)


@dataclass(slots=True, eq=False)
class Votes:
    """Stumps with their votes, which are multiples of FINE, and their sums [n] on the rows of a problem.

    step: what the votes of the model are multiples of; searched: whether it is looked for. rounded [n]: the sums of the
    votes of the model, in steps. points, bias, votes: the score card's. largest: what a sum can be; least: the smallest
    vote but 0.
    """

    problem: Problem
    searched: bool
    n_threads: int = 1
    stumps: list[tuple[Stump, float]] = field(default_factory=list)
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    step: float = SEVERAL
    rounded: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    points: dict[int, Floats] = field(default_factory=dict)
    bias: float = 0.0
    votes: float = 0.0
    largest: float = 0.0
    least: float = math.inf

    def __post_init__(self) -> None:
        n = len(self.problem.labels)
        self.sums = np.zeros(n)
        if self.searched:
            self.step, self.rounded = _COARSE, np.zeros(n, dtype=np.int32)

    @property
    def card(self) -> Boosted:
        """The score card of the votes so far."""
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
        """The sums of the score card on some rows, in steps."""
        total = np.full(len(self.sums[rows]), round(self.bias / self.step), dtype=np.int32)
        for column, points in self.points.items():
            total += self._in_steps(points)[self.problem.codes[column][rows]]
        return total
