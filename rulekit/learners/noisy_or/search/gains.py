"""What the likelihood gains where activations rise: of rows that hold a cause, and of those that miss its column."""

from __future__ import annotations

import numpy as np

from rulekit.learners.binned.problem import Problem
from rulekit.learners.counting.histograms import Floats
from rulekit.learners.noisy_or.fitting.strengths import exact_gains, log_positive
from rulekit.learners.noisy_or.search.causes import Cause
from rulekit.learners.noisy_or.search.fits import Fit, Rows
from rulekit.schema import MISSING_CODE

_RISES = np.concatenate([[0.0], 2.5 * 2.0 ** np.arange(-12.0, 1.0)])
"""The rises of rows with a missing cell for which the gain is added up, from .0006 on; between them it is read off."""


def gains(s: Floats, weights: Floats, rises: Floats) -> Floats:
    """What the log-likelihood of positive rows with activations s [n] gains [n, n_rises]; sums over rows are exact."""
    before = log_positive(s)
    return exact_gains(np.stack([log_positive(s + rise) - before for rise in rises], axis=1), weights)


def gains_of_missing(
    own: Problem, weights: Floats, s: Floats, column: int, negative: float, often: Floats, strengths: Floats
) -> Floats:
    """What each strength of each cause [n_causes, n_strengths] gains by the rows that miss its column.

    own, weights, s: the positive rows; negative: the weight of the others that miss it; often [n_causes, 1]: how often
    each cause holds at an unknown value that has caused nothing so far.
    """
    rises = -np.log1p(often * np.expm1(-strengths))
    missed = np.flatnonzero(own.codes[column] == MISSING_CODE)
    if not len(missed):
        return np.asarray(-negative * rises)
    sums = gains(s[missed], weights[missed], _RISES).sum(axis=0)
    return np.asarray(np.interp(rises, _RISES, sums) - negative * rises)


def innocent_shares(fit: Fit, rows: Rows) -> dict[int, Floats]:
    """By column with cells to sum out how often [n_codes] such a cell has each code where it has caused nothing."""
    found = {}
    for column in np.flatnonzero(rows.summed).tolist():
        if not rows.is_missing(column).any():
            continue
        left = rows.share(column).copy()
        for cause, strength in zip(fit.causes, fit.strengths, strict=True):
            if isinstance(cause, Cause) and cause.column == column:
                left[cause.condition] *= np.exp(-strength)
        found[column] = left / max(left.sum(), 1e-300)
    return found
