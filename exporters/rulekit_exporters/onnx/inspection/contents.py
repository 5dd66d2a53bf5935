"""What an ONNX file says, in the forms that are written; a file that says anything else is not read.

What changes no number is left out first: names of nodes and of the producer, comments, inferred shapes, imports that no
operator needs; and constants that stand in nodes or as lists become initializers as they are written. Tools leave such
things behind. The rest is taken apart and made again from its parts (`rulekit_exporters.onnx.builder.Contents`). Where
that does not give the same file, something stands in it that was not taken in: an attribute, a version or domain, a
constant in another file, a function, a field that this program does not know.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference
from onnx.defs import onnx_opset_version

from rulekit_exporters.onnx.builder import FORMS, GRAPH_NAME, INFINITE, ML_DOMAIN, Contents, Operation, port_of
from rulekit_exporters.onnx.inspection.values import UnreadableError
from rulekit_exporters.onnx.options import OLDEST_OPSET

MOST_OPERATORS = 50_000
MOST_CONSTANTS = 1 << 23  # bytes
FUSED = {("com.microsoft", kind) for kind in ("FusedGemm", "FusedMatMul")}  # that onnxruntime's optimiser writes
DEFAULT_DOMAIN = ("", "ai.onnx")  # its two names
MOST_IMPORT = 64  # bytes of the import of a domain


def contents_of(model: Any) -> Contents:
    """The parts of a ModelProto; raises UnreadableError where they are not all of it."""
    if len(model.graph.node) > MOST_OPERATORS:
        raise UnreadableError(f"{len(model.graph.node)} operators")
    for node in model.graph.node:
        if (node.domain, node.op_type) not in FORMS and not _is_constant(node):
            raise UnreadableError(f"the operator {node.domain and node.domain + '.'}{node.op_type} is not read")
    constants = [*model.graph.initializer, *(item.t for node in model.graph.node for item in node.attribute)]
    if sum(tensor.ByteSize() for tensor in constants) > MOST_CONSTANTS:
        raise UnreadableError("its constants are too large")
    opset = next((entry.version for entry in model.opset_import if entry.domain == ""), 0)
    if not OLDEST_OPSET <= opset <= onnx_opset_version():
        raise UnreadableError("its operator set is not read")
    try:
        model = _without_traces(model)
        graph = model.graph
        contents = Contents(
            [_operation(node) for node in graph.node],
            {tensor.name: _array(tensor) for tensor in graph.initializer},
            [port_of(port) for port in graph.input],
            [port_of(port) for port in graph.output],
            opset,
            {item.key: item.value for item in model.metadata_props},
            model.producer_name,
        )
        again = contents.model()
        model.ir_version = again.ir_version  # of the file, not of what it computes
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(str(error).partition("\n")[0][:200]) from None
    if again.SerializeToString(deterministic=True) != model.SerializeToString(deterministic=True):
        raise UnreadableError(f"{_other_part(model, again)} in another form than rulekit writes it")
    _check_numbers(contents)
    return contents


def is_bounded(model: Any) -> bool:
    """Whether nothing in a file but its size and its numbers bounds how long it runs, and it reads no other file.

    It has no operator that holds operators (a loop is one), no function, and no constant in another file.
    """
    graph = model.graph
    tensors = [*graph.initializer, *(item.t for node in graph.node for item in node.attribute)]
    kinds = {(node.domain, node.op_type) for node in graph.node}
    return (
        len(graph.node) <= MOST_OPERATORS
        and all(domain in ("", ML_DOMAIN) or (domain, kind) in FUSED for domain, kind in kinds)
        and not any(item.HasField("g") or item.graphs for node in graph.node for item in node.attribute)
        and not any(tensor.data_location == TensorProto.EXTERNAL or tensor.external_data for tensor in tensors)
        and not (model.functions or model.training_info or graph.sparse_initializer)
    )


def _without_traces(model: Any) -> Any:
    """A copy without what tools leave in a file and no runtime computes with."""
    plain = ModelProto()
    plain.CopyFrom(model)
    graph = plain.graph
    for owner, names in (
        (plain, ("producer_version", "domain", "model_version", "doc_string")),
        (graph, ("doc_string", "metadata_props", *(("value_info",) if _says_what_follows(model) else ()))),
        *((node, ("name", "doc_string", "metadata_props")) for node in graph.node),
        *((part, ("doc_string", "metadata_props")) for part in (*graph.input, *graph.output, *graph.initializer)),
    ):
        for name in names:
            owner.ClearField(name)
    graph.name = GRAPH_NAME
    needed = {node.domain for node in graph.node} | set(DEFAULT_DOMAIN)
    imports = [entry for entry in plain.opset_import if entry.domain in needed or entry.ByteSize() > MOST_IMPORT]
    del plain.opset_import[:]
    plain.opset_import.extend(sorted(imports, key=lambda entry: entry.domain))
    constants = [node for node in graph.node if _is_constant(node)]
    if constants:
        for node in constants:
            graph.initializer.append(node.attribute[0].t)
            graph.initializer[-1].name = node.output[0]
        kept = [node for node in graph.node if not _is_constant(node)]
        del graph.node[:]
        graph.node.extend(kept)
    for tensor in graph.initializer:
        _as_bytes(tensor)
    return plain


def _says_what_follows(model: Any) -> bool:
    """Whether the shapes beside the operators are those that follow from them; a runtime may plan by them."""
    if not model.graph.value_info:
        return False
    bare = ModelProto()
    bare.CopyFrom(model)
    bare.graph.ClearField("value_info")
    try:
        found = {port.name: port_of(port) for port in shape_inference.infer_shapes(bare).graph.value_info}
    except RuntimeError:  # shapes that do not fit
        return False
    return all(port_of(port) == found.get(port.name) for port in model.graph.value_info)


def _is_constant(node: Any) -> bool:
    """Whether an operator is a constant that is a tensor."""
    kinds = [(item.name, item.type) for item in node.attribute]
    return (node.op_type, node.domain, len(node.output)) == ("Constant", "", 1) and kinds == [("value", 4)]


def _as_bytes(tensor: Any) -> None:
    """Numbers that stand as a list, and nowhere else, stand as bytes, as they are written."""
    fields = {field.name for field, _ in tensor.ListFields()} - {"dims", "data_type", "name"}
    listed = {TensorProto.FLOAT: "float_data", TensorProto.DOUBLE: "double_data", TensorProto.INT64: "int64_data"}
    if fields == {listed.get(tensor.data_type)}:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))


def _operation(node: Any) -> Operation:
    attributes = {item.name: _attribute(item) for item in node.attribute}
    return Operation(node.op_type, tuple(node.input), tuple(node.output), node.domain, attributes)


def _attribute(item: Any) -> Any:
    value = helper.get_attribute_value(item)
    return list(value) if item.type in (6, 7, 8) else value


def _array(tensor: Any) -> npt.NDArray[Any]:
    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        raise UnreadableError("its constants lie in another file")
    if tensor.data_type not in TensorProto.DataType.values():
        raise UnreadableError("a constant of a type that there is not")
    array: npt.NDArray[Any] = numpy_helper.to_array(tensor)
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise UnreadableError("a truth value is neither 0 nor 1")
    if array.nbytes > MOST_CONSTANTS:
        raise UnreadableError("its constants are too large")
    return array


def _check_numbers(contents: Contents) -> None:
    """Raises UnreadableError for NaN, for an infinity that is not compared with, and for a division by zero."""
    floats = {name: array for name, array in contents.constants.items() if array.dtype.kind == "f"}
    endless = {name for name, array in floats.items() if not np.isfinite(array).all()}
    if any(np.isnan(floats[name]).any() for name in endless):
        raise UnreadableError("a constant is no number")
    zeros = {name for name, array in floats.items() if not array.all()}
    for operation in contents.operations:
        if operation.kind not in INFINITE and not endless.isdisjoint(operation.inputs):
            raise UnreadableError(f"the operator {operation.kind} with an infinite constant")
        if operation.kind == "Div" and operation.inputs[-1] in zeros:
            raise UnreadableError("a division by zero")


def _other_part(model: Any, again: Any) -> str:
    """Which part of a file is not as it is written."""
    for found, made, skipped in ((model, again, "graph"), (model.graph, again.graph, "")):
        for part in found.DESCRIPTOR.fields:
            if part.name != skipped and getattr(found, part.name) != getattr(made, part.name):
                return f"the part {part.name!r} is"
    return "it has a part that is"
