"""What the learners of units share: the inputs of their units, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rulekit.learners.contract import Ability, Question, Stopped
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.models import UnitTree
from rulekit.learners.models.calibration import Links, calibrated, smoothed_counts
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.contest import Contest
from rulekit.learners.sums_of_rows.linear_algebra import one_blas_thread

_BITS, _GRID, _STEPS = 5, 2.0**-10, 50


def compare_units(runs: Sequence[Run]) -> None:
    """Put trees that are compared in the place of those on the paths, where that errs clearly less on training rows."""
    if len(runs) < 3 or runs[0].question.settings.ordered is not None:
        return
    models = [[made.model for made in run.path if isinstance(made.model, UnitTree)] for run in runs]
    if not all(models):
        return
    problem = runs[0].question.problem
    n, trees = len(problem.labels), [own[-1] for own in models]
    true = np.argmax([run.question.problem.labels for run in runs], axis=0)
    odds = np.array([_compared(tree, run).log_odds(problem.codes, n) for tree, run in zip(trees, runs, strict=True)])
    totals = [run.question.problem.positive for run in runs]
    by_rules = np.full(n, int(np.argmax(totals)))
    for k in sorted(range(len(trees)), key=lambda k: trees[k].precedence):
        by_rules[trees[k].decides(problem.codes, n)] = k
    better = (odds.argmax(axis=0) == true).astype(np.float64) - (by_rules == true)
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    if Contest.over_rows(better, weights).within(1.0):
        return
    for run in runs:
        run.path = tuple(
            replace(made, model=_compared(made.model, run)) for made in run.path if isinstance(made.model, UnitTree)
        )


def _compared(tree: UnitTree, run: Run) -> UnitTree:
    one = tree.size == 1 and bool(tree.units[0].terms)
    return replace(tree, compared=scale_of(tree, run.question.problem) if one else (1.0, 0.0))


def scale_of(tree: UnitTree, problem: Problem) -> tuple[float, float]:
    """By what the sum of a unit is multiplied, and what is added, for the log of the odds of its class.

    The factor has few bits, so that the products stay exact; above 0.
    """
    sums, place = np.unique(tree.units[0].sums(problem.codes, len(problem.labels)), return_inverse=True)
    by_label = [np.bincount(place, problem.weights * (problem.labels == label), len(sums)) for label in (0, 1)]
    counts = np.stack(by_label, axis=1).astype(np.float64) * problem.weight_unit
    unit = float(np.abs(sums).max()) or 1.0  # steps start from a scale that suits the sums
    links = calibrated(smoothed_counts(counts)[None], sums / unit, Links.single(1.0, 0.0), _STEPS)
    mantissa, exponent = math.frexp(max(float(links.scale[0]) / unit, 1e-12))
    factor = math.ldexp(max(1.0, round(math.ldexp(mantissa, _BITS))), exponent - _BITS)
    return factor, round(float(links.offset[0]) / _GRID) * _GRID


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
