"""Reading files from anywhere: every one gives a reading with a reason or a FormatError, in bounded work."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from rulekit_exporters.onnx.inspection.reader import inspect

from rulekit.errors import FormatError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import And, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import Reading, find_target

TARGET = find_target("onnx")
SCHEMA = Schema(tuple(Feature(f"x{i}") for i in range(4)), target="y")
GRAPH = RuleGraph(
    SCHEMA, (0, 1), Fires(Or((And((Compare("x0", ">", 0.5), Compare("x1", ">", 1.5))), Compare("x2", "<=", 2.5))))
)
CONTENT = TARGET.emit(GRAPH, {}).main


def _model(nodes, constants=(), **options) -> bytes:
    """A model over the tensor `input` whose outputs are `label` and `probabilities`."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ("N", 4))],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, ("N",)),
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ("N", 2)),
        ],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", options.get("opset", 12))])
    return model.SerializeToString()


def _changed(change) -> bytes:
    model = onnx.ModelProto.FromString(CONTENT)
    change(model)
    return model.SerializeToString()


def _reason(content: bytes) -> str:
    reading = inspect(content, GRAPH)
    assert reading.leaves is None
    return reading.reason


def test_what_is_no_onnx_file_is_refused():
    for content in (b"not an onnx file", CONTENT[: len(CONTENT) // 2]):
        with pytest.raises(FormatError, match="no ONNX file"):
            inspect(content, GRAPH)
    assert inspect(b"", GRAPH).leaves is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("Loop", "the operator Loop is not read"),
        ("RandomUniformLike", "the operator RandomUniformLike is not read"),
        ("Sin", "the operator Sin is not read"),
    ],
)
def test_an_operator_off_the_list_is_named(kind, reason):
    assert _reason(_model([helper.make_node(kind, ["input"], ["label"])])) == reason


def test_numbers_of_a_row_in_arithmetic_are_named():
    nodes = [
        helper.make_node("Add", ["input", "one"], ["sum"]),
        helper.make_node("ArgMax", ["sum"], ["label"], axis=1, keepdims=0),
    ]
    assert _reason(_model(nodes, [("one", np.float32(1.0).reshape(1, 1))])) == "the numbers of 'x0' are computed with"


def test_rows_that_are_mixed_are_refused():
    """The label of a row may hang on no other row."""
    mixed = [
        [helper.make_node("ArgMax", ["input"], ["label"], axis=0, keepdims=0)],
        [helper.make_node("Concat", ["input", "input"], ["label"], axis=0)],
        [helper.make_node("MatMul", ["weights", "input"], ["label"])],
        [helper.make_node("Reshape", ["input", "shape"], ["label"])],
        [helper.make_node("Gather", ["input", "first"], ["label"], axis=0)],
        [
            helper.make_node("Transpose", ["input"], ["t"], perm=[1, 0]),
            helper.make_node("Add", ["t", "input"], ["label"]),
        ],
    ]
    constants = [
        ("weights", np.ones((2, 3), np.float32)),
        ("shape", np.array([4, -1], np.int64)),
        ("first", np.array([0], np.int64)),
    ]
    for nodes in mixed:
        assert inspect(_model(nodes, constants), GRAPH).leaves is None


def test_functions_other_domains_external_data_and_old_operator_sets_are_not_read():
    def function(model) -> None:
        model.functions.append(helper.make_function("x", "Greater", ["a"], ["b"], [], []))

    def domain(model) -> None:
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))

    def external(model) -> None:
        model.graph.initializer[0].data_location = TensorProto.EXTERNAL
        model.graph.initializer[0].external_data.add(key="location", value="/etc/passwd")

    def old(model) -> None:
        model.opset_import[0].version = 9

    for change, reason in (
        (function, "functions"),
        (domain, "other domains"),
        (external, "another file"),
        (old, "operator set"),
    ):
        assert reason in _reason(_changed(change))


def test_names_that_stand_for_two_values_are_refused():
    def twice(model) -> None:
        model.graph.node.append(model.graph.node[0])

    def shadowed(model) -> None:
        model.graph.initializer.append(numpy_helper.from_array(np.zeros((1, 4), np.float32), "input"))

    for change in (twice, shadowed):
        assert "twice" in _reason(_changed(change))


def test_shapes_beyond_the_bounds_end_at_once():
    wide = [helper.make_node("Expand", ["input", "shape"], ["label"])]
    assert inspect(_model(wide, [("shape", np.array([10**12, 4], np.int64))]), GRAPH).leaves is None
    nodes = [helper.make_node("Greater", ["input", "zero"], ["b0"])]
    nodes += [helper.make_node("Concat", [f"b{i}"] * 64, [f"b{i + 1}"], axis=1) for i in range(8)]
    nodes.append(helper.make_node("ArgMax", ["b8"], ["label"], axis=1, keepdims=0))
    assert inspect(_model(nodes, [("zero", np.zeros((1, 1), np.float32))]), GRAPH).leaves is None


def test_a_model_of_other_columns_is_a_reason():
    other = RuleGraph(Schema((Feature("x0"), Feature("x1")), target="y"), (0, 1), Fires(Compare("x0", ">", 0.5)))
    assert inspect(CONTENT, other).reason == "its inputs are not those of the model"


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_file_with_changed_bytes_is_read_or_refused(data):
    content = bytearray(CONTENT)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        reading = inspect(bytes(content), GRAPH)
    except FormatError:
        return
    assert isinstance(reading, Reading)
    assert reading.leaves is not None or reading.reason
