"""Decision roots, and the outputs label and probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit_exporters.onnx.builder import Number, Truth
from rulekit_exporters.onnx.operators.dnf import emit_dnf, emit_dnf_pair
from rulekit_exporters.onnx.operators.noisy_or import reported_number, strengths

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter


def holds(emitter: Emitter, decision: Fires | Exceeds) -> Truth:
    """Whether the formula of a decision holds, or its score is strictly above the threshold."""
    if isinstance(decision, Fires):
        return emitter.truth(decision.formula)
    by_sum = decision.scale == "log-complement"
    score = strengths(emitter, decision.score) if by_sum else emitter.number(decision.score)
    return emitter.builder.above(score, decision.threshold)


def indicator(emitter: Emitter, decision: Fires | Exceeds) -> str:
    """[1, N] float of 0 and 1: a decision holds."""
    product = emit_dnf(emitter, decision.formula) if isinstance(decision, Fires) else None
    return product or emitter.builder.cast(emitter.row(holds(emitter, decision)), np.float32)


def argmax(emitter: Emitter, decision: ArgMax) -> str:
    """[N] int64: the class index.

    The masked scores stand in order of preference below a row of minus infinity, which wins, as the first of equals,
    exactly where no class takes part.
    """
    builder = emitter.builder
    rows = []
    for index in decision.preference:
        score = emitter.number(decision.scores[index])
        candidate = builder.above(score, decision.thresholds[index])
        masked = builder.choose(candidate, score, -math.inf)
        rows.append(masked if isinstance(masked, str) else emitter.inputs.fill(masked))
    none = builder.constant([1, 0, 0, 0], np.int64)
    stacked = builder.operate("Pad", builder.operate("Concat", *rows, axis=0), none, builder.double(-math.inf))
    best = builder.operate("ArgMax", stacked, axis=0, keepdims=0)
    table = builder.constant([emitter.graph.default, *decision.preference], np.int64)
    return builder.operate("Gather", table, best, axis=0)


def median(emitter: Emitter, decision: Median) -> str:
    """[N] int64: the number of parts that hold."""
    builder = emitter.builder
    total = ""
    for part in decision.above:
        row = indicator(emitter, part)
        total = builder.operate("Add", total, row) if total else row
    flat = builder.operate("Reshape", total, builder.constant([-1], np.int64))
    return builder.cast(flat, np.int64)


SEVERAL: dict[type[Any], Callable[[Emitter, Any], str]] = {ArgMax: argmax, Median: median}


def emit_outputs(emitter: Emitter) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float."""
    builder, graph = emitter.builder, emitter.graph
    kind = type(graph.decision)
    if isinstance(graph.decision, Fires | Exceeds):
        index, one_hot = binary(emitter, graph.decision)
    elif kind in SEVERAL:
        index = SEVERAL[kind](emitter, graph.decision)
        one_hot = builder.operate(
            "Gather", builder.constant(np.eye(len(graph.classes), dtype=np.float32)), index, axis=0
        )
    else:
        raise Unsupported(kind.__name__, "onnx", "a decision is Fires, Exceeds, ArgMax or Median")
    return index, reported(emitter) or one_hot


def binary(emitter: Emitter, decision: Fires | Exceeds) -> tuple[str, str]:
    """The class index [N] int64 by ArgMax, portable unlike a cast to int64, of the [N, 2] float of 0 and 1.

    Over columns a truth value and its contrary are transposed: 3 ns a row less than a product with the pair.
    """
    builder = emitter.builder
    product = ""
    if isinstance(decision, Fires):
        one_hot = emit_dnf_pair(emitter, decision.formula)
        if one_hot is not None:
            return builder.operate("ArgMax", one_hot, axis=1, keepdims=0), one_hot
        product = emit_dnf(emitter, decision.formula) or ""
    if emitter.plan.form != "tensor" and not product:
        contrary = builder.constant([[True], [False]])
        rows = builder.operate("Xor", emitter.row(holds(emitter, decision)), contrary)
        one_hot = builder.cast(builder.operate("Transpose", rows, perm=[1, 0]), np.float32)
    else:
        row = product or indicator(emitter, decision)
        weights, offset = builder.constant([[-1.0, 1.0]], np.float32), builder.constant([1.0, 0.0], np.float32)
        one_hot = builder.operate("Gemm", row, weights, offset, transA=1)
    return builder.operate("ArgMax", one_hot, axis=1, keepdims=0), one_hot


def reported(emitter: Emitter) -> str:
    """[N, K] float probabilities, computed in double; "" where the decision itself is reported."""
    builder, graph = emitter.builder, emitter.graph
    if not graph.probability:
        return ""
    values = [reported_number(emitter, node) for node in graph.probability]
    if len(values) == 1:
        values = [builder.subtract(1.0, values[0]), values[0]]
    else:
        values = shares(emitter, values)
    rows = [value if isinstance(value, str) else emitter.inputs.fill(value) for value in values]
    stacked = builder.cast(builder.operate("Concat", *rows, axis=0), np.float32)
    return builder.operate("Transpose", stacked, perm=[1, 0])


def shares(emitter: Emitter, values: list[Number]) -> list[Number]:
    """Each value by the sum of all, added from left to right; the default class where all are zero."""
    builder = emitter.builder
    total = values[0]
    for value in values[1:]:
        total = builder.add(total, value)
    if not isinstance(total, str):
        default = [float(k == emitter.graph.default) for k in range(len(values))]
        return [value / total for value in values if not isinstance(value, str)] if total else list(default)
    zero = builder.operate("Equal", total, builder.double(0.0))
    result: list[Number] = []
    for k, value in enumerate(values):
        share = builder.operate("Div", builder.number(value), total)
        result.append(builder.choose(zero, float(k == emitter.graph.default), share))
    return result
