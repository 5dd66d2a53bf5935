"""The cost rule: what it counts, what it chooses, and that the documentation has its figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_cases import every_formulation, operator_kinds
from rulekit_exporters.onnx import emit
from rulekit_exporters.onnx.emission import (
    CALL,
    CALLS,
    ELEMENT,
    ELSE,
    KILOBYTE,
    LOOKED_UP,
    MULTIPLICATION,
    ROWS,
    cost,
    microseconds,
)

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, And, Compare, Hidden, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

SCHEMA = Schema(tuple(Feature(f"x{j}") for j in range(30)), "y")
PAGE = Path(__file__).parents[3] / "docs" / "onnx.md"


def noisy(count: int) -> RuleGraph:
    causes = [Compare(f"x{j}", ">", 0.1 * j) for j in range(count)]
    hidden = [Hidden(f"h{j}", cause, strength_of(0.9 - j / 50)) for j, cause in enumerate(causes)]
    chance = Probability(Or([And(hidden[k : k + 4]) for k in range(0, count, 4)]))
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(chance, 0.5)), (chance,))


def model_of(kind: str, width: int, element: int) -> onnx.ModelProto:
    ports = [onnx.helper.make_tensor_value_info(name, element, (width, "N")) for name in "ab"]
    graph = onnx.helper.make_graph([onnx.helper.make_node(kind, ["a"], ["b"])], "g", ports[:1], ports[1:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 12)])


def test_time_grows_with_operators_rows_width_and_doubles() -> None:
    narrow = model_of("Round", 1, onnx.TensorProto.FLOAT)
    assert microseconds(narrow, 0) == CALL
    assert microseconds(narrow, 1000) == pytest.approx(CALL + ELSE[0])
    assert microseconds(model_of("Round", 7, onnx.TensorProto.FLOAT), 1000) == pytest.approx(CALL + 7 * ELSE[0])
    assert microseconds(model_of("Round", 7, onnx.TensorProto.DOUBLE), 1000) == pytest.approx(CALL + 7 * ELSE[1])


@pytest.mark.parametrize("optimize", ["throughput", "latency"])
@pytest.mark.parametrize("count", [4, 8, 16, 28])
def test_the_model_of_least_time_is_written(optimize: str, count: int) -> None:
    graph = noisy(count)
    models = every_formulation(graph)
    if optimize == "throughput":
        models.pop("tree", None)
    times = {name: cost(onnx.ModelProto.FromString(m), optimize) for name, m in models.items()}
    written = operator_kinds(emit(graph, {"optimize": optimize, "text": False}).main)
    assert written == operator_kinds(models[min(times, key=lambda name: times[name])])


def test_the_choice_is_made_by_what_is_asked_for() -> None:
    few = noisy(4)
    assert operator_kinds(emit(few, {}).main)[0] in ("Transpose", "Gather")
    assert "TreeEnsembleClassifier" in operator_kinds(emit(few, {"optimize": "latency"}).main)
    rule = RuleGraph(SCHEMA, (0, 1), Fires(Or((Compare("x0", ">", 0.0), Compare("x1", ">", 0.0)))))
    assert "TreeEnsembleClassifier" not in operator_kinds(emit(rule, {}).main)


def test_the_documentation_has_the_figures() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines() if "|" in line]
    table = {row[0]: row[1:] for row in rows if len(row) == 4}
    assert [float(cell) for cell in table["Add, Sub, Mul, Div, Clip, Min, Round"]] == [CALL, *ELSE]
    for operator in ("Where", "Exp", "Cast", "Transpose"):
        assert [float(cell) for cell in table[operator]] == [CALL, *ELEMENT[operator]]
    for operator in ("ArgMax", "TreeEnsembleClassifier"):
        found = [float(cell.removesuffix(" (a row)")) for cell in table[operator]]
        assert found == [CALLS.get(operator, CALL), *ELEMENT[operator]]
    products = [float(cell.removesuffix(" (a multiplication)")) for cell in table["MatMul, Gemm"]]
    assert products == [CALL, *MULTIPLICATION]
    assert float(table["Gather in a table"][1].removesuffix(" (a row)")) == LOOKED_UP
    assert f"`throughput` counts a call of {ROWS['throughput']} rows" in PAGE.read_text()
    assert f"{KILOBYTE['throughput']} us for each kilobyte" in PAGE.read_text()


def test_a_table_that_is_hardly_faster_is_not_worth_its_size() -> None:
    models = every_formulation(noisy(16))
    assert len(models["table"]) > 500_000
    assert len(emit(noisy(16), {"text": False}).main) < 20_000
    assert len(emit(noisy(12), {"text": False}).main) == pytest.approx(len(models["table"]) / 16, rel=0.2)


def test_a_large_batch_decides_as_its_rows_do_alone() -> None:
    from rulekit_exporters.onnx.running import runtime_session

    rows = np.random.default_rng(0).normal(size=(3000, 30)).astype(np.float32)
    for artifact in every_formulation(noisy(12)).values():
        session = runtime_session(artifact)
        whole = session({"input": rows})
        alone = [session({"input": rows[i : i + 1]}) for i in range(0, 3000, 97)]
        np.testing.assert_array_equal(whole[0][::97], np.concatenate([label for label, _ in alone]))
        np.testing.assert_array_equal(whole[1][::97], np.concatenate([chances for _, chances in alone]))
