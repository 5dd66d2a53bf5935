"""Files that passed through tools: read and proved as before, or run with limits and tested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, shape_inference, version_converter

from rulekit.conformance.models import MODELS
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify

ONNX = find_target("onnx")
SCHEMA = Schema((Feature("x"), Feature("y"), Feature("c", "categorical", ("red", "green"))), "z")
MIXED = RuleGraph(
    SCHEMA, ("no", "yes"), Fires(Or((And((Compare("x", ">", 0.5), Among("c", ("red",)))), Compare("y", "<=", -1.5))))
)
Tool = Callable[[onnx.ModelProto], onnx.ModelProto | None]


def named(model: onnx.ModelProto) -> None:
    for place, node in enumerate(model.graph.node):
        node.name, node.doc_string = f"node {place}", "seen"
    for port in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        port.doc_string = "a port"
    model.graph.name, model.graph.doc_string, model.doc_string = "main", "a graph", "a file"
    model.producer_name, model.producer_version, model.domain, model.model_version = "tool", "1", "org.tool", 7
    model.ir_version = 10


def with_imports(model: onnx.ModelProto) -> None:
    model.opset_import.extend([helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("org.tool", 2)])


def renamed(model: onnx.ModelProto) -> None:
    kept = {port.name for port in (*model.graph.input, *model.graph.output)}
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [name if name in kept else f"/inner/{name}" for name in names]
    for tensor in model.graph.initializer:
        tensor.name = f"/inner/{tensor.name}"


def reordered(model: onnx.ModelProto) -> None:
    """The last operator that can stand, each time."""
    known = {part.name for part in (*model.graph.input, *model.graph.initializer)}
    rest, order = list(model.graph.node), []
    while rest:
        node = next(node for node in reversed(rest) if known.issuperset(node.input))
        rest.remove(node)
        known.update(node.output)
        order.append(node)
    tensors = list(model.graph.initializer)[::-1]
    for field, parts in ((model.graph.node, order), (model.graph.initializer, tensors)):
        del field[:]
        field.extend(parts)


def without_metadata(model: onnx.ModelProto) -> None:
    """As onnx-graphsurgeon does."""
    del model.metadata_props[:]


def constants_in_nodes(model: onnx.ModelProto) -> None:
    nodes = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in model.graph.initializer]
    nodes += list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)


def constants_as_lists(model: onnx.ModelProto) -> None:
    for tensor in model.graph.initializer:
        if tensor.data_type in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64):
            values = numpy_helper.to_array(tensor)
            numbers = values.reshape(-1).tolist()
            tensor.CopyFrom(helper.make_tensor(tensor.name, tensor.data_type, values.shape, numbers))


def identities(model: onnx.ModelProto) -> None:
    names = [port.name for port in model.graph.output]
    for node in model.graph.node:
        for side in (node.input, node.output):
            side[:] = [f"{name} before" if name in names else name for name in side]
    model.graph.node.extend(helper.make_node("Identity", [f"{name} before"], [name]) for name in names)


def optimised(model: onnx.ModelProto, level: str, folder: Path) -> onnx.ModelProto:
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    settings.log_severity_level = 4
    settings.optimized_model_filepath = str(folder / "optimised.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimised.onnx")


TOOLS: dict[str, Tool] = {
    tool.__name__: tool
    for tool in (
        named,
        with_imports,
        renamed,
        reordered,
        without_metadata,
        constants_in_nodes,
        constants_as_lists,
        identities,
    )
} | {
    "shapes": shape_inference.infer_shapes,
    **{f"opset {n}": lambda model, n=n: version_converter.convert_version(model, n) for n in (13, 17, 18, 21, 23)},
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("options", [{}, {"optimize": "latency"}, {"frame": True}], ids=str)
def test_what_a_tool_leaves_behind_changes_nothing(tool: str, options: dict[str, str]) -> None:
    """Names of nodes, or a higher opset, alone made it NOT RUN."""
    for graph in (MIXED, MODELS["3 classes, numbers"]()):
        model = onnx.ModelProto.FromString(ONNX.emit(graph, options).main)
        changed = TOOLS[tool](model) or model
        report = verify(graph, changed.SerializeToString(), target=ONNX, rows=50)
        assert (report.ok, report.proof, report.not_run) == (True, "proved", "")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"])
def test_what_onnxruntime_optimised_is_proved_or_tested(level: str, tmp_path: Path) -> None:
    for name in ("LTU on a grid", "DNF"):
        graph = MODELS[name]()
        found = optimised(onnx.ModelProto.FromString(ONNX.emit(graph).main), level, tmp_path)
        report = verify(graph, found.SerializeToString(), target=ONNX, rows=50)
        fused = any(node.domain == "com.microsoft" for node in found.graph.node)
        assert (report.ok, report.not_run) == (True, "")
        assert (fused, report.proof) == (False, "proved")


def test_names_do_not_hide_a_change() -> None:
    """What is left out decides nothing; a threshold beside it still does."""
    model = onnx.ModelProto.FromString(ONNX.emit(MIXED).main)
    named(model)
    constants_in_nodes(model)
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].t.data_type == TensorProto.FLOAT:
            tensor = node.attribute[0].t
            values = numpy_helper.to_array(tensor)
            moved = np.where(values == 0.5, np.nextafter(np.float32(0.5), np.float32(1)), values)
            tensor.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), tensor.name))
    report = verify(MIXED, model.SerializeToString(), target=ONNX, rows=50)
    assert report.failure == "DIFFERENT"


def test_numbers_cut_to_float16_are_different() -> None:
    """A converter to float16 moves thresholds; the types of the file stay, as with `keep_io_types`."""
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(Compare("x", ">", 0.1)))
    model = onnx.ModelProto.FromString(ONNX.emit(graph).main)
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(tensor)
            tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16).astype(np.float32), tensor.name))
    report = verify(graph, model.SerializeToString(), target=ONNX, rows=50)
    assert (report.ok, report.failure) == (False, "DIFFERENT")
