"""What a candidate of the learner rules holds: the rules that decide, and what predicts the probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulekit.arrays import Bools
from rulekit.graph.nodes import TRUE, Hidden, Node, Or, Probability
from rulekit.learners.contract import Candidate, Frame, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.rule_sets import clause_node, covered, covered_by_some, rule_of
from rulekit.learners.rules.clause_search import clause_price
from rulekit.learners.rules.rule_paths import Rules
from rulekit.learners.rules.score_cards import RuleCard
from rulekit.numbers import short_probability, strength_of

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
            held = float(problem.weights[rows].sum()) * problem.weight_unit
            right = float(problem.weights[rows & (problem.labels == 1)].sum()) * problem.weight_unit
            return (right + _ROWS * problem.share) / (held + _ROWS)

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
    holds, unit = covered_by_some(rules, problem.codes, len(problem.labels)), problem.weight_unit
    held = float(problem.weights[holds].sum()) * unit
    right = float(problem.weights[holds & (problem.labels == 1)].sum()) * unit
    error = held - right + problem.positive - right
    cost = COST_OF_A_LITERAL * sum(clause_price(clause, problem.columns) for clause in rules)
    model = DecidingRules(rules, place, stays=kept > 0)
    return Candidate(len(rules), error, error, model, bool(rules) and len(rules) == kept, cost)


def candidates_of(problem: Problem, path: Sequence[Rules], kept: int, place: int) -> list[Candidate]:
    """A candidate for each size that has a rule."""
    return [candidate_of(problem, rules, kept, place) for rules in path if rules]
