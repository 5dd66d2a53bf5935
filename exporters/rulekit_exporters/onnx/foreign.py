"""Running a model of another program on columns, within bounds on size, time, memory and threads.

The file is looked through before it runs: it holds its weights itself, and operators of ONNX and of onnxruntime alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from rulekit.arrays import Array, Floats
from rulekit.errors import InputError
from rulekit.names import suggestion
from rulekit.targets import ForeignOutputs
from rulekit_exporters.onnx.builder import Port, port_of
from rulekit_exporters.onnx.metadata import model_of
from rulekit_exporters.onnx.running import bounded_session

_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")


def run_foreign(artifact: bytes, columns: Mapping[str, Array]) -> ForeignOutputs:
    """The outputs of a model, its maps as matrices, and the classes that it names.

    columns: float64 with NaN for missing, or texts with "" for missing. An input of one number a row gets the column of
    its name, one of several all columns in their order. Raises FormatError for a file that is not run, and InputError
    where the columns do not fit.
    """
    model, classes = model_of(artifact), list[str | int]()
    for part in _parts(model):
        if isinstance(part, TensorProto) and (part.data_location == TensorProto.EXTERNAL or part.external_data):
            raise InputError(f"the weights of {part.name[:60]!r} lie in another file", fix="save them in the model")
        for node in getattr(part, "node", ()):
            if node.domain not in _DOMAINS:
                what = f"the operator {node.op_type[:60]!r} is one of {node.domain[:60]!r}"
                raise InputError(what, fix="export the model with operators of ONNX alone")
            for each in node.attribute:
                if each.name.startswith("classlabels_"):
                    classes = [*(text.decode("utf-8", "replace") for text in each.strings), *each.ints] or classes
    graph = model.graph
    maps = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "ZipMap"}
    outputs = [helper.make_tensor_value_info(maps[o.name], 1, None) if o.name in maps else o for o in graph.output]
    del graph.output[:]
    graph.output.extend(outputs)
    if not model.opset_import:
        raise InputError("this is no ONNX model", fix="it may be empty or truncated; export it again")
    initial = {tensor.name for tensor in graph.initializer}
    ports = [port_of(port) for port in graph.input if port.name not in initial]
    feeds = dict(_feeds(ports, columns))
    reads = frozenset(name for name in columns if {name, _plain(name)} & {*feeds})
    return ForeignOutputs(bounded_session(model.SerializeToString())(feeds), tuple(classes), reads)


def _parts(message: Any) -> Iterator[Any]:
    """Every message within a protobuf message, however deep, itself first."""
    left = [message]
    while left:
        yield (own := left.pop())
        for field, value in own.ListFields():
            if field.message_type is not None:
                left += [value] if hasattr(value, "ListFields") else value


def _plain(name: str) -> str:
    """How tools write the name of a column as that of an input."""
    return re.sub(r"\W", "_", name)


def _feeds(ports: list[Port], columns: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    by_name = {_plain(name): cells for name, cells in columns.items()} | dict(columns)
    for port in ports:
        if not 1 <= len(port.shape) <= 2 or not port.element:
            raise InputError(f"the input {port.name[:60]!r} is no column and no table", fix="give a model of tables")
        width = port.shape[1] if len(port.shape) == 2 else 1
        if len(ports) == 1 and width != 1:
            if isinstance(width, int) and width not in (0, len(columns)):
                what = f"the model takes {width} columns, the table has {len(columns)}: {', '.join(columns)}"
                raise InputError(what, fix="--ignore those that it does not know")
            yield port.name, np.stack([_cells(cells, name, port) for name, cells in columns.items()], axis=1)
        elif port.name in by_name:
            yield port.name, _cells(by_name[port.name], port.name, port).reshape(-1, *[1] * (len(port.shape) - 1))
        else:
            what = f"the model takes {port.name!r}, and the table has no such column"
            raise InputError(what, fix=suggestion(port.name, tuple(columns)))


def _cells(cells: Array, column: str, port: Port) -> Array:
    """The cells of a column in the type of an input."""
    kind = helper.tensor_dtype_to_np_dtype(port.element)
    if kind.kind == "O":
        return cells if cells.dtype == object else _spelled(cells)
    odd = "the model takes numbers, and this column holds texts" if cells.dtype == object else ""
    if not odd and kind.kind in "ib" and np.isnan(cells).any():
        odd = "the model takes whole numbers, and cells are missing"
    if odd:
        raise InputError(odd, where=f"column {column!r}", fix="export the model with its preparation of columns")
    with np.errstate(over="ignore"):
        return cells.astype(kind)


def _spelled(numbers: Floats) -> Array:
    """Numbers as texts, whole ones without a point."""
    values, places = np.unique(numbers, return_inverse=True)
    texts = ["" if v != v else str(int(v)) if v.is_integer() and abs(v) < 2**53 else repr(v) for v in values.tolist()]
    return np.array(texts, dtype=object)[places.reshape(-1)]
