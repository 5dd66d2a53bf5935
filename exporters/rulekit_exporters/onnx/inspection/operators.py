"""The operators of the default domain that are read; any other is refused by its name."""

from __future__ import annotations

from rulekit_exporters.onnx.inspection.elements import BINARY, UNARY
from rulekit_exporters.onnx.inspection.products import gemm, matmul
from rulekit_exporters.onnx.inspection.tensors import (
    Reader,
    argmax,
    binary,
    cast_to,
    clip,
    concat,
    expand,
    flatten,
    gather,
    hard_sigmoid,
    pad,
    reduce_min,
    reshape,
    shape,
    transpose,
    unary,
    where,
)

READERS: dict[str, Reader] = {
    **{kind: binary(kind) for kind in BINARY},
    **{kind: unary(kind) for kind in UNARY},
    "Where": where,
    "Clip": clip,
    "HardSigmoid": hard_sigmoid,
    "Cast": cast_to,
    "Shape": shape,
    "Transpose": transpose,
    "Flatten": flatten,
    "Reshape": reshape,
    "Concat": concat,
    "Expand": expand,
    "Pad": pad,
    "Gather": gather,
    "MatMul": matmul,
    "Gemm": gemm,
    "ArgMax": argmax,
    "ReduceMin": reduce_min,
}
