"""The score card that predicts the probability: at most twelve points for rules and for columns that they read.

The card is grown by the learner of additive rules, from rules of one literal and from the rules that decide. Its
weights become whole points, so that a reader adds, checks and explains them by hand; a point is a tenth of log odds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rulekit.graph.nodes import Linear, Logistic
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.codes import MemoryCodes
from rulekit.learners.binned.problem import NO_BOUNDS, codes_of
from rulekit.learners.contract import NO_WATCH, Frame, Question, find_learner
from rulekit.learners.counting.histograms import Floats
from rulekit.learners.fitting.additive import Summed, terms_of
from rulekit.learners.fitting.rows.inputs import TrainingData
from rulekit.learners.fitting.rule_sets import Clause, clause_node, covered
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.rules.rule_paths import Rules, evenly_spread
from rulekit.schema import Feature

_MOST = 12
_POINT = 0.1
_ROWS = 1 << 15


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

    @classmethod
    def of(cls, settings: Any, data: TrainingData, classes: tuple[Any, ...]) -> Cards:
        """For a model with these settings."""
        learner = find_learner("additive")()
        asked = {name: getattr(settings, name) for name in ("ordered", "monotone", "missing_never_helps")}
        own = learner.settings(max_rules=_MOST, rule_length=1, ridge=5.0, stopping="none", **asked)
        return cls(learner, own, data, classes[:2])  # each question has a card of its own, of yes and no

    def fitted(self, question: Question, rules: Rules, columns: Sequence[int]) -> RuleCard:
        """The card over some rules and columns for the rows of a question, of which 32,768 are looked at."""
        problem = question.problem
        rows = evenly_spread(len(problem.labels), _ROWS)
        part, most = problem if rows is None else problem.take(rows), len(columns)
        held = [codes_of(covered(rule, part.codes, len(part.labels))) for rule in rules]
        binned = [part.columns[j] for j in columns]
        # A rule keeps what is promised, so that a point for it does, and one against it does not.
        binned += [_rule_column(k, 1 if self.settings.monotone else 0) for k in range(len(rules))]
        codes = MemoryCodes((*(part.codes[j] for j in columns), *held))
        own = replace(part, columns=tuple(binned), codes=codes)
        asked = replace(question, problem=own, settings=self.settings, plan=None, watch=NO_WATCH, fold=True)
        (asked,) = self.learner.prepare(own, [asked], self.data, self.classes)
        *_, last = (self.learner.nothing(asked), *self.learner.learn(asked))
        if not isinstance(last.model, Summed):
            share = min(max(problem.share, 1e-3), 1.0 - 1e-3)
            return RuleCard((), (), float(round(np.log(share / (1.0 - share)) / _POINT)))
        terms, points = last.model.terms(), dict[int, Floats]()
        for clause, weight in terms.rules:
            for column, condition in clause.items():
                before = points.get(column, np.zeros(binned[column].n_codes))
                points[column] = before + float(round(weight / _POINT)) * condition
        bias = float(round(terms.bias / _POINT))
        bias += sum(float(points[column][1]) for column in points if column >= most)
        of_rules = {column: float(each[2] - each[1]) for column, each in points.items() if column >= most}
        return RuleCard(
            tuple((rules[column - most], worth) for column, worth in sorted(of_rules.items()) if worth),
            tuple((columns[column], each) for column, each in sorted(points.items()) if column < most and each.any()),
            bias,
        )


def _rule_column(k: int, monotone: Literal[0, 1]) -> BinnedColumn:
    return BinnedColumn(Feature(f"rule {k + 1}", "boolean", monotone=monotone), -1, 3, NO_BOUNDS, NO_BOUNDS)
