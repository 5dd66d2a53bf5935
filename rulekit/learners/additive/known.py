"""Rules that are known before any is found: required ones with what they must weigh, and those of a start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.errors import InputError
from rulekit.graph.nodes import Node, Not
from rulekit.graph.rule_graph import Required
from rulekit.learners.additive.literals import Literal, Literals
from rulekit.learners.additive.rows import rows_of
from rulekit.learners.additive.search import Held, Role, WeightedRule
from rulekit.learners.contract import Question
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import HOLDS, FixedColumn, Problem, with_fixed
from rulekit.learners.models.rule_sets import Clause
from rulekit.learners.promises.allowed import Allowed
from rulekit.learners.promises.constraints import broken_promise, refuse_broken, required_of
from rulekit.learners.promises.starts import GivenRules, check_classes, given_rules, terms_of_part, with_given
from rulekit.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class KnownRule:
    """A rule that is known; sign: of its weight (0: any)."""

    literals: Literals
    sign: int
    role: Role

    def rule(self, problem: Problem) -> WeightedRule:
        """It as a rule on the rows of a problem."""
        n = len(problem.labels)
        return WeightedRule.of(
            Held(self.literals, rows_of(problem.codes, n, self.literals), self.sign), 0.0, n, self.role
        )


def with_known(
    problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
) -> tuple[Problem, list[tuple[KnownRule, ...]]]:
    """The problem with known rules as columns behind its own, and by question these rules.

    A required decision is a rule for or against each question, and its weight has that sign. Raises InputError for a
    start of another form, where rules that must stand break what is promised, and for several classes where a decision
    is required.
    """
    settings, table = questions[0].settings, data.table
    schema = Schema(table.features, settings.target, constraints=table.constraints)
    required = required_of(settings.require or (), schema, classes)
    if required and len(classes) > 2 and settings.ordered is None:
        why = "of several classes the largest sum decides, and none outweighs the sums of the others"
        raise InputError(why, where="require", fix="leave it out, or take another learner")
    free = Allowed.of(problem.columns, table.constraints).free
    started = [GivenRules((), ())] * len(questions)
    if settings.start is not None:
        check_classes(settings.start, classes, settings.ordered is not None)
        terms = [terms_of_part(part) for part in settings.start.decision.parts]
        started = given_rules(settings.start, settings.freeze, classes, terms)
    signs: dict[Node, int | None] = {}
    for node in {} if free else dict.fromkeys(node for own in started for node in (*own.kept, *own.begun)):
        signs[node] = _sign(node, schema)
    conditions = {promise.condition for promise in required}
    started = [
        GivenRules(
            tuple(node for node in own.kept if node not in conditions),
            tuple(node for node in own.begun if node not in conditions and signs.get(node, 0) is not None),
        )
        for own in started
    ]
    for node in (node for own in started for node in own.kept if signs.get(node, 0) is None):
        refuse_broken([node], schema)
    first = len(problem.columns)
    problem = with_fixed(problem, [promise.condition for promise in required], table, schema)
    problem, clauses = with_given(problem, started, table, whole=not free)
    known = []
    for question, own, (kept, begun) in zip(questions, started, clauses, strict=True):
        rules = [*_required(required, question.index, first, problem, schema)]
        rules += [
            KnownRule(_literals(each, problem), signs.get(node) or 0, "stays") for node, each in _pairs(own.kept, kept)
        ]
        rules += [
            KnownRule(_literals(each, problem), signs.get(node) or 0, "free") for node, each in _pairs(own.begun, begun)
        ]
        known.append(tuple(rules))
    return problem, known


def _pairs(nodes: Sequence[Node], clauses: Sequence[Clause]) -> list[tuple[Node, Clause]]:
    return list(zip(nodes, clauses, strict=True))


def _sign(node: Node, schema: Schema) -> int | None:
    """The sign of the weight with which a rule keeps what is promised: 0 for either, None for neither."""
    signs = [sign for sign, root in ((1, node), (-1, Not(node))) if not broken_promise(root, schema)]
    return sum(signs) if signs else None


def _literals(clause: Clause, problem: Problem) -> Literals:
    found = []
    for place, condition in clause.items():
        column = problem.columns[place]
        assert isinstance(column, FixedColumn)
        found.append(Literal(place, condition, 0, column.reads))
    return tuple(found)


def _required(
    required: Sequence[Required], question: int, first: int, problem: Problem, schema: Schema
) -> list[KnownRule]:
    """What is required as rules for or against a question; first: the column of the first one."""
    speaks = [promise.class_index > question for promise in required]
    told = list(zip((promise.condition for promise in required), speaks, strict=True))
    refuse_broken([node for node, own in told if own], schema, [node for node, own in told if not own])
    return [
        KnownRule(_literals({first + place: HOLDS}, problem), 1 if own else -1, "decides")
        for place, own in enumerate(speaks)
    ]


def outweighing(rules: Sequence[WeightedRule], weights: Floats, bias: float) -> Floats:
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
