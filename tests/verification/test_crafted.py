"""Crafted artifacts that answer as their model on the rows, or nearly: none is called proved, each is named."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_cases import changed, nodes_of

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema, Unseen
from rulekit.targets import find_target
from rulekit.verification.parity import verify

ONNX = find_target("onnx")
SCHEMA = Schema((Feature("x"), Feature("c", "categorical", ("red", "green"))), "y")
GRAPH = RuleGraph(SCHEMA, ("no", "yes"), Fires(Or((And((Compare("x", ">", 0.5), Among("c", ("red",)))),))))


CONTENT = ONNX.emit(GRAPH, {"input": "codes", "fired": True}).main


def _swapped(key: str) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        (entry,) = [entry for entry in model.metadata_props if entry.key == key]
        entry.value = entry.value.replace("red", "?").replace("green", "red").replace("?", "green")
        if key == "rulekit.classes":
            entry.value = json.dumps(json.loads(entry.value)[::-1])

    return change


def _negated(model: onnx.ModelProto) -> None:
    (last,) = [node for node in model.graph.node if "fired" in node.output]
    last.output[:] = ["really" if name == "fired" else name for name in last.output]
    model.graph.node.append(helper.make_node("Not", ["really"], ["fired"]))


def _size_in_probabilities(model: onnx.ModelProto) -> None:
    """Adds 0 times the number of rows, by an operator that is not read."""
    (last,) = [node for node in model.graph.node if "probabilities" in node.output]
    last.output[:] = ["shares" if name == "probabilities" else name for name in last.output]
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.float32), "nothing"))
    lines = "size = Size (shares)\nmany = Cast <to = 1> (size)\nnone = Mul (many, nothing)\n"
    model.graph.node.extend(nodes_of(lines + "probabilities = Add (shares, none)"))


@pytest.mark.parametrize("key", ["rulekit.codes", "rulekit.classes"])
def test_metadata_that_an_application_follows_are_compared(key: str) -> None:
    report = verify(GRAPH, changed(CONTENT, _swapped(key)), target=ONNX, rows=100)
    assert not report.ok
    assert any(key in line for line in report.misstated), report


def test_an_output_fired_that_is_negated_is_misleading() -> None:
    report = verify(GRAPH, changed(CONTENT, _negated), target=ONNX, rows=100, run_untrusted=True)
    assert report.different_decisions == 0
    assert not report.ok
    assert any("which rules fired" in line for line in report.misstated), report


def test_an_operator_in_the_probabilities_that_is_not_read_is_run_with_limits() -> None:
    report = verify(GRAPH, changed(CONTENT, _size_in_probabilities), target=ONNX, rows=100)
    assert (report.ok, report.proof) == (True, "tested")
    assert report.conclusion == "tested on 100 rows: the operator Size is not read"


def test_a_module_without_one_of_its_functions_is_not_run() -> None:
    target = find_target("python")
    content = target.emit(GRAPH, {}).main.replace(b"def predict_many(", b"def predict_some(")
    report = verify(GRAPH, content, target=target, rows=100)
    assert not report.ok
    assert report.not_run


@pytest.mark.parametrize("unseen", ["unseen", "missing", "error"])
@pytest.mark.parametrize("key", ["r\u0435d", "red\u00a0", "\ufeffred", "\uff52ed", "re\u0301d", "Red"])
def test_a_look_alike_that_an_encoder_takes_for_a_level_is_no_match(key: str, unseen: Unseen) -> None:
    """Where the schema refuses unknown levels, the look-alike was decided as a level and the file called proved."""
    schema = Schema((Feature("x"), Feature("c", "categorical", ("red", "green"), unseen=unseen)), "y")
    graph = RuleGraph(schema, GRAPH.classes, GRAPH.decision)

    def change(model: onnx.ModelProto) -> None:
        (encoder,) = (node for node in model.graph.node if node.op_type == "LabelEncoder")
        found = {attribute.name: attribute for attribute in encoder.attribute}
        texts, values = found["keys_strings"].strings, found["values_int64s"].ints
        texts.append(key.encode())
        values.append(values[list(texts).index(b"red")])

    report = verify(graph, changed(ONNX.emit(graph).main, change), target=ONNX, rows=200)
    assert report.failure == ("MISLEADING" if unseen == "error" else "DIFFERENT")
    assert not report.ok
    assert unseen != "error" or ascii(key) in report.misstated[0]
