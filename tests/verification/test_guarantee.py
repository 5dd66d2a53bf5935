"""What the equality of decisions rests on, part by part."""

from __future__ import annotations

import math

import pytest

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.proof.prove import guarantee

SCHEMA = Schema((Feature("x"), Feature("y")), "label")
LEAF = rg.Compare("x", ">", 1.0)


def _graph(decision, k=2):
    return RuleGraph(SCHEMA, tuple(range(k)), decision)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Fires(LEAF), "Boolean"),
        (Fires(rg.LinearThreshold([(0.5, rg.Column("x", 0.0, -4.0, 4.0, 0.25)), (1.0, LEAF)], 0.125)), "grid sum"),
        (Fires(rg.LinearThreshold([(0.5, rg.Column("x", 0.0, -4.0, 4.0, 0.0))], 0.125)), "tested"),
        (Fires(rg.LinearThreshold([(0.1, rg.Column("x", 0.0, -1e9, 1e9, 2.0**-20))], 0.3)), "fixed order"),
        (Fires(rg.Above(rg.Linear([(1.0, rg.Step("x", (0.0,), (0.1, 2.0**70), 0.0))], 0.0), 0.0)), "fixed order"),
        (Fires(rg.Above(rg.Logistic(rg.Linear([(1.0, LEAF)], 0.0)), 0.5)), "tested"),
        (Fires(rg.Above(rg.Probability(rg.Or([rg.Hidden("h", LEAF, 1.0)])), 0.5)), "fixed order"),
        (
            Fires(rg.Above(rg.Strength(rg.Or([rg.Hidden("h", LEAF, 0.1), rg.Hidden("i", LEAF, 0.3)])), 0.5)),
            "fixed order",
        ),
        (
            Fires(rg.Above(rg.Strength(rg.Or([rg.Hidden("h", LEAF, 0.125), rg.Hidden("i", LEAF, 1.5)])), 0.5)),
            "grid sum",
        ),
        (Fires(rg.Above(rg.Strength(rg.Or([rg.Hidden("h", LEAF, 0.125), LEAF])), 0.5)), "fixed order"),
    ],
)
def test_the_weakest_part_is_named(decision, expected):
    assert guarantee(_graph(decision)).basis == expected


def test_the_weakest_class_counts():
    rounded = rg.Linear([(1.0, rg.Column("x", 0.0, 0.0, 1.0, 0.5))], 0.0)
    loose = rg.Linear([(1.0, rg.Column("x", 0.0, 0.0, 1.0))], 0.0)
    found = guarantee(_graph(ArgMax((LEAF, rounded, loose), (0.5, -math.inf, 0.5), (0, 1, 2)), 3))
    assert (found.basis, found.proved) == ("tested", False)
    assert "'x'" in found.reason
    assert guarantee(_graph(Median((LEAF, rg.Above(rounded, 0.5))), 3)).basis == "grid sum"
