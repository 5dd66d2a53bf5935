"""Reading files from anywhere: every one gives a reading with a reason or a FormatError, in bounded work."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx_cases import changed, crafted, nodes_of
from rulekit_exporters.onnx.inspection.reader import inspect

from rulekit.errors import FormatError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import Reading, find_target

TARGET = find_target("onnx")
SCHEMA = Schema(tuple(Feature(f"x{i}") for i in range(4)), target="y")
GRAPH = RuleGraph(
    SCHEMA, (0, 1), Fires(Or((And((Compare("x0", ">", 0.5), Compare("x1", ">", 1.5))), Compare("x2", "<=", 2.5))))
)
CONTENT = TARGET.emit(GRAPH, {}).main


def _reason(content: bytes) -> str:
    reading = inspect(content, GRAPH)
    assert reading.leaves is None
    return reading.reason


def test_what_is_no_onnx_file_is_refused():
    for content in (b"not an onnx file", CONTENT[: len(CONTENT) // 2]):
        with pytest.raises(FormatError, match="no ONNX file"):
            inspect(content, GRAPH)
    assert inspect(b"", GRAPH).leaves is None


@pytest.mark.parametrize("kind", ["Loop", "RandomUniformLike", "Sin"])
def test_an_operator_off_the_list_is_named(kind):
    content = crafted(nodes_of(f"label = {kind} (input)"), (), 4)
    assert _reason(content) == f"the operator {kind} is not read"


def test_numbers_of_a_row_in_arithmetic_are_named():
    nodes = nodes_of("sum = Add (input, one)\nlabel = ArgMax <axis = 1, keepdims = 0> (sum)")
    content = crafted(nodes, [("one", np.float32(1.0).reshape(1, 1))], 4)
    assert _reason(content) == "the numbers of 'x0' are computed with"


def test_rows_that_are_mixed_are_refused():
    """The label of a row may hang on no other row."""
    operators = (
        "label = ArgMax <axis = 0, keepdims = 0> (input)",
        "label = Concat <axis = 0> (input, input)",
        "label = MatMul (weights, input)",
        "label = Reshape (input, shape)",
        "label = Gather <axis = 0> (input, first)",
        "t = Transpose <perm = [1, 0]> (input)\nlabel = Add (t, input)",
    )
    shape, first = np.array([4, -1], np.int64), np.array([0], np.int64)
    constants = [("weights", np.ones((2, 3), np.float32)), ("shape", shape), ("first", first)]
    for lines in operators:
        assert inspect(crafted(nodes_of(lines), constants, 4), GRAPH).leaves is None


def _encoded() -> tuple[bytes, RuleGraph]:
    """A model that encodes texts."""
    schema = Schema((Feature("colour", "categorical", levels=("red", "green")),), target="y")
    graph = RuleGraph(schema, (0, 1), Fires(Among("colour", ("red",))))
    return TARGET.emit(graph, {}).main, graph


def _default_tensor(model) -> None:
    model.opset_import[1].version = 4
    model.graph.node[0].attribute.append(
        helper.make_attribute("default_tensor", numpy_helper.from_array(np.array([2], np.int64)))
    )


def _truth_in_another_field(model) -> None:
    tensor = next(tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.BOOL)
    values = [256 if value else 0 for value in numpy_helper.to_array(tensor).reshape(-1).tolist()]
    tensor.ClearField("raw_data")
    tensor.int32_data.extend(values)


def _external(model) -> None:
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    model.graph.initializer[0].external_data.add(key="location", value="/etc/passwd")


def _gather(model) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == "Gather")


def _integer_arithmetic(model) -> None:
    node = _gather(model)
    model.graph.initializer.append(numpy_helper.from_array(np.array([3], np.int64), "three"))
    model.graph.node.insert(2, helper.make_node("Div", ["three", node.input[1]], ["half"]))
    node.input[1] = "half"


def _constant(name: str, *values: float) -> TensorProto:
    return numpy_helper.from_array(np.array([values], np.float32), name)


def _port(model) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(model.graph.node[0].output[0], TensorProto.INT64, ("N", 2))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_default_tensor, "LabelEncoder in another form"),
        (
            lambda m: m.opset_import[1].CopyFrom(helper.make_opsetid("ai.onnx.ml", 4)),
            "'opset_import' is in another form",
        ),
        (lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 10)), "'opset_import' is in another form"),
        (_truth_in_another_field, "'initializer' is in another form"),
        (lambda m: m.graph.initializer[0].float_data.append(7.0), "'initializer' is in another form"),
        (lambda m: m.functions.append(onnx.FunctionProto(name="x")), "'functions' is in another form"),
        (_external, "another file"),
        (lambda m: setattr(m.graph.initializer[0], "data_type", 29), "a type that there is not"),
        (lambda m: m.opset_import[0].CopyFrom(helper.make_opsetid("", 9)), "operator set"),
        (lambda m: _gather(m).attribute.append(helper.make_attribute("other", 1)), "Gather in another form"),
        (_integer_arithmetic, "Div with operands of other types"),
        (lambda m: m.graph.value_info.append(_port(m)), "'value_info' is in another form"),
        (lambda m: m.MergeFromString(b"\xfa\x3f\x01x"), "in another form"),
        (lambda m: m.graph.initializer.append(_constant("nothing", np.nan)), "no number"),
    ],
)
def test_what_the_exporter_does_not_write_is_not_read(change, reason):
    """Such files were called proved: the reader took an operator, a version or a constant for another than it is."""
    content, graph = _encoded()
    assert inspect(content, graph).reason == ""
    reading = inspect(changed(content, change), graph)
    assert reading.decision is None
    assert reason in reading.reason


def test_a_tree_is_read_from_its_first_node():
    """The root was the node without a parent; a runtime starts at the first one."""
    content = TARGET.emit(GRAPH, {"optimize": "latency"}).main
    assert inspect(content, GRAPH).reason == ""
    model = onnx.ModelProto.FromString(content)
    for attribute in model.graph.node[0].attribute:
        values = helper.get_attribute_value(attribute)
        if attribute.name.startswith("nodes_"):
            attribute.CopyFrom(helper.make_attribute(attribute.name, [*values[1:], values[0]]))
    assert "numbered from its root" in inspect(model.SerializeToString(), GRAPH).reason


@pytest.mark.parametrize("options", [{"input": "codes"}, {"input": "codes", "optimize": "latency"}])
def test_codes_out_of_range_are_unseen(options):
    """A table or tree that tells codes out of range apart from the code of an unseen level was called proved."""
    graph = _encoded()[1]
    content = TARGET.emit(graph, options).main
    assert inspect(content, graph).reason == ""
    model = onnx.ModelProto.FromString(content)
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.BOOL:
            table = numpy_helper.to_array(tensor).copy()
            table[-1] = not table[-1]
            tensor.CopyFrom(numpy_helper.from_array(table, tensor.name))
    tests = {a.name: a for node in model.graph.node for a in node.attribute if a.name.startswith("nodes_")}
    if tests:  # x > 1 becomes the only test
        values = dict.fromkeys(tests)
        values["nodes_values"], values["nodes_modes"] = [1.0, 0.0, 0.0], ["BRANCH_GT", "LEAF", "LEAF"]
        values["nodes_truenodeids"], values["nodes_falsenodeids"] = [1, 0, 0], [2, 0, 0]
        values["nodes_nodeids"] = [0, 1, 2]
        for name, attribute in tests.items():
            attribute.CopyFrom(helper.make_attribute(name, values[name] or [0, 0, 0]))
        weights = {"treeids": [0] * 4, "nodeids": [1, 1, 2, 2], "ids": [0, 1, 0, 1], "weights": [0.0, 1.0, 1.0, 0.0]}
        for attribute in model.graph.node[-1].attribute:
            if attribute.name.removeprefix("class_") in weights:
                found = weights[attribute.name.removeprefix("class_")]
                attribute.CopyFrom(helper.make_attribute(attribute.name, found))
    assert "out of range is not read as unseen" in inspect(model.SerializeToString(), graph).reason


def test_names_that_stand_for_two_values_are_refused():
    for change in (
        lambda m: m.graph.node.append(m.graph.node[0]),
        lambda m: m.graph.initializer.append(_constant("input", 0.0, 0.0, 0.0, 0.0)),
    ):
        assert "twice" in _reason(changed(CONTENT, change))


def test_shapes_beyond_the_bounds_end_at_once():
    assert (
        inspect(
            crafted(nodes_of("label = Expand (input, shape)"), [("shape", np.array([10**12, 4], np.int64))], 4), GRAPH
        ).leaves
        is None
    )
    nodes = [helper.make_node("Greater", ["input", "zero"], ["b0"])]
    nodes += [helper.make_node("Concat", [f"b{i}"] * 64, [f"b{i + 1}"], axis=1) for i in range(8)]
    nodes.append(helper.make_node("ArgMax", ["b8"], ["label"], axis=1, keepdims=0))
    assert inspect(crafted(nodes, [("zero", np.zeros((1, 1), np.float32))], 4), GRAPH).leaves is None


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
