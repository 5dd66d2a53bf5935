"""A sum as one operator of several trees: exact at every bound, missing and infinite, read back and proved."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from rulekit.conformance.models import MODELS
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, And, Compare, IsTrue, Linear, Logistic, Missing, Node, Or, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify

TARGET = find_target("onnx")
SCHEMA = Schema((*(Feature(f"x{j}") for j in range(8)), Feature("b", "boolean")), "y")
LATENCY = {"optimize": "latency"}


def sum_graph(*terms: tuple[float, Node], reported: bool = False) -> RuleGraph:
    total = Linear(terms, 0.25)
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(total, 0.0)), (Logistic(total),) if reported else ())


def staircases(missing: float) -> list[tuple[float, Node]]:
    rng = np.random.default_rng(1)
    cuts = [tuple(np.sort(rng.normal(size=6)).astype(np.float32).tolist()) for _ in range(8)]
    points = [tuple(rng.integers(-9, 10, 7).astype(float).tolist()) for _ in range(8)]
    ends = [values[0] if missing == -1 else values[-1] if missing == 1 else missing for values in points]
    return [(1.0, Step(f"x{j}", cuts[j], points[j], ends[j])) for j in range(8)]


def conjunctions(missing: bool) -> list[tuple[float, Node]]:
    rng = np.random.default_rng(2)
    found: list[tuple[float, Node]] = []
    for k in range(20):
        columns = rng.choice(8, 3, replace=False)
        literals: list[Node] = [
            Compare(f"x{j}", "<=" if rng.random() < 0.5 else ">", float(np.float32(rng.normal())), missing)
            for j in columns
        ]
        found.append((float(rng.integers(1, 100)) / 64, Or(literals) if k % 5 == 0 else And(literals)))
    return [*found, (0.25, IsTrue("b")), (0.5, Missing("x0")), (-0.75, Compare("x1", "<=", 0.5, missing=True))]


def test_the_shipped_suite_has_a_sum_of_this_form() -> None:
    artifact = TARGET.emit(MODELS["sum of steps and conjunctions"](), LATENCY)
    (operator, *_) = onnx.load_from_string(artifact.main).graph.node
    trees = next(attribute.ints for attribute in operator.attribute if attribute.name == "nodes_treeids")
    assert operator.op_type == "TreeEnsembleClassifier"
    assert len(set(trees)) == 22  # of 8 columns, and of 14 conjunctions


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", ["tensor", "columns"])
@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize(
    "terms",
    [staircases(-1), staircases(1), staircases(50.0), conjunctions(missing=False), conjunctions(missing=True)],
    ids=["missing low", "missing high", "missing apart", "conjunctions", "conjunctions, missing passes"],
)
def test_a_sum_is_one_operator_that_is_proved(terms: list[tuple[float, Node]], reported: bool, form: str) -> None:
    graph = sum_graph(*terms, reported=reported)
    artifact = TARGET.emit(graph, {**LATENCY, "input": form})
    kinds = [node.op_type for node in onnx.load_from_string(artifact.main).graph.node]
    assert kinds.count("TreeEnsembleClassifier") == 1
    assert not {"Greater", "Gemm"} & set(kinds)
    report = verify(graph, artifact, target=TARGET, rows=2_000)
    assert (report.ok, report.proof) == (True, "proved"), report.proof_reason


def test_a_changed_bound_or_weight_is_found() -> None:
    graph = sum_graph(*conjunctions(missing=False))
    artifact = TARGET.emit(graph, LATENCY)
    for name, change in (("nodes_values", np.float32(0.5)), ("class_weights", np.float32(64.0))):
        model = onnx.load_from_string(artifact.main)
        tree = next(node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier")
        numbers = next(given for given in tree.attribute if given.name == name).floats
        place = next(i for i, number in enumerate(numbers) if number != 0.0)
        numbers[place] += change
        changed = type(artifact)({"": model.SerializeToString()}, artifact.digest)
        assert not verify(graph, changed, target=TARGET, rows=2_000).ok


def test_a_table_far_larger_than_its_sum_is_not_written() -> None:
    cuts = (-1.0, -0.25, 0.5, 1.25)
    terms = [(1.0, Step(f"x{j}", cuts, tuple(float(j + k) for k in range(5)), 0.5)) for j in range(6)]
    for options in ({}, LATENCY, {"fired": "true", **LATENCY}):
        assert len(TARGET.emit(sum_graph(*terms, reported=True), options).main) < 16_000
