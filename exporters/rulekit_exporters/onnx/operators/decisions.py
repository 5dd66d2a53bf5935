"""Decision roots, and the outputs label and probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rulekit.graph.decisions import Ranked
from rulekit.graph.nodes import Node
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.sums import highest, logistic_shares


def argmax(emitter: Emitter, ranked: Sequence[Ranked]) -> str:
    """[N] int64: the class index.

    The masked scores stand in order of preference below a row of minus infinity, which wins, as the first of equals,
    exactly where no class takes part.
    """
    found = highest(emitter, ranked)
    if found is not None:
        return found
    builder = emitter.builder
    rows = []
    for _, node, threshold in ranked:
        score = emitter.number(node)
        candidate = builder.above(score, threshold)
        rows.append(emitter.row(builder.choose(candidate, score, -math.inf)))
    none = builder.constant([1, 0, 0, 0], np.int64)
    stacked = builder.operate("Pad", builder.operate("Concat", *rows, axis=0), none, builder.double(-math.inf))
    best = builder.operate("ArgMax", stacked, axis=0, keepdims=0)
    table = builder.constant([emitter.graph.default, *(k for k, _, _ in ranked)], np.int64)
    return builder.operate("Gather", table, best, axis=0)


def median(emitter: Emitter, above: Sequence[Node]) -> str:
    """[N] int64: the number of nodes that hold."""
    builder = emitter.builder
    total = ""
    for node in above:
        row = builder.cast(emitter.row(emitter.truth(node)), np.float32)
        total = builder.operate("Add", total, row) if total else row
    flat = builder.operate("Reshape", total, builder.constant([-1], np.int64))
    return builder.cast(flat, np.int64)


def emit_outputs(emitter: Emitter) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float."""
    builder, graph = emitter.builder, emitter.graph
    ranked, roots = graph.decision.ranked, graph.decision.roots
    if not ranked and not graph.decision.ordered:
        index, one_hot = binary(emitter, *roots)
        return index, reported(emitter) or one_hot
    index = argmax(emitter, ranked) if ranked else median(emitter, roots)
    one_hot = builder.operate("Gather", builder.constant(np.eye(len(graph.classes), dtype=np.float32)), index, axis=0)
    return index, reported(emitter) or one_hot


def binary(emitter: Emitter, formula: Node) -> tuple[str, str]:
    """The class index [N] int64 by ArgMax, portable unlike a cast to int64, of the [N, 2] float of 0 and 1."""
    builder = emitter.builder
    row = builder.cast(emitter.row(emitter.truth(formula)), np.float32)
    weights, offset = builder.constant([[-1.0, 1.0]], np.float32), builder.constant([1.0, 0.0], np.float32)
    one_hot = builder.operate("Gemm", row, weights, offset, transA=1)
    return builder.operate("ArgMax", one_hot, axis=1, keepdims=0), one_hot


def reported(emitter: Emitter) -> str:
    """[N, K] float probabilities, computed in double; "" where the decision itself is reported."""
    builder, graph = emitter.builder, emitter.graph
    if not graph.probability:
        return ""
    found = logistic_shares(emitter)
    if found is not None:
        return found
    values = [emitter.number(node) for node in graph.reported]
    if len(values) == 1:
        values = [builder.subtract(1.0, values[0]), values[0]]
    else:
        values = shares(emitter, values)
    stacked = builder.cast(builder.operate("Concat", *map(emitter.row, values), axis=0), np.float32)
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
