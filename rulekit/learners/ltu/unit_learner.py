"""What the learners of units share: the inputs of their units, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy.typing as npt

from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Ability, Question, Stopped
from rulekit.learners.counting.linear_algebra import one_blas_thread
from rulekit.learners.fitting.learning import Run
from rulekit.learners.fitting.rows.folds import Folds
from rulekit.learners.fitting.rows.inputs import TrainingData
from rulekit.learners.ltu.comparing import compare_units
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.rule_learner import RuleLearner


class UnitLearner(RuleLearner):
    """A learner whose models are trees of linear threshold units."""

    noun = "unit"
    abilities: ClassVar[frozenset[Ability]] = frozenset(("missing", "categories", "several", "ranked", "weights"))

    def inputs_of(self, problem: Problem, settings: Any) -> Inputs:
        """What its units add up: conditions stay 0 and 1."""
        return Inputs.of(problem, only_numbers=True)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with the inputs of their units."""
        plan = self.inputs_of(problem, questions[0].settings)
        return [replace(question, plan=plan) for question in questions]

    def learn_rows(self, settings: Any, begun: float, data: TrainingData) -> tuple[TrainingData, npt.NDArray[Any]]:
        """With products of matrices on one thread, so that the model does not depend on how many there are."""
        with one_blas_thread():
            return super().learn_rows(settings, begun, data)

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """Of several classes of a unit each the largest sum decides."""
        compare_units(runs)
