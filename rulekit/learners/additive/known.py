"""Rules that are known before any is found: which are required, and what they must weigh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.additive.literals import Literal, Literals
from rulekit.learners.additive.rows import rows_of
from rulekit.learners.additive.search import Held, Role, Rule
from rulekit.learners.binned.problem import HOLDS, Problem, with_fixed
from rulekit.learners.contract import Question
from rulekit.learners.counting.histograms import Floats
from rulekit.learners.fitting.constraints import refuse_broken, required_of
from rulekit.learners.fitting.inputs import TrainingData
from rulekit.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A rule that is known; sign: of its weight (0: any)."""

    literals: Literals
    sign: int
    role: Role

    def rule(self, problem: Problem) -> Rule:
        """It as a rule on the rows of a problem."""
        n = len(problem.labels)
        return Rule.of(Held(self.literals, rows_of(problem.codes, n, self.literals), self.sign), 0.0, n, self.role)


def with_known(
    problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
) -> tuple[Problem, list[tuple[Known, ...]]]:
    """The problem with known rules as columns behind its own, and by question these rules.

    A required decision is a rule for or against each question, and its weight has that sign. Raises InputError for
    several classes, and where a required rule breaks what is promised.
    """
    settings, table = questions[0].settings, data.table
    schema = Schema(table.features, settings.target, constraints=table.constraints)
    required = required_of(settings.require or (), schema, classes)
    if required and len(classes) > 2 and settings.ordered is None:
        why = "of several classes the largest sum decides, and none outweighs the sums of the others"
        raise InputError(why, where="require", fix="leave it out, or take another learner")
    first, known = len(problem.columns), []
    for question in questions:
        speaks = [each.class_index > question.index for each in required]
        sides = [[each.condition for each, own in zip(required, speaks, strict=True) if own == side] for side in (1, 0)]
        refuse_broken(sides[0], schema, sides[1])
        rules = [(Literal(first + place, HOLDS, 0),) for place in range(len(required))]
        known.append(tuple(Known(rule, 1 if own else -1, "decides") for rule, own in zip(rules, speaks, strict=True)))
    return with_fixed(problem, [each.condition for each in required], table, schema), known


def outweighing(rules: Sequence[Rule], weights: Floats, bias: float) -> Floats:
    """The weights [K]; of rules that decide so large that the sum is on their side of 0 whatever other rules hold.

    Those of different signs never hold together.
    """
    decides = np.array([rule.role == "decides" for rule in rules], dtype=bool)
    if not decides.any():
        return weights
    signs, others = np.array([rule.sign for rule in rules]), np.where(decides, 0.0, weights)
    least = math.floor(-(bias + float(np.minimum(others, 0.0).sum()))) + 1
    most = -math.floor(bias + float(np.maximum(others, 0.0).sum())) - 1
    raised = np.where(signs > 0, np.maximum(weights, max(least, 1)), np.minimum(weights, min(most, -1)))
    return np.where(decides, raised, weights)
