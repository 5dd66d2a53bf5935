"""Models under overrides, drawn at random and of two rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from random_tables import random_table

from rulekit.conformance.models import random_boolean, random_legal_graph
from rulekit.errors import GraphError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Compare, Hidden, Node, Not, Probability
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.variants import with_overrides
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

SCHEMA = Schema((Feature("x"), Feature("y")))
X, Y = Compare("x", ">", 1.0), Compare("y", ">", 1.0)


def override(name: str, class_index: int, condition: Node = X, **changes: Any) -> Override:
    said = {"author": "A. Jones", "date": "2026-11-25", "reason": 'the branch\nasked "twice"', **changes}
    return Override(name, class_index, condition, **said)


def some_overrides(rng: np.random.Generator, graph: RuleGraph) -> tuple[Override, ...]:
    """One to three overrides of random conditions and classes."""
    k = len(graph.classes)
    return tuple(
        override(f"o{j}", int(rng.integers(k)), random_boolean(rng, graph.schema, 2), expires="2037-06-30")
        for j in range(1, int(rng.integers(2, 5)))
    )


def winners(overrides: tuple[Override, ...], table: Table) -> npt.NDArray[np.int64]:
    """By row [n] the class of the first override that holds, -1 where none does."""
    won = np.full(table.n_rows, -1)
    values = evaluate_nodes([each.condition for each in overrides], table)
    for each in reversed(overrides):
        won[values[each.condition].astype(bool)] = each.class_index
    return won


def overridden(seed: int) -> tuple[RuleGraph, RuleGraph, Table]:
    """A random legal model, the same under overrides, and rows; where an override is refused the next model."""
    while True:
        rng = np.random.default_rng(seed)
        graph = random_legal_graph(seed)
        try:
            return graph, with_overrides(graph, some_overrides(rng, graph)), random_table(rng, graph.schema, 60)
        except GraphError:  # a score without bounds
            seed += 1


def two_rules() -> RuleGraph:
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(X), (Probability(Hidden("h", X, 1.0)),))
    return with_overrides(graph, (override("o1", 1, Y), override("o2", 0, Not(Y), expires="2037-01-01")))
