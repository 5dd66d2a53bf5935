"""The learner additive: a short sum of weighted conjunctions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rulekit.learners.additive.layout import Layout
from rulekit.learners.additive.literals import Penalties
from rulekit.learners.additive.models import AdditiveRules, log_losses
from rulekit.learners.additive.paths import Plan, best_sums, sums_of
from rulekit.learners.additive.settings import AdditiveRulesSettings
from rulekit.learners.binned.binning import least_side
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import NO_WATCH, Ability, Candidate, Learning, Question, Variants
from rulekit.learners.counting.histograms import Floats, exact_sum
from rulekit.learners.fitting.additive import refuse_for_sums
from rulekit.learners.fitting.allowed import Allowed
from rulekit.learners.fitting.assembly import Prior
from rulekit.learners.fitting.folds import fold_of_rows
from rulekit.learners.fitting.inputs import TrainingData
from rulekit.learners.rule_learner import RuleLearner
from rulekit.numbers import log_odds

_PARTS = 3
_NEVER = 1e-9


class WeightedRules(RuleLearner):
    """Short sums of weighted conjunctions; see AdditiveRulesClassifier."""

    word = "additive"
    estimator = "rulekit.learners.additive.estimator:AdditiveRulesClassifier"
    settings = AdditiveRulesSettings
    noun = "rule"
    size_parameter = "max_rules"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "missing_never_helps"),
        )
    )

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with their plan; raises InputError for several classes where missing values must not help."""
        settings: AdditiveRulesSettings = questions[0].settings
        refuse_for_sums(settings, classes)
        layout = Layout.of(problem.columns, Allowed.of(problem.columns, data.table.constraints))
        plan = Plan(layout, complexities(settings, problem.total), settings.max_rules, settings.beam, settings.polish)
        return [replace(question, plan=plan) for question in questions]

    def learn(self, question: Question) -> Learning:
        """The sums of 1, 2, ... rules by the first complexity."""
        plan: Plan = question.plan
        yield from sums_of(question.problem, plan, plan.complexities[0], question.n_threads, question.watch)
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same by every complexity; the one that is taken is looked at once more."""
        plan: Plan = question.plan
        args = (question.problem, plan), (question.n_threads, question.watch)
        others = [partial(_path, *args[0], each, *args[1]) for each in plan.complexities[1:]]
        return Variants(
            [lambda: candidates, *others],
            partial(_raced, question),
            loss=_held_out_losses,
            final=lambda variant: best_sums(*args[0], plan.complexities[variant], *args[1]),
        )


def complexities(settings: AdditiveRulesSettings, rows: float) -> tuple[Penalties, ...]:
    """What is compared on held-out rows: rules of up to 2, 4 and 1 literals, and bold ones of up to 4."""
    careful, bold = least_side(rows) * 2.0, least_side(rows)
    lengths = (2, 4, 1) if settings.rule_length == "auto" else (settings.rule_length,)
    ridge = 5.0 if settings.ridge == "auto" else float(settings.ridge)
    found = [Penalties(ridge, 20.0, careful, 1.0, length) for length in lengths]
    if settings.ridge == "auto":
        found.insert(1, Penalties(0.3, 1.0, bold, 0.3, max(lengths)))
    return tuple(found)


def _path(problem: Problem, plan: Plan, penalties: Penalties, n_threads: int, watch: Any) -> list[Candidate]:
    return list(sums_of(problem, plan, penalties, n_threads, watch))


def _held_out_losses(candidate: Candidate, held: Problem) -> Floats:
    model = candidate.model
    if isinstance(model, Prior):
        model = AdditiveRules((), (), log_odds(min(max(model.share, _NEVER), 1.0 - _NEVER)))
    assert isinstance(model, AdditiveRules)
    return log_losses(model, held)


def _raced(question: Question) -> int:
    """The complexity of the least log loss on a third of the rows, learned on the others."""
    problem, plan = question.problem, question.plan
    fold = fold_of_rows(problem, _PARTS, question.groups, question.seed)
    if len(plan.complexities) == 1 or int(fold.max(initial=0)) == 0:
        return 0
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    paths = [_path(training, plan, each, question.n_threads, NO_WATCH) for each in plan.complexities]
    losses = [exact_sum(held.weights * _held_out_losses(path[-1], held)) if path else np.inf for path in paths]
    return int(np.argmin(losses))
