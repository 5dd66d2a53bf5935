"""What the log-likelihood gains where activations rise: by a further cause or inhibitor, for a few strengths.

Of a row with activation s of its causes and h of its inhibitors, P(C = 1) = exp(-h) (1 - exp(-s)); without inhibitors h
is 0, and this is a noisy-or. There a row of class 0 loses what its activation rises by; only rows of class 1 are asked.
A cause also raises the activation of rows that miss its column, where their cells are summed out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.fitting.strengths import exact_gains, log_positive
from rulekit.learners.noisy_or.search.causes import Cause
from rulekit.learners.noisy_or.search.fits import Fit, Rows
from rulekit.learners.noisy_or.search.joint_causes import TRIED
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.schema import MISSING_CODE

_RISES = np.concatenate([[0.0], 2.5 * 2.0 ** np.arange(-12.0, 1.0)])
"""The rises of rows with a missing cell for which the gain is added up, from .0006 on; between them it is read off."""


def log_likelihoods(s: Floats, h: Floats, positive: Bools) -> Floats:
    """The log of P(C = the label) [n] of rows with these activations [n]."""
    return np.where(positive, log_positive(s) - h, log_negative(s, h))


def log_negative(s: Floats, h: Floats) -> Floats:
    """The log of P(C = 0), log(1 - exp(-h) + exp(-h - s)) [n], without loss of digits."""
    return np.asarray(np.logaddexp(log_positive(h), -h - s))


def gains_of_cause(s: Floats, h: Floats, positive: Bools) -> Floats:
    """By how much the log-likelihood of each row rises [n, len(TRIED)] where a further cause holds on it."""
    return _gains(lambda strength: log_likelihoods(s + strength, h, positive), TRIED)


def gains_of_inhibitor(s: Floats, h: Floats, positive: Bools) -> Floats:
    """The same of a further inhibitor."""
    return _gains(lambda strength: log_likelihoods(s, h + strength, positive), TRIED)


def gains_of_positive(s: Floats, weights: Floats, rises: Floats) -> Floats:
    """What positive rows of these weights gain [n, n_rises] without inhibitors; sums over rows are exact."""
    return exact_gains(_gains(lambda rise: log_positive(s + rise), rises), weights)


def _gains(reached: Callable[[float], Floats], rises: Floats) -> Floats:
    before = reached(0.0)
    return np.stack([reached(rise) - before for rise in rises.tolist()], axis=1)


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
    sums = gains_of_positive(s[missed], weights[missed], _RISES).sum(axis=0)
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
