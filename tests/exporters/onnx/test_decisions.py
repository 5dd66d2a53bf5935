"""Decisions and outputs: exact thresholds, ties, defaults, labels of every type, batches of every size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx_cases import SCHEMA, adversarial_table, assert_same_everywhere, forms_of
from rulekit_exporters.onnx import emit, run, run_reference
from rulekit_exporters.onnx.running import runtime_session

from rulekit.errors import Unsupported
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of

LEAVES = (
    rg.Compare("x", ">", 0.1),
    rg.Compare("x", "<=", 2.0, True),
    rg.IsTrue("flag"),
    rg.Missing("wide"),
    rg.Compare("wide", ">", 1.0),
)
BITS = tuple(
    rg.Hidden(f"h{k}", leaf, strength_of(0.37 + 0.11 * k), strength_of(0.013 * k)) for k, leaf in enumerate(LEAVES)
)
FORMULAS = (
    rg.Or(BITS),
    rg.And(BITS),
    rg.AtLeast(3, BITS),
    rg.Or((rg.And(BITS[:2]), rg.And(BITS[1:4]), BITS[4])),
    rg.And((rg.Or(BITS[:3]), rg.Or(BITS[3:]))),
)
SUM = rg.Linear(
    (
        (0.1, rg.Column("x", 0.3, -3.0, 3.0)),
        (0.7, LEAVES[0]),
        (1 / 3, rg.Step("x", (0.0, 1.0), (0.1, 0.2, 0.3), 0.4)),
        (-0.3, LEAVES[2]),
        (math.pi, rg.Column("wide", 0.1, -2.0, 7.0, 0.5)),
    ),
    0.1,
)


def almost_certain() -> tuple[rg.Node, ...]:
    sure = [rg.Hidden(f"q{k}", leaf, strength_of(1 - 2.0 ** -(20 + 8 * k)), 2.0**-60) for k, leaf in enumerate(LEAVES)]
    shared = rg.Or((rg.And(sure[:2]), rg.And((sure[0], sure[2], sure[3]))))
    return rg.And((*sure, rg.Hidden("z", rg.TRUE, 25.0))), shared, rg.AtLeast(2, sure)


def beside_one(weight: float) -> rg.Node:
    """Onnxruntime drops a product with a constant whose float32 is 1; every weight must count."""
    parts = ((weight, rg.Column("wide", 0.1, -9.0, 9.0)), (weight, rg.Column("x", 1.0, -2.0, 2.0)))
    return rg.Linear(((weight, rg.Linear(parts, 0.3)),), 0.0)


ATTAINED = (
    *map(rg.Probability, (*FORMULAS, *almost_certain())),
    *(SUM, rg.Strength(rg.Or(BITS))),
    *map(beside_one, (1 - 2.0**-53, 1 - 2.0**-30, 1 + 2.0**-52, 1 + 2.0**-25, 1 + 2.0**-20)),
)


@pytest.mark.parametrize("node", ATTAINED, ids=lambda node: f"{type(node).__name__}-{node.digest.hex()[:6]}")
def test_a_number_against_thresholds_that_it_attains(node: rg.Node) -> None:
    """The decision is strict, and the double is the same bits: one ulp lower and the same rows are above."""
    reported = (node if isinstance(node, rg.Probability) else rg.Probability(rg.Or(BITS)),) if node != SUM else ()
    values = np.unique(evaluate_nodes([node], adversarial_table())[node])
    for value in values[np.linspace(0, len(values) - 1, 4).astype(int)].tolist():
        for threshold in (value, math.nextafter(value, -math.inf)):
            assert_bits(RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(node, threshold)), reported))


def test_strengths_of_certain_and_boolean_children() -> None:
    certain = rg.Hidden("sure", LEAVES[2], math.inf, 0.0)
    two = (LEAVES[0], LEAVES[2]), (rg.TRUE, BITS[0]), (rg.FALSE, BITS[0])
    for children in ((certain, *BITS), (*BITS, LEAVES[0]), *two, ()):
        assert_same_everywhere(RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(rg.Strength(rg.Or(children)), 0.5))))


def assert_bits(graph: RuleGraph) -> None:
    table = adversarial_table()
    labels = decide(graph, table)
    for form in forms_of(graph):
        artifact = emit(graph, {"input": form, "text": False}).main
        np.testing.assert_array_equal(run(artifact, graph, table).labels, labels)
    np.testing.assert_array_equal(run_reference(artifact, graph, table).labels, labels)


@pytest.mark.parametrize("preference", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("thresholds", [(-math.inf,) * 3, (0.5, 0.5, 0.5), (1.0, -math.inf, 0.0)])
def test_arg_max_ties_thresholds_and_default(preference: tuple[int, ...], thresholds: tuple[float, ...]) -> None:
    scores = (LEAVES[0], LEAVES[2], rg.Or((LEAVES[3], LEAVES[4])))
    for default in (0, 2):
        decision = ArgMax(scores, thresholds, preference)
        assert_same_everywhere(RuleGraph(SCHEMA, ("a", "b", "c"), decision, default=default))


def test_arg_max_of_scores_one_ulp_apart() -> None:
    near = rg.Linear(((1.0, SUM),), 0.0)
    above = rg.Linear(((math.nextafter(1.0, 2.0), SUM),), 0.0)
    assert_same_everywhere(RuleGraph(SCHEMA, (0, 1, 2), ArgMax((near, SUM, above), (-math.inf,) * 3, (1, 0, 2))))


@pytest.mark.parametrize("bias", [2.0**-149, 2.0**-151, -(2.0**-200), 2.0**-1074])
def test_summands_next_to_zero_are_not_dropped(bias: float) -> None:
    """Onnxruntime drops a sum with a constant whose float32 is 0."""
    column = rg.Column("wide", 0.0, 0.0, 9.0)
    node = rg.Linear(((1.0, rg.Linear(((3.0, column),), bias)),), -bias)
    for threshold in (0.0, -bias, 2.0**-1074):
        assert_bits(RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(node, threshold))))
    inner = rg.Linear(((3.0, column),), bias)
    for threshold in (0.0, bias, math.nextafter(bias, -math.inf)):
        assert_bits(RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(inner, threshold))))


def test_arg_max_of_two_classes_and_of_overflowing_scores() -> None:
    huge = rg.Linear(((1e308, rg.Column("wide", 0.0, -10.0, 10.0)), (-1e308, rg.Column("x", 1.0, -10.0, 10.0))), 0.0)
    assert_same_everywhere(RuleGraph(SCHEMA, (0, 1), ArgMax((huge, SUM), (-math.inf, -math.inf), (1, 0)), default=1))


def test_median_of_mixed_parts() -> None:
    parts = (
        rg.Or(LEAVES),
        rg.Above(rg.Probability(rg.Or(BITS)), 0.7),
        rg.Above(SUM, 1.0),
        rg.Above(rg.Strength(rg.Or(BITS)), 1.3),
    )
    assert_same_everywhere(RuleGraph(SCHEMA, ("a", "b", "c", "d", "e"), Median(parts)))


@pytest.mark.parametrize("default", [0, 2])
def test_several_probabilities_share_one_and_all_zero_is_the_default(default: int) -> None:
    # without an `off` strength all three are zero where no cause holds
    nodes = tuple(rg.Probability(rg.Hidden(f"s{k}", leaf, 0.3 + k)) for k, leaf in enumerate(LEAVES[:3]))
    decision = ArgMax(nodes, (0.2, 0.2, 0.2), (0, 1, 2))
    assert_same_everywhere(RuleGraph(SCHEMA, (0, 1, 2), decision, nodes, default))
    constant = tuple(rg.Probability(c) for c in (rg.FALSE, rg.FALSE, rg.FALSE))
    assert_same_everywhere(RuleGraph(SCHEMA, (0, 1, 2), decision, constant, default))


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        *(((0, 1), [0, 1]), ((1, 0), [1, 0]), ((False, True), [0, 1]), ((True, False), [1, 0])),
        *((("no", "yes"), ["no", "yes"]), (("", "new\nline ü"), ["", "new\nline ü"]), ((1, 2), ["1", "2"])),
        *(((0.5, 2.0), ["0.5", "2"]), ((True, "x"), ["true", "x"])),
    ],
)
def test_labels(classes: tuple[Any, ...], expected: list[Any]) -> None:
    graph = RuleGraph(SCHEMA, classes, Fires(LEAVES[2]))
    assert_same_everywhere(graph)
    rows = np.zeros((2, 5), dtype=np.float32)
    rows[1, 3] = 1.0
    label = runtime_session(emit(graph, {"input": "tensor"}).main)({"input": rows})[0]
    assert (label.tolist(), label.dtype == np.int64) == (expected, expected[0] in (0, 1))


def test_classes_that_read_alike_are_refused() -> None:
    with pytest.raises(Unsupported, match="both read '1'"):
        emit(RuleGraph(SCHEMA, (1, "1"), Fires(LEAVES[0])), {})


@pytest.mark.parametrize("n_rows", [0, 1, 2, 8191, 8192, 8193])
def test_batches_of_every_size(n_rows: int) -> None:
    graph = RuleGraph(
        SCHEMA, ("n", "y"), Fires(rg.Above(rg.Probability(FORMULAS[3]), 0.5)), (rg.Probability(FORMULAS[3]),)
    )
    whole = adversarial_table()
    table = whole.take(np.arange(n_rows) % whole.n_rows)
    for form in forms_of(graph):
        outcome = run(emit(graph, {"input": form, "text": False}).main, graph, table)
        np.testing.assert_array_equal(outcome.labels, decide(graph, table))
        assert outcome.probabilities.shape == (n_rows, 2)


@pytest.mark.parametrize("decision", [Fires(rg.TRUE), Fires(rg.FALSE), Fires(rg.Above(rg.Probability(rg.TRUE), 0.5))])
def test_models_of_constants(decision: Fires) -> None:
    for form in ("tensor", "columns"):
        graph = RuleGraph(SCHEMA, (0, 1), decision)
        outcome = run(emit(graph, {"input": form, "fired": True}).main, graph, adversarial_table())
        np.testing.assert_array_equal(outcome.labels, decide(graph, adversarial_table()))
