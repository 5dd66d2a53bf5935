"""What `check` lets pass, and how it names the first node that it does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rulekit.conformance.models import random_graph
from rulekit.errors import GraphError
from rulekit.graph.check import check, check_meetings
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Step,
    Strength,
)
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
SCHEMA = Schema(FEATURES)
X = Compare("x", ">", 0.0)
H, G = Hidden("h", X, 1.0), Hidden("g", X, 1.0)
REAL = Column("x", 0.0, -1.0, 1.0)


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
        (And((X, REAL)), "And"),
        (Not(Probability(H)), "Not"),
        (LinearThreshold(((1.0, H),), 0.0), "LinearThreshold"),
        (LinearThreshold(((1.0, Probability(H)),), 0.0), "LinearThreshold"),
        (Compare("nowhere", ">", 0.0), "Compare of column 'nowhere'"),
        (Compare("b", ">", 0.0), "Compare of column 'b'"),
        (Compare("c", ">", 0.0), "Compare of column 'c'"),
        (IsTrue("x"), "IsTrue of column 'x'"),
        (Among("x", ("red",)), "Among of column 'x'"),
        (Among("c", ("green",)), "'green'"),
        (Compare("x", ">", 1e39), "1e+39"),
        (Compare("race", ">", 1.0), "forbidden"),
        (IsTrue("zip"), "reports"),
        (Missing("zip"), "reports"),
        (AtLeast(3, (X, X)), "AtLeast"),
        (AtLeast(-1, (X, X)), "AtLeast"),
    ],
)
def test_an_illegal_boolean_node_is_named(node, named):
    assert named in fault(Fires(Or((X, node)) if node.family.value == "Boolean" else node))


@pytest.mark.parametrize(
    ("node", "named"),
    [
        (Linear(((1.0, H),), 0.0), "Linear"),
        (Step("x", (0.0, 1e39), (0.0, 1.0, 2.0), 0.0), "Step of column 'x'"),
        (Step("b", (0.5,), (0.0, 1.0), 0.0), "Step of column 'b'"),
        (Column("c", 0.0, 0.0, 1.0), "Column of column 'c'"),
        (LevelPoints("x", (("red", 1.0),)), "LevelPoints of column 'x'"),
        (LevelPoints("c", (("green", 1.0),)), "'green'"),
    ],
)
def test_an_illegal_real_node_is_named(node, named):
    assert named in fault(Fires(Above(node, 0.0)))


def test_the_first_illegal_node_is_the_one_below():
    assert "'deep'" in fault(Fires(And((Compare("deep", ">", 0.0), REAL))))


def test_a_cause_is_not_random():
    assert "Hidden 'outer'" in fault(Fires(Above(Probability(Hidden("outer", H, 1.0)), 0.5)))


def test_two_bits_of_one_name_in_a_formula_are_refused():
    assert "'h'" in fault(Fires(Above(Probability(Or((H, Hidden("h", X, 2.0)))), 0.5)))


@pytest.mark.parametrize("decision", [Fires(H), Fires(REAL), Fires(Probability(H)), ArgMax((X, H), (0.5, 0.5), (0, 1))])
def test_a_root_has_the_family_that_its_decision_needs(decision):
    assert type(decision).__name__ in fault(decision)


def test_the_parts_of_a_median_are_looked_at():
    assert "Random" in fault(Median((X, H)), classes=(0, 1, 2))


@pytest.mark.parametrize("score", [X, H])
def test_only_numbers_are_above_a_threshold(score):
    assert "Above" in fault(Fires(Above(score, 0.5)))


@pytest.mark.parametrize(
    "formula", [And((H, G)), Or((H, And((G, X)))), Or((H, H)), Or((H, Hidden("h", X, 2.0))), Not(H), REAL]
)
def test_strengths_add_of_an_or_of_different_bits(formula):
    assert fault(Fires(Above(Strength(formula), 0.5)))
    for right in (Or((H, G, X)), H, X):
        check(graph(Fires(Above(Strength(right), 0.5))))


def test_a_reported_probability_is_one():
    assert "Boolean" in fault(Fires(X), (X,))


@pytest.mark.parametrize("classes", [(0, math.nan), (0, math.inf), (0, None), ((1,), 2)])
def test_classes_can_be_written_in_a_file(classes):
    assert "classes" in fault(Fires(X), classes=classes)


def test_columns_that_may_not_meet():
    schema = Schema(FEATURES, constraints=Constraints(together=(("x", "b"), ("d",))))
    together = And((X, IsTrue("b")))
    legal = Fires(Or((together, Compare("d", ">", 0.0), Among("c", ("red",)))))
    check_meetings(graph(legal, schema=schema))
    apart = Schema(FEATURES, constraints=Constraints(apart=(("x", "d", "c"),)))
    check_meetings(graph(legal, schema=apart))
    for declared in (schema, apart):
        broken = graph(Fires(Or((together, And((X, Compare("d", ">", 0.0)))))), schema=declared)
        with pytest.raises(GraphError, match="the columns 'x', 'd' may not stand in one rule") as caught:
            check_meetings(broken)
        assert "rule r" in str(caught.value)
    with pytest.raises(GraphError, match="no column 'y'"):
        check_meetings(graph(legal, schema=Schema(FEATURES, constraints=Constraints(apart=(("x", "y"),)))))


class Enigma(Node, family=FALSE.family):
    """A node type that nobody knows."""


def test_an_unknown_node_is_refused_by_name():
    assert "Enigma" in fault(Fires(Or((X, Enigma()))))


def test_a_message_is_one_line():
    schema = Schema((Feature("new\nline", "boolean"),))
    assert "\n" not in fault(Fires(Compare("new\nline", ">", 0.0)), schema=schema)


def test_ten_thousand_nodes_deep():
    node: Node = X
    for _ in range(10_000):
        node = Not(Or((node, TRUE)))
    check(graph(Fires(node)))
