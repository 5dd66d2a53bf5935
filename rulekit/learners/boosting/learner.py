"""The learner adaboost: discrete AdaBoost over single conditions (Freund & Schapire, 1997)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rulekit.learners.boosting.rounds import noted_rounds, rounds
from rulekit.learners.contract import Ability, Learning, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.models.additive import refuse_for_sums
from rulekit.learners.parameters import PointSettings, number, or_automatic, setting, whole
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.path import ModelPath


@dataclass(frozen=True)
class AdaBoostSettings(PointSettings):
    """Rounds and their conditions; all else is shared by every learner."""

    n_estimators: int = setting(100, whole(1), "most rounds; each adds one condition")
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a cut (auto: 5, of few rows less)"
    )


class AdaBoostStumps(RuleLearner):
    """Score cards of votes on single conditions; see AdaBoostStumpClassifier."""

    word = "adaboost"
    estimator = "rulekit.learners.boosting.estimator:AdaBoostStumpClassifier"
    settings: ClassVar[type] = AdaBoostSettings
    noun = "round"
    size_parameter = "n_estimators"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "missing_never_helps"),
        )
    )

    def resolve(self, settings: Any, rows: float) -> Any:
        """What "auto" stands for."""
        return replace(settings, min_rows=least_side(rows)) if settings.min_rows == "auto" else settings

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions, and whether the grid of the votes is looked for: where the side of each sum decides."""
        refuse_for_sums(questions[0].settings, classes)
        searched = len(classes) == 2 or questions[0].settings.ordered is not None
        return [replace(question, plan=searched) for question in questions]

    def learn(self, question: Question) -> Learning:
        """A model after each round."""
        return rounds(question)

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Note the rounds where the theorem speaks of the model, which it does not with whole points."""
        if not runs[0].question.settings.points:
            path.provenance["rounds"] = noted_rounds(runs, path)
