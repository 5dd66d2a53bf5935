"""The cost rule by which a graph's formulation is chosen: microseconds of a call, from its operators and their widths.

Measured with onnxruntime 1.31, one thread, as the difference between models of twelve and of two equal operators; the
figures are those of one slow core, and only their ratios count. A call costs the same for every formulation, so it is
left out. `docs/onnx.md` has the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import onnx

# Calling one operator, whatever the rows.
CALL = 0.6
CALLS = {"TreeEnsembleClassifier": 1.8, "LabelEncoder": 1.5}

# Nanoseconds for each row and each number of the result in that row: of float, of double.
ELEMENT = {
    "Transpose": (0.9, 1.8),
    "Gather": (0.5, 1.0),
    "Where": (1.5, 3.5),
    "Cast": (0.5, 0.5),
    "And": (0.15, 0.15),
    "Or": (0.15, 0.15),
    "Not": (0.15, 0.15),
    "Xor": (0.15, 0.15),
    "Greater": (0.4, 0.6),
    "Less": (0.4, 0.6),
    "GreaterOrEqual": (0.4, 0.6),
    "IsNaN": (0.3, 0.6),
    "Exp": (1.5, 8.0),
    "Softmax": (12.0, 12.0),
    "Concat": (0.15, 0.3),
    "Flatten": (0.05, 0.05),
    "Reshape": (0.0, 0.0),
    "Shape": (0.0, 0.0),
    "ArgMax": (6.0, 12.0),
    "LabelEncoder": (80.0, 80.0),
    "TreeEnsembleClassifier": (60.0, 60.0),
}
ELSE = (0.45, 1.1)
# Nanoseconds for each multiplication of a matrix product and row.
MULTIPLICATION = (0.06, 0.11)
# Nanoseconds for each row that is looked up in a table.
LOOKED_UP = 9.0

# Rows of the call for which a formulation is chosen: one row and a full chunk both count, so it lies between them.
ROWS = {"throughput": 256, "latency": 1}
# Microseconds by which each kilobyte has to pay: a model is also sent, loaded and held in the cache. Whoever asks for
# latency asks for it at any size.
KILOBYTE = {"throughput": 0.2, "latency": 0.0}


def cost(model: Any, optimize: str) -> float:
    """What the cheapest ModelProto has least of, for throughput or for latency."""
    kilobytes = float(model.graph.ByteSize()) / 1000
    return microseconds(model, ROWS[optimize]) + KILOBYTE[optimize] * kilobytes


def microseconds(model: Any, rows: int) -> float:
    """The time of a call of `rows` rows of a ModelProto."""
    shapes = _shapes(onnx.shape_inference.infer_shapes(model).graph)
    constants = {item.name: item for item in model.graph.initializer}
    total = 0.0
    for node in model.graph.node:
        total += CALLS.get(node.op_type, CALL)
        total += 1e-3 * rows * _row(node, shapes, constants)
    return total


def _row(node: Any, shapes: dict[str, tuple[int, bool]], constants: dict[str, Any]) -> float:
    """Nanoseconds of an operator for each row."""
    width, double = shapes.get(node.output[0], (1, False))
    double = double or any(shapes.get(name, (0, False))[1] for name in node.input)
    if node.op_type in ("MatMul", "Gemm"):
        matrix = next((constants[name] for name in node.input if name in constants), None)
        return MULTIPLICATION[double] * (math.prod(matrix.dims) if matrix is not None else width)
    if node.op_type == "Gather" and node.input[0] in constants:
        return LOOKED_UP
    if node.op_type in ("ArgMax", "LabelEncoder", "TreeEnsembleClassifier"):
        return ELEMENT[node.op_type][double]
    return ELEMENT.get(node.op_type, ELSE)[double] * width


def _shapes(graph: Any) -> dict[str, tuple[int, bool]]:
    """Numbers in a row, and whether they are doubles, by the name of a tensor that has rows."""
    found = {}
    ports: Iterable[Any] = (*graph.value_info, *graph.input, *graph.output)
    for port in ports:
        tensor = port.type.tensor_type
        dims = tensor.shape.dim
        symbolic = any(dim.dim_param or not dim.dim_value for dim in dims)
        width = math.prod(dim.dim_value for dim in dims if dim.dim_value)
        found[port.name] = (width if symbolic else 0, tensor.elem_type == onnx.TensorProto.DOUBLE)
    return found
