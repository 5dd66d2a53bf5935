"""The score card that predicts the probability: at most twelve points over the columns that the rules read.

The card is grown by the learner of additive rules, from rules of one literal; their weights become points by the codes
of each column, so that a reader adds one number a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.learners.binned.codes import MemoryCodes
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Question, find_learner
from rulekit.learners.fitting.additive import ScoreCard, Summed
from rulekit.learners.fitting.rows.inputs import TrainingData
from rulekit.learners.rule_learner import RuleLearner

_POINTS = 12
_POINT = 0.1  # what a point adds to the log odds: whole points are read, added and checked by hand
_ROWS = 1 << 15


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
        own = learner.settings(
            max_rules=_POINTS,
            rule_length=1,
            ridge=5.0,
            stopping="none",
            ordered=settings.ordered,
            monotone=settings.monotone,
            missing_never_helps=settings.missing_never_helps,
        )
        return cls(learner, own, data, classes[:2])  # each question has a card of its own: yes or no

    def fitted(self, question: Question, columns: Sequence[int]) -> ScoreCard | None:
        """The card over some columns for the rows of a question; None where it has no point."""
        problem = question.problem
        rows = None if len(problem.labels) <= _ROWS else (np.arange(_ROWS) * len(problem.labels)) // _ROWS
        part = problem if rows is None else problem.take(rows)
        own = Problem(
            tuple(part.columns[j] for j in columns),
            MemoryCodes(tuple(part.codes[j] for j in columns)),
            part.labels,
            part.weights,
            part.weight_unit,
        )
        asked = replace(question, problem=own, settings=self.settings, plan=None, fold=True)
        (asked,) = self.learner.prepare(own, [asked], self.data, self.classes)
        *_, last = (None, *self.learner.learn(asked))
        if last is None or not isinstance(last.model, Summed):
            return None
        terms = last.model.terms()
        points: dict[int, Any] = {}
        for clause, weight in terms.rules:
            for column, condition in clause.items():
                points.setdefault(column, np.zeros(own.columns[column].n_codes))
                points[column] = points[column] + weight * condition
        whole = {columns[column]: np.rint(each / _POINT) for column, each in points.items()}
        return ScoreCard(whole, float(round(terms.bias / _POINT)), _POINT)
