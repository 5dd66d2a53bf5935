"""The learner rules: at most eight conjunctions of each class decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.variants import RARE
from rulekit.learners.contract import Ability, Candidate, Learning, Question, Stopped, Variants
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import HOLDS, Problem, with_fixed
from rulekit.learners.learning import Run
from rulekit.learners.models.rule_sets import clause_node
from rulekit.learners.parameters import StartSettings, bins, one_of, setting, whole
from rulekit.learners.promises.constraints import Allowed, refuse_broken, required_of
from rulekit.learners.promises.starts import rules_of_start
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.rules.models import Cards, DecidingRules, Rates, candidate_of, candidates_of
from rulekit.learners.rules.rule_paths import Guide, RuleSettings, few_columns, rule_path
from rulekit.schema import Schema

_GUIDED = 10_000
"""Rows up to which a guide helps the search: of more, labels alone err less."""

_FEW = 1000
"""Rows up to which ten folds choose: nine tenths of few rows teach more than four fifths."""


@dataclass(frozen=True)
class RulesSettings(StartSettings):
    """How many rules there are, and what predicts the probability; all else is shared."""

    max_rules: int = setting(8, whole(1), "most rules of a class")
    report: Literal["rules", "all", "rates"] = setting(
        "rules",
        one_of("rules", "all", "rates"),
        "the probability is a score card over the columns of the rules, over all columns, or a rate for each rule",
    )
    n_folds: Any = setting(
        None, whole(2, optional=True), "folds of that cross-validation (None: ten up to 1,000 rows, five of more)"
    )
    max_bins: Any = bins(128)


class PlainRules(RuleLearner):
    """A few conjunctions that decide, and a score card; see RulesClassifier."""

    word = "rules"
    estimator = "rulekit.learners.rules.estimator:RulesClassifier"
    settings = RulesSettings
    noun = "rule"
    size_parameter = "max_rules"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "start", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "require", "missing_never_helps"),
        )
    )

    def resolve(self, settings: RulesSettings, rows: float) -> RulesSettings:
        """How many folds None stands for."""
        return replace(settings, n_folds=10 if rows <= _FEW else 5) if settings.n_folds is None else settings

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with given and required rules as further columns, and what each search begins with."""
        settings: RulesSettings = questions[0].settings
        self._cards = Cards.of(settings, data, classes)
        most = settings.max_rules if settings.max_clauses is None else min(settings.max_rules, settings.max_clauses)
        problem, known = rules_of_start(settings, problem, data.table, classes, len(questions))
        rare = are_rare([question.problem.share for question in questions], settings.ordered is not None)
        guided = len(problem.labels) <= _GUIDED
        plans = [
            RuleSettings(most, settings.max_literals, kept, begun, rare=each, guided=guided)
            for (kept, begun), each in zip(known, rare, strict=True)
        ]
        problem, plans = with_promises(problem, plans, data, settings, classes)
        own = [replace(problem, labels=question.problem.labels) for question in questions]
        if settings.max_features is not None:
            columns = few_columns(own, plans, settings.max_features)
            plans = [replace(plan, columns=columns) for plan in plans]
        if len(questions) > 1 and settings.ordered is None:
            own, plans = _in_one_list(problem, own, plans, settings, classes)
        return [replace(q, problem=each, plan=plan) for q, each, plan in zip(questions, own, plans, strict=True)]

    def learn(self, question: Question) -> Learning:
        """The rules of every size by the first variant of the search."""
        yield from self._of_variant(question, 0)
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same by every variant."""
        plan: RuleSettings = question.plan
        others = [partial(self._of_variant, question, variant) for variant in range(1, len(plan.variants))]
        return Variants([lambda: candidates, *others], lambda: 0, rare=plan.rare, by_error=True)

    def _of_variant(self, question: Question, variant: int) -> list[Candidate]:
        plan: RuleSettings = question.plan
        path = rule_path(question.problem, plan, plan.variants[variant], self._guide(question), question.fold)
        return candidates_of(question.problem, path, len(plan.kept), plan.place)

    def _guide(self, question: Question) -> Guide:
        return partial(self._cards.guide, question)

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """Give each size what predicts its probability."""
        for run in runs:
            run.path = tuple(self._reported(run.question, candidate) for candidate in run.path)
            if run.question.settings.report == "all":  # a card over all columns needs no rule
                run.nothing = self._reported(run.question, candidate_of(run.question.problem, ()))

    def nothing(self, question: Question) -> Candidate:
        """No rule: the probability is the share of the class; of two classes the more frequent one is decided."""
        if question.plan.weights is None:
            return super().nothing(question)
        found = candidate_of(question.problem, (), place=question.plan.place)
        report = None if question.fold else Rates.of(_whole(question).problem, ())
        return replace(found, model=DecidingRules((), question.plan.place, report))

    def _reported(self, question: Question, candidate: Candidate) -> Candidate:
        model, question = candidate.model, _whole(question)
        problem = question.problem
        assert isinstance(model, DecidingRules)
        if question.settings.report == "rates" or question.watch.over:  # a card takes time
            return replace(candidate, model=replace(model, report=Rates.of(problem, model.rules)))
        columns = {column for rule in model.rules for column in rule}
        if question.settings.report == "all":
            columns |= set(range(len(problem.columns)))
        return replace(
            candidate, model=replace(model, report=self._cards.fitted(question, model.rules, sorted(columns)))
        )


def _whole(question: Question) -> Question:
    """The question about all rows, those of classes before it too."""
    weights = question.plan.weights
    return question if weights is None else replace(question, problem=replace(question.problem, weights=weights))


def _in_one_list(
    problem: Problem, own: Sequence[Problem], plans: Sequence[RuleSettings], settings: Any, classes: tuple[Any, ...]
) -> tuple[list[Problem], list[RuleSettings]]:
    """The questions as one list of classes, the rarest first, each against those after it (as RIPPER; Cohen, 1995).

    Rows of the classes before it weigh nothing to a class: their own rules come first. The last class, of which the
    model is where no rule holds, needs no rules.
    """
    weights = np.bincount(problem.labels, problem.weights, len(classes))
    if settings.default is not None:
        weights[classes.index(settings.default)] = np.inf
    order = np.lexsort((-np.arange(len(classes)), weights))  # of equally frequent ones the first is the default
    place = np.argsort(order)
    problems, placed = [], []
    for k, (each, plan) in enumerate(zip(own, plans, strict=True)):
        before = place[problem.labels] < place[k]
        last = place[k] == len(classes) - 1
        problems.append(each if last else replace(each, weights=np.where(before, 0, problem.weights)))
        placed.append(
            replace(plan, rules=len(plan.kept) if last else plan.rules, place=int(place[k]), weights=problem.weights)
        )
    return problems, placed


def are_rare(shares: Sequence[float], ordered: bool) -> list[bool]:
    """By question, of the positive rows [Q], whether its class is rare; no cut of ordered classes is.

    Where there are many classes, all may have few rows: rare are those of less than half of the most frequent one.
    """
    if len(shares) == 1:
        return [min(shares[0], 1.0 - shares[0]) < RARE]
    return [not ordered and share < min(RARE, 0.5 * max(shares)) for share in shares]


def with_promises(
    problem: Problem, plans: Sequence[RuleSettings], data: TrainingData, settings: Any, classes: tuple[Any, ...]
) -> tuple[Problem, list[RuleSettings]]:
    """The problem with required rules as columns, and by question the rules that must stand and those that are allowed.

    classes: in the graph's order. Raises InputError where a class is required that no rule speaks for, and where rules
    that must stand break what is promised.
    """
    table = data.table
    schema = Schema(table.features, settings.target, constraints=table.constraints)
    required = required_of(settings.require or (), schema, classes)
    if not required and Allowed.of(problem.columns, table.constraints).free:
        return problem, list(plans)
    if any(promise.class_index != 1 or len(classes) != 2 for promise in required):
        why = "rules speak for the positive one of two classes, so a row can be required to be of that class alone"
        raise InputError(why, where="require", fix="name the class positive (--positive), or leave the promise out")
    nodes = list(dict.fromkeys(promise.condition for promise in required))
    standing = tuple({len(problem.columns) + place: HOLDS} for place in range(len(nodes)))
    problem = with_fixed(problem, nodes, table, schema)
    allowed = Allowed.of(problem.columns, table.constraints)
    found = []
    for plan in plans:
        kept = (*standing, *plan.kept)
        if not allowed.free:
            refuse_broken([clause_node(clause, problem.columns) for clause in kept], schema)
        found.append(replace(plan, kept=kept, allowed=None if allowed.free else allowed))
    return problem, found
