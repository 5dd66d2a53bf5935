"""The learner noisy-or-paper: the noisy-or of the paper, whose causes are conditions on one column each.

Causes are found one after another; of columns with missing cells, these are summed out. What a further cause is worth
is added up over the positive rows for a few strengths that it may have. Of the negative rows only what they weigh by
code is asked for. Where missing cells are summed out, a cause raises the activation of the rows that miss its column,
too, and that counts. The threshold is tuned on rows, as a short probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.contract import Candidate, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import TRIED, AnyCause, Cause, Causes, add_by_code, gains
from rulekit.learners.noisy_or.learner import LEAST_GAIN, CausesSettings, FittedCauses, HeldRows, NoisyOrs, ever_longer
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, coordinate_descent, exact_gains, log_positive
from rulekit.learners.noisy_or.model import CausePart, NoisyOr, shortened
from rulekit.learners.papers.noisy_or.em import Unknown, expectation_maximisation, start_of
from rulekit.learners.parameters import number, one_of, setting, whole
from rulekit.learners.sums_of_rows.histograms import count_cells, information_gain
from rulekit.numbers import strength_of, threshold_between
from rulekit.schema import MISSING_CODE

_SETTLED = 1e-4  # nats by which an iteration must raise the objective where cells are summed out
_RISES = np.concatenate([[0.0], 2.5 * 2.0 ** np.arange(-12.0, 1.0)])
"""The rises of rows with a missing cell for which the gain is added up, from .0006 on; between them it is read off."""


@dataclass(frozen=True, slots=True, eq=False)
class SummedCauses(FittedCauses):
    """Causes, and by column with the code that says missing the strength of the cells that are summed out."""

    unknown: tuple[tuple[Cause, float], ...] = ()

    def part(self, total: float, cut: int = -1) -> CausePart:
        """As a part of a model, in which a missing cell is a cause as well."""
        own = CausePart.of(self.causes, self.strengths, self.leak, total, cut)
        columns = [cause for cause, _ in self.unknown]
        further = shortened(columns, [float(-np.expm1(-strength)) for _, strength in self.unknown])
        return replace(own, causes=(*own.causes, *further))


class SummedRows:
    """The rows of a problem, all and the positive ones alone, and the conditions that may be causes.

    summed: the columns [n_columns] of which missing cells are summed out.
    """

    def __init__(self, question: Question, problem: Problem, causes: Sequence[Causes], summed: Bools) -> None:
        self.rows, self.causes, self.settings, self.question = HeldRows(problem), causes, question.settings, question
        self.least = least_side(problem.total)
        self.positive = np.flatnonzero((problem.labels == 1) & (problem.weights > 0))
        self.own = problem.take(self.positive)
        self.weights = self.own.in_rows
        # The weight of the rows of class 0 and 1 by code; how often a known cell of a column has each code.
        rows = problem.labels, problem.weights
        by_code = (count_cells(problem.codes[each.column], *rows, each.n_codes) for each in causes)
        self.by_code: list[Floats] = [np.multiply(each, problem.weight_unit, dtype=np.float64) for each in by_code]
        self.shares: dict[int, Floats] = {}
        for column in np.flatnonzero(summed).tolist():
            counts = np.bincount(problem.codes[column], problem.weights, problem.columns[column].n_codes)
            counts[MISSING_CODE] = 0.0
            self.shares[column] = np.asarray(counts / max(counts.sum(), 1.0))

    def grown(self) -> Iterator[SummedCauses]:
        """The best causes, one more each time."""

        def longer(fit: SummedCauses) -> SummedCauses | None:
            found = self.best(fit)
            return None if found is None else self.best_fit((*fit.causes, found), fit)

        return ever_longer(self.best_fit(()), longer, self.settings.max_causes, self.question.watch.check)

    def best_fit(self, causes: Sequence[AnyCause], start: SummedCauses | None = None) -> SummedCauses:
        codes, prior = self.rows.problem.codes, self.settings.lam
        known = Unknown.of(causes, self.shares)
        missing = [np.asarray(codes[column] == MISSING_CODE) for column in known.columns]
        unknown = known if any(rows.any() for rows in missing) else None
        missing = missing if unknown else []

        def descent(incidence: Incidence, begin: Strengths) -> Strengths:
            return self._descent(incidence, begin, unknown)

        fit = self.rows.fitted(causes, prior, descent, start, missing)
        left = Unknown.of(fit.causes, self.shares)
        levels = [Cause(column, np.arange(len(self.shares[column])) == MISSING_CODE) for column in left.columns]
        said = tuple(zip(levels, left.strengths(np.array(fit.strengths)).tolist(), strict=True))
        return SummedCauses(fit.causes, fit.strengths, fit.leak, fit.likelihood, fit.objective, said)

    def _descent(self, incidence: Incidence, start: Strengths, unknown: Unknown | None) -> Strengths:
        settings, check = self.settings, self.question.watch.check
        prior, n_iter = settings.lam, settings.n_iter
        if unknown is None and settings.method == "coordinate":
            return coordinate_descent(incidence, start, prior=prior, sweeps=n_iter, check=check).strengths
        starts, tolerance = [start], _SETTLED
        if unknown is None:
            seeds = (self.question.seed + number for number in range(1, settings.n_init))
            starts, tolerance = [start, *(start_of(incidence, seed=seed) for seed in seeds)], 1e-7
        more = {"prior": prior, "iterations": n_iter, "tolerance": tolerance, "check": check}
        found = [expectation_maximisation(incidence, each, unknown=unknown, **more) for each in starts]
        return max(found, key=lambda each: each.objectives[-1]).strengths

    def best(self, fit: SummedCauses) -> Cause | None:
        settings, s = self.settings, self.rows.activations(fit, 1e-9)[self.positive]
        for level, strength in fit.unknown:
            s += strength * level.holds(self.own.codes)
        each = _gains_of_positive(s, self.weights, TRIED)
        best, found = LEAST_GAIN, None
        for causes, by_class in zip(self.causes, self.by_code, strict=True):
            sums, held = sums_of_causes(self.own, causes, each), causes.sums(by_class)
            if not len(sums):
                continue
            worth = sums - np.outer(held[:, 0] + settings.lam, TRIED)
            if by_class[MISSING_CODE].any() and causes.column in self.shares:
                # How often an unknown cell has each code where it has caused nothing.
                left = self.shares[causes.column].copy()
                for cause, strength in zip(fit.causes, fit.strengths, strict=True):
                    if isinstance(cause, Cause) and cause.column == causes.column:
                        left[cause.condition] *= np.exp(-strength)
                often = causes.sums(left[:, None] / max(left.sum(), 1e-300))
                missed = np.flatnonzero(self.own.codes[causes.column] == MISSING_CODE)
                negative = float(by_class[MISSING_CODE, 0])
                worth += gains_of_missing(s[missed], self.weights[missed], negative, often, TRIED)
            worth = worth.max(axis=1)
            worth[held.sum(axis=1) < self.least] = 0.0
            if settings.least_gain:
                tables = np.stack([held, by_class.sum(axis=0) - held], axis=1)
                worth[information_gain(tables) < settings.least_gain] = 0.0
            place = int(np.argmax(worth))
            if worth[place] > best:
                cause = causes.cause(place)
                if cause.key not in {other.key for other in fit.causes}:
                    best, found = float(worth[place]), cause
        return found


def sums_of_causes(problem: Problem, causes: Causes, each: Floats) -> Floats:
    """The sums [n_causes, m] of numbers [n, m] over the rows on which each possible cause of a column holds."""
    codes, by_code = problem.codes[causes.column], np.zeros((1, causes.n_codes, each.shape[1]))
    add_by_code(codes, np.arange(len(codes)), np.array([0, len(codes)]), each, by_code)
    return causes.sums(by_code[0])


def gains_of_missing(s: Floats, weights: Floats, negative: float, often: Floats, strengths: Floats) -> Floats:
    """What each strength of each cause [n_causes, n_strengths] gains by the rows that miss its column.

    s, weights: of the positive rows that do; negative: the weight of the others; often [n_causes, 1]: how often each
    cause holds at an unknown value that has caused nothing so far.
    """
    rises = -np.log1p(often * np.expm1(-strengths))
    if not len(s):
        return np.asarray(-negative * rises)
    sums = _gains_of_positive(s, weights, _RISES).sum(axis=0)
    return np.asarray(np.interp(rises, _RISES, sums) - negative * rises)


def _gains_of_positive(s: Floats, weights: Floats, rises: Floats) -> Floats:
    """What positive rows of these weights gain [n, n_rises]; sums over rows are exact."""
    return exact_gains(gains(lambda rise: log_positive(s + rise), rises), weights)


Goal = Literal["accuracy", "f1", "break-even"]


def best_cut(
    activations: Floats, labels: npt.NDArray[Any], goal: Goal = "accuracy", weights: Floats | Ints | None = None
) -> float:
    """The value -log t that serves a goal best, in the middle between two activations; equal ones go the same way.

    activations, labels, weights [n]: of the rows. At the break-even, precision and recall are as near to each other as
    they can be. Of equally good cuts the one nearest to t = 1/2 is taken. The first cut is above all rows; below all of
    them there is none where a row has activation 0.
    """
    order = np.argsort(-activations, kind="stable")
    s = activations[order]
    each = np.ones(len(s)) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    last = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
    above, below = s[last], np.append(s[last[1:]], 0.0)
    middle = below + (above - below) / 2.0
    cuts = np.concatenate([[s[0] + math.log(2.0)], np.where(middle < above, middle, below)])
    kept = np.concatenate([[True], above > 0.0])
    # What lies above each cut: the weight of all rows, and of the positive ones.
    sums = np.stack([np.cumsum(each), np.cumsum(each * (np.asarray(labels)[order] == 1))])[:, last]
    predicted, true = np.column_stack([np.zeros(2), sums])[:, kept]
    cuts, (total, positive) = cuts[kept], sums[:, -1]
    if goal == "accuracy":
        quality = total - positive + 2.0 * true - predicted
    elif goal == "f1":
        quality = np.divide(2.0 * true, predicted + positive, out=np.zeros_like(true), where=predicted + positive > 0.0)
    else:  # precision is true / predicted and recall true / positive
        quality = -np.abs(predicted - positive)
    best = np.flatnonzero(quality >= quality.max() - 1e-12 * abs(quality.max()))
    return float(cuts[best[np.argmin(np.abs(cuts[best] - math.log(2.0)))]])


def tuned_bound(model: Any, problem: Problem, goal: Goal) -> float:
    """The strength above which it is decided, by the activations of the rows by a model.

    It is that of the shortest probability between the same two activations as the best cut.
    """
    n, s = len(problem.labels), np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(n):
        s[rows] = model.activations(codes, rows.stop - rows.start)
    # Where causes speak against the class, a row is above the cut that is below it.
    top = float(s.max())
    cut = best_cut(top - s if model.flipped else s, problem.labels, goal, problem.in_rows)
    cut = top - cut if model.flipped else cut
    return _short(cut, float(s[s <= cut].max(initial=0.0)), float(s[s > cut].min(initial=np.inf)))


def _short(cut: float, low: float, high: float) -> float:
    """The strength of a short probability p with low <= strength < high, or the cut itself where there is none."""
    if not 0.0 <= low < high:
        return max(cut, 0.0)
    below, above = (
        float(-np.expm1(-s)) for s in (max(low, cut - 0.5 * (cut - low)), min(high, cut + 0.5 * (high - cut)))
    )
    if below < above:
        bound = strength_of(min(threshold_between(below, above, "float64"), 1.0 - 2.0**-53))
        if low <= bound < high:
            return bound
    return max(cut, 0.0)


Aim = Literal["half", "accuracy", "f1", "break-even"]
AIM: Any = setting(
    "half",
    one_of("half", "accuracy", "f1", "break-even"),
    "where it is decided: at a probability of 1/2, or where training rows have the best accuracy or F1 score, "
    "or equal precision and recall (of the last two, the size is the one of the least log loss)",
)


@dataclass(frozen=True)
class PaperNoisyOrSettings(CausesSettings):
    """Which conditions are causes, how their strengths are fitted, and where it is decided; all else is shared."""

    variant: Literal["general", "restricted"] = setting(
        "general",
        one_of("general", "restricted"),
        "general: what is not so may be a cause too (`not smoker`); restricted: it may not",
    )
    method: Literal["coordinate", "em"] = setting(
        "coordinate", one_of("coordinate", "em"), "how strengths are fitted: coordinate descent, or EM as in the paper"
    )
    n_iter: int = setting(200, whole(1), "most iterations of EM (the paper takes 50), or sweeps of coordinate descent")
    n_init: int = setting(1, whole(1), "starts of EM, of which the best is taken; all but the first are random")
    least_gain: float = setting(
        0.0,
        number(0),
        "least expected information gain of a cause, in nats: of a cut, a level or a word against all else (the paper "
        "takes .005; 0: any)",
    )
    threshold: Aim = AIM
    missing_values: Literal["auto", "sum", "level", "always"] = setting(
        "auto",
        one_of("auto", "sum", "level", "always"),
        "sum: a missing cell is summed out (any value, as often as the column has it); level: that a cell is missing "
        "may be a cause; auto: of two classes the better on held-out rows, else sum; always: summed out, of columns "
        "that were never missing, too",
    )


class TunedNoisyOrs(NoisyOrs):
    """Noisy-ors with a threshold that is tuned on the training rows."""

    def seeks_few_errors(self, settings: Any) -> bool:
        """Not where the threshold is to find the class, which makes more errors on purpose."""
        return settings.threshold not in ("f1", "break-even")

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        if len(classes) > 2 and questions[0].settings.threshold == "break-even":
            why = "precision and recall are of two classes"
            raise InputError(why, where="threshold", fix="take half, accuracy or f1")
        return super().prepare(problem, questions, data, classes)

    def nothing(self, question: Question) -> Candidate:
        found = super().nothing(question)
        return replace(found, model=_compared(found.model, question))

    def decided(self, model: Any, question: Question) -> Any:
        aim = question.settings.threshold
        if aim == "half":
            return model
        model = _compared(model, question)
        return replace(model, bound=tuned_bound(model, question.problem, aim))


def _compared(model: Any, question: Question) -> Any:
    """A model of several classes, which by a threshold of its own is not compared by its strength alone."""
    return replace(model, compared=question.settings.threshold == "half") if isinstance(model, NoisyOr) else model


class PaperNoisyOrs(TunedNoisyOrs):
    """Noisy-ors of conditions on single columns; see PaperNoisyOrClassifier."""

    word = "noisy-or-paper"
    estimator = "rulekit.learners.papers.noisy_or.estimators:PaperNoisyOrClassifier"
    settings = PaperNoisyOrSettings

    def check(self, settings: PaperNoisyOrSettings) -> None:
        if settings.n_init > 1 and settings.method != "em":
            why = "coordinate descent reaches the same maximum from every start"
            raise InputError(why, where="n_init", fix="leave it out, or take method=em")

    def grow(self, question: Question, problem: Problem, family: str) -> Iterator[FittedCauses]:
        settings: PaperNoisyOrSettings = question.settings
        if not 0.0 < problem.positive < problem.total:
            return iter(())
        general, level = settings.variant == "general", settings.missing_values == "level"
        causes = self.conditions(question, problem, family, missing=level, general=general)
        return SummedRows(question, problem, causes, _summed(question)).grown()

    def variants(self, question: Question) -> list[Question]:
        """Beside a question that with missing cells as a level, where rows have some and nothing else is asked."""
        settings: PaperNoisyOrSettings = question.settings
        if settings.missing_values != "auto" or question.plan.kind != "two" or not _summed(question).any():
            return [question]
        return [question, replace(question, settings=replace(settings, missing_values="level"))]


def _summed(question: Question) -> Bools:
    """Of which columns [n_columns] missing cells are summed out."""
    missing, way = question.plan.missing, question.settings.missing_values
    return np.asarray((missing | (way == "always")) & (way != "level"), dtype=bool)
