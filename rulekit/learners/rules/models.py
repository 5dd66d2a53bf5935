"""What a candidate of the learner rules holds: the rules that decide, and what predicts the probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulekit.learners.binned.codes import Codes
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Candidate, Frame, Score
from rulekit.learners.counting.histograms import Bools
from rulekit.learners.fitting.additive import ScoreCard
from rulekit.learners.fitting.rule_sets import covered_by_some, rule_of
from rulekit.learners.rules.clause_search import clause_price
from rulekit.learners.rules.rule_paths import Rules

COST_OF_A_LITERAL = 0.0005
"""By how much, as a rate, a literal must lower the held-out error to be worth reading (docs/rules.md)."""

_ROWS = 2.0
"""How many rows with the share of all are counted to those on which rules hold."""


@dataclass(frozen=True, slots=True, eq=False)
class DecidingRules:
    """Rules, and the score card of the probability (None: the rules alone are reported).

    share: of the positive rows; held, right: the weight of the rows on which rules hold, and of the positive ones of
    them. stays: some rules were given and must stand in the model.
    """

    rules: Rules
    share: float
    held: float
    right: float
    card: ScoreCard | None = None
    stays: bool = False

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] on which some rule holds."""
        return covered_by_some(self.rules, codes, n_rows)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The rules, and the probability of the card on their side."""
        rule = rule_of(self.rules, frame.columns)
        known = self.card is not None and not frame.unreported
        probability = self.card.score(frame, prefix).probability if known and self.card is not None else None
        return Score(rule, rule, probability, sided=known, precedence=self._precedence, stays=self.stays)

    @property
    def _precedence(self) -> float:
        """The squared odds of a row on which rules hold to be positive, over those of any row.

        So half of what a class is rarer, in odds, makes up for being less often right (docs/cnll-notes.md).
        """
        if not self.rules:
            return -1.0
        wrong = max(self.held - self.right, 0.0) + _ROWS * (1.0 - self.share)
        return float(((self.right + _ROWS * self.share) / wrong) ** 2 / (self.share / (1.0 - self.share)))


def candidate_of(problem: Problem, rules: Rules, kept: int) -> Candidate:
    """The candidate of some rules, of which the first `kept` were given."""
    holds, unit = covered_by_some(rules, problem.codes, len(problem.labels)), problem.weight_unit
    held = float(problem.weights[holds].sum()) * unit
    right = float(problem.weights[holds & (problem.labels == 1)].sum()) * unit
    error = held - right + problem.positive - right
    cost = COST_OF_A_LITERAL * sum(clause_price(clause, problem.columns) for clause in rules)
    model = DecidingRules(rules, problem.share, held, right, stays=kept > 0)
    return Candidate(len(rules), error, error, model, bool(rules) and len(rules) == kept, cost)


def candidates_of(problem: Problem, path: Sequence[Rules], kept: int) -> list[Candidate]:
    """A candidate for each size that has a rule."""
    return [candidate_of(problem, rules, kept) for rules in path if rules]
