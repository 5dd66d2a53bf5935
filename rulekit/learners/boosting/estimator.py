"""AdaBoostStumpClassifier: discrete AdaBoost over single conditions (Freund & Schapire, 1997)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rulekit.errors import InputError
from rulekit.learners.base import RuleClassifier
from rulekit.learners.binned.binning import least_side
from rulekit.learners.binned.problem import Problem
from rulekit.learners.boosting.rounds import rounds
from rulekit.learners.boosting.settings import AdaBoostSettings
from rulekit.learners.contract import Ability, Learning, Question
from rulekit.learners.fitting.inputs import TrainingData


class AdaBoostStumpClassifier(RuleClassifier):
    """A score card: each round adds the vote of one condition on one column, and the sign of the sum decides.

    The points of a column's values are the sums of the votes of its conditions. The reported probability is
    1 / (1 + exp(-2 sum)) (J. Friedman, T. Hastie and R. Tibshirani, Additive Logistic Regression, 2000), which
    exaggerates as rounds are added.
    """

    word = "adaboost"
    settings = AdaBoostSettings
    noun = "round"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "missing_never_helps"),
        )
    )

    def resolve(self, settings: AdaBoostSettings, rows: float) -> AdaBoostSettings:
        """What "auto" stands for."""
        return replace(settings, min_rows=least_side(rows)) if settings.min_rows == "auto" else settings

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions; raises InputError for several classes where missing values must not help."""
        settings: AdaBoostSettings = questions[0].settings
        if settings.missing_never_helps and len(classes) > 2 and settings.ordered is None:
            why = "of several classes the largest sum decides, which a missing value may always turn to some class"
            raise InputError(why, where="missing_never_helps", fix="leave it out, or take another learner")
        return list(questions)

    def learn(self, question: Question) -> Learning:
        """A score card after each round."""
        return rounds(question)
