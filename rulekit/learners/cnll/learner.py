"""The learner cnll: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rulekit.learners.cnll.models import candidates_of, path_of
from rulekit.learners.cnll.records import Account
from rulekit.learners.cnll.search.growth import begin, grown_freer, shared_columns
from rulekit.learners.cnll.settings import CNLLSettings, growth_settings, objective_of, resolved
from rulekit.learners.cnll.start.continuation import check_start, starts_of
from rulekit.learners.contract import Ability, Candidate, Learning, Question
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.models.assembly import Prior, prefixes
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.path import ModelPath


class CNLL(RuleLearner):
    """Noisy-logical formulas of each class; see CNLLClassifier."""

    word = "cnll"
    estimator = "rulekit.learners.cnll.estimator:CNLLClassifier"
    settings = CNLLSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        ("missing", "categories", "start", "memory", "several", "ranked", "weights")
    )

    def resolve(self, settings: CNLLSettings, rows: float) -> CNLLSettings:
        """What "auto" stands for."""
        return resolved(settings, rows)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with fixed conditions as further columns, and what each formula begins with."""
        first = questions[0]
        settings: CNLLSettings = first.settings
        growth = growth_settings(settings, first.seed, first.n_threads, len(problem.columns))
        if settings.max_features is not None and len(questions) > 1:
            growth = replace(growth, columns=shared_columns(growth, questions, self.nothing))
        starts: Sequence[Any] = [None] * len(questions)
        if settings.start is not None:
            check_start(settings.start, classes, settings.ordered is not None, settings.init)
            problem, starts = starts_of(
                settings.start, settings.freeze, classes, problem, data.table, int(settings.n_units)
            )
        return [
            replace(
                question,
                problem=replace(problem, labels=question.problem.labels),
                plan=replace(growth, start=start and start.with_share(question.problem.share)),
            )
            for question, start in zip(questions, starts, strict=True)
        ]

    def learn(self, question: Question) -> Learning:
        """The formulas of 1, 2, ... bits; with few rows and many errors those of a second growth with less ridge."""
        search = replace(question.plan.search, watch=question.watch)
        settings = replace(question.plan, search=search)
        grown = begin(question.problem, settings)
        yield from candidates_of(grown, settings)
        freer = grown_freer(grown, settings)
        return None if freer is None else path_of(freer, settings.start)

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows, with what the objective says of it."""
        problem, settings = question.problem, question.settings
        objective = objective_of(settings)
        yes, total = problem.positive, problem.total
        no = total - yes
        cost = objective.error * min(yes, no) + objective.brier * yes * no / total
        return Candidate(0, cost, min(yes, no), Prior(problem.share))

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Keep the steps, and of the chosen formulas the counts that their records are made from."""
        self._accounts = [
            Account.of(run, place, prefix)
            for run, place, prefix in zip(runs, path.chosen, prefixes(len(runs)), strict=True)
        ]
