"""Stumps of rows that are drawn by their weights: `buildDecisionStump` of J. Kun, Weak Learning, Boosting, and the
AdaBoost algorithm (2015).

500 rows are drawn; of every column and every value v that was drawn the question "at least v?" is asked, and of these
the one is taken whose two sides differ most in their labels. Each side then votes as most of its draws do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.boosting.stumps import first_code, votes_of
from rulekit.learners.data.problem import Problem


def drawn_rows(weights: Ints, draws: int, rng: np.random.Generator) -> Ints:
    """Row numbers [draws], each drawn by weights [n] and put back."""
    below = np.cumsum(weights)
    return np.searchsorted(below, rng.integers(0, int(below[-1]), draws), side="right")


def resampled_stump(
    problem: Problem, rows: Ints, cuts: Sequence[Bools], missing_never_helps: bool = False
) -> tuple[int, Floats]:
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
        ahead, votes = votes_of(column, lead, known, below_drawn & cuts[j], first if missing_never_helps else 0)
        if ahead > best[0]:
            best = ahead, j, votes
            if column.ordered:
                for side in (votes[first:] > 0.0, votes[first:] < 0.0):
                    votes[first:][side] = 1.0 if lead[first:][side].sum() > 0 else -1.0
    return best[1], best[2]
