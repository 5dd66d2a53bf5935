"""The learner cnll: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rulekit.errors import InputError
from rulekit.graph.ladder import RARE
from rulekit.learners.binned.problem import HOLDS, Problem, with_fixed
from rulekit.learners.cnll.models import candidates_of, path_of
from rulekit.learners.cnll.plain.plain_rules import plain_variants
from rulekit.learners.cnll.plain.refinement import with_fine_columns
from rulekit.learners.cnll.plain.rule_paths import RuleSettings
from rulekit.learners.cnll.records import Account
from rulekit.learners.cnll.search.growth import begin, grown_freer, shared_columns
from rulekit.learners.cnll.settings import CNLLSettings, growth_settings, objective_of, refuse_for_rules, resolved
from rulekit.learners.cnll.start.continuation import check_start, plain_starts, starts_of
from rulekit.learners.contract import Ability, Candidate, Learning, Question, Variants
from rulekit.learners.fitting.assembly import Prior, prefixes
from rulekit.learners.fitting.given.allowed import Allowed
from rulekit.learners.fitting.given.constraints import CONSTRAINTS, refuse_broken, required_of
from rulekit.learners.fitting.learning import Run
from rulekit.learners.fitting.rows.inputs import TrainingData
from rulekit.learners.fitting.rule_sets import clause_node
from rulekit.learners.fitting.sizes.path import ModelPath
from rulekit.learners.rule_learner import RuleLearner
from rulekit.schema import Schema
from rulekit.tables.table import Table


def refuse_promises_of_a_formula(settings: Any) -> None:
    """Raise InputError where a formula is asked for together with what only rules keep."""
    asked = next((name for name in CONSTRAINTS if getattr(settings, name)), None)
    if settings.form == "formula" and asked is not None:
        raise _only_rules(asked)


def with_promises(
    problem: Problem, rules: Sequence[RuleSettings | None], table: Table, settings: Any, classes: tuple[Any, ...]
) -> tuple[Problem, list[RuleSettings | None]]:
    """The problem with required rules as columns, and by question the rules that must stand and those that are allowed.

    classes: in the graph's order. Raises InputError where a formula decides, where a class is required that no rule
    speaks for, and where rules that must stand break what is promised.
    """
    schema = Schema(table.features, settings.target, constraints=table.constraints)
    required = required_of(settings.require or (), schema, classes)
    asked = required or not Allowed.of(problem.columns, table.constraints).free
    if not asked:
        return problem, list(rules)
    if any(own is None for own in rules):
        raise _only_rules("a promise")
    if any(promise.class_index != 1 or len(classes) != 2 for promise in required):
        why = "rules speak for the positive one of two classes, so a row can be required to be of that class alone"
        raise InputError(why, where="require", fix="name the class positive (--positive), or leave the promise out")
    nodes = list(dict.fromkeys(promise.condition for promise in required))
    standing = tuple({len(problem.columns) + place: HOLDS} for place in range(len(nodes)))
    problem = with_fixed(problem, nodes, table, schema)
    allowed = Allowed.of(problem.columns, table.constraints)
    found: list[RuleSettings | None] = []
    for own in rules:
        assert own is not None
        kept = (*standing, *own.kept)
        if not allowed.free:
            refuse_broken([clause_node(clause, problem.columns) for clause in kept], schema)
        found.append(replace(own, kept=kept, allowed=None if allowed.free else allowed))
    return problem, found


def _only_rules(what: str) -> InputError:
    return InputError("a formula keeps no promises", where=what, fix="form='rules', where rules decide")


class CNLL(RuleLearner):
    """Noisy-logical formulas of each class and the plain rules that decide in their place; see CNLLClassifier."""

    word = "cnll"
    estimator = "rulekit.learners.cnll.estimator:CNLLClassifier"
    settings = CNLLSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "start", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "require", "missing_never_helps"),
        )
    )

    def check(self, settings: CNLLSettings) -> None:
        """Raise InputError for what makes no plain rules."""
        refuse_for_rules(settings)
        refuse_promises_of_a_formula(settings)

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
        if growth.rules is not None:
            problem, fine = with_fine_columns(problem, data.table)
            growth = replace(growth, rules=replace(growth.rules, fine=fine))
        rules = [growth.rules] * len(questions)
        if growth.rules is not None and settings.start is not None:
            problem, known = plain_starts(settings.start, settings.freeze, classes, problem, data.table)
            rules = [replace(growth.rules, kept=kept, begun=begun) for kept, begun in known]
        rare = _are_rare([question.problem.share for question in questions], settings.ordered is not None)
        rules = [own and replace(own, rare=each) for each, own in zip(rare, rules, strict=True)]
        problem, rules = with_promises(problem, rules, data.table, settings, classes)
        return [
            replace(
                question,
                problem=replace(problem, labels=question.problem.labels),
                plan=replace(growth, start=start and start.with_share(question.problem.share), rules=own),
            )
            for question, start, own in zip(questions, starts, rules, strict=True)
        ]

    def learn(self, question: Question) -> Learning:
        """The formulas of 1, 2, ... bits; with few rows and many errors those of a second growth with less ridge."""
        search = replace(question.plan.search, watch=question.watch)
        settings = replace(question.plan, search=search)
        grown = begin(question.problem, settings)
        yield from candidates_of(grown, settings)
        freer = grown_freer(grown, settings)
        return None if freer is None else path_of(freer, settings.start)

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The plain rules that decide in place of the formula, with form="rules"."""
        rules = question.plan.rules
        if rules is None:
            return None
        return plain_variants(question.problem, candidates, rules, question.groups, question.seed)

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows, with what the objective says of it."""
        problem, settings = question.problem, question.settings
        objective = objective_of(settings) if settings.form == "formula" else objective_of(_squares(settings))
        yes, total = problem.positive, problem.total
        no = total - yes
        cost = objective.error * min(yes, no) + objective.brier * yes * no / total
        return Candidate(0, cost, min(yes, no), Prior(problem.share))

    def noun_of(self, settings: CNLLSettings) -> str:
        """The path of plain rules is by rules."""
        return "rule" if settings.form == "rules" else self.noun

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Keep the steps, and of the chosen formulas the counts that their records are made from."""
        self._accounts = [
            Account.of(run, place, prefix)
            for run, place, prefix in zip(runs, path.chosen, prefixes(len(runs)), strict=True)
        ]


def _are_rare(shares: Sequence[float], ordered: bool) -> list[bool]:
    """By question, of the positive rows [Q], whether its class is rare; no cut of ordered classes is.

    Where there are many classes, all may have few rows: rare are those of less than half of the most frequent one.
    """
    if len(shares) == 1:
        return [min(shares[0], 1.0 - shares[0]) < RARE]
    return [not ordered and share < min(RARE, 0.5 * max(shares)) for share in shares]


def _squares(settings: CNLLSettings) -> CNLLSettings:
    return replace(settings, objective="brier")
