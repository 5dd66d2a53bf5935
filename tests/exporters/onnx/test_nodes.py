"""Every node type, in every input form, by onnxruntime and onnx.reference, against numpy and the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx_cases import SCHEMA, THRESHOLDS, adversarial_table, assert_same_everywhere
from rulekit_exporters.onnx import emit, run
from rulekit_exporters.onnx.operators.nodes import LOGIC, NUMBERS

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

X, WIDE, FLAG = Compare("x", ">", 0.1), Compare("wide", "<=", 0.1, True), IsTrue("flag")
ROME = Among("city", ("Rome", "ünï"), False, True)


def fires(node: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, (0, 1), Fires(node))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("op", ["<=", ">"])
@pytest.mark.parametrize("column", ["x", "wide"])
def test_comparisons_at_every_threshold(column: str, op: str, missing: bool) -> None:
    # one class per threshold: the class index is how many of the comparisons hold
    thresholds = (*THRESHOLDS, 1e300, -1e300) if column == "wide" else THRESHOLDS
    nodes = tuple(Compare(column, op, t, missing) for t in thresholds)
    count = Linear(tuple((2.0**-k, node) for k, node in enumerate(nodes)), 0.0)
    for threshold in (0.3, 1.1):
        assert_same_everywhere(RuleGraph(SCHEMA, (0, 1), Fires(Above(count, threshold))))


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_a_single_comparison_and_its_negation(threshold: float) -> None:
    for column in ("x", "wide"):
        for op in ("<=", ">"):
            assert_same_everywhere(fires(Compare(column, op, threshold, False)))
            assert_same_everywhere(fires(Not(Compare(column, op, threshold, True))))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("unseen", [False, True])
def test_membership(missing: bool, unseen: bool) -> None:
    for levels in ((), ("Rome",), ("3", "new\nline"), SCHEMA["city"].levels):
        assert_same_everywhere(fires(Among("city", levels, missing, unseen)))
        assert_same_everywhere(fires(Not(Among("city", levels, missing, unseen))))


@pytest.mark.parametrize(
    "node",
    [
        IsTrue("flag", False),
        IsTrue("flag", True),
        Not(IsTrue("flag", True)),
        Missing("x"),
        Missing("wide"),
        Missing("flag"),
        Missing("city"),
        Not(Missing("city")),
        TRUE,
        FALSE,
        Not(TRUE),
        And(()),
        Or(()),
        And((X, TRUE)),
        Or((X, FALSE, WIDE)),
        And((X, FALSE)),
        Or((Not(Or((X, WIDE, ROME))), And((ROME, FLAG)))),
        AtLeast(0, (X, FLAG)),
        AtLeast(1, (X, FLAG)),
        AtLeast(2, (X, WIDE, FLAG, ROME)),
        AtLeast(3, (X, Not(X), FLAG, Not(FLAG), WIDE)),
        AtLeast(2, (X, X, FLAG)),
        AtLeast(2, (TRUE, X, FLAG)),
        Odd((X, WIDE, FLAG, Not(ROME))),
        Odd((X, Not(X), FLAG, Not(FLAG), WIDE, TRUE)),
        Odd((X, X)),
        AtLeast(3, (Not(X), Not(FLAG), Missing("x"), Compare("x", "<=", 2.0, True))),
        LinearThreshold(((0.3, X), (-0.7, FLAG), (0.1, ROME)), 0.3),
        LinearThreshold(((0.1, Column("x", 3.0, -5.0, 5.0, 0.25)), (1.0, Column("wide", 0.0, 0.0, 1e9))), -0.125),
        LinearThreshold((), 0.0),
        LinearThreshold((), -1.0),
        LinearThreshold(((1e308, Column("wide", 1.0, -1e308, 1e308)), (-1e308, Column("wide", 1.0, 2.0, 1e308))), 0.0),
    ],
    ids=lambda node: f"{type(node).__name__}-{node.digest.hex()[:6]}",
)
def test_boolean_nodes(node: Node) -> None:
    assert_same_everywhere(fires(node))


@pytest.mark.parametrize(
    "node",
    [
        Column("x", 0.75, -2.0, 2.25, 0.0),
        Column("x", -9.0, -2.0, 2.0, 0.5),
        Column("x", 0.0, -1e300, 1e300, 2.0**-10),
        Column("x", 0.5, 0.0, 1e-300, 2.0**-1074),
        Column("wide", 0.0, -1e300, 1e300, 2.0**20),
        Column("flag", 0.5, 0.0, 1.0),
        Step("x", THRESHOLDS[1:2], (0.0, 1.0), 0.0),
        Step("x", (-1.5, 0.0, 0.1), (0.5, -1.0, 0.25, 0.7), 0.6),
        Step("x", (-1.5, 0.1), (0.5, -1.0, 0.25), 0.5),
        Step("wide", (-1.5, 0.0, 0.1, 1e300), (0.5, -1.0, 0.25, 0.7, 9.0), 0.6),
        Step("x", (), (0.7,), 0.2),
        Step("x", (), (0.7,), 0.7),
        Linear(((0.1, Column("x", 0.3, -1.0, 1.0)), (0.2, FLAG), (0.3, Step("x", (0.1,), (0.1, 0.9), 0.2))), 0.1),
        LevelPoints("city", (("Rome", 0.7), ("ünï", -0.3)), 0.1, 0.6),
        LevelPoints("city", (), 0.6, 0.7),
        Linear(((0.3, LevelPoints("city", (("Rome", 0.7),), 0.1)), (0.1, FLAG), (0.2, ROME)), 0.5),
        Linear(((0.5, LevelPoints("city", (("Rome", 0.75),), 0.5)), (0.125, FLAG), (0.25, X)), 0.5),
        Linear((), 0.75),
        Linear(((2.0, Linear(((0.5, Column("wide", 0.1, -9.0, 9.0)),), 0.1)), (1.0, ROME)), -1.0),
    ],
    ids=lambda node: f"{type(node).__name__}-{node.digest.hex()[:6]}",
)
def test_real_nodes(node: Node) -> None:
    for threshold in (0.1, 0.6, 0.75):
        graph = RuleGraph(SCHEMA, ("n", "y"), Fires(Above(node, threshold)), (Logistic(node),))
        assert_same_everywhere(graph)


H = tuple(
    Hidden(name, cause, on, off)
    for name, cause, on, off in (
        ("a", X, 1.2, 0.1),
        ("b", Or((FLAG, WIDE)), math.inf, 0.0),
        ("c", ROME, 0.7, 2.0),
        ("d", TRUE, 0.3, 0.0),
        ("e", Missing("x"), 0.0, math.inf),
    )
)


@pytest.mark.parametrize(
    "formula",
    [
        H[0],
        H[3],
        TRUE,
        X,
        Or(H),
        And((H[0], H[2])),
        Not(And(H[:3])),
        AtLeast(2, H),
        Odd(H),
        Odd((H[0], And((H[0], H[2])), FLAG)),
        Odd([*(Hidden(f"o{i}", (X, FLAG, TRUE)[i % 3], 0.1 * i, 0.03) for i in range(9)), ROME]),
        And((Or((H[0], H[1])), Not(Or((H[2], H[4]))))),
        Or((And((H[0], H[2])), And((H[0], H[3])), And((H[2], H[3], X)))),
        AtLeast(2, (H[0], And((H[0], H[2])), Or((H[2], FLAG)))),
    ],
    ids=lambda node: f"{type(node).__name__}-{node.digest.hex()[:6]}",
)
def test_noisy_logical_formulas(formula: Node) -> None:
    node = Probability(formula)
    assert_same_everywhere(RuleGraph(SCHEMA, ("n", "y"), Fires(Above(node, 0.5)), (node,)))
    assert_same_everywhere(RuleGraph(SCHEMA, (0, 1), Fires(X), (node,)))


def test_nodes_that_decide_several_classes() -> None:
    scores = (ROME, Probability(H[0]), Linear(((0.7, X), (0.1, FLAG)), 0.0))
    assert_same_everywhere(RuleGraph(SCHEMA, ("a", "b", "c"), ArgMax(scores, (0.5, 0.5, -math.inf), (2, 0, 1))))


def test_the_target_has_operators_for_every_node_of_the_vocabulary() -> None:
    assert {*Vocabulary.TYPES, "Exponentials"} == {kind.__name__ for kind in LOGIC.keys() | NUMBERS.keys()} | {"Hidden"}


def test_a_deep_formula_does_not_recurse() -> None:
    node: Node = FLAG
    for k in range(1000):
        node = And((Not(node), X)) if k % 2 else Or((node, Compare("x", "<=", float(k % 89))))
    graph = fires(node)
    table = adversarial_table()
    np.testing.assert_array_equal(run(emit(graph, {"text": False}).main, graph, table).labels, decide(graph, table))
