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
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Family,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Step,
    Vocabulary,
)
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


X, WIDE, FLAG = Compare("x", ">", 0.1), Compare("wide", "<=", 0.1, True), IsTrue("flag")
ROME = Among("city", ("Rome", "ünï"), False, True)
H = (
    Hidden("a", X, 1.2, 0.1),
    Hidden("b", Or((FLAG, WIDE)), math.inf, 0.0),
    Hidden("c", ROME, 0.7, 2.0),
    Hidden("d", TRUE, 0.3, 0.0),
    Hidden("e", Missing("x"), 0.0, math.inf),
)


def fires(node: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, (0, 1), Fires(node))


@pytest.mark.parametrize("threshold", [*THRESHOLDS, 1e300, -1e300])
def test_comparisons(threshold: float) -> None:
    for column, op, missing in product(("x", "wide") if abs(threshold) < 1e39 else ("wide",), ("<=", ">"), (0, 1)):
        assert_same_everywhere(fires(Compare(column, op, threshold, bool(missing))))


@pytest.mark.parametrize("levels", [(), ("Rome",), ("3", "new\nline"), SCHEMA["city"].levels])
def test_membership(levels: tuple[str, ...]) -> None:
    for missing, unseen in product((False, True), repeat=2):
        assert_same_everywhere(fires(Among("city", levels, missing, unseen)))
        assert_same_everywhere(fires(Not(Among("city", levels, missing, unseen))))


# What random graphs do not have: constants, empty and contradictory parts, ends of ranges, bits that are certain.
RARE: tuple[Node, ...] = (
    *(IsTrue("flag", True), Not(IsTrue("flag", True)), Missing("wide"), Missing("flag"), Not(Missing("city"))),
    *(TRUE, FALSE, Not(TRUE), And(()), Or(()), And((X, TRUE)), Or((X, FALSE, WIDE)), And((X, FALSE))),
    Or((Not(Or((X, WIDE, ROME))), And((ROME, FLAG)))),
    Or([And([X, Not(X), WIDE]), And([WIDE, X])]),
    Or([And([X, X, WIDE]), And([WIDE, FLAG, WIDE])]),
    And([X, Not(X), WIDE]),
    *(AtLeast(0, (X, FLAG)), AtLeast(1, (X, FLAG)), AtLeast(2, (X, X, FLAG)), AtLeast(2, (TRUE, X, FLAG))),
    *(AtLeast(3, (X, Not(X), FLAG, Not(FLAG), WIDE)), AtLeast(2, (X, WIDE, FLAG, ROME))),
    AtLeast(3, (Not(X), Not(FLAG), Missing("x"), Compare("x", "<=", 2.0, True))),
    *(Odd((X, WIDE, FLAG, Not(ROME))), Odd((X, Not(X), FLAG, Not(FLAG), WIDE, TRUE)), Odd((X, X))),
    LinearThreshold(((0.1, Column("x", 3.0, -5.0, 5.0, 0.25)), (1.0, Column("wide", 0.0, 0.0, 1e9))), -0.125),
    *(LinearThreshold((), 0.0), LinearThreshold((), -1.0)),
    LinearThreshold(((1e308, Column("wide", 1.0, -1e308, 1e308)), (-1e308, Column("wide", 1.0, 2.0, 1e308))), 0.0),
    *(Column("x", 0.75, -2.0, 2.25, 0.0), Column("x", -9.0, -2.0, 2.0, 0.5), Column("flag", 0.5, 0.0, 1.0)),
    *(Column("x", 0.0, -1e300, 1e300, 2.0**-10), Column("x", 0.5, 0.0, 1e-300, 2.0**-1074)),
    Column("wide", 0.0, -1e300, 1e300, 2.0**20),
    *(Step("x", THRESHOLDS[1:2], (0.0, 1.0), 0.0), Step("x", (), (0.7,), 0.2), Step("x", (), (0.7,), 0.7)),
    *(Step("x", (-1.5, 0.0, 0.1), (0.5, -1.0, 0.25, 0.7), 0.6), Step("x", (-1.5, 0.1), (0.5, -1.0, 0.25), 0.5)),
    Step("wide", (-1.5, 0.0, 0.1, 1e300), (0.5, -1.0, 0.25, 0.7, 9.0), 0.6),
    *(LevelPoints("city", (("Rome", 0.7), ("ünï", -0.3)), 0.1, 0.6), LevelPoints("city", (), 0.6, 0.7)),
    Linear(((0.3, LevelPoints("city", (("Rome", 0.7),), 0.1)), (0.1, FLAG), (0.2, ROME)), 0.5),
    Linear(((0.5, LevelPoints("city", (("Rome", 0.75),), 0.5)), (0.125, FLAG), (0.25, X)), 0.5),
    Linear(((0.1, Column("x", 0.3, -1.0, 1.0)), (0.2, FLAG), (0.3, Step("x", (0.1,), (0.1, 0.9), 0.2))), 0.1),
    *(Linear((), 0.75), Linear(((2.0, Linear(((0.5, Column("wide", 0.1, -9.0, 9.0)),), 0.1)), (1.0, ROME)), -1.0)),
    *map(Probability, (H[0], H[3], TRUE, X, Or(H), And((H[0], H[2])), Not(And(H[:3])), AtLeast(2, H), Odd(H))),
    Probability(Odd((H[0], And((H[0], H[2])), FLAG))),
    Probability(Odd([*(Hidden(f"o{i}", (X, FLAG, TRUE)[i % 3], 0.1 * i, 0.03) for i in range(9)), ROME])),
    Probability(And((Or((H[0], H[1])), Not(Or((H[2], H[4])))))),
    Probability(Or((And((H[0], H[2])), And((H[0], H[3])), And((H[2], H[3], X))))),
    Probability(AtLeast(2, (H[0], And((H[0], H[2])), Or((H[2], FLAG))))),
)


@pytest.mark.parametrize("node", RARE, ids=lambda node: f"{type(node).__name__}-{node.digest.hex()[:6]}")
def test_rare_nodes(node: Node) -> None:
    if node.family is Family.BOOLEAN:
        assert_same_everywhere(fires(node))
    elif isinstance(node, Probability):
        for decision in (Above(node, 0.5), X):
            assert_same_everywhere(RuleGraph(SCHEMA, ("n", "y"), Fires(decision), (node,)))
    else:
        for threshold in (0.1, 0.6, 0.75):
            assert_same_everywhere(RuleGraph(SCHEMA, ("n", "y"), Fires(Above(node, threshold)), (Logistic(node),)))


def test_nodes_that_decide_several_classes() -> None:
    scores = (ROME, Probability(H[0]), Linear(((0.7, X), (0.1, FLAG)), 0.0))
    assert_same_everywhere(RuleGraph(SCHEMA, ("a", "b", "c"), ArgMax(scores, (0.5, 0.5, -math.inf), (2, 0, 1))))


def test_the_target_has_operators_for_every_node_of_the_vocabulary() -> None:
    assert {*Vocabulary.TYPES, "Exponentials"} == {kind.__name__ for kind in LOGIC.keys() | NUMBERS.keys()} | {"Hidden"}


def test_a_deep_formula_does_not_recurse() -> None:
    node: Node = FLAG
    for k in range(1000):
        node = And((Not(node), X)) if k % 2 else Or((node, Compare("x", "<=", float(k % 89))))
    graph, table = fires(node), adversarial_table()
    np.testing.assert_array_equal(run(emit(graph, {"text": False}).main, graph, table).labels, decide(graph, table))
