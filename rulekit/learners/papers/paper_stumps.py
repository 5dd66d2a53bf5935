"""Stumps that AdaBoost's default does not take: of rows that are drawn by their weights, and of the least impurity.

The first are `buildDecisionStump` of J. Kun, Weak Learning, Boosting, and the AdaBoost algorithm (2015): 500 rows are
drawn; of every column and every value v that was drawn the question "at least v?" is asked, and of these the one is
taken whose two sides differ most in their labels. Each side then votes as most of its draws do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.boosting.stumps import Stump, first_code, leads_by_code, votes_of
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.folds import mix, row_hashes
from rulekit.learners.data.problem import Problem


def judged(problem: Problem, weights: Ints, where: int | None, votes: Floats, answers: Floats | None = None) -> Stump:
    """A stump with the weight [n] of the rows on which it is right and wrong; answers: the votes that rows get."""
    if answers is not None and len(answers) == 1:
        where, votes = None, answers
    said = np.broadcast_to(votes, len(weights)) if where is None else votes[problem.codes[where]]
    right = int(weights[(said > 0.0) == (problem.labels == 1)].sum())
    return Stump(where, votes, right, int(weights.sum()) - right)


def in_own_order(problem: Problem, seed: int) -> Ints:
    """Row numbers [n] in an order that says nothing of the order in which the rows were given."""
    hashes = row_hashes(problem, seed)
    mix(hashes, problem.labels)
    return np.argsort(hashes, kind="stable")


def drawn_rows(order: Ints, weights: Ints, draws: int, rng: np.random.Generator) -> Ints:
    """Row numbers [draws], each drawn by weights [n] and put back; order: see `in_own_order`."""
    below = np.cumsum(weights[order])
    return np.asarray(order[np.searchsorted(below, rng.integers(0, int(below[-1]), draws), side="right")])


def resampled_stump(problem: Problem, rows: Ints, cuts: Sequence[Bools]) -> tuple[int, Floats]:
    """The column and the votes of the stump of the least error on rows that were drawn; of equals the first column.

    A cut stands just below a value that was drawn; a side of as many draws of either label votes no. What has no order
    votes by level, 0 where none was drawn.
    rows: see `drawn_rows`; cuts: see `cuts_of`.
    """
    labels = problem.labels[rows].astype(np.int64)
    best: tuple[int, int, Floats] = (-1, 0, np.zeros(0))
    for j, column in enumerate(problem.columns):
        drawn = problem.codes[j][rows].astype(np.int64)
        counts = np.bincount(2 * drawn + labels, minlength=2 * column.n_codes).reshape(-1, 2)
        lead, known = counts[:, 1] - counts[:, 0], counts.sum(axis=1) > 0
        first = first_code(column)
        below_drawn = np.append(known[first + 1 :], True)[: len(cuts[j])]
        ahead, votes = votes_of(column, lead, known, below_drawn & cuts[j])
        if ahead > best[0]:
            best = ahead, j, votes
            if column.ordered:
                for side in (votes[first:] > 0.0, votes[first:] < 0.0):
                    votes[first:][side] = 1.0 if lead[first:][side].sum() > 0 else -1.0
    return best[1], best[2]


def purest_stump(
    problem: Problem, weights: Ints, cuts: Sequence[Bools], known: Sequence[Bools], n_threads: int
) -> Stump:
    """The stump whose sides have the least Gini impurity, each of which votes as most of its weight has it."""
    leads = leads_by_code(problem, weights, n_threads)
    sums = leads_by_code(problem, weights, n_threads, np.ones_like(problem.labels))
    total = int(weights.sum())
    lead = int(leads[0].sum()) if leads else 2 * int(weights[problem.labels == 1].sum()) - total
    best: tuple[float, int | None, Floats] = (float(_purity(lead, total)), None, np.array([1.0 if lead > 0 else -1.0]))
    for j, column in enumerate(problem.columns):
        found, votes = _purest_votes(column, leads[j], sums[j], known[j], cuts[j])
        if found > best[0]:
            best = found, j, votes
    _, where, votes = best
    return judged(problem, weights, where, votes, np.unique(votes[votes != 0.0]))


def _purest_votes(column: BinnedColumn, lead: Ints, weight: Ints, known: Bools, cuts: Bools) -> tuple[float, Floats]:
    """How pure the best sides of a column are, and their votes [n_codes].

    What stands before the first code of the order, missing cells, is a side of its own; levels are cut in the order of
    their share of label 1, in which two sides of the least impurity are found (L. Breiman and others, Classification
    and Regression Trees, 1984, theorem 4.5).
    """
    first = first_code(column)
    votes = np.where(known, np.where(lead > 0, 1.0, -1.0), 0.0)
    purity = float(_purity(lead, weight)[:first].sum())
    order = np.arange(first, len(lead))
    if not column.ordered:
        share = np.divide(lead, weight, out=np.full(len(lead), -2.0), where=weight > 0)
        order = order[np.argsort(share[order], kind="stable")]
        cuts = np.ones(len(order), dtype=bool)
    if not len(order):
        return purity, votes
    below, weight_below = np.cumsum(lead[order]), np.cumsum(weight[order])
    above, weight_above = below[-1] - below, weight_below[-1] - weight_below
    sides = _purity(below, weight_below) + _purity(above, weight_above)
    low, high = np.where(below > 0, 1.0, -1.0), np.where(above > 0, 1.0, -1.0)
    low[-1:] = high[-1:] = 1.0 if below[-1] > 0 else -1.0
    cut = int(np.argmax(np.where(cuts, sides, -1.0)))
    votes[order[: cut + 1]], votes[order[cut + 1 :]] = low[cut], high[cut]
    if not column.ordered:
        votes[first:][~known[first:]] = 0.0
    return purity + float(sides[cut]), votes


def _purity(lead: Ints | int, weight: Ints | int) -> Floats:
    """The weight less its Gini impurity, but for a constant: lead^2 / weight, 0 of no weight."""
    leads, weights = np.asarray(lead, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    return np.asarray(np.divide(leads * leads, weights, out=np.zeros(leads.shape), where=weights > 0))
