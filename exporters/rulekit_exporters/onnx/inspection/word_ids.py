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
    first, *rest = inputs
    match kind, first:
        case "Transpose", Ids() if list(attributes["perm"]) == [1, 0]:
            return replace(first, turned=not first.turned)
        case "Clip", Ids():
            low, high = map(constant, rest)
            if low.ndim == high.ndim == 0 and (int(low), int(high)) == (-1, len(first.columns)):
                return replace(first, clipped=True)
        case "Shape", Ids():
            return IdsShape(first)
        case "Gather", IdsShape() if constant(rest[0]).tolist() == [int(first.of.turned)]:
            return RowShape((None,))  # the number of rows
        case "Expand", np.ndarray() if isinstance(shape := rest[0], IdsShape):
            if first.dtype == np.bool_ and first.ndim == 0 and first:
                return TrueOfEach(shape.of)
        case "ScatterElements", RowTensor() if isinstance(ids := rest[0], Ids) and attributes["axis"] == 0:
            if ids.turned and ids.clipped and rest[1] == TrueOfEach(ids):
                return _held(reach, rows(first), ids)
    raise UnreadableError(ANOTHER_WAY)


def _held(reach: ReadingCost, nowhere: RowTensor, ids: Ids) -> RowTensor:
    """[words + 1, N]: which words a text has; the last row takes what is no id of a word."""
    size = len(ids.columns)
    every = nowhere.elements.shape == (size + 1, 1) and nowhere.axis == 1
    if not every or any(element is not False for element in nowhere.elements.reshape(-1)):
        raise UnreadableError(ANOTHER_WAY)
    reach.spend(size + 1)
    held = np.empty((size + 1, 1), dtype=object)
    held[:, 0] = [*map(IsTrue, ids.columns), Unused("what is no id of a word is read")]
    return RowTensor(held, 1, "bool")
