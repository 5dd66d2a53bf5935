"""Stumps: one condition on one column, or none, and the one of the least weighted error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import matrix_of, side_by_side
from rulekit.learners.data.problem import Problem
from rulekit.learners.sums_of_rows.histograms import count_cells, lead_by_code
from rulekit.learners.sums_of_rows.kernels import run_threads
from rulekit.schema import FIRST_LEVEL_CODE

_TOGETHER = 64  # columns whose sums stay in a cache
_PART = 1 << 16


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


def cuts_of(problem: Problem, min_rows: float) -> list[Bools]:
    """By column after which codes [n_codes] it may be cut: at least min_rows on either side; the last is no cut."""
    return [_cuts(column, problem.codes[j], problem, min_rows) for j, column in enumerate(problem.columns)]


def _cuts(column: BinnedColumn, codes: npt.NDArray[Any], problem: Problem, min_rows: float) -> Bools:
    counts = count_cells(codes, problem.labels, problem.weights, column.n_codes).sum(axis=1)
    below = np.cumsum(counts[first_code(column) :])
    least = min_rows / problem.weight_unit
    allowed = (below >= least) & (below[-1:] - below >= least)
    allowed[-1:] = True
    return np.asarray(allowed)


def first_code(column: BinnedColumn) -> int:
    """The first code that has a place in the order; missing cells and levels never seen have none."""
    return FIRST_LEVEL_CODE if column.feature.kind == "categorical" else 1


def known_codes(problem: Problem) -> list[Bools]:
    return [_known(problem.codes[j], column.n_codes) for j, column in enumerate(problem.columns)]


def _known(codes: npt.NDArray[Any], n_codes: int) -> Bools:
    known = np.zeros(n_codes, dtype=bool)
    for start in range(0, len(codes), _PART):
        known[codes[start : start + _PART]] = True
    return known


def leads_by_code(
    problem: Problem, weights: Ints, n_threads: int, labels: npt.NDArray[Any] | None = None
) -> list[Ints]:
    """By column the weight [n_codes] of the rows with label 1 less that of the others; labels [n]: the problem's."""
    labels = problem.labels if labels is None else labels
    each = max(1, -(-len(weights) // n_threads))
    found: dict[int, Ints] = {}
    for group in side_by_side(problem.codes, np.arange(len(problem.columns)), _TOGETHER):
        whole, places = matrix_of(problem.codes, group)
        matrix = whole[:, places[0] : places[-1] + 1]
        starts = np.cumsum([0, *(problem.columns[j].n_codes for j in group)])
        sums = [np.zeros(starts[-1], dtype=np.int64) for _ in range(0, len(weights), each)]

        def add(part: int, of: Any = (matrix, starts, sums)) -> None:
            matrix, starts, sums = of
            rows = slice(part * each, (part + 1) * each)
            lead_by_code(matrix[rows], starts, labels[rows], weights[rows], sums[part])

        run_threads(add, range(len(sums)), n_threads)
        total = np.sum(sums, axis=0)
        found |= {int(j): total[starts[k] : starts[k + 1]] for k, j in enumerate(group)}
    return [found[j] for j in range(len(problem.columns))]


def best_stump(
    problem: Problem,
    weights: Ints,
    cuts: Sequence[Bools],
    known: Sequence[Bools],
    n_threads: int,
    missing_never_helps: bool = False,
) -> Stump:
    """The stump of the least weighted error; of equals the constant one, then the first column and the lowest cut.

    Where its column is monotone it votes that way only. missing_never_helps: missing cells and levels never seen are
    voted against.

    weights [n]: in place of the problem's, of a total below 2^53, so that every count is exact. cuts: see `cuts_of`;
    known: see `known_codes`.
    """
    leads, total = leads_by_code(problem, weights, n_threads), int(weights.sum())
    # of all codes of any column together
    lead = int(leads[0].sum()) if leads else 2 * int(weights[problem.labels == 1].sum()) - total
    best: tuple[int, int | None, Floats] = (abs(lead), None, np.array([1.0 if lead > 0 else -1.0]))
    for j, column in enumerate(problem.columns):
        against = first_code(column) if missing_never_helps else 0
        found, votes = votes_of(column, leads[j], known[j], cuts[j], against)
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
    first = first_code(column)
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
