"""A file that was changed after its export is caught, with a row that it decides otherwise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from rulekit import export
from rulekit.conformance.models import NODES
from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify as verify_written

SUFFIXES = {"onnx": ".onnx", "python": ".py", "text": ".txt"}
GRAPH = NODES["threshold"]()  # x0 > 0.1
# faults are shown by running them
verify = partial(verify_written, run_untrusted=True)


def _changed_onnx(content: bytes) -> bytes:
    """Every float constant near the threshold moved by a hundredth."""
    model = onnx.ModelProto.FromString(content)
    moved = 0
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and (np.abs(np.abs(values) - 0.1) < 1e-6).any():
            changed = np.where(np.abs(np.abs(values) - 0.1) < 1e-6, values * np.float32(1.1), values)
            tensor.CopyFrom(numpy_helper.from_array(changed.astype(np.float32), tensor.name))
            moved += 1
    assert moved
    return model.SerializeToString()


def _changed_text(old: bytes, new: bytes):
    def change(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new)

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("onnx", _changed_onnx),
        ("python", _changed_text(b"> 0.10000", b"> 0.11000")),
        ("text", _changed_text(b"x0 > 0.1", b"x0 > 0.11")),
    ],
)
def test_a_moved_threshold_is_caught(name, change, tmp_path):
    path = tmp_path / f"model{SUFFIXES[name]}"
    export(GRAPH, path, name)
    report = verify(GRAPH, path, rows=500)
    assert (report.ok, report.target, report.carried) == (True, name, "same")
    path.write_bytes(change(path.read_bytes()))
    report = verify(GRAPH, path, rows=500)
    assert report.different_decisions > 0
    assert report.counter_example.expected == 1
    assert 0.1 < report.counter_example.row["x0"] <= 0.1101
    assert report.foreign if name == "text" else report.tampered


def renamed(graph: RuleGraph) -> RuleGraph:
    """The same rules over columns of other names, one column fewer."""
    features = tuple(replace(feature, name=feature.name.replace("x", "y")) for feature in graph.schema)
    return RuleGraph(Schema(features[:-1], graph.schema.target), graph.classes, Fires(Compare("y0", ">", 0.1)))


@pytest.mark.parametrize("name", SUFFIXES)
@pytest.mark.parametrize(
    ("other", "difference"),
    [("shared bits", "classes are 'no', 'yes' and not 0, 1"), ("attained threshold", "a column 'y0'")],
)
def test_an_export_of_another_model_is_named(name, other, difference, tmp_path):
    """Onnxruntime's complaint about the number of columns was an internal error."""
    path = tmp_path / f"other{SUFFIXES[name]}"
    foreign = renamed(NODES[other]()) if other == "attained threshold" else NODES[other]()
    export(foreign, path, name)
    with pytest.raises(InputError, match="exported from another model") as caught:
        verify(GRAPH, path, rows=50)
    assert difference in str(caught.value)
    assert foreign.digest[:12] in str(caught.value)
    assert caught.value.where == str(path)


def test_an_export_that_reads_other_columns_of_the_same_table_is_named():
    other = RuleGraph(GRAPH.schema, GRAPH.classes, Fires(Compare("x1", ">", 0.1)))
    artifact = find_target("onnx").emit(other, {"input": "columns"})
    with pytest.raises(FormatError, match=f"exported from another graph {other.digest}: the inputs"):
        verify(GRAPH, artifact, target="onnx", rows=50)


@pytest.mark.parametrize("name", SUFFIXES)
def test_a_damaged_artifact_is_one_line_that_names_the_file(name, tmp_path):
    path = tmp_path / f"broken{SUFFIXES[name]}"
    whole = find_target(name).emit(GRAPH, {}).main
    for content in (b"", b"\0\xff" * 100, whole[: len(whole) // 3]):
        path.write_bytes(content)
        with pytest.raises((FormatError, InputError)) as caught:
            verify(GRAPH, path, rows=50)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
