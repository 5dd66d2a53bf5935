"""What a candidate of the learner rules holds: the rules that decide, and what predicts the probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import TRUE, Hidden, Linear, Logistic, Node, Or, Probability
from rulekit.learners.contract import NO_WATCH, Candidate, Frame, Question, Score, find_learner
from rulekit.learners.data.binning import NO_BOUNDS, BinnedColumn, Codes, MemoryCodes
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem, codes_of
from rulekit.learners.models.additive import Summed, Terms, terms_of
from rulekit.learners.models.rule_sets import Clause, clause_node, covered, covered_by_some, rule_of
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.rules.clause_search import clause_price
from rulekit.learners.rules.rule_paths import Rules, evenly_spread
from rulekit.numbers import short_probability, strength_of
from rulekit.schema import FIRST_LEVEL_CODE, Feature

_MOST, _MOST_OF_ALL = 12, 20
_POINT = 0.1
_LOOKED_AT = 1 << 14
_GUIDES = 20
_LEAST = 1e-3
_MOST_LEVELS = 32  # of a category with points: of more no person adds them


@dataclass(frozen=True, slots=True, eq=False)
class RuleCard:
    """The points of rules, those of columns by code [n_codes], and of every row: all whole numbers."""

    rules: tuple[tuple[Clause, float], ...]
    columns: tuple[tuple[int, Floats], ...]
    bias: float

    def probability(self, frame: Frame, prefix: str) -> Logistic:
        """The logistic of a tenth of the points."""
        terms = [(points, clause_node(rule, frame.columns)) for rule, points in self.rules]
        terms += [term for column, points in self.columns for term in terms_of(frame.columns[column], points)]
        return Logistic(Linear([(_POINT, Linear(terms, self.bias))], 0.0))


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

    def fitted(self, question: Question, rules: Rules, columns: Sequence[int]) -> RuleCard:
        """The card over some rules and columns for the rows of a question, of which 16,384 are looked at.

        Most rows have no points of a column, and neither has what no row has: a missing value, an unseen level.
        """
        problem = question.problem
        few = [each.ordered or each.n_codes - FIRST_LEVEL_CODE <= _MOST_LEVELS for each in problem.columns]
        columns = [j for j in columns if few[j]]
        rows = evenly_spread(len(problem.labels), _LOOKED_AT)
        part, most = problem if rows is None else problem.take(rows), len(columns)
        held = [codes_of(covered(rule, part.codes, len(part.labels))) for rule in rules]
        binned = [part.columns[j] for j in columns]
        # A rule keeps what is promised, so that a point for it does, and one against it does not.
        binned += [_rule_column(k, 1 if self.settings.monotone else 0) for k in range(len(rules))]
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
        return RuleCard(
            tuple((rules[column - most], worth) for column, worth in sorted(of_rules.items()) if worth),
            tuple((columns[column], each) for column, each in sorted(points.items()) if column < most and each.any()),
            bias,
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


def _rule_column(k: int, monotone: Literal[0, 1]) -> BinnedColumn:
    return BinnedColumn(Feature(f"rule {k + 1}", "boolean", monotone=monotone), -1, 3, NO_BOUNDS, NO_BOUNDS)


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
        n = len(problem.labels)

        def rate(rows: Bools) -> float:
            right = problem.weight_of(rows & (problem.labels == 1))
            return (right + _ROWS * problem.share) / (problem.weight_of(rows) + _ROWS)

        return cls(
            rules,
            tuple(rate(covered(rule, problem.codes, n)) for rule in rules),
            rate(~covered_by_some(rules, problem.codes, n)),
        )

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
    report: RuleCard | Rates | None = None
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


def candidate_of(problem: Problem, rules: Rules, kept: int = 0, place: int = 0) -> Candidate:
    """The candidate of some rules, of which the first `kept` were given; place: of its class among several."""
    holds = covered_by_some(rules, problem.codes, len(problem.labels))
    right = problem.weight_of(holds & (problem.labels == 1))
    error = problem.weight_of(holds) - right + problem.positive - right
    cost = COST_OF_A_LITERAL * sum(clause_price(clause, problem.columns) for clause in rules)
    model = DecidingRules(rules, place, stays=kept > 0)
    return Candidate(len(rules), error, error, model, bool(rules) and len(rules) == kept, cost)


def candidates_of(problem: Problem, path: Sequence[Rules], kept: int, place: int) -> list[Candidate]:
    """A candidate for each size that has a rule."""
    return [candidate_of(problem, rules, kept, place) for rules in path if rules]
