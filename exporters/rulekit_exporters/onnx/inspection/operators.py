"""The operators of the default domain that are read; any other is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.exactness import Span
from rulekit_exporters.onnx.inspection.elements import BINARY, UNARY
from rulekit_exporters.onnx.inspection.tensors import (
    Attributes,
    Reader,
    ReadingCost,
    RowTensor,
    Value,
    argmax,
    binary,
    cast_to,
    clip,
    concat,
    constant,
    expand,
    flatten,
    gather,
    pad,
    reshape,
    rows,
    shape,
    softmax,
    transpose,
    unary,
    where,
)
from rulekit_exporters.onnx.inspection.values import (
    BITS,
    Element,
    Exact,
    UnreadableError,
    exact,
    is_constant,
    opaque,
)


def matmul(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    weights = constant(inputs[0])
    product = _product(reach, weights[None, :] if weights.ndim == 1 else weights, rows(inputs[1]))
    return RowTensor(product.elements[0], 0, product.width) if weights.ndim == 1 else product


def gemm(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    a, b = inputs[:2]
    if attributes.get("transA", 0):
        a = _turned(a) if isinstance(a, RowTensor) else constant(a).T
    bias = constant(inputs[2])
    if isinstance(a, RowTensor):
        if a.elements.ndim != 2 or a.axis != 0:
            raise UnreadableError("rows are added up")
        spread = np.broadcast_to(bias, (1, constant(b).shape[1])).T
        return _turned(_product(reach, constant(b).T, _turned(a), spread))
    return _product(reach, constant(a), rows(b), np.broadcast_to(bias, (constant(a).shape[0], 1)))


def _turned(value: RowTensor) -> RowTensor:
    return RowTensor(value.elements.T, 1 - value.axis, value.width)


def _product(
    reach: ReadingCost, weights: npt.NDArray[Any], value: RowTensor, bias: npt.NDArray[Any] | None = None
) -> RowTensor:
    """Weights [k, l] times [l, N], plus bias [k, 1]: sums that no order rounds, or numbers known by their terms."""
    if value.elements.ndim != 2 or value.axis != 1 or weights.ndim != 2 or weights.shape[1] != len(value.elements):
        raise UnreadableError("rows are added up")
    reach.spend(weights.size)
    terms = list(value.elements[:, 0])
    known = [exact(term) for term in terms]
    result = np.empty((len(weights), 1), dtype=object)
    for k, row in enumerate(weights.tolist()):
        start = 0.0 if bias is None else bias[k, 0].item()
        result[k, 0] = _sum(row, terms, known, start, value.width)
    return RowTensor(result, 1, value.width)


def _sum(row: list[Any], terms: Sequence[Element], known: list[Exact | None], start: float, width: str) -> Element:
    if None not in known and all(map(math.isfinite, (start, *row))):
        weights: dict[Any, Fraction] = {}
        constant_part = Fraction(start)
        span = Span.of(start)
        for weight, part in zip(row, known, strict=True):
            if weight == 0 or part is None:
                continue
            factor = Fraction(weight)
            span += Span.of(factor).times(part.span)
            constant_part += part.constant * factor
            for node, own in part.terms:
                weights[node] = weights.get(node, Fraction(0)) + own * factor
        if span.fits(BITS[width]):
            return Exact(constant_part, tuple((node, weight) for node, weight in weights.items() if weight))
    used = [term for weight, term in zip(row, terms, strict=True) if not is_constant(term)]
    return opaque("product", *used)


READERS: dict[str, Reader] = {
    **{kind: binary(kind) for kind in BINARY},
    **{kind: unary(kind) for kind in UNARY},
    "Where": where,
    "Clip": clip,
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
    "Softmax": softmax,
}
