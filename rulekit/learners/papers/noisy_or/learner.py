"""The learner noisy-or-paper: the noisy-or of the paper, whose causes are conditions on one column each.

And the threshold of a noisy-or, tuned on rows, as a short probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.contract import Candidate, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.growth import FittedCauses
from rulekit.learners.noisy_or.learner import CausesSettings, NoisyOrs
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, coordinate_descent
from rulekit.learners.noisy_or.model import LearnedCauses, NoisyOr
from rulekit.learners.papers.noisy_or.em import best_of_starts
from rulekit.learners.papers.noisy_or.single_causes import SingleSearch, grown_singly
from rulekit.learners.parameters import number, one_of, setting, whole
from rulekit.numbers import strength_of, threshold_between

Goal = Literal["accuracy", "f1", "break-even"]


def best_cut(
    activations: Floats, labels: npt.NDArray[Any], goal: Goal = "accuracy", weights: Floats | Ints | None = None
) -> float:
    """The value -log t that serves a goal best, in the middle between two activations; equal ones go the same way.

    activations, labels, weights [n]: of the rows. At the break-even, precision and recall are as near to each other as
    they can be. Of equally good cuts the one nearest to t = 1/2 is taken. Raises InputError for another goal, or
    without rows.
    """
    if goal not in get_args(Goal):
        raise InputError(f"no goal {goal!r}", where="threshold", fix=f"choose one of {', '.join(get_args(Goal))}")
    if not len(activations):
        raise InputError("there are no rows to tune a threshold on", where="threshold", fix="pass some rows")
    cuts, true, predicted, positive, total = _counts(activations, labels, weights)
    if goal == "accuracy":
        quality = total - positive + 2.0 * true - predicted
    elif goal == "f1":
        quality = np.divide(2.0 * true, predicted + positive, out=np.zeros_like(true), where=predicted + positive > 0.0)
    else:  # precision is true / predicted and recall true / positive
        quality = -np.abs(predicted - positive)
    best = np.flatnonzero(quality >= quality.max() - 1e-12 * abs(quality.max()))
    return float(cuts[best[np.argmin(np.abs(cuts[best] - math.log(2.0)))]])


def _counts(activations: Floats, labels: Any, weights: Any) -> tuple[Floats, Floats, Floats, float, float]:
    """All cuts, and what is positive above each of them, and what there is; then the weight of the positive and of all.

    The first cut is above all rows; below all of them there is none where a row has activation 0.
    """
    order = np.argsort(-activations, kind="stable")
    s = activations[order]
    each = np.ones(len(s)) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    last = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
    predicted = np.concatenate([[0.0], np.cumsum(each)[last]])
    true = np.concatenate([[0.0], np.cumsum(each * (np.asarray(labels)[order] == 1))[last]])
    above, below = s[last], np.append(s[last[1:]], 0.0)
    middle = below + (above - below) / 2.0
    middle = np.where(middle < above, middle, below)
    cuts = np.concatenate([[s[0] + math.log(2.0)], middle])
    kept = np.concatenate([[True], above > 0.0])
    return cuts[kept], true[kept], predicted[kept], float(true[-1]), float(predicted[-1])


def tuned_bound(model: Any, problem: Problem, goal: Goal) -> float:
    """The strength above which it is decided, by the activations of the rows by a model.

    It is that of the shortest probability between the same two activations as the best cut.
    """
    n, s = len(problem.labels), np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(n):
        s[rows] = model.activations(codes, rows.stop - rows.start)
    # Where causes speak against the class, a row is above the cut that is below it.
    top = float(s.max())
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    cut = best_cut(top - s if model.flipped else s, problem.labels, goal, weights)
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

    def decided(self, learned: LearnedCauses, question: Question) -> LearnedCauses:
        aim = question.settings.threshold
        if aim != "half":
            model = _compared(learned.model, question)
            learned = replace(learned, model=replace(model, bound=tuned_bound(model, question.problem, aim)))
        return learned


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
        general, level = settings.variant == "general", settings.missing_values == "level"
        search = SingleSearch(
            self.conditions(question, problem, family, missing=level, general=general),
            settings.lam,
            settings.max_causes,
            least_side(problem.total),
            settings.least_gain,
            _summed(question),
            settings.n_iter,
        )

        def descent(incidence: Incidence, start: Strengths) -> Strengths:
            prior, n_iter, check = settings.lam, settings.n_iter, question.watch.check
            if settings.method == "coordinate":
                return coordinate_descent(incidence, start, prior=prior, sweeps=n_iter, check=check).strengths
            more = {"starts": settings.n_init, "seed": question.seed}
            return best_of_starts(incidence, start, prior=prior, iterations=n_iter, check=check, **more)

        return grown_singly(problem, search, descent, question.watch)

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
