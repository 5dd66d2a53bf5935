"""Ids of words on their way to truth values (`rulekit_exporters.onnx.word_ids`): of an input, what is done with it.

A row has any number of ids, so that they are no elements of a tensor. The one thing that is read of them is that each
id of a row sets the truth value of its word: clipped to the words and one row beyond, scattered over rows of False.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rulekit.graph.nodes import IsTrue
from rulekit_exporters.onnx.inspection.tensors import (
    Attributes,
    Ids,
    IdsShape,
    Reader,
    ReadingCost,
    RowShape,
    RowTensor,
    TrueOfEach,
    Value,
    constant,
    rows,
)
from rulekit_exporters.onnx.inspection.values import UnreadableError, Unused

ANOTHER_WAY = "ids of words are used in another way than rulekit writes"


def read_ids(kind: str, reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    """The output of an operator one of whose operands is of ids; raises UnreadableError for any other use."""
    if kind not in READERS:
        raise UnreadableError(ANOTHER_WAY)
    return READERS[kind](reach, inputs, attributes)


def _transpose(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    ids = _ids(inputs[0])
    if list(attributes["perm"]) != [1, 0]:
        raise UnreadableError(ANOTHER_WAY)
    return replace(ids, turned=not ids.turned)


def _clip(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    ids = _ids(inputs[0])
    low, high = constant(inputs[1]), constant(inputs[2])
    if low.ndim or high.ndim or (int(low), int(high)) != (-1, len(ids.columns)):
        raise UnreadableError(ANOTHER_WAY)
    return replace(ids, clipped=True)


def _shape(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    return IdsShape(_ids(inputs[0]))


def _gather(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    """The number of rows, of a shape."""
    shape, index = inputs
    if not isinstance(shape, IdsShape) or constant(index).tolist() != [int(shape.of.turned)]:
        raise UnreadableError(ANOTHER_WAY)
    return RowShape((None,))


def _expand(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value, shape = constant(inputs[0]), inputs[1]
    if not isinstance(shape, IdsShape) or value.dtype != np.bool_ or value.ndim or not value:
        raise UnreadableError(ANOTHER_WAY)
    return TrueOfEach(shape.of)


def _scatter(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    nowhere, ids, each = rows(inputs[0]), _ids(inputs[1]), inputs[2]
    size = len(ids.columns)
    laid = ids.turned and ids.clipped and attributes["axis"] == 0 and each == TrueOfEach(ids)
    if not laid or nowhere.elements.shape != (size + 1, 1) or nowhere.axis != 1:
        raise UnreadableError(ANOTHER_WAY)
    if any(element is not False for element in nowhere.elements.reshape(-1)):
        raise UnreadableError(ANOTHER_WAY)
    reach.spend(size + 1)
    held = np.empty((size + 1, 1), dtype=object)
    held[:size, 0] = [IsTrue(column) for column in ids.columns]
    held[size, 0] = Unused("what is no id of a word is read")
    return RowTensor(held, 1, "bool")


def _ids(value: Value) -> Ids:
    if not isinstance(value, Ids):
        raise UnreadableError(ANOTHER_WAY)
    return value


READERS: dict[str, Reader] = {
    "Transpose": _transpose,
    "Clip": _clip,
    "Shape": _shape,
    "Gather": _gather,
    "Expand": _expand,
    "ScatterElements": _scatter,
}
