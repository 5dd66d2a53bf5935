"""What an ONNX file says, in the forms that are written; a file that says anything else is not read.

The file is taken apart and made again from its parts (`rulekit_exporters.onnx.builder.Contents`). Where that does not
give the same file, something stands in it that was not taken in: an attribute, a version or domain, a constant stored
in another way or in another file, a function, a field that this program does not know.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper
from onnx.defs import onnx_opset_version

from rulekit_exporters.onnx.builder import Contents, Operation, port_of
from rulekit_exporters.onnx.forms import FORMS, INFINITE
from rulekit_exporters.onnx.inspection.values import UnreadableError
from rulekit_exporters.onnx.options import OLDEST_OPSET

MOST_OPERATORS = 50_000
MOST_CONSTANTS = 1 << 23  # bytes


def contents_of(model: Any) -> Contents:
    """The parts of a ModelProto; raises UnreadableError where they are not all of it."""
    graph = model.graph
    if len(graph.node) > MOST_OPERATORS:
        raise UnreadableError(f"{len(graph.node)} operators")
    if sum(tensor.ByteSize() for tensor in graph.initializer) > MOST_CONSTANTS:
        raise UnreadableError("its constants are too large")
    opset = next((entry.version for entry in model.opset_import if entry.domain == ""), 0)
    if not OLDEST_OPSET <= opset <= onnx_opset_version():
        raise UnreadableError("its operator set is not read")
    for node in graph.node:
        if (node.domain, node.op_type) not in FORMS:
            raise UnreadableError(f"the operator {node.domain and node.domain + '.'}{node.op_type} is not read")
    try:
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
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(str(error).partition("\n")[0][:200]) from None
    if again.SerializeToString(deterministic=True) != model.SerializeToString(deterministic=True):
        raise UnreadableError(f"{_other_part(model, again)} in another form than rulekit writes it")
    _check_numbers(contents)
    return contents


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
