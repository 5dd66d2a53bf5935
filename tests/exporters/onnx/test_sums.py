"""Linear threshold units over cleaned columns: one exact product for all of them, or side by side in their order."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx_cases import adversarial_table, assert_formulations_agree, assert_same_everywhere, operator_kinds
from rulekit_exporters.onnx import emit

from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.nodes import Above, And, Column, Compare, IsTrue, Linear, LinearThreshold, Node, Not, Or, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.rows import adversarial_rows

SCHEMA = Schema(
    (*(Feature(f"x{j}") for j in range(6)), Feature("wide", precision="float64"), Feature("flag", "boolean")), "y"
)


def column(j: int, step: float = 2.0**-6, bound: float = 4.0, missing: float = 0.5) -> Column:
    return Column(f"x{j}", missing, -bound, bound, step)


def units(rng: np.random.Generator, columns: list[Node], count: int, grid: float) -> list[LinearThreshold]:
    def weight() -> float:
        return float(np.round(rng.normal() / grid) * grid) if grid else float(rng.normal())

    return [LinearThreshold([(weight(), child) for child in columns], weight()) for _ in range(count)]


def tree(nodes: list[LinearThreshold]) -> RuleGraph:
    """Three units as a tree of depth 2, the others in a rule of their own."""
    a, b, c, *rest = nodes
    paths = [And((a, b)), And((Not(a), Not(c)))]
    return RuleGraph(SCHEMA, (0, 1), Fires(Or([*paths, And([Not(a), *rest])])))


def products(artifact: bytes) -> list[np.ndarray]:
    """The constant matrices of the Gemm operators."""
    graph = onnx.ModelProto.FromString(artifact).graph
    arrays = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    return [arrays[name] for node in graph.node if node.op_type == "Gemm" for name in node.input[:2] if name in arrays]


def assert_exact(graph: RuleGraph) -> None:
    """On adversarial rows, many of them exactly on a plane."""
    assert_formulations_agree(graph, adversarial_rows(graph, 500).table)


@pytest.mark.parametrize(("grid", "width"), [(2.0**-6, np.float32), (2.0**-30, np.float64)])
def test_units_on_a_grid_are_one_product(grid: float, width: type) -> None:
    rng = np.random.default_rng(1)
    graph = tree(units(rng, [column(j) for j in range(6)], 5, grid))
    artifact = emit(graph, {"text": False}).main
    matrix = products(artifact)[0]
    assert 5 in matrix.shape
    assert matrix.dtype == width
    kinds = Counter(operator_kinds(artifact))
    assert kinds["Clip"] <= 3
    assert kinds["Round"] == 1
    assert_exact(graph)


def test_literals_and_steps_join_the_product() -> None:
    rng = np.random.default_rng(3)
    terms: list[Node] = [
        column(0),
        column(1, 1.0),
        Compare("x2", "<=", 0.25, True),
        IsTrue("flag"),
        Step("x3", (0.0, 1.0), (0.5, -1.0, 2.0), 0.25),
    ]
    graph = tree(units(rng, terms, 4, 2.0**-4))
    assert products(emit(graph, {"text": False}).main)[0].shape == (4, 2 + 1 + 1 + 3)
    assert_exact(graph)


@pytest.mark.parametrize("step", [0.0, 2.0**-6])
def test_what_is_not_on_a_grid_is_added_in_order(step: float) -> None:
    rng = np.random.default_rng(4)
    assert_exact(
        tree(units(rng, [*(column(j, step) for j in range(5)), Column("wide", 0.25, -1.0, 1.0, step)], 5, 0.0))
    )


def test_bounds_that_are_no_floats_are_not_cleaned_in_float() -> None:
    """fl32(0.1) is above 0.1: a value clipped to it would be another number of steps."""
    graph = tree(units(np.random.default_rng(5), [column(j, 2.0**-30, 0.1, 0.0) for j in range(3)], 3, 2.0**-4))
    assert_exact(graph)


@pytest.mark.parametrize("top", [2.0**24 - 1, 2.0**24, 2.0**24 + 2, 2.0**53 - 1, 2.0**53, 2.0**54])
def test_sums_at_the_limit_of_a_width(top: float) -> None:
    """The last unit of the sum decides; one bit more and float32 (double) would lose it."""
    high = float(np.float32(top / 2))
    big = Column("x0", 0.0, -high, high, 1.0)
    unit = LinearThreshold([(1.0, big), (1.0, column(1, 1.0, 1.0)), (1.0, IsTrue("flag"))], 1.0 - high)
    graph = RuleGraph(SCHEMA, (0, 1), Fires(unit))
    assert_same_everywhere(graph, adversarial_rows(graph, 400).table)


def test_linear_scores_of_several_classes() -> None:
    rng = np.random.default_rng(6)
    for grid in (2.0**-6, 2.0**-30, 0.0):
        scores = tuple(Linear(u.terms, u.bias) for u in units(rng, [column(j) for j in range(4)], 3, grid))
        assert_exact(RuleGraph(SCHEMA, ("a", "b", "c"), ArgMax(scores, (0.0, -1.0, -np.inf), (2, 0, 1))))
        assert_exact(RuleGraph(SCHEMA, (0, 1), Fires(Above(scores[0], 0.25))))


def test_one_column_cleaned_in_two_ways() -> None:
    first, second = column(0), Column("x0", -2.0, 0.0, 1.0, 0.25)
    graph = tree(units(np.random.default_rng(7), [first, second, column(1)], 3, 2.0**-6))
    assert_exact(graph)


def test_infinities_and_huge_values_are_clipped() -> None:
    graph = tree(units(np.random.default_rng(8), [column(j, 2.0**-10, 1e6) for j in range(3)], 3, 2.0**-3))
    assert_same_everywhere(graph, adversarial_table(SCHEMA))
