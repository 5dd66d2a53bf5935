"""Every node type, in every input form, by onnxruntime and onnx.reference, against numpy and the oracle."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from onnx_cases import (
    SCHEMA,
    THRESHOLDS,
    adversarial_table,
    assert_formulations_agree,
    assert_same_everywhere,
    fired_rules,
)
from random_tables import random_table
from rulekit_exporters.onnx import emit, read, run
from rulekit_exporters.onnx.operators.nodes import LOGIC, NUMBERS

from rulekit.conformance.models import random_graph
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired


def compare(seed: int) -> None:
    """Every formulation of a random graph decides alike; the export carries the graph and says which rules fired."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    table = random_table(rng, graph.schema, 200)
    assert_formulations_agree(graph, table)
    artifact = emit(graph, {"fired": True, "opset": 12 + seed % 8}).main
    assert read(artifact) == graph
    np.testing.assert_array_equal(run(artifact, graph, table).labels, decide(graph, table))
    np.testing.assert_array_equal(fired_rules(artifact, graph, table)[1], fired(graph, table))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(2000, 2050))
def test_random_graphs(seed: int) -> None:
    compare(seed)


@pytest.mark.full
@pytest.mark.long_from("block", 1)
@pytest.mark.parametrize("block", range(15))
def test_many_random_graphs(block: int) -> None:
    for seed in range(3000 + 30 * block, 3030 + 30 * block):
        compare(seed)


X, WIDE, FLAG = rg.Compare("x", ">", 0.1), rg.Compare("wide", "<=", 0.1, True), rg.IsTrue("flag")
ROME = rg.Among("city", ("Rome", "ünï"), False, True)
H = (
    rg.Hidden("a", X, 1.2, 0.1),
    rg.Hidden("b", rg.Or((FLAG, WIDE)), math.inf, 0.0),
    rg.Hidden("c", ROME, 0.7, 2.0),
    rg.Hidden("d", rg.TRUE, 0.3, 0.0),
    rg.Hidden("e", rg.Missing("x"), 0.0, math.inf),
)


def fires(node: rg.Node) -> RuleGraph:
    return RuleGraph(SCHEMA, (0, 1), Fires(node))


@pytest.mark.parametrize("threshold", [*THRESHOLDS, 1e300, -1e300])
def test_comparisons(threshold: float) -> None:
    for column, op, missing in product(("x", "wide") if abs(threshold) < 1e39 else ("wide",), ("<=", ">"), (0, 1)):
        assert_same_everywhere(fires(rg.Compare(column, op, threshold, bool(missing))))


@pytest.mark.parametrize("levels", [(), ("Rome",), ("3", "new\nline"), SCHEMA["city"].levels])
def test_membership(levels: tuple[str, ...]) -> None:
    for missing, unseen in product((False, True), repeat=2):
        assert_same_everywhere(fires(rg.Among("city", levels, missing, unseen)))
        assert_same_everywhere(fires(rg.Not(rg.Among("city", levels, missing, unseen))))


# What random graphs do not have: constants, empty and contradictory parts, ends of ranges, bits that are certain.
RARE: tuple[rg.Node, ...] = (
    *(
        rg.IsTrue("flag", True),
        rg.Not(rg.IsTrue("flag", True)),
        rg.Missing("wide"),
        rg.Missing("flag"),
        rg.Not(rg.Missing("city")),
    ),
    *(
        rg.TRUE,
        rg.FALSE,
        rg.Not(rg.TRUE),
        rg.And(()),
        rg.Or(()),
        rg.And((X, rg.TRUE)),
        rg.Or((X, rg.FALSE, WIDE)),
        rg.And((X, rg.FALSE)),
    ),
    rg.Or((rg.Not(rg.Or((X, WIDE, ROME))), rg.And((ROME, FLAG)))),
    rg.Or([rg.And([X, rg.Not(X), WIDE]), rg.And([WIDE, X])]),
    rg.Or([rg.And([X, X, WIDE]), rg.And([WIDE, FLAG, WIDE])]),
    rg.And([X, rg.Not(X), WIDE]),
    *(
        rg.AtLeast(0, (X, FLAG)),
        rg.AtLeast(1, (X, FLAG)),
        rg.AtLeast(2, (X, X, FLAG)),
        rg.AtLeast(2, (rg.TRUE, X, FLAG)),
    ),
    *(rg.AtLeast(3, (X, rg.Not(X), FLAG, rg.Not(FLAG), WIDE)), rg.AtLeast(2, (X, WIDE, FLAG, ROME))),
    rg.AtLeast(3, (rg.Not(X), rg.Not(FLAG), rg.Missing("x"), rg.Compare("x", "<=", 2.0, True))),
    *(rg.Odd((X, WIDE, FLAG, rg.Not(ROME))), rg.Odd((X, rg.Not(X), FLAG, rg.Not(FLAG), WIDE, rg.TRUE)), rg.Odd((X, X))),
    rg.LinearThreshold(((0.1, rg.Column("x", 3.0, -5.0, 5.0, 0.25)), (1.0, rg.Column("wide", 0.0, 0.0, 1e9))), -0.125),
    *(rg.LinearThreshold((), 0.0), rg.LinearThreshold((), -1.0)),
    rg.LinearThreshold(
        ((1e308, rg.Column("wide", 1.0, -1e308, 1e308)), (-1e308, rg.Column("wide", 1.0, 2.0, 1e308))), 0.0
    ),
    *(rg.Column("x", 0.75, -2.0, 2.25, 0.0), rg.Column("x", -9.0, -2.0, 2.0, 0.5), rg.Column("flag", 0.5, 0.0, 1.0)),
    *(rg.Column("x", 0.0, -1e300, 1e300, 2.0**-10), rg.Column("x", 0.5, 0.0, 1e-300, 2.0**-1074)),
    rg.Column("wide", 0.0, -1e300, 1e300, 2.0**20),
    *(rg.Step("x", THRESHOLDS[1:2], (0.0, 1.0), 0.0), rg.Step("x", (), (0.7,), 0.2), rg.Step("x", (), (0.7,), 0.7)),
    *(rg.Step("x", (-1.5, 0.0, 0.1), (0.5, -1.0, 0.25, 0.7), 0.6), rg.Step("x", (-1.5, 0.1), (0.5, -1.0, 0.25), 0.5)),
    rg.Step("wide", (-1.5, 0.0, 0.1, 1e300), (0.5, -1.0, 0.25, 0.7, 9.0), 0.6),
    *(rg.LevelPoints("city", (("Rome", 0.7), ("ünï", -0.3)), 0.1, 0.6), rg.LevelPoints("city", (), 0.6, 0.7)),
    rg.Linear(((0.3, rg.LevelPoints("city", (("Rome", 0.7),), 0.1)), (0.1, FLAG), (0.2, ROME)), 0.5),
    rg.Linear(((0.5, rg.LevelPoints("city", (("Rome", 0.75),), 0.5)), (0.125, FLAG), (0.25, X)), 0.5),
    rg.Linear(((0.1, rg.Column("x", 0.3, -1.0, 1.0)), (0.2, FLAG), (0.3, rg.Step("x", (0.1,), (0.1, 0.9), 0.2))), 0.1),
    *(
        rg.Linear((), 0.75),
        rg.Linear(((2.0, rg.Linear(((0.5, rg.Column("wide", 0.1, -9.0, 9.0)),), 0.1)), (1.0, ROME)), -1.0),
    ),
    *map(
        rg.Probability,
        (H[0], H[3], rg.TRUE, X, rg.Or(H), rg.And((H[0], H[2])), rg.Not(rg.And(H[:3])), rg.AtLeast(2, H), rg.Odd(H)),
    ),
    rg.Probability(rg.Odd((H[0], rg.And((H[0], H[2])), FLAG))),
    rg.Probability(rg.Odd([*(rg.Hidden(f"o{i}", (X, FLAG, rg.TRUE)[i % 3], 0.1 * i, 0.03) for i in range(9)), ROME])),
    rg.Probability(rg.And((rg.Or((H[0], H[1])), rg.Not(rg.Or((H[2], H[4])))))),
    rg.Probability(rg.Or((rg.And((H[0], H[2])), rg.And((H[0], H[3])), rg.And((H[2], H[3], X))))),
    rg.Probability(rg.AtLeast(2, (H[0], rg.And((H[0], H[2])), rg.Or((H[2], FLAG))))),
)


@pytest.mark.parametrize("node", RARE, ids=lambda node: f"{type(node).__name__}-{node.digest.hex()[:6]}")
def test_rare_nodes(node: rg.Node) -> None:
    if node.family is rg.Family.BOOLEAN:
        assert_same_everywhere(fires(node))
    elif isinstance(node, rg.Probability):
        for decision in (rg.Above(node, 0.5), X):
            assert_same_everywhere(RuleGraph(SCHEMA, ("n", "y"), Fires(decision), (node,)))
    else:
        for threshold in (0.1, 0.6, 0.75):
            assert_same_everywhere(
                RuleGraph(SCHEMA, ("n", "y"), Fires(rg.Above(node, threshold)), (rg.Logistic(node),))
            )


def test_nodes_that_decide_several_classes() -> None:
    scores = (ROME, rg.Probability(H[0]), rg.Linear(((0.7, X), (0.1, FLAG)), 0.0))
    assert_same_everywhere(RuleGraph(SCHEMA, ("a", "b", "c"), ArgMax(scores, (0.5, 0.5, -math.inf), (2, 0, 1))))


def test_the_target_has_operators_for_every_node_of_the_vocabulary() -> None:
    assert {*rg.Vocabulary.TYPES, "Exponentials"} == {kind.__name__ for kind in LOGIC.keys() | NUMBERS.keys()} | {
        "Hidden"
    }


def test_a_deep_formula_does_not_recurse() -> None:
    node: rg.Node = FLAG
    for k in range(1000):
        node = rg.And((rg.Not(node), X)) if k % 2 else rg.Or((node, rg.Compare("x", "<=", float(k % 89))))
    graph, table = fires(node), adversarial_table()
    np.testing.assert_array_equal(run(emit(graph, {"text": False}).main, graph, table).labels, decide(graph, table))
