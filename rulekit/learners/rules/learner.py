"""The learner rules: at most eight conjunctions of each class decide."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import InputError
from rulekit.graph.model_parts import RARE
from rulekit.graph.nodes import TRUE, Hidden, Node, Or, Probability
from rulekit.learners.contract import (
    NO_WATCH,
    Ability,
    Candidate,
    Frame,
    Learning,
    Question,
    Score,
    Stopped,
    Variants,
    find_learner,
)
from rulekit.learners.data.binning import BinnedColumn, Codes, MemoryCodes
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.parted import gathered
from rulekit.learners.data.parts import Answer, rows_of
from rulekit.learners.data.problem import HOLDS, Problem, codes_of, with_fixed
from rulekit.learners.learning import Run
from rulekit.learners.models.plain import Summed, Terms, clause_node, covered, covered_by_some, rule_of
from rulekit.learners.parameters import StartSettings, bins, one_of, setting, whole
from rulekit.learners.promises.kept import Allowed, refuse_broken, required_of, rules_of_start
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.rules.clause_search import clause_price
from rulekit.learners.rules.rule_paths import SEARCHED_ROWS, Rules, RuleSettings, evenly_spread, few_columns, rule_path
from rulekit.numbers import short_probability, strength_of
from rulekit.schema import FIRST_LEVEL_CODE, Feature, Schema

_MOST, _MOST_OF_ALL = 12, 20
_POINT = 0.1
_LOOKED_AT = 1 << 14
_GUIDES = 20
_LEAST = 1e-3
_MOST_LEVELS = 32  # of a category with points: of more no person adds them


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """What makes score cards: the learner of additive rules with its settings, and the table of the training rows."""

    learner: RuleLearner
    settings: Any
    data: TrainingData
    classes: tuple[Any, ...]
    guided: list[tuple[Problem, Floats]] = field(default_factory=list)

    @classmethod
    def of(cls, settings: Any, data: TrainingData, classes: tuple[Any, ...]) -> Cards:
        """For a model with these settings."""
        learner = find_learner("additive")()
        asked = {name: getattr(settings, name) for name in ("ordered", "monotone", "missing_never_helps")}
        most = _MOST_OF_ALL if settings.report == "all" else _MOST
        own = learner.settings(max_rules=most, rule_length=1, ridge=2.0, stopping="none", **asked)
        return cls(learner, own, data, classes[:2])  # each question has a card of its own, of yes and no

    def guide(self, question: Question, problem: Problem) -> Floats:
        """The probability [n] that additive rules learn from the rows of a problem."""
        found = next((guide for of, guide in self.guided if of is problem), None)
        if found is None:
            settings = replace(self.settings, max_rules=_GUIDES, rule_length=2, ridge=5.0)
            seen = problem.take(np.flatnonzero(problem.weights)) if not problem.weights.all() else problem
            scores = self._learned(question, seen, settings).totals(problem.codes, len(problem.labels))
            found = np.asarray(1.0 / (1.0 + np.exp(-scores)))
            self.guided[:] = [*self.guided[-1:], (problem, found)]  # a path is learned in step with its first fold
        return found

    def fitted(self, question: Question, rules: Rules, columns: Sequence[int]) -> Terms:
        """The card over some rules and columns for the rows of a question, of which 16,384 are looked at.

        Most rows have no points of a column, and neither has what no row has: a missing value, an unseen level.
        """
        problem = question.problem
        few = [each.ordered or each.n_codes - FIRST_LEVEL_CODE <= _MOST_LEVELS for each in problem.columns]
        columns = [j for j in columns if few[j]]
        rows = evenly_spread(problem.n_rows, _LOOKED_AT)
        part, most = problem if rows is None else problem.at(rows), len(columns)
        held = [codes_of(covered(rule, part.codes, len(part.labels))) for rule in rules]
        binned = [part.columns[j] for j in columns]
        # A rule keeps what is promised, so that a point for it does, and one against it does not.
        monotone: Literal[0, 1] = 1 if self.settings.monotone else 0
        binned += [
            BinnedColumn(Feature(f"rule {k + 1}", "boolean", monotone=monotone), -1, 3) for k in range(len(rules))
        ]
        codes = MemoryCodes((*(part.codes[j] for j in columns), *held))
        own = replace(part, columns=tuple(binned), codes=codes)
        terms, points = self._learned(question, own, self.settings), dict[int, Floats]()
        for clause, weight in terms.rules:
            for column, condition in clause.items():
                before = points.get(column, np.zeros(binned[column].n_codes))
                points[column] = before + float(round(weight / _POINT)) * condition
        bias = float(round(terms.bias / _POINT))
        bias += sum(float(points[column][1]) for column in points if column >= most)
        for column, each in points.items():
            if column < most:
                seen = np.bincount(part.codes[columns[column]], part.weights, len(each))
                values, of = np.unique(each, return_inverse=True)
                usual = float(values[np.argmax(np.bincount(of, seen))])
                bias, points[column] = bias + usual, each - usual
                if not self.settings.missing_never_helps:
                    unknown = 1 if binned[column].ordered else FIRST_LEVEL_CODE
                    points[column][:unknown][seen[:unknown] == 0] = 0.0
        of_rules = {column: float(each[2] - each[1]) for column, each in points.items() if column >= most}
        return Terms(
            tuple((rules[column - most], worth) for column, worth in sorted(of_rules.items()) if worth),
            {columns[column]: each for column, each in sorted(points.items()) if column < most and each.any()},
            bias,
            _POINT,
        )

    def _learned(self, question: Question, problem: Problem, settings: Any) -> Terms:
        """The largest sum that the learner of additive rules finds; of no rule the log odds of the share."""
        asked = replace(question, problem=problem, settings=settings, plan=None, watch=NO_WATCH, fold=True)
        (asked,) = self.learner.prepare(problem, [asked], self.data, self.classes)
        *_, last = (None, *self.learner.learn(asked))
        if last is not None and isinstance(last.model, Summed):
            return last.model.terms()
        share = min(max(problem.share, _LEAST), 1.0 - _LEAST)
        return Terms((), {}, float(np.log(share / (1.0 - share))))


COST_OF_A_LITERAL = 0.00025
"""By how much, as a rate, a literal must lower the held-out error to be worth reading (docs/rules.md)."""

_ROWS = 2.0
"""How many rows with the share of all are counted to those on which rules hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """A rate [rules] of yes for the rows on which each rule holds, and one for those on which none does.

    Where several rules hold, each may be right by itself (a noisy-or).
    """

    rules: Rules
    rates: tuple[float, ...]
    otherwise: float

    @classmethod
    def of(cls, problem: Problem, rules: Rules) -> Rates:
        """The rates of the rows of a problem, with some further rows of the share of all."""
        found = weights_covered(problem, [*((rule,) for rule in rules), rules])
        found[-1] = np.array([problem.total - problem.positive, problem.positive]) - found[-1]
        rates = (found[:, 1] + _ROWS * problem.share) / (found.sum(axis=1) + _ROWS)
        return cls(rules, tuple(rates[:-1].tolist()), float(rates[-1]))

    def probability(self, frame: Frame, prefix: str) -> Node:
        """The noisy-or of the rules and of what holds without any."""
        bits: list[Node] = [Hidden(f"{prefix}0", TRUE, strength_of(short_probability(self.otherwise)), 0.0)]
        for k, (rule, rate) in enumerate(zip(self.rules, self.rates, strict=True), start=1):
            alone = 1.0 - (1.0 - rate) / (1.0 - self.otherwise)
            strength = strength_of(short_probability(min(max(alone, 0.0), 1.0)))
            bits.append(Hidden(f"{prefix}{k}", clause_node(rule, frame.columns), strength, 0.0))
        return Probability(Or(bits) if len(bits) > 1 else bits[0])


@dataclass(frozen=True, slots=True, eq=False)
class DecidingRules:
    """Rules, and what predicts the probability (None: it is that of the rules themselves).

    place: of its class among several, of which the first with a rule that holds is decided. stays: some rules were
    given and must stand in the model.
    """

    rules: Rules
    place: int = 0
    report: Terms | Rates | None = None
    stays: bool = False

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] on which some rule holds."""
        return covered_by_some(self.rules, codes, n_rows)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The rules, and the predicted probability on their side."""
        rule, probability = rule_of(self.rules, frame.columns), None
        if self.report is not None and not frame.unreported:
            probability = self.report.probability(frame, prefix)
        sided, silent = probability is not None, not self.rules
        return Score(rule, rule, probability, silent, sided=sided, precedence=-float(self.place), stays=self.stays)


def candidates_of(
    problem: Problem, path: Sequence[Rules], kept: int = 0, place: int = 0, n_threads: int = 1
) -> list[Candidate]:
    """The candidates of some rules each, of which the first `kept` were given; place: of its class among several."""
    found = list[Candidate]()
    for rules, (wrong, right) in zip(path, weights_covered(problem, path, n_threads).tolist(), strict=True):
        error = wrong + (problem.positive - right)
        cost = COST_OF_A_LITERAL * sum(clause_price(clause, problem.columns) for clause in rules)
        model = DecidingRules(rules, place, stays=kept > 0)
        found.append(Candidate(len(rules), error, error, model, bool(rules) and len(rules) == kept, cost))
    return found


def weights_covered(problem: Problem, several: Sequence[Rules], n_threads: int = 1) -> Floats:
    """The weight [S, 2] of the rows of label 0 and 1 on which one of some rules holds."""
    if not several:
        return np.zeros((0, 2))
    (found,) = rows_of(problem, n_threads).ask(covering, [list(several)])
    return np.asarray(found * problem.weight_unit)


def covering(part: Problem) -> Generator[Answer, Sequence[Rules], None]:
    """Answer as a part of the rows: the weight of those, by label, on which one of some rules holds."""
    several = yield []
    found, positive = np.zeros((len(several), 2), dtype=np.int64), part.labels == 1
    for k, rules in enumerate(several):
        holds = covered_by_some(rules, part.codes, part.n_rows)
        found[k] = part.weights[holds & ~positive].sum(), part.weights[holds & positive].sum()
    yield [found]


# The learner ------------------------------------------------------------------------------------------------------


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
        None,
        whole(2, optional=True),
        "folds of the cross-validation that chooses the size (None: ten up to 1,000 rows, five above)",
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
            *("missing", "categories", "start", "memory", "parts", "several", "ranked", "weights"),
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
        if problem.elsewhere is not None and problem.n_rows <= SEARCHED_ROWS:  # all are searched
            problem, questions = problem.here(), gathered(questions)
        given = problem
        self._cards = Cards.of(settings, data, classes)
        most = settings.max_rules if settings.max_clauses is None else min(settings.max_rules, settings.max_clauses)
        problem, known = rules_of_start(settings, problem, data.table, classes, len(questions))
        shares = [question.problem.share for question in questions]
        rare = are_rare(shares, settings.ordered is not None)
        if data.taught:  # what counts is how often the rules agree with the teacher
            rare = [False] * len(shares)
        guided = problem.n_rows <= _GUIDED
        plans = [
            RuleSettings(most, settings.max_literals, kept, begun, rare=each, guided=guided)
            for (kept, begun), each in zip(known, rare, strict=True)
        ]
        problem, plans = with_promises(problem, plans, data, settings, classes)
        own = [each.problem if problem is given else replace(problem, labels=each.problem.labels) for each in questions]
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
        guide = partial(self._cards.guide, question)
        path = rule_path(question.problem, plan, plan.variants[variant], guide, question.fold)
        some = [rules for rules in path if rules]
        return candidates_of(question.problem, some, len(plan.kept), plan.place, question.n_threads)

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """Give each size what predicts its probability."""
        for run in runs:
            run.path = tuple(self._reported(run.question, candidate) for candidate in run.path)
            if run.question.settings.report == "all":  # a card over all columns needs no rule
                run.nothing = self._reported(run.question, *candidates_of(run.question.problem, [()]))

    def nothing(self, question: Question) -> Candidate:
        """No rule: the probability is the share of the class; of two classes the more frequent one is decided."""
        if question.plan.whole is None:
            return super().nothing(question)
        (found,) = candidates_of(question.problem, [()], place=question.plan.place)
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
    return question if question.plan.whole is None else replace(question, problem=question.plan.whole)


def _in_one_list(
    problem: Problem, own: Sequence[Problem], plans: Sequence[RuleSettings], settings: Any, classes: tuple[Any, ...]
) -> tuple[list[Problem], list[RuleSettings]]:
    """The questions as one list of classes, the rarest first, each against those after it (as RIPPER; Cohen, 1995).

    Rows of the classes before it weigh nothing to a class: their own rules come first. The last class, of which the
    model is where no rule holds, needs no rules.
    """
    weights = problem.class_weights(len(classes))
    if settings.default is not None:
        weights[classes.index(settings.default)] = np.inf
    order = np.lexsort((-np.arange(len(classes)), weights))  # of equally frequent ones the first is the default
    place = np.argsort(order)
    problems, placed = [], []
    for k, (each, plan) in enumerate(zip(own, plans, strict=True)):
        last = place[k] == len(classes) - 1
        problems.append(each if last else each.silencing(problem, place < place[k]))
        placed.append(replace(plan, rules=len(plan.kept) if last else plan.rules, place=int(place[k]), whole=each))
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
