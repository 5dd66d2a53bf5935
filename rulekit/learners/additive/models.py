"""Weighted rules as a model: a sum that says yes above 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.graph.nodes import Linear, Logistic
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.models.additive import Terms, terms_of_rules
from rulekit.learners.models.rule_sets import Clause, covered
from rulekit.learners.sums_of_rows.histograms import Bools, Floats

_BESIDE_OTHERS = 2.0
"""What the sums of several classes are lessened by for their probabilities (docs/additive.md has the measurement)."""


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveRules:
    """The bias and the weights of the clauses that hold are added up, exactly; yes above 0."""

    clauses: tuple[Clause, ...]
    weights: tuple[float, ...]
    bias: float

    def scores(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""
        return self._added(codes, n_rows, {})

    def _added(self, codes: Codes, n_rows: int, known: dict[int, Bools]) -> Floats:
        """The same; known: the rows of clauses that were looked at already, by which object they are."""
        total = np.full(n_rows, self.bias)
        for clause, weight in zip(self.clauses, self.weights, strict=True):
            if id(clause) not in known:
                known[id(clause)] = covered(clause, codes, n_rows)
            total += weight * known[id(clause)]
        return total

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose sum is above 0."""
        return np.asarray(self.scores(codes, n_rows) > 0.0)

    @staticmethod
    def decide_all(models: Sequence[AdditiveRules], codes: Codes, n_rows: int) -> Iterator[Bools]:
        """What each decides [n]; a clause that several of them have is looked at once."""
        known: dict[int, Bools] = {}
        return (np.asarray(model._added(codes, n_rows, known) > 0.0) for model in models)

    def terms(self) -> Terms:
        """The rules with their weights."""
        return Terms(tuple(zip(self.clauses, self.weights, strict=True)), {}, self.bias, fitted=True)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The sum, and 1 / (1 + exp(-sum)) as the probability; of several classes of _BESIDE_OTHERS less than the sum.

        The probabilities of several classes are divided by their total. That of sums as they stand takes each class as
        one against all others; of sums that are much less it would be their soft-max.
        """
        terms, constant = terms_of_rules(zip(self.clauses, self.weights, strict=True), frame.columns)
        total = Linear(terms, self.bias + constant)
        said = Linear([(1.0, total)], -_BESIDE_OTHERS) if frame.kind == "several" else total
        return Score(total, probability=Logistic(said), silent=not terms and self.bias <= 0.0)
