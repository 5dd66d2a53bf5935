"""The learner adaboost: discrete AdaBoost over single conditions (Freund & Schapire, 1997)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rulekit.learners.binned.binning import least_side
from rulekit.learners.binned.problem import Problem
from rulekit.learners.boosting.rounds import rounds
from rulekit.learners.boosting.settings import AdaBoostSettings
from rulekit.learners.contract import Ability, Learning, Question
from rulekit.learners.fitting.additive import refuse_for_sums
from rulekit.learners.fitting.inputs import TrainingData
from rulekit.learners.rule_learner import RuleLearner


class AdaBoostStumps(RuleLearner):
    """Score cards of votes on single conditions; see AdaBoostStumpClassifier."""

    word = "adaboost"
    estimator = "rulekit.learners.boosting.estimator:AdaBoostStumpClassifier"
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
        refuse_for_sums(questions[0].settings, classes)
        return list(questions)

    def learn(self, question: Question) -> Learning:
        """A score card after each round."""
        return rounds(question)
