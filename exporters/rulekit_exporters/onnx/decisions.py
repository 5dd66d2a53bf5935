"""Decision roots, and the outputs label and probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import Hidden, Node, Or, Probability
from rulekit_exporters.onnx.builder import Number, Truth
from rulekit_exporters.onnx.dnf import emit_dnf

if TYPE_CHECKING:
    from rulekit_exporters.onnx.emitter import Emitter


def fires(emitter: Emitter, decision: Fires) -> str:
    """[1, N] float of 0 and 1: the formula holds."""
    product = emit_dnf(emitter, decision.formula)
    return product or as_float(emitter, emitter.truth(decision.formula))


def exceeds(emitter: Emitter, decision: Exceeds) -> str:
    """[1, N] float of 0 and 1: the score is strictly above the threshold."""
    if decision.scale == "log-complement":
        score = strengths(emitter, decision.score)
    else:
        score = emitter.number(decision.score)
    return as_float(emitter, emitter.builder.above(score, decision.threshold))


def strengths(emitter: Emitter, score: Node) -> Number:
    """The strengths of the hidden bits of an Or, added from left to right; a true Boolean child is infinite."""
    builder = emitter.builder
    formula = score.formula if isinstance(score, Probability) else score
    total: Number = 0.0
    for child in formula.children if isinstance(formula, Or) else (formula,):
        if isinstance(child, Hidden):
            part = builder.choose(emitter.truth(child.cause), child.on, child.off)
        else:
            part = builder.choose(emitter.truth(child), math.inf, 0.0)
        total = builder.add(total, part)
    return total


def as_float(emitter: Emitter, value: Truth) -> str:
    row = emitter.inputs.fill(value) if isinstance(value, bool) else value
    return emitter.builder.cast(row, np.float32)


BINARY: dict[type[Any], Callable[[Emitter, Any], str]] = {Fires: fires, Exceeds: exceeds}


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
        row = BINARY[type(part)](emitter, part)
        total = builder.operate("Add", total, row) if total else row
    flat = builder.operate("Reshape", total, builder.constant([-1], np.int64))
    return builder.cast(flat, np.int64)


SEVERAL: dict[type[Any], Callable[[Emitter, Any], str]] = {ArgMax: argmax, Median: median}


def emit_outputs(emitter: Emitter) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float."""
    builder, graph = emitter.builder, emitter.graph
    kind = type(graph.decision)
    if kind in BINARY:
        fired = BINARY[kind](emitter, graph.decision)
        # a 0/1 row becomes [1 - p, p], and ArgMax its index: portable, unlike a cast to int64
        pair = builder.constant([[-1.0, 1.0]], np.float32), builder.constant([1.0, 0.0], np.float32)
        one_hot = builder.operate("Gemm", fired, *pair, transA=1)
        index = builder.operate("ArgMax", one_hot, axis=1, keepdims=0)
    elif kind in SEVERAL:
        index = SEVERAL[kind](emitter, graph.decision)
        one_hot = builder.operate(
            "Gather", builder.constant(np.eye(len(graph.classes), dtype=np.float32)), index, axis=0
        )
    else:
        raise Unsupported(kind.__name__, "onnx", "a decision is Fires, Exceeds, ArgMax or Median")
    return index, reported(emitter) or one_hot


def reported(emitter: Emitter) -> str:
    """[N, K] float probabilities, computed in double; "" where the decision itself is reported."""
    builder, graph = emitter.builder, emitter.graph
    if not graph.probability:
        return ""
    values = [emitter.number(node) for node in graph.probability]
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
