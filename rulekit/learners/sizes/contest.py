"""One contest for all learners: is one model worse than another on the same rows, and how sure is that?

Two models that are alike err on the same rows, so the difference of the two is far surer than the error of either. A
contest holds the mean difference and its standard error; each caller says only by how many of these a model may be
worse. The standard error is over rows, over distinct rows (many equal ones may all be one exception) or over folds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.learners.sums_of_rows.histograms import exact_sum

_ROUNDED = 1e-12
"""A mean difference that roundings alone may make."""
NOTHING = 1e-300
"""In place of no weight: rows that were held out may all be of classes that are told apart before."""


@dataclass(frozen=True, slots=True)
class Contest:
    """By how much one model is worse than another: the mean over all rows, and its standard error."""

    more: float
    error: float

    @classmethod
    def over_rows(cls, more: Floats, weights: Floats) -> Contest:
        """Of differences [n] by row, each of which counts as often as its weight [n] says."""
        total = max(float(weights.sum()), 1.0)
        mean = float(more @ weights) / total
        variance = float((more - mean) ** 2 @ weights) / total
        return cls(mean, math.sqrt(variance / total))

    @classmethod
    def over_distinct(cls, more: Floats, weights: Floats, unit: Array) -> Contest:
        """Of differences [n] by row, where rows of one number [n] are equal; exact in any order of the rows."""
        total, more = exact_sum(weights), weights * more
        mean = exact_sum(more) / total if total else 0.0
        # Equal rows have one loss for each label, so that their sums hardly depend on the order; a bit decides nothing.
        error = math.sqrt(exact_sum(np.bincount(unit, more - mean * weights) ** 2))
        return cls(mean, error / total if total else 0.0)

    @classmethod
    def over_folds(cls, more: Floats, weights: Floats) -> Contest:
        """Of differences in weight [F] by fold; weights [F]: of the rows of each."""
        weights = np.maximum(weights, NOTHING)
        return cls(float(more.sum() / weights.sum()), float(over_folds((more / weights)[:, None])[0]))

    @classmethod
    def of_decisions(cls, more: float, differ: float, total: float) -> Contest:
        """Of two error rates over so many rows; differ: the share of rows which the two decide differently."""
        return cls(more, math.sqrt(max(differ - more * more, 0.0) / total))

    @classmethod
    def of_counts(cls, errors: float, fewer: float) -> Contest:
        """Of so many errors beside fewer, where only their numbers are known: these vary as their square root."""
        return cls(errors - fewer, math.sqrt(errors))

    def within(self, margin: float) -> bool:
        """Whether the one is worse than the other by at most so many standard errors."""
        return self.more <= margin * (1.0 + 1e-9) * self.error + _ROUNDED


def over_folds(values: Floats) -> Floats:
    """The standard error [T] of the mean of values [F, T]; 0 of a single fold, which says nothing of it."""
    folds = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(folds)) if folds > 1 else np.zeros(values.shape[1])


def of_rate(rate: float, total: float) -> float:
    """The standard error of a rate over so many rows."""
    return math.sqrt(rate * (1.0 - rate) / max(1.0, total))
