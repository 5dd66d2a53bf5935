"""A sum with whole points in the place of its own, as a model.

The total decides by a threshold that lies half-way between two of its values; what is reported is a logistic function
of the total, and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.cells.totals import half_way
from rulekit.graph.nodes import Above, Linear, Logistic, Node
from rulekit.learners.contract import Frame, Model, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.models.additive import Terms, terms_of, terms_of_rules
from rulekit.learners.models.rule_sets import covered
from rulekit.learners.sums_of_rows.histograms import Bools, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Pointed:
    """A sum of whole points, which says yes above the threshold; source: the one that it was made from.

    The probability is 1 / (1 + exp(-(scale * total + offset))).
    """

    source: Model
    points: Terms
    threshold: float
    scale: float
    offset: float

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""
        return totals_of(self.points, codes, n_rows)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose total is above the threshold."""
        return np.asarray(self.totals(codes, n_rows) > self.threshold)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The total, the rule that decides by it, and the probability that is reported."""
        rules, constant = terms_of_rules(self.points.rules, frame.columns)
        columns: list[tuple[float, Node]] = [
            term for j, points in sorted(self.points.columns.items()) for term in terms_of(frame.columns[j], points)
        ]
        # Where a threshold decides, it takes the constant; sums that compete need it.
        competes = frame.kind == "several"
        total = Linear([*rules, *columns], self.points.bias + constant * competes)
        constant *= not competes
        asked = frame.kind != "several" and not frame.unreported
        threshold = half_way(total, frame.schema, self.threshold - constant) if asked else self.threshold
        linked = Logistic(Linear([(self.scale, total)], self.offset + self.scale * constant))
        return Score(total, rule=Above(total, threshold), probability=linked)


def totals_of(terms: Terms, codes: Codes, n_rows: int) -> Floats:
    """The sums [n]."""
    total = np.full(n_rows, terms.bias)
    for clause, weight in terms.rules:
        total += weight * covered(clause, codes, n_rows)
    for column, points in terms.columns.items():
        total += points[codes[column]]
    return total
