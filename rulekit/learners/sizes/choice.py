"""What held-out rows say of models that were learned without them, and which variant and size are taken from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats, Ints
from rulekit.graph.model_parts import macro_f1
from rulekit.learners.contract import Candidate, Question, Variants
from rulekit.learners.data.folds import drawn, equal_rows, row_hashes
from rulekit.learners.data.problem import Problem
from rulekit.learners.faults import checked_mask
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.learners.sums_of_rows.kernels import run_threads

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

    def at(self, place: int) -> tuple[float | None, float | None, float | None, float | None]:
        """Error, standard error, smoothed error and macro F1 score of a place from 1; None where one is not known."""
        if self.cut and place > self.wrong.shape[1]:
            return None, None, None, None
        place = min(place, self.wrong.shape[1]) - 1
        deviation = float(self.standard_error[place]) if self.folds > 1 else None
        f1 = None if self.macro_f1 is None else float(self.macro_f1[place])
        return float(self.error[place]), deviation, float(self.smooth[place]), f1

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
        nothing = math.inf if self.nothing is None else float(self.nothing.sum())
        if self.by_error and self.paid[best - 1] * self.weights.sum() >= nothing:
            return 0
        stays = all_stay and not (jointly and self._worse(longest, self.wrong[:, best - 1]))
        places = (longest, best) if stays else (best,)
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


# Variants by their losses -------------------------------------------------------------------------------------------

_CLEARLY = 0.05
"""By what share of the loss a bold variant must be better; errors over rows leave out the chance in growing rules."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Of held-out rows: the loss [n] of each variant that was asked for, the weight [n], which are identical [n].

    bold: the variants that are taken only where they are clearly better than all others.
    """

    by_variant: Mapping[int, Floats]
    weights: Floats
    unit: Ints
    bold: frozenset[int] = frozenset()

    @classmethod
    def joined(cls, folds: Sequence[Fold]) -> Losses | None:
        """Those of all folds together, of the variants that the last one was asked for; None where there are none."""
        own = [fold.losses for fold in folds if fold.losses is not None]
        if not own:
            return None
        first = np.cumsum([0, *(int(each.unit.max(initial=-1)) + 1 for each in own)])
        unit = np.concatenate([each.unit + begin for each, begin in zip(own, first[:-1].tolist(), strict=True)])
        rows = {v: np.concatenate([each.by_variant[v] for each in own]) for v in own[-1].by_variant}
        return cls(rows, np.concatenate([each.weights for each in own]), unit, own[-1].bold)

    def loss(self, v: int) -> float:
        """The sum over all rows, exact in any order."""
        return exact_sum(self.weights * self.by_variant[v])

    def contest(self, v: int, other: int) -> Contest:
        """How much worse a variant is than another; over distinct rows: many equal ones may all be an exception."""
        return Contest.over_distinct(self.by_variant[v] - self.by_variant[other], self.weights, self.unit)

    def likely_best(self, errors: float = 1.5) -> list[int]:
        """The variants that may still be the best one.

        Left out are those whose mean is above the least one by more than so many standard errors of the difference; a
        bold one, unless its mean is below those of the others by one of them and by _CLEARLY, a share.
        """
        asked = list(self.by_variant)
        careful = [v for v in asked if v not in self.bold]
        if careful:
            own = min(careful, key=self.loss)
            less, bold = (1.0 - _CLEARLY) * self.loss(own), [v for v in asked if v in self.bold]
            clear = [v for v in bold if self.loss(v) <= less and not self.contest(own, v).within(1.0)]
            asked = [*careful, *clear]
        best = min(asked, key=self.loss)
        return [v for v in asked if self.contest(v, best).within(errors)]

    def rivals(self, costs: Sequence[float]) -> list[int]:
        """Of the variants that may still be the best one, that of the least loss and the first of the least cost.

        Where a bold one has the least loss of all, which further rows may show to be clearly better, all of them.
        """
        likely, least = self.likely_best(), min(self.by_variant, key=self.loss)
        chosen = {self.likely_best(errors=0.0)[0], min(likely, key=lambda v: costs[v])}
        return sorted(chosen if least in likely else {*likely, least})


# Folds --------------------------------------------------------------------------------------------------------------

_ENOUGH = 4096.0
"""Held-out rows on which one of several variants is taken, and the others are looked for no more."""

_HELD_OUT = 1 << 17  # rows of a fold that are looked at: so many tell its errors to a tenth of a point


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """What was learned without the rows of one fold: the candidates, by variant, and what stands where none does.

    totals [2]: the weight of the held-out rows of label 0 and 1. wrong: by variant the weight of their errors [2, T],
    none where it was not asked for; nothing_wrong: that of all errors without any candidate. losses: of the held-out
    rows, where variants are compared by it; lost: by variant the weighted loss [1 + T] without any candidate and of
    each. how: whether the class is rare, and by what variants and sizes are compared; see Variants.
    """

    paths: tuple[Sequence[Candidate], ...]
    nothing: Candidate
    totals: Floats
    wrong: tuple[Floats, ...]
    nothing_wrong: float
    losses: Losses | None
    lost: tuple[Floats, ...]
    how: Mapping[str, bool]


def fold_of(
    question: Question,
    candidates: Sequence[Candidate],
    nothing: Candidate,
    variants: Variants | None,
    held: Problem,
    least: int,
    asked: Sequence[int] | None,
) -> Fold:
    """What the rows of a fold say of candidates that were learned without them; held: see `looked_at`.

    question: that of the other rows; variants: paths in place of the candidates, all or those asked for; a path that
    ended early goes on as it was, to `least` places.
    """
    variants, asked = (variants, asked) if variants else (Variants([lambda: candidates], lambda: 0), None)
    loss, of_rows = variants.loss, held.in_rows
    wanted = range(len(variants.paths)) if asked is None else asked

    def measured(v: int) -> tuple[Sequence[Candidate], Floats, Floats, Floats]:
        if v not in wanted:
            return (), np.zeros((2, 0)), np.zeros(0), np.zeros(0)
        path = variants.paths[v]()
        errors = held_out_errors(path, question.problem, held, max(least, len(path)))
        if loss is None:
            return path, errors, np.zeros(0), np.zeros(0)
        each = [loss(candidate, held) for candidate in (nothing, *path)]
        return path, errors, each[-1], np.array([exact_sum(of_rows * losses) for losses in each])

    # learners that compare by loss learn from few rows here, so that threads have more to do side by side
    n_threads = 1 if loss is None else question.n_threads
    paths, wrong, each, lost = zip(*run_threads(measured, range(len(variants.paths)), n_threads), strict=True)
    wrong_without = float(held_out_errors((), question.problem, held, 1).sum())
    totals: Floats = np.bincount(held.labels, held.weights, 2).astype(np.float64) * held.weight_unit
    losses = None
    if loss is not None:
        unit = equal_rows(row_hashes(held, question.seed))
        losses = Losses({v: each[v] for v in sorted(wanted)}, of_rows, unit, variants.bold)
    how = {name: getattr(variants, name) for name in ("rare", "errors_first", "by_error")}
    return Fold(tuple(map(tuple, paths)), nothing, totals, wrong, wrong_without, losses, lost if losses else (), how)


def looked_at(held: Problem, seed: int) -> Problem:
    """The rows of a fold that are looked at, in memory."""
    return held.here() if held.is_few(_HELD_OUT) else drawn(held, _HELD_OUT, seed)


def still_asked(folds: Sequence[Fold], weights: Sequence[float], asked: Sequence[int] | None) -> Sequence[int] | None:
    """The variants that are looked for in the next fold; weights: of the rows of each; asked: those of the last one."""
    if losses := Losses.joined(folds):
        return losses.rivals([path[-1].cost if path else 0.0 for path in folds[-1].paths])
    if sum(weights) >= _ENOUGH:  # what each variant costs, where rows are many, pays no more
        return [best_curve(folds, weights).variant]
    return asked


def best_curve(folds: Sequence[Fold], weights: Sequence[float], short: bool = False) -> Curve:
    """The curve of the variant that is taken, of those asked for in every fold.

    It is the cheapest; by losses the one that costs least of those as good as the best within an error.
    """
    nothing, curves = np.array([fold.nothing_wrong for fold in folds]), []
    true = np.sum([fold.totals for fold in folds], axis=0)
    for v, errors in enumerate(zip(*(fold.wrong for fold in folds), strict=True)):
        if all(each.shape[-1] for each in errors):
            wrong = _aligned(errors)
            costs = [np.array([each.cost for each in fold.paths[v]] or [0.0]) for fold in folds]
            cost = _aligned(costs, wrong.shape[-1]).mean(axis=0)  # errors may go on beyond the longest path
            missed = wrong.sum(axis=0).T
            f1 = macro_f1(true - missed, true - missed + missed[:, ::-1], true)
            lost = _aligned([fold.lost[v] for fold in folds], 1 + wrong.shape[-1]) if folds[0].lost else None
            known = {"nothing": nothing, "cost": cost, "macro_f1": f1, "lost": lost, **folds[0].how}
            curves.append(Curve(wrong.sum(axis=1), np.array(weights), v, short, **known))
    if losses := Losses.joined(folds):
        likely = losses.likely_best(errors=1.0)
        as_good = (curve for curve in curves if curve.variant in likely)
        return min(as_good, key=lambda curve: float(curve.paid[-1] - curve.error[-1]))
    return cheapest(curves)


def _aligned(values: Sequence[Floats], least: int = 0) -> Floats:
    """Values [..., T] of folds as one array [F, ..., T], T at least `least`; one that ended early goes on as it was."""
    longest = max(least, *(fold.shape[-1] for fold in values))
    kept = [(0, 0)] * (values[0].ndim - 1)
    return np.array([np.pad(fold, [*kept, (0, longest - fold.shape[-1])], mode="edge") for fold in values])


def held_out_errors(path: Sequence[Candidate], training: Problem, held: Problem, places: int) -> Floats:
    """The weight of held-out errors [2, places] of label 0 and 1.

    A path that ended early goes on as it was, and without any candidate as its prior.
    """
    if not path:
        found, missed = np.zeros((2, places)), 0 if training.share > 0.5 else 1
        found[missed] = held.weight_of(held.labels == missed)
        return found
    models, wrong = [candidate.model for candidate in path], np.zeros((2, len(path)), dtype=np.int64)
    kind: Any = type(models[0])
    together = hasattr(kind, "decide_all") and all(type(model) is kind for model in models)
    for rows, codes in held.codes.parts(len(held.labels)):
        positive, weights = held.labels[rows] == 1, held.weights[rows]
        n = len(positive)
        masks = kind.decide_all(models, codes, n) if together else (model.decides(codes, n) for model in models)
        for t, mask in enumerate(masks):
            decided = checked_mask(mask, models[t], n)
            wrong[:, t] += weights[decided & ~positive].sum(), weights[~decided & positive].sum()
    return np.asarray(wrong[:, np.minimum(np.arange(places), len(path) - 1)] * held.weight_unit)
