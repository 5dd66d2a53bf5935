"""Which formulation is written: that of fewest operators, no table that is far larger than it is worth."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_cases import every_formulation, operator_kinds
from rulekit_exporters.onnx import emit
from rulekit_exporters.onnx.emission import MOST_BYTES
from rulekit_exporters.onnx.running import runtime_session

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, And, Compare, Hidden, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

SCHEMA = Schema(tuple(Feature(f"x{j}") for j in range(30)), "y")


def noisy(count: int) -> RuleGraph:
    causes = [Compare(f"x{j}", ">", 0.1 * j) for j in range(count)]
    hidden = [Hidden(f"h{j}", cause, strength_of(0.9 - j / 50)) for j, cause in enumerate(causes)]
    chance = Probability(Or([And(hidden[k : k + 4]) for k in range(0, count, 4)]))
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(chance, 0.5)), (chance,))


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
    rule = RuleGraph(SCHEMA, (0, 1), Fires(Or((Compare("x0", ">", 0.0), Compare("x1", ">", 0.0)))))
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
