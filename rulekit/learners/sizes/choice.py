"""Which size is taken: held-out errors of the candidates of a path, and the choice from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


_SMALL = 0.1
"""The share of what rules gain in loss on the training rows that a smaller size with no more errors may leave out."""
_SURELY = 2.0
"""Standard errors of the difference by which a smaller size is surely better: three folds tell little of them."""
_TELLS_APART = 1e-6
"""What a nat of loss counts beside an error, where it only tells apart places with as many errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Held-out error by the place on the path.

    wrong [F, T]: the weight of the errors in each of F finished folds at 1 .. T places; weights [F]: of its rows.
    error [T]: the rate of all held-out rows; standard_error [T]: of it, over the folds; smooth [T]: see `smoothed`.
    variant: which of several paths did best. cut: the only fold was cut short, and larger sizes are not known.
    nothing [F]: the weight of the errors without any rule (None: not known).
    cost [T]: what reading each place costs, as an error rate, on the mean of the folds (None: nothing); by_error: the
    place of least error and cost is taken, which is not smoothed. macro_f1 [T]: of all held-out rows (None: not known).
    rare: a class is rare, and finding it counts. classes: how many there are. lost [F, 1 + T]: the weighted loss
    without any rule and at each place, where places are compared by it (None: by their errors). errors_first: the loss
    only tells apart places with as many errors.
    """

    wrong: Floats
    weights: Floats
    variant: int = 0
    cut: bool = False
    nothing: Floats | None = None
    cost: Floats | None = None
    macro_f1: Floats | None = None
    rare: bool = False
    classes: int = 2
    lost: Floats | None = None
    errors_first: bool = False
    by_error: bool = False

    @property
    def folds(self) -> int:
        return len(self.wrong)

    @property
    def by_fold(self) -> Floats:
        return np.asarray(self.wrong / np.maximum(self.weights, NOTHING)[:, None])

    @property
    def error(self) -> Floats:
        return np.asarray(self.wrong.sum(axis=0) / max(float(self.weights.sum()), NOTHING))

    @property
    def standard_error(self) -> Floats:
        return over_folds(self.by_fold)

    @property
    def smooth(self) -> Floats:
        return self.error if self.by_error else smoothed(self.error)

    @property
    def paid(self) -> Floats:
        """The error of each place with what reading it costs [T]."""
        return self.error if self.cost is None else np.asarray(self.error + self.cost)

    def at(self, place: int) -> tuple[float | None, float | None, float | None]:
        """Error, standard error (None of a single fold) and smoothed error of a place from 1.

        None beyond the last that was checked.
        """
        if self.cut and place > self.wrong.shape[1]:
            return None, None, None
        place = min(place, self.wrong.shape[1])
        error, deviation, smooth = (float(v[place - 1]) for v in (self.error, self.standard_error, self.smooth))
        return error, deviation if self.folds > 1 else None, smooth

    def f1_at(self, place: int) -> float | None:
        """The macro F1 score of a place from 1; None where it is not known."""
        if self.macro_f1 is None or (self.cut and place > self.wrong.shape[1]):
            return None
        return float(self.macro_f1[min(place, self.wrong.shape[1]) - 1])

    def best(self, parsimony: float = 0.0) -> int:
        """The smallest number of units that is not worse than the best one.

        Not worse: its smoothed error is at most `parsimony` standard errors, over the folds, of the difference of the
        two above the least. What makes a fold hard for both is no difference, so that of it is the smaller one.
        """
        total, by_fold = (self.paid, self.by_fold) if self.by_error else (self.smooth, smoothed(self.by_fold))
        if self.lost is not None:
            lost = self.lost[:, 1:] / self.weights[:, None]
            share = _TELLS_APART if self.errors_first else 1.0
            before = (total, by_fold) if self.errors_first else (0.0, 0.0)
            total = before[0] + share * self.lost[:, 1:].sum(axis=0) / self.weights.sum()
            by_fold = before[1] + share * lost
        at = int(np.argmin(total))
        slack = parsimony * over_folds(by_fold - by_fold[:, [at]])
        return int(np.flatnonzero(total <= total[at] + slack + 1e-12)[0]) + 1

    def taken(
        self, longest: int, parsimony: float, *, all_stay: bool, jointly: bool = False, training: Floats | None = None
    ) -> int:
        """The place that the model has; 0 (no rule) where held-out rows say that rules do clearly worse than none.

        By the least error already where they are not better than none by a standard error: of many sizes and variants
        the best one is often better by chance.

        all_stay: the longest, unless a smaller model is asked for; where sizes are chosen for several questions
        together (jointly) unless a smaller one is better by a standard error of the difference. By a loss: unless the
        one of the least loss is surely better, or it alone is better than none; then the first that is as good. That
        the training rows say, if they are known: training [2, 1 + T] has their loss and errors.
        """
        if self.rare and parsimony == 0.0:
            return min(longest, self.finds_most()[0])
        best, all_stay = self.best(parsimony), all_stay and parsimony == 0.0
        if self.lost is not None:
            lost = self.lost.sum(axis=0)
            if lost[best] >= lost[0]:
                return 0
            surely = not Contest.over_folds(self.lost[:, -1] - self.lost[:, best], self.weights).within(_SURELY)
            if not all_stay or surely or lost[-1] >= lost[0]:
                longest = min(best, longest)
            if training is None and self.nothing is not None:
                training = np.array([lost, np.append(self.nothing.sum(), self.wrong.sum(axis=0))])
            return settled(training[0], training[1], longest) if all_stay and training is not None else longest
        if (
            self.by_error
            and self.nothing is not None
            and self.paid[best - 1] * self.weights.sum() >= self.nothing.sum()
        ):
            return 0
        places: tuple[int, ...] = (best,)
        if all_stay and not (jointly and self._worse(longest, self.wrong[:, best - 1])):
            places = (longest, best)
        return next((n for n in places if self.nothing is None or not self._worse(n, self.nothing)), 0)

    def finds_most(self) -> tuple[int, float]:
        """The place with the largest macro F1, and that; 0 (no rule) where none has more than the majority alone.

        Of places whose error is at most a standard error, of a rate over these rows, above the least.
        """
        assert self.macro_f1 is not None
        assert self.nothing is not None
        total, missed = float(self.weights.sum()), float(self.nothing.sum())
        least = min(float(self.error.min()), missed / total)
        bound = least + of_rate(least, total) + 1e-12
        shown = np.where(self.error <= bound, self.macro_f1, 0.0)
        place, alone = int(np.argmax(shown)), 2.0 / self.classes * (total - missed) / (2.0 * total - missed)
        return (place + 1, float(shown[place])) if shown[place] > alone + 1e-12 else (0, alone)

    def _worse(self, place: int, than: Floats) -> bool:
        more = self.wrong[:, min(place, self.wrong.shape[1]) - 1] - than
        return self.folds > 1 and not Contest.over_folds(more, self.weights).within(1.0)


def cheapest(curves: Sequence[Curve]) -> Curve:
    """The curve with the least held-out error and cost, at its largest size or at any; of equal ones the first.

    Where a class is rare, that of the largest macro F1.
    """

    def worse(curve: Curve) -> tuple[float, float]:
        f1 = -curve.finds_most()[1] if curve.rare else 0.0
        return f1, float(curve.paid.min() if curve.by_error else curve.paid[-1])

    return min(curves, key=worse)


def settled(loss: Floats, wrong: Floats, longest: int) -> int:
    """The first place with no more errors than the longest, and nearly all of its gain in loss.

    loss, wrong [1 + T]: of some rows, without any rule first. On training rows both shows what larger sums learn, and
    what they take for it by chance: where hardly anything does, the smaller one is as good.
    """
    near = (loss <= loss[longest] + _SMALL * (loss[0] - loss[longest]) + 1e-12) & (wrong <= wrong[longest] + 1e-12)
    return int(np.argmax(near[1:])) + 1 if longest else 0


def smoothed(error: Floats) -> Floats:
    """Each value [..., T] averaged with the two that follow, by 2-1-1.

    Looking only ahead keeps the bit that completes a rule: a symmetric window would count the large error before it.
    """
    ahead = np.concatenate([error, error[..., -1:], error[..., -1:]], axis=-1)
    return np.asarray((2 * error + ahead[..., 1:-1] + ahead[..., 2:]) / 4)
