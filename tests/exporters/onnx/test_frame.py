"""Exports for data frames: fed column by column as mlflow.pyfunc does, they decide as the model does."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx_cases import changed
from rulekit_exporters.onnx.metadata import label_texts
from rulekit_exporters.onnx.running import class_indices

from rulekit.conformance.models import MODELS
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.nodes import Among, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify
from rulekit.verification.rows import adversarial_rows

ONNX = find_target("onnx")
X = Feature("x")


def scored(artifact: bytes, frame: pd.DataFrame) -> pd.DataFrame:
    """What mlflow.pyfunc (3.17) makes of a frame: columns in, doubles cast for float inputs, outputs side by side."""
    session = onnxruntime.InferenceSession(artifact, providers=["CPUExecutionProvider"])
    ports = [(port.name, port.type) for port in session.get_inputs()]
    feeds = {name: frame[name].values for name, _ in ports} if len(ports) > 1 else {ports[0][0]: frame.values}
    for name, kind in ports:
        if kind == "tensor(float)" and feeds[name].dtype == np.float64:
            feeds[name] = feeds[name].astype(np.float32)
    names = [port.name for port in session.get_outputs()]
    found = session.run(names, feeds)
    return pd.DataFrame.from_dict({name: np.asarray(part).reshape(-1) for name, part in zip(names, found, strict=True)})


def frame_of(graph: RuleGraph, columns: dict[str, Any]) -> pd.DataFrame:
    """Raw cells as a frame holds them: doubles, and texts without None."""
    cells = {name: columns[name] for name in graph.used_features or graph.schema.names[:1]}
    return pd.DataFrame(
        {
            name: pd.Series(["" if cell is None else cell for cell in values], dtype=object)
            if graph.schema[name].kind == "categorical"
            else values
            for name, values in cells.items()
        }
    )


NAMES = [name for name, make in MODELS.items() if not any(f.kind == "text" for f in make().schema)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES[::4])
def test_a_frame_is_scored_as_the_model_decides(name: str) -> None:
    graph = MODELS[name]()
    made = adversarial_rows(graph, 400)
    artifact = ONNX.emit(graph, {"frame": True}).main

    with np.errstate(over="ignore"):
        found = scored(artifact, frame_of(graph, made.columns))

    assert (class_indices(graph, found.pop("label").to_numpy()) == decide(graph, made.table)).all()
    assert list(found) == [f"probability_{text}" for text in label_texts(graph)]
    assert np.abs(found.to_numpy() - probabilities(graph, made.table)).max() <= 1e-6


@pytest.mark.parametrize("options", [{}, {"input": "codes"}, {"optimize": "latency"}])
def test_it_is_proved_as_the_other_forms_are(options: dict[str, str]) -> None:
    schema = Schema((X, Feature("y", precision="float64"), Feature("c", "categorical", ("red", "green"))), "z")
    graph = RuleGraph(
        schema, ("no", "yes"), Fires(Or((Compare("x", ">", 0.5), Compare("y", ">", 1.5), Among("c", ("red",)))))
    )
    for original in (graph, MODELS["3 classes, numbers"](), MODELS["DNF"]()):
        artifact = ONNX.emit(original, {"frame": True, **options}).main
        report = verify(original, artifact, target=ONNX, rows=200)
        assert (report.ok, report.proof, report.misstated) == (True, "proved", ())


def test_probabilities_that_change_places_are_found() -> None:
    graph = MODELS["DNF"]()

    def swap(model: onnx.ModelProto) -> None:
        one, other = (node for node in model.graph.node if node.output[0].startswith("probability_"))
        one.input[1], other.input[1] = other.input[1], one.input[1]

    report = verify(graph, changed(ONNX.emit(graph, {"frame": True}).main, swap), target=ONNX, rows=200)
    assert report.failure == "DIFFERENT"


def test_a_single_column_is_a_frame_of_one_column() -> None:
    """mlflow.pyfunc feeds the values of the whole frame where a model has one input."""
    graph = RuleGraph(Schema((X, Feature("other")), "y"), (0, 1), Fires(Compare("x", ">", 0.5)))
    artifact = ONNX.emit(graph, {"frame": True}).main
    assert scored(artifact, pd.DataFrame({"x": [0.5, 0.75, np.nan]}))["label"].tolist() == [0, 1, 0]
    assert verify(graph, artifact, target=ONNX, rows=50).proof == "proved"


def test_no_two_outputs_bear_one_name() -> None:
    schema = Schema((Feature("probability_a"), Feature("label")), "y")
    graph = RuleGraph(schema, ("a", "a_"), Fires(Or((Compare("label", ">", 0.5), Compare("probability_a", ">", 1.0)))))
    artifact = ONNX.emit(graph, {"frame": True}).main
    names = [port.name for port in onnx.ModelProto.FromString(artifact).graph.output]
    assert names == ["label_", "probability_a__", "probability_a_"]
    assert verify(graph, artifact, target=ONNX, rows=50).ok


@pytest.mark.parametrize("options", [{"fired": True}, {"input": "tensor"}, {"input": "ids"}])
def test_what_is_no_column_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="no column of a data frame"):
        ONNX.emit(MODELS["DNF"](), {"frame": True, **options})
