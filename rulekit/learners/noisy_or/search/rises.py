"""By how much a further cause or inhibitor raises the log-likelihood of each row, for a few strengths that it may have.

Of a row with activation s of its causes and h of its inhibitors, P(C = 1) = exp(-h) (1 - exp(-s)); without inhibitors h
is 0, and this is a noisy-or.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.noisy_or.fitting.strengths import log_positive
from rulekit.learners.noisy_or.search.joint_causes import TRIED


def log_likelihoods(s: Floats, h: Floats, positive: Bools) -> Floats:
    """The log of P(C = the label) [n] of rows with these activations [n]."""
    return np.where(positive, log_positive(s) - h, log_negative(s, h))


def log_negative(s: Floats, h: Floats) -> Floats:
    """The log of P(C = 0), log(1 - exp(-h) + exp(-h - s)) [n], without loss of digits."""
    return np.asarray(np.logaddexp(log_positive(h), -h - s))


def gains_of_cause(s: Floats, h: Floats, positive: Bools) -> Floats:
    """By how much the log-likelihood of each row rises [n, len(TRIED)] where a further cause holds on it."""
    return _gains(lambda strength: log_likelihoods(s + strength, h, positive))


def gains_of_inhibitor(s: Floats, h: Floats, positive: Bools) -> Floats:
    """The same of a further inhibitor."""
    return _gains(lambda strength: log_likelihoods(s, h + strength, positive))


def _gains(reached: Callable[[float], Floats]) -> Floats:
    before = reached(0.0)
    return np.stack([reached(strength) - before for strength in TRIED.tolist()], axis=1)
