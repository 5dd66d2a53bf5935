"""The learner ltu-tree: linear threshold units in a tree (M. Sahami, Learning Non-Linearly Separable Functions)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy.typing as npt

from rulekit.learners.contract import Ability, Learning, OutOfTimeError, Question, Stopped
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.ltu.fit import FitResult, description, fit_tree
from rulekit.learners.ltu.growing import FitOptions
from rulekit.learners.ltu.inputs import DistinctRows, Inputs
from rulekit.learners.ltu.models import candidate_of, compare_units
from rulekit.learners.parameters import SizeSettings, number, one_of, setting, whole
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.choice import of_rate
from rulekit.learners.sums_of_rows.kernels import one_blas_thread

_FEW, _TRIED, _CLEARLY = 250.0, (0, 1, 2), 10.0


@dataclass(frozen=True)
class UnitSettings(SizeSettings):
    """What every learner of units takes."""

    max_bins: Any = setting(None, whole(3, optional=True), "bins of a numeric column (None: its values as they are)")
    min_level_rows: float | None = setting(
        2.0, number(0, optional=True), "rarer levels are one bin (None: 10 rows, or a hundredth of them, but 2)"
    )
    stopping: Literal["cv", "none"] = setting(
        "none",
        one_of("cv", "none"),
        "what chooses the size: cross-validation (cv), or the learner alone (none), on a quarter of the rows",
    )


@dataclass(frozen=True)
class LTUTreeSettings(UnitSettings):
    """How the tree is fitted; all else is shared by every learner."""

    max_nodes: int = setting(40, whole(1, 1000), "most units of a class")
    max_depth: int = setting(10, whole(1, 100), "most units that a row comes to")
    margin: float = setting(
        1.0,
        number(0),
        "how readily a smaller tree is taken: 1: where it errs no more by one and a half standard errors of the "
        "difference on held-out rows (of weights two); 0: never where it errs more",
    )
    n_starts: int = setting(6, whole(1, 1000), "random starts of each chain of units")


class UnitLearner(RuleLearner):
    """A learner whose models are trees of linear threshold units."""

    noun = "unit"
    abilities: ClassVar[frozenset[Ability]] = frozenset(("missing", "categories", "several", "ranked", "weights"))

    def _inputs_of(self, problem: Problem, settings: Any) -> Inputs:
        return Inputs.of(problem)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        plan = self._inputs_of(problem, questions[0].settings)
        return [replace(question, plan=plan) for question in questions]

    def learn_rows(self, settings: Any, begun: float, data: TrainingData) -> tuple[TrainingData, npt.NDArray[Any]]:
        """With products of matrices on one thread, so that the model does not depend on how many there are."""
        with one_blas_thread():
            return super().learn_rows(settings, begun, data)

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """Of several classes of a unit each the largest sum decides."""
        compare_units(runs)


class LTUTrees(UnitLearner):
    """Trees of linear threshold units; see LTUTreeClassifier."""

    word = "ltu-tree"
    estimator = "rulekit.learners.ltu.estimator:LTUTreeClassifier"
    settings = LTUTreeSettings
    size_parameter = "max_nodes"

    def learn(self, question: Question) -> Learning:
        rows = DistinctRows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        found, part = _fitted(question, rows)
        held = float(rows.weights[rows.held(part)].sum()) or float(rows.weights.sum())
        for tree, error in zip(found.ladder, found.errors, strict=True):
            if len(tree.live):  # else it says the same of all rows
                yield candidate_of(tree, question, rows, held_out=(error, of_rate(error, held)))
        if not found.complete:
            raise OutOfTimeError  # what was found so far is kept, and the model says that it was stopped
        return None


def _fitted(question: Question, rows: DistinctRows) -> tuple[FitResult, int]:
    """The tree by held-out rows, and which part these were.

    What a few rows say of a tree is much by chance: where there are few, each of three parts chooses one. The first is
    taken unless the description of another is clearly shorter.
    """
    settings: LTUTreeSettings = question.settings
    options = FitOptions(
        int(settings.max_nodes), int(settings.max_depth), int(settings.n_starts), float(settings.margin)
    )
    total, seed = float(rows.weights.sum()), question.seed + question.index
    parts = _TRIED if float(rows.in_rows.sum()) <= _FEW and rows.parts.any() else _TRIED[:1]
    found = list[tuple[float, int, FitResult]]()
    for part in parts:
        fit = fit_tree(rows.inputs, rows.labels, rows.weights, rows.held(part), options, seed, question.watch)
        wrong = float(rows.weights[fit.tree.decides(rows.inputs) != (rows.labels == 1)].sum())
        length = description(fit.tree, wrong, total)
        found.append((length if part else length - _CLEARLY, part, fit))
        if not fit.complete:
            break
    _, part, best = min(found, key=lambda each: each[:2])
    return replace(best, complete=found[-1][2].complete), part
