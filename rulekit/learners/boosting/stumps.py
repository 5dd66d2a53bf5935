"""Stumps, one condition on one column or none; the one of the least weighted error, and the sums of the stumps' votes.

Votes are learned on a fine grid, so that sums are exact. What stands in the model is each vote rounded to a multiple of
a power of two: of 2^-6 (a reported probability moves by less than a percent with each condition), and half of that
as often as a training row, of this size or of a smaller one, would be decided otherwise or a vote be lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Node
from rulekit.learners.contract import Frame
from rulekit.learners.data.binning import BinnedColumn, Codes, columns_in_matrix, matrix_of, side_by_side
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.plain import ScoreCard, coarsest, multiples
from rulekit.learners.sums_of_rows.histograms import count_cells, lead_by_code
from rulekit.learners.sums_of_rows.kernels import run_threads
from rulekit.tables.table import Table

_TOGETHER = 64  # columns whose sums stay in a cache
_PART = 1 << 16
FINE = 2.0**-32
LARGEST_SUM = 2.0**13
SIGMOID = 2.0  # the scale of the reported probability
SEVERAL = 2.0**-10  # where the largest of several sums decides, its side of 0 says nothing
_COARSE = 2.0**-6


@dataclass(frozen=True, slots=True, eq=False)
class Stump:
    """A vote of +1 or -1 for each code of a column, 0 for one that no row has; without a column for every row.

    votes: [n_codes], or [1] without a column. right, wrong: the weight of the rows that it votes on.
    """

    column: int | None
    votes: Floats
    right: int
    wrong: int

    @property
    def error(self) -> float:
        return self.wrong / (self.right + self.wrong)

    def codes(self, problem: Problem) -> npt.NDArray[Any]:
        """By row of a problem [n] the place of its vote; side by side, as the rows of a matrix of codes are not."""
        if self.column is None:
            return np.zeros(len(problem.labels), dtype=np.uint8)
        return np.ascontiguousarray(problem.codes[self.column])


def counts_by_code(problem: Problem) -> list[Ints]:
    """By column the weight [n_codes] of the rows of each code."""
    own = (problem.labels, problem.weights)
    return [count_cells(problem.codes[j], *own, each.n_codes).sum(axis=1) for j, each in enumerate(problem.columns)]


def cuts_of(columns: Sequence[BinnedColumn], counts: Sequence[Ints], least: float) -> list[Bools]:
    """By column after which codes it may be cut: at least so much weight on either side; the last is no cut.

    counts: see `counts_by_code`.
    """
    found = list[Bools]()
    for column, each in zip(columns, counts, strict=True):
        below = np.cumsum(each[column.first_known :])
        allowed = (below >= least) & (below[-1:] - below >= least)
        allowed[-1:] = True
        found.append(allowed)
    return found


def leads_by_code(
    problem: Problem, weights: Ints, n_threads: int, labels: npt.NDArray[Any] | None = None
) -> list[Ints]:
    """By column the weight [n_codes] of the rows with label 1 less that of the others; labels [n]: the problem's."""
    labels = problem.labels if labels is None else labels
    each = max(1, -(-len(weights) // n_threads))
    found: dict[int, Ints] = {}
    for group in side_by_side(columns_in_matrix(problem.codes), np.arange(len(problem.columns)), _TOGETHER):
        whole, places = matrix_of(problem.codes, group)
        matrix = whole[:, places[0] : places[-1] + 1]
        starts = np.cumsum([0, *(problem.columns[j].n_codes for j in group)])
        sums = [np.zeros(starts[-1], dtype=np.int64) for _ in range(0, len(weights), each)]

        def add(part: int, of: Any = (matrix, starts, sums)) -> None:
            matrix, starts, sums = of
            rows = slice(part * each, (part + 1) * each)
            lead_by_code(matrix[rows], starts, labels[rows], weights[rows], sums[part])

        run_threads(add, range(len(sums)), n_threads)
        total = np.sum(sums, axis=0) if sums else np.zeros(starts[-1], dtype=np.int64)
        found |= {int(j): total[starts[k] : starts[k + 1]] for k, j in enumerate(group)}
    return [found[j] for j in range(len(problem.columns))]


def totals_of(problem: Problem, weights: Ints, leads: Sequence[Ints] = ()) -> Ints:
    """The weight [2] of all rows, and of those with label 1; leads: where they are known, they tell it faster."""
    total = int(weights.sum())
    positive = (total + int(leads[0].sum())) // 2 if leads else int(weights[problem.labels == 1].sum())
    return np.array([total, positive])


def best_stump(
    columns: Sequence[BinnedColumn],
    leads: Sequence[Ints],
    totals: Ints,
    cuts: Sequence[Bools],
    counts: Sequence[Ints],
    missing_never_helps: bool = False,
) -> Stump:
    """The stump of the least weighted error; of equals the constant one, then the first column and the lowest cut.

    Where its column is monotone it votes that way only. missing_never_helps: missing cells and levels never seen are
    voted against.

    leads, totals: sums of the rows' weights, of a total below 2^53; see `leads_by_code`, `totals_of`. cuts: see
    `cuts_of`; counts: above 0 for the codes that some row has.
    """
    total = int(totals[0])
    lead = 2 * int(totals[1]) - total
    best: tuple[int, int | None, Floats] = (abs(lead), None, np.array([1.0 if lead > 0 else -1.0]))
    for j, column in enumerate(columns):
        against = column.first_known if missing_never_helps else 0
        found, votes = votes_of(column, leads[j], counts[j] > 0, cuts[j], against)
        if found > best[0]:
            best = found, j, votes
    _, where, votes = best
    ahead = abs(lead) if where is None else int(leads[where] @ votes.astype(np.int64))
    answers = np.unique(votes[votes != 0.0])
    if len(answers) == 1:
        where, votes = None, answers
    return Stump(where, votes, (total + ahead) // 2, (total - ahead) // 2)


def votes_of(column: BinnedColumn, lead: Ints, known: Bools, cuts: Bools, against: int = 0) -> tuple[int, Floats]:
    """By how much weight the best votes of a column are more often right than wrong, and these votes [n_codes].

    lead [n_codes]: the weight of label 1 less that of label 0; known [n_codes]: whether there is any. What has no
    order, missing cells among it, votes as most of its weight has it: the best cut of levels in the order of their
    share of label 1 is where this share crosses 1/2.
    against: how many of the first codes are voted against.
    """
    votes = np.where(known, np.where(lead > 0, 1.0, -1.0), 0.0)
    ahead = np.abs(lead)
    votes[:against], ahead[:against] = -1.0, -lead[:against]
    if not column.ordered:
        return int(ahead.sum()), votes
    first = column.first_known
    below = np.cumsum(lead[first:])
    if not len(below):
        return int(ahead.sum()), votes
    # The codes up to a cut vote alike, and the others against them.
    gain = 2 * below - below[-1]
    own = np.abs(gain)
    if column.feature.monotone:  # all codes on one side are no step, and may vote either way
        own[:-1] = -column.feature.monotone * gain[:-1]
    cut = int(np.argmax(np.where(cuts, own, -own.max() - 1)))
    side = 1 if gain[cut] > 0 else -1
    if column.feature.monotone and cut < len(gain) - 1:
        side = -column.feature.monotone
    votes[first : first + cut + 1], votes[first + cut + 1 :] = side, -side
    return int(ahead[:first].sum() + own[cut]), votes


def parts_of(n_rows: int) -> list[slice]:
    """All rows in their order, some at a time."""
    return [slice(start, min(start + _PART, n_rows)) for start in range(0, n_rows, _PART)]


@dataclass(frozen=True, slots=True, eq=False)
class Boosted(ScoreCard):
    """A score card of votes; votes: the sum of their sizes, which is the largest that a row's sum can have."""

    votes: float = 0.0

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        return self.terms().totals(codes, n_rows)

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

    step: what the votes of the model are multiples of; searched: how many grids are looked at together, the model's and
    finer ones, each of half the step (0: the step stays). rounded [n]: the sums of the votes of the model. votes: the
    score card's. points [searched, n_codes], bias, off [searched]: by grid those of a score card, and by how much its
    sums may differ. largest: what a sum can be; least: the smallest vote but 0. yes [n]: the rows answered by yes.
    """

    def __init__(self, problem: Problem, searched: int) -> None:
        self.problem, self.searched = problem, searched
        self.stumps = list[tuple[Stump, float]]()
        self.sums, self.rounded = np.zeros(len(problem.labels)), np.zeros(len(problem.labels) if searched else 0)
        self.yes = np.zeros(len(problem.labels), dtype=bool)
        self.largest, self.least = 0.0, math.inf
        self._begin(_COARSE if searched else SEVERAL)

    @property
    def card(self) -> Boosted:
        points = {column: own[0] for column, own in self.points.items()}
        return Boosted(points, float(self.bias[0]), SIGMOID, votes=self.votes)

    def add(self, stump: Stump, vote: float, codes: npt.NDArray[Any]) -> None:
        """One stump more, with its codes of the rows [n]."""
        self.stumps.append((stump, vote))
        self.largest += abs(vote)
        self.least = min(self.least, abs(vote) or math.inf)
        size = self._join(stump, vote)
        for part in parts_of(len(self.yes)):
            self.sums[part] += (vote * stump.votes)[codes[part]]
            self.yes[part] = self.sums[part] > 0.0
            if self.searched:
                self.rounded[part] += (size * stump.votes)[codes[part]]

    def refine(self, differ: Callable[[float], Sequence[int]]) -> None:
        """Make the grid finer until no row is decided otherwise than the votes decide it and no vote is lost.

        differ: see there; it is asked for the step of the model, and for finer ones that its answer does not reach.
        """
        if not self.searched:
            return
        known = dict[float, int]()

        def fits(step: float) -> bool:
            if step not in known and (step < 2.0 * self.least or not known):
                known.update((step / 2.0**k, count) for k, count in enumerate(differ(step)))
            return step < 2.0 * self.least and not known[step]

        self.round_to(coarsest(self.step, self.largest, fits))

    def differ(self, step: float) -> Sequence[int]:
        """How many rows votes that are multiples of a step decide otherwise, or of half of it, and so on.

        The model has those of the step from now on.
        """
        self.round_to(step)
        if not self.searched:
            return []
        found = [int(np.count_nonzero((self.rounded > 0.0) != self.yes))]
        if self.searched > 1:  # finer votes decide few rows otherwise: those that have almost as much for yes as for no
            near = np.flatnonzero(np.abs(self.sums) <= self.off[1:].max())
            totals = np.repeat(self.bias[1:, None], len(near), axis=1)
            for column, points in self.points.items() if len(near) else ():
                totals += points[1:, self.problem.codes[column][near]]
            found += np.count_nonzero((totals > 0.0) != self.yes[near], axis=1).tolist()
        return found

    def round_to(self, step: float) -> None:
        """Let the model have the votes as multiples of a step."""
        if step != self.step:
            self._begin(step)
            for stump, vote in self.stumps:
                self._join(stump, vote)
            for part, codes in self.problem.codes.parts(len(self.rounded)):
                self.rounded[part] = self.card.totals(codes, part.stop - part.start)

    def _begin(self, step: float) -> None:
        self.step, self.steps = step, np.ldexp(step, -np.arange(max(1, self.searched)))
        self.points, self.votes, self.bias, self.off = dict[int, Floats](), 0.0, 0.0 * self.steps, 0.0 * self.steps

    def _join(self, stump: Stump, vote: float) -> float:
        """Let the score card have one stump more; says what its vote is on the grid."""
        sizes = multiples(np.array(vote), self.steps)
        self.votes += abs(float(sizes[0]))
        self.off += np.abs(sizes - vote)
        if stump.column is None:
            self.bias += sizes * float(stump.votes[0])
        else:
            self.points[stump.column] = self.points.get(stump.column, 0.0) + sizes[:, None] * stump.votes
        return float(sizes[0])
