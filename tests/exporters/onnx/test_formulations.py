"""The stated formulations are written, that of fewest operators is taken, and each of them decides exactly."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_cases import (
    NARROW,
    SCHEMA,
    adversarial_table,
    assert_same_everywhere,
    dnf,
    every_formulation,
    literal,
    operator_kinds,
)
from rulekit_exporters.onnx import emit
from rulekit_exporters.onnx.emission import MOST_BYTES
from rulekit_exporters.onnx.running import runtime_session

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

MANY = Schema(tuple(Feature(f"x{j}") for j in range(30)), "y")


def noisy(count: int) -> RuleGraph:
    causes = [rg.Compare(f"x{j}", ">", 0.1 * j) for j in range(count)]
    hidden = [rg.Hidden(f"h{j}", cause, strength_of(0.9 - j / 50)) for j, cause in enumerate(causes)]
    chance = rg.Probability(rg.Or([rg.And(hidden[k : k + 4]) for k in range(0, count, 4)]))
    return RuleGraph(MANY, (0, 1), Fires(rg.Above(chance, 0.5)), (chance,))


def kinds(graph: RuleGraph, **options: object) -> list[str]:
    return operator_kinds(emit(graph, {"text": False, **options}).main)


def test_short_connectives_are_chains_over_one_comparison() -> None:
    first = rg.And([rg.Compare("x0", ">", 1.0), rg.Compare("x1", "<=", 2.0)])
    graph = RuleGraph(NARROW, (0, 1), Fires(rg.Or([first, rg.And([rg.IsTrue("flag"), rg.Compare("x5", ">", 0.0)])])))
    expected = "Transpose Gather Mul Greater Gather Gather And Gather Gather And Or Cast Gemm ArgMax"
    assert kinds(graph) == expected.split()
    assert_same_everywhere(graph)


@pytest.mark.parametrize("seed", range(4))
def test_larger_dnfs_are_two_layers_of_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = RuleGraph(NARROW, (0, 1), Fires(dnf(rng, rng.integers(1, 5, 30))))
    assert len(kinds(graph)) < 20
    assert "And" not in kinds(graph)
    assert_same_everywhere(graph, adversarial_table(NARROW, seed=seed))


@pytest.mark.parametrize("form", ["tensor", "columns"])
def test_many_clauses_are_chains_over_one_block(form: str) -> None:
    rng = np.random.default_rng(1)
    graph = RuleGraph(NARROW, (0, 1), Fires(dnf(rng, rng.integers(1, 5, 150))))
    operators = kinds(graph, input=form)
    assert operators.count("Greater") <= 8
    assert operators.count("MatMul") == 0
    assert_same_everywhere(graph, adversarial_table(NARROW))


def test_the_size_of_a_dimension_is_known_all_along() -> None:
    """Reshape lost the name of the dimension N, and onnxruntime took seconds to load a large model."""
    rng = np.random.default_rng(3)
    graph = RuleGraph(
        NARROW, (0, 1), Fires(rg.Not(rg.And([rg.Not(dnf(rng, (3, 1, 2))), rg.Not(dnf(rng, (2, 1, 2, 2)))])))
    )
    model = onnx.shape_inference.infer_shapes(onnx.load_from_string(emit(graph, {"input": "columns"}).main))
    shapes = [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.value_info]
    assert len(shapes) > 10
    assert all("N" in shape and 0 not in shape for shape in shapes)


def test_long_connectives_are_one_count() -> None:
    rng = np.random.default_rng(3)
    leaves = tuple(literal(rng) for _ in range(20))
    nested = rg.Or((rg.And(leaves[:12]), rg.Not(rg.Or(leaves[8:])), rg.AtLeast(11, leaves)))
    graph = RuleGraph(NARROW, (0, 1), Fires(nested))
    assert not {"And", "Or"} & {*kinds(graph)}
    assert_same_everywhere(graph, adversarial_table(NARROW))


def steps(rng: np.random.Generator, count: int, grid: float) -> tuple[tuple[float, rg.Node], ...]:
    """Random step functions whose values lie on a grid (of any double where it is 0)."""
    terms: list[tuple[float, rg.Node]] = []
    for _ in range(count):
        cuts = tuple(sorted({float(np.round(c, 2)) for c in rng.normal(size=3)}))
        values = rng.normal(size=len(cuts) + 2)
        values = np.round(values / grid) * grid if grid else values
        weight = float(rng.choice([1.0, -0.5, 2.0]))
        terms.append((weight, rg.Step(f"x{rng.integers(6)}", cuts, tuple(map(float, values[1:])), float(values[0]))))
    return tuple(terms)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("grid", "operator", "products", "width"),
    [(2.0**-8, "Gemm", 2, np.float32), (2.0**-30, "Gemm", 2, np.float64), (0.0, "MatMul", 6, None)],
)
def test_sums_on_a_grid_are_one_product(grid: float, operator: str, products: int, width: type | None) -> None:
    rng = np.random.default_rng(5)
    total = rg.Linear((*steps(rng, 6, grid), (0.5, rg.Compare("x0", ">", 0.1, True)), (-0.25, rg.IsTrue("flag"))), 0.5)
    table = adversarial_table(NARROW, (0.0, 0.1, 0.5))
    attained = np.unique(evaluate_nodes([total], table)[total])
    for threshold in (float(attained[len(attained) // 2]), float(np.nextafter(attained[3], -np.inf))):
        graph = RuleGraph(NARROW, (0, 1), Fires(rg.Above(total, threshold)))
        assert operator_kinds(every_formulation(graph)["operators"]).count(operator) == products
        if width is not None:
            assert constant_widths(graph)["Gemm"] == {np.dtype(np.float32), np.dtype(width)}
        assert_same_everywhere(graph, table)


def constant_widths(graph: RuleGraph) -> dict[str, set[np.dtype]]:
    model = onnx.ModelProto.FromString(every_formulation(graph)["operators"]).graph
    arrays = {item.name: onnx.numpy_helper.to_array(item).dtype for item in model.initializer}
    return {
        kind: {arrays[name] for node in model.node if node.op_type == kind for name in node.input if name in arrays}
        for kind in {node.op_type for node in model.node}
    }


def test_a_grid_sum_under_another_weight() -> None:
    """A product in double followed by a constant factor must not become one with the factor in float32."""
    rng = np.random.default_rng(6)
    for grid in (2.0**-8, 2.0**-30):
        inner = rg.Linear(steps(rng, 4, grid), 0.0)
        scaled = rg.Linear(((0.1, inner), (1 / 3, rg.Column("x0", 0.0, -1.0, 1.0))), 0.0)
        table = adversarial_table(NARROW, (0.0, 0.1, 0.5))
        for value in np.unique(evaluate_nodes([scaled], table)[scaled])[::17]:
            assert_same_everywhere(RuleGraph(NARROW, (0, 1), Fires(rg.Above(scaled, float(value)))), table)


def test_all_operators_but_the_encoder_of_strings_are_of_the_default_domain() -> None:
    graph = RuleGraph(
        SCHEMA, ("a", "b"), ArgMax((rg.Among("city", ("3",)), rg.Compare("x", ">", 1.0)), (0.5, 0.5), (0, 1))
    )
    for form, domains in (("columns", {"", "ai.onnx.ml"}), ("codes", {""})):
        model = onnx.ModelProto.FromString(emit(graph, {"input": form}).main)
        assert {node.domain for node in model.graph.node} == domains
        assert {item.domain for item in model.opset_import} == domains
        assert model.ir_version == 7
        assert next(item.version for item in model.opset_import if item.domain == "") == 12


# Which formulation is written: that of fewest operators, no table that is far larger than it is worth


@pytest.mark.parametrize("optimize", ["throughput", "latency"])
@pytest.mark.parametrize("count", [4, 8, 16, 28])
def test_the_model_of_fewest_operators_is_written(optimize: str, count: int) -> None:
    graph = noisy(count)
    models = every_formulation(graph)
    if optimize == "throughput":
        models.pop("tree", None)
        models = {name: model for name, model in models.items() if len(model) <= MOST_BYTES}
    written = operator_kinds(emit(graph, {"optimize": optimize, "text": False}).main)
    assert written == min(map(operator_kinds, models.values()), key=len)


def test_the_choice_is_made_by_what_is_asked_for() -> None:
    few = noisy(4)
    assert operator_kinds(emit(few, {}).main)[0] in ("Transpose", "Gather")
    assert "TreeEnsembleClassifier" in operator_kinds(emit(few, {"optimize": "latency"}).main)
    rule = RuleGraph(MANY, (0, 1), Fires(rg.Or((rg.Compare("x0", ">", 0.0), rg.Compare("x1", ">", 0.0)))))
    assert "TreeEnsembleClassifier" not in operator_kinds(emit(rule, {}).main)


def test_a_table_that_is_hardly_faster_is_not_worth_its_size() -> None:
    models = every_formulation(noisy(16))
    assert len(models["table"]) > 500_000
    assert len(emit(noisy(16), {"text": False}).main) < 20_000
    assert len(emit(noisy(12), {"text": False}).main) == pytest.approx(len(models["table"]) / 16, rel=0.2)


def test_a_large_batch_decides_as_its_rows_do_alone() -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 30)).astype(np.float32)
    for artifact in every_formulation(noisy(12)).values():
        session = runtime_session(artifact)
        whole = session({"input": rows})
        alone = [session({"input": rows[i : i + 1]}) for i in range(0, 3000, 97)]
        np.testing.assert_array_equal(whole[0][::97], np.concatenate([label for label, _ in alone]))
        np.testing.assert_array_equal(whole[1][::97], np.concatenate([chances for _, chances in alone]))
