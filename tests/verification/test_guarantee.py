"""What the equality of decisions rests on, part by part."""

from __future__ import annotations

import math

import pytest

from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import (
    Above,
    Column,
    Compare,
    Hidden,
    Linear,
    LinearThreshold,
    Logistic,
    Or,
    Probability,
    Step,
    Strength,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.proof.prove import guarantee

SCHEMA = Schema((Feature("x"), Feature("y")), "label")
LEAF = Compare("x", ">", 1.0)


def _graph(decision, k=2):
    return RuleGraph(SCHEMA, tuple(range(k)), decision)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Fires(LEAF), "Boolean"),
        (Fires(LinearThreshold([(0.5, Column("x", 0.0, -4.0, 4.0, 0.25)), (1.0, LEAF)], 0.125)), "grid sum"),
        (Fires(LinearThreshold([(0.5, Column("x", 0.0, -4.0, 4.0, 0.0))], 0.125)), "tested"),
        (Fires(LinearThreshold([(0.1, Column("x", 0.0, -1e9, 1e9, 2.0**-20))], 0.3)), "fixed order"),
        (Fires(Above(Linear([(1.0, Step("x", (0.0,), (0.1, 2.0**70), 0.0))], 0.0), 0.0)), "fixed order"),
        (Fires(Above(Logistic(Linear([(1.0, LEAF)], 0.0)), 0.5)), "tested"),
        (Fires(Above(Probability(Or([Hidden("h", LEAF, 1.0)])), 0.5)), "fixed order"),
        (Fires(Above(Strength(Or([Hidden("h", LEAF, 0.1), Hidden("i", LEAF, 0.3)])), 0.5)), "fixed order"),
        (Fires(Above(Strength(Or([Hidden("h", LEAF, 0.125), Hidden("i", LEAF, 1.5)])), 0.5)), "grid sum"),
        (Fires(Above(Strength(Or([Hidden("h", LEAF, 0.125), LEAF])), 0.5)), "fixed order"),
    ],
)
def test_the_weakest_part_is_named(decision, expected):
    assert guarantee(_graph(decision)).basis == expected


def test_the_weakest_class_counts():
    rounded = Linear([(1.0, Column("x", 0.0, 0.0, 1.0, 0.5))], 0.0)
    loose = Linear([(1.0, Column("x", 0.0, 0.0, 1.0))], 0.0)
    found = guarantee(_graph(ArgMax((LEAF, rounded, loose), (0.5, -math.inf, 0.5), (0, 1, 2)), 3))
    assert (found.basis, found.proved) == ("tested", False)
    assert "'x'" in found.reason
    assert guarantee(_graph(Median((LEAF, Above(rounded, 0.5))), 3)).basis == "grid sum"
