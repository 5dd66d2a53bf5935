"""The learner adaboost: discrete AdaBoost over single conditions (Freund & Schapire, 1997)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rulekit.errors import InputError
from rulekit.learners.boosting.base_learners import STUMP, base_of
from rulekit.learners.boosting.learned_votes import learned_rounds
from rulekit.learners.boosting.reported import fit_probabilities, noted_rounds
from rulekit.learners.boosting.rounds import rounds
from rulekit.learners.boosting.settings import AdaBoostSettings
from rulekit.learners.contract import Ability, Learning, Question, Stopped
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.classes import refuse_columns
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.models.additive import refuse_for_sums
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.path import ModelPath


class AdaBoostStumps(RuleLearner):
    """Score cards of votes on single conditions; see AdaBoostStumpClassifier."""

    word = "adaboost"
    estimator = "rulekit.learners.boosting.estimator:AdaBoostStumpClassifier"
    settings = AdaBoostSettings
    noun = "round"
    size_parameter = "n_estimators"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "missing_never_helps"),
        )
    )

    def resolve(self, settings: AdaBoostSettings, rows: float) -> AdaBoostSettings:
        """What "auto" stands for."""
        return replace(settings, min_rows=least_side(rows)) if settings.min_rows == "auto" else settings

    def check(self, settings: AdaBoostSettings) -> None:
        """Raise InputError where a promise is asked of a form that cannot keep it."""
        if settings.base != STUMP:
            _refuse_beside_base(settings)
        if settings.vote == "majority" and settings.forbid:
            why = "a majority vote is one rule, in which all its columns stand"
            raise InputError(why, where="forbid", fix="leave it out, or take another vote")
        if settings.vote == "majority" and settings.points:
            why = "the conditions of a majority vote count alike, so that there are no points to be made whole"
            raise InputError(why, where="points", fix="leave it out, or take another vote")
        if settings.probability == "platt" and settings.vote == "majority":
            why = "a majority vote has no sum to which a probability could be fitted"
            raise InputError(why, where="probability", fix="leave it out, or take another vote")
        if settings.probability == "platt" and settings.points:
            why = "whole points have a probability of their own that is fitted to the training rows"
            raise InputError(why, where="probability", fix="leave out probability or points")

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions, with what a base learner makes of them; raises InputError for promises that cannot be kept."""
        settings: AdaBoostSettings = questions[0].settings
        refuse_for_sums(settings, classes)
        if settings.base != STUMP:
            base = base_of(settings, problem.total)
            if data.table.constraints.apart:
                why = "a model that votes is one rule, in which all its columns stand"
                raise InputError(why, where="forbid", fix=f"leave it out, or take base={STUMP}")
            refuse_columns(type(base.learner), data, settings.ordered is not None)
            own = base.learner.prepare(
                problem, [replace(each, settings=base.settings) for each in questions], data, classes
            )
            return [
                replace(question, problem=inner.problem, plan=replace(base, question=inner))
                for question, inner in zip(questions, own, strict=True)
            ]
        # The grid of the votes is looked for where the side of each sum decides.
        searched = len(classes) == 2 or settings.ordered is not None
        return [replace(question, plan=searched) for question in questions]

    def learn(self, question: Question) -> Learning:
        """A model after each round."""
        return rounds(question) if question.settings.base == STUMP else learned_rounds(question)

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """With probability=platt the candidates report what held-out rows say of their sums."""
        for run in runs:
            if run.question.settings.probability == "platt":
                fit_probabilities(run, folds, self.learn, stopped)

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Note the rounds where the theorem speaks of the model: of AdaBoost's votes, without whole points."""
        settings: AdaBoostSettings = runs[0].question.settings
        if settings.vote == "adaboost" and not settings.points:
            path.provenance["rounds"] = noted_rounds(runs, path)


def _refuse_beside_base(settings: AdaBoostSettings) -> None:
    """Raise InputError for what is known of stumps alone, and for a base learner that there is not."""
    why = {
        "vote": (settings.vote != "adaboost", "the forms before AdaBoost join stumps"),
        "weak": (settings.weak == "gini", "impurity is of the two sides of a condition"),
        "points": (bool(settings.points), "models that vote have no points to be made whole"),
        "probability": (settings.probability != "sigmoid", "it is fitted to the sums of stumps"),
        "early_stop": (not settings.early_stop, "models that are worse than guessing are kept of stumps alone"),
    }
    for name, (asked, said) in why.items():
        if asked:
            raise InputError(said, where=name, fix=f"leave it out, or take base={STUMP}")
    base_of(settings, 1.0)
