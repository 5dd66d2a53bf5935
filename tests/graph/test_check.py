"""What `check` lets pass, and how it names the first node that it does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rulekit.conformance.models import random_graph
from rulekit.errors import GraphError
from rulekit.graph import nodes as rg
from rulekit.graph.check import check, check_meetings
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import TRUE, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Constraints, Feature, Schema

FEATURES = (
    Feature("x"),
    Feature("d", precision="float64"),
    Feature("b", "boolean"),
    Feature("c", "categorical", ("red", "blue")),
    Feature("race", role="forbidden"),
    Feature("zip", "boolean", role="audit"),
)
SCHEMA = Schema((*FEATURES, Feature("new\nline", "boolean")))
X = rg.Compare("x", ">", 0.0)
H, G = rg.Hidden("h", X, 1.0), rg.Hidden("g", X, 1.0)
REAL = rg.Column("x", 0.0, -1.0, 1.0)


class Enigma(rg.Node, family=rg.BOOLEAN):
    """A node type that nobody knows."""


def graph(decision, probability=(), classes=(0, 1), schema=SCHEMA):
    return RuleGraph(schema, classes, decision, probability)


def fault(decision, probability=(), classes=(0, 1), schema=SCHEMA) -> str:
    with pytest.raises(GraphError) as caught:
        check(graph(decision, probability, classes, schema))
    return str(caught.value)


@pytest.mark.parametrize("seed", range(60))
def test_legal_graphs_pass(seed):
    check(random_graph(np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("node", "named"),
    [
        (rg.And((X, REAL)), "And"),
        (rg.Not(rg.Probability(H)), "Not"),
        (rg.LinearThreshold(((1.0, H),), 0.0), "LinearThreshold"),
        (rg.LinearThreshold(((1.0, rg.Probability(H)),), 0.0), "LinearThreshold"),
        (rg.Compare("nowhere", ">", 0.0), "Compare of column 'nowhere'"),
        (rg.Compare("b", ">", 0.0), "Compare of column 'b'"),
        (rg.Compare("c", ">", 0.0), "Compare of column 'c'"),
        (rg.Compare("new\nline", ">", 0.0), r"Compare of column 'new\nline'"),  # in one line
        (rg.IsTrue("x"), "IsTrue of column 'x'"),
        (rg.Among("x", ("red",)), "Among of column 'x'"),
        (rg.Among("c", ("green",)), "'green'"),
        (rg.Compare("x", ">", 1e39), "1e+39"),
        (rg.Compare("race", ">", 1.0), "forbidden"),
        (rg.IsTrue("zip"), "reports"),
        (rg.Missing("zip"), "reports"),
        (rg.AtLeast(3, (X, X)), "AtLeast"),
        (rg.AtLeast(-1, (X, X)), "AtLeast"),
        (rg.And((rg.Compare("deep", ">", 0.0), REAL)), "'deep'"),  # the first one is the one below
        (rg.Above(X, 0.5), "Above"),
        (rg.Above(H, 0.5), "Above"),
        (rg.Linear(((1.0, H),), 0.0), "Linear"),
        (rg.Step("x", (0.0, 1e39), (0.0, 1.0, 2.0), 0.0), "Step of column 'x'"),
        (rg.Step("b", (0.5,), (0.0, 1.0), 0.0), "Step of column 'b'"),
        (rg.Column("c", 0.0, 0.0, 1.0), "Column of column 'c'"),
        (rg.LevelPoints("x", (("red", 1.0),)), "LevelPoints of column 'x'"),
        (rg.LevelPoints("c", (("green", 1.0),)), "'green'"),
        (rg.Probability(rg.Hidden("outer", H, 1.0)), "Hidden 'outer'"),  # a cause is not random
        (rg.Probability(rg.Or((H, rg.Hidden("h", X, 2.0)))), "'h'"),  # two bits of one name
        (Enigma(), "Enigma"),
    ],
)
def test_an_illegal_node_is_named(node, named):
    found = fault(Fires(rg.Or((X, node)) if node.family.value in ("Boolean", "Random") else rg.Above(node, 0.0)))
    assert named in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("decision", "classes", "named"),
    [
        *((decision, (0, 1), "Fires") for decision in (Fires(H), Fires(REAL), Fires(rg.Probability(H)))),
        (ArgMax((X, H), (0.5, 0.5), (0, 1)), (0, 1), "ArgMax"),
        (Median((X, H)), (0, 1, 2), "Random"),
        *((Fires(X), classes, "classes") for classes in [(0, math.nan), (0, math.inf), (0, None), ((1,), 2)]),
    ],
)
def test_roots_have_the_family_that_their_decision_needs_and_classes_can_be_written(decision, classes, named):
    assert named in fault(decision, classes=classes)
    assert "Boolean" in fault(Fires(X), (X,))  # no reported probability


@pytest.mark.parametrize(
    "formula",
    [rg.And((H, G)), rg.Or((H, rg.And((G, X)))), rg.Or((H, H)), rg.Or((H, rg.Hidden("h", X, 2.0))), rg.Not(H), REAL],
)
def test_strengths_add_of_an_or_of_different_bits(formula):
    assert fault(Fires(rg.Above(rg.Strength(formula), 0.5)))
    for right in (rg.Or((H, G, X)), H, X):
        check(graph(Fires(rg.Above(rg.Strength(right), 0.5))))


def test_columns_that_may_not_meet():
    schema = Schema(FEATURES, constraints=Constraints(together=(("x", "b"), ("d",))))
    together = rg.And((X, rg.IsTrue("b")))
    legal = Fires(rg.Or((together, rg.Compare("d", ">", 0.0), rg.Among("c", ("red",)))))
    check_meetings(graph(legal, schema=schema))
    apart = Schema(FEATURES, constraints=Constraints(apart=(("x", "d", "c"),)))
    check_meetings(graph(legal, schema=apart))
    for declared in (schema, apart):
        broken = graph(Fires(rg.Or((together, rg.And((X, rg.Compare("d", ">", 0.0)))))), schema=declared)
        with pytest.raises(GraphError, match="the columns 'x', 'd' may not stand in one rule") as caught:
            check_meetings(broken)
        assert "rule r" in str(caught.value)
    with pytest.raises(GraphError, match="no column 'y'"):
        check_meetings(graph(legal, schema=Schema(FEATURES, constraints=Constraints(apart=(("x", "y"),)))))


def test_ten_thousand_nodes_deep():
    node: Node = X
    for _ in range(10_000):
        node = rg.Not(rg.Or((node, TRUE)))
    check(graph(Fires(node)))
