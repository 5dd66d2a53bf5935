"""The sum of the votes so far on the training rows, and the coarsest grid on which no row of them is decided otherwise.

Votes are learned on a fine grid, so that sums are exact. What stands in the model is each vote rounded to a multiple of
a power of two: of 2^-6 (a reported probability moves by less than a percent with each condition), and half of that
as often as a training row, of this size or of a smaller one, would be decided otherwise or a vote be lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.problem import Problem
from rulekit.learners.boosting.stumps import Stump
from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.fitting.additive import ScoreCard

FINE = 2.0**-32
LARGEST_SUM = 2.0**13
SEVERAL = 2.0**-10  # where the largest of several sums decides, its side of 0 says nothing
_COARSE = 2.0**-6
_BITS = 24  # of every sum of the votes of a model, as `on_grid` has it


@dataclass(frozen=True, slots=True, eq=False)
class Boosted(ScoreCard):
    """A score card of votes; votes: the sum of their sizes, which is the largest that a row's sum can have."""

    votes: float = 0.0


@dataclass(slots=True, eq=False)
class Votes:
    """Stumps with their votes, which are multiples of FINE, and their sums [n] on the rows of a problem.

    step: what the votes of the model are multiples of; searched: whether it is looked for. rounded [n]: the sums of the
    votes of the model, in steps. largest: what a sum can be; least: the smallest vote but 0.
    """

    problem: Problem
    searched: bool
    stumps: list[tuple[Stump, float]] = field(default_factory=list)
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    step: float = SEVERAL
    rounded: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    card: Boosted | None = None
    largest: float = 0.0
    least: float = math.inf

    def __post_init__(self) -> None:
        n = len(self.problem.labels)
        self.sums = np.zeros(n)
        if self.searched:
            self.step, self.rounded = _COARSE, np.zeros(n, dtype=np.int32)

    def add(self, stump: Stump, vote: float) -> Bools:
        """One stump more; says which rows [n] are answered by yes."""
        self.stumps.append((stump, vote))
        self.largest += abs(vote)
        self.least = min(self.least, abs(vote) or math.inf)
        codes = self._codes(stump)
        self.sums += (vote * stump.votes)[codes]
        yes = self.sums > 0.0
        if self.searched:
            self.rounded += self._steps(stump, vote)[codes]
            while not self._holds(yes):
                self.step /= 2.0
                self.rounded[:] = 0
                for each, its in self.stumps:
                    self.rounded += self._steps(each, its)[self._codes(each)]
                self.card = None
        self.card = self._with(self.card, stump, vote) if self.card is not None else self._anew()
        return np.asarray(yes)

    def _holds(self, yes: Bools) -> bool:
        """Whether the step is fine enough, or as fine as a sum of 24 bits can be."""
        if self.step / 2.0 < 2.0 ** (math.frexp(self.largest)[1] + 1 - _BITS):
            return True
        return 2.0 * self.least > self.step and bool(np.array_equal(self.rounded > 0, yes))

    def _whole(self, vote: float) -> int:
        return round(vote / self.step)

    def _steps(self, stump: Stump, vote: float) -> npt.NDArray[np.int32]:
        return (self._whole(vote) * stump.votes).astype(np.int32)

    def _codes(self, stump: Stump) -> npt.NDArray[np.integer]:
        if stump.column is None:
            return np.zeros(len(self.sums), dtype=np.uint8)
        return self.problem.codes[stump.column]

    def _anew(self) -> Boosted:
        card = Boosted({}, 0.0, 2.0)
        for stump, vote in self.stumps:
            card = self._with(card, stump, vote)
        return card

    def _with(self, card: Boosted, stump: Stump, vote: float) -> Boosted:
        """A score card with the votes of one stump more."""
        size = self._whole(vote) * self.step
        votes = card.votes + abs(size)
        if stump.column is None:
            return Boosted(card.points, card.bias + size * float(stump.votes[0]), card.scale, votes)
        points = card.points.get(stump.column, 0.0) + size * stump.votes
        return Boosted({**card.points, stump.column: points}, card.bias, card.scale, votes)
