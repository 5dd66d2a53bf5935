"""The learner noisy-or-paper: the noisy-or of the paper, whose causes are conditions on one column each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Bools
from rulekit.errors import InputError
from rulekit.learners.contract import Candidate, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.coordinate_descent import coordinate_descent
from rulekit.learners.noisy_or.growth import FittedCauses
from rulekit.learners.noisy_or.learner import CausesSettings, NoisyOrs
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths
from rulekit.learners.noisy_or.model import NoisyOr
from rulekit.learners.noisy_or.paths import LearnedCauses
from rulekit.learners.papers.noisy_or.em import best_of_starts
from rulekit.learners.papers.noisy_or.single_causes import SingleSearch, grown_singly
from rulekit.learners.papers.noisy_or.thresholds import tuned_bound
from rulekit.learners.parameters import number, one_of, setting, whole

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
        """The questions with their plan."""
        if len(classes) > 2 and questions[0].settings.threshold == "break-even":
            why = "precision and recall are of two classes"
            raise InputError(why, where="threshold", fix="take half, accuracy or f1")
        return super().prepare(problem, questions, data, classes)

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows, or the leak."""
        found = super().nothing(question)
        return replace(found, model=_compared(found.model, question))

    def decided(self, learned: LearnedCauses, question: Question) -> LearnedCauses:
        """What was learned, as it decides by its threshold."""
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
        """Raise InputError where settings contradict each other."""
        if settings.n_init > 1 and settings.method != "em":
            why = "coordinate descent reaches the same maximum from every start"
            raise InputError(why, where="n_init", fix="leave it out, or take method=em")

    def grow(self, question: Question, problem: Problem, family: str) -> Iterator[FittedCauses]:
        """The best 1, 2, ... causes of the rows of class 1."""
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
