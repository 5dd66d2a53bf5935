"""Stumps of the least Gini impurity (L. Breiman and others, Classification and Regression Trees, 1984, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.problem import Problem
from rulekit.learners.boosting.stumps import Stump, first_code, leads_by_code
from rulekit.learners.counting.histograms import Bools, Floats, Ints


def purest_stump(
    problem: Problem,
    weights: Ints,
    cuts: Sequence[Bools],
    known: Sequence[Bools],
    n_threads: int,
    missing_never_helps: bool = False,
) -> Stump:
    """The stump whose sides have the least Gini impurity, each of which votes as most of its weight has it.

    As `best_stump` otherwise. A side may be purer though both vote alike; such a stump is the constant one.
    """
    leads = leads_by_code(problem, weights, n_threads)
    sums = leads_by_code(problem, weights, n_threads, np.ones_like(problem.labels))
    total = int(weights.sum())
    lead = int(leads[0].sum()) if leads else 2 * int(weights[problem.labels == 1].sum()) - total
    constant = np.array([1.0 if lead > 0 else -1.0])
    best: tuple[float, int | None, Floats, int] = (float(_purity(lead, total)), None, constant, abs(lead))
    for j, column in enumerate(problem.columns):
        against = first_code(column) if missing_never_helps else 0
        purity, votes = _votes_of(column, leads[j], sums[j], known[j], cuts[j], against)
        if purity > best[0]:
            best = purity, j, votes, int(leads[j] @ votes.astype(np.int64))
    _, where, votes, ahead = best
    answers = np.unique(votes[votes != 0.0])
    if len(answers) == 1:
        where, votes = None, answers
    return Stump(where, votes, (total + ahead) // 2, (total - ahead) // 2)


def _votes_of(
    column: BinnedColumn, lead: Ints, weight: Ints, known: Bools, cuts: Bools, against: int
) -> tuple[float, Floats]:
    """How pure the best sides of a column are, and their votes [n_codes].

    What stands before the first code of the order, missing cells, is a side of its own; levels are cut in the order of
    their share of label 1, in which two sides of the least impurity are found (Breiman, theorem 4.5).
    """
    first = first_code(column)
    votes = np.where(known, np.where(lead > 0, 1.0, -1.0), 0.0)
    votes[:against] = -1.0
    # A side that may not vote as it is adds nothing.
    purity = float(np.sum(np.where(votes * lead > 0, _purity(lead, weight), 0.0)[:first]))
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
    allowed = cuts & (column.feature.monotone * (high - low) >= 0.0)
    cut = int(np.argmax(np.where(allowed, sides, -1.0)))
    votes[order[: cut + 1]], votes[order[cut + 1 :]] = low[cut], high[cut]
    if not column.ordered:
        votes[first:][~known[first:]] = 0.0
    return purity + float(sides[cut]), votes


def _purity(lead: Ints | int, weight: Ints | int) -> Floats:
    """The weight less its Gini impurity, but for a constant: lead^2 / weight, 0 of no weight."""
    leads, weights = np.asarray(lead, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    return np.asarray(np.divide(leads * leads, weights, out=np.zeros(leads.shape), where=weights > 0))
