"""Ids of words as the input of a text: int64 [N, M], in each row the ids of the words that the text has.

Id 0 says that the text is missing, id j that it has the j-th of the model's words. Rows are filled up with -1; the
order of ids, an id that stands twice, and every id that is none of the model's (-1 and whatever is beyond) change
nothing, so that a word which the model does not know may have any of these or none. M is as large as the longest row.

The ids are set as truth values [words, N], which are the literals that the rules read. A sum of embeddings of ids would
count a word as often as it stands, and know no conjunctions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.cells.words import words_apart
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode

if TYPE_CHECKING:
    from rulekit_exporters.onnx.builder import OperatorBuilder, Port

Ids = npt.NDArray[np.int64]

PADDING = -1
LARGEST, SMALLEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def ids_dimension(name: str) -> str:
    """The name of the second dimension of an input of ids."""
    return f"ids of {name}"


def takes_ids(port: Port) -> bool:
    """Whether an input is one of ids of words."""
    return len(port.shape) == 2 and port.shape[1] == ids_dimension(port.name)


def held_words(builder: OperatorBuilder, tensor: str, size: int) -> str:
    """[size + 1, N] bool: whether each row of ids has each id from 0; the last row takes what is no such id.

    Clipped, -1 and what is below are the last row, counted from its end, and what is beyond is the last row too.
    """
    low, high = builder.constant(-1, np.int64), builder.constant(size, np.int64)
    ids = builder.operate("Clip", builder.operate("Transpose", tensor, perm=[1, 0]), low, high)
    rows = builder.operate("Gather", builder.operate("Shape", tensor), builder.constant([0], np.int64), axis=0)
    shape = builder.operate("Concat", builder.constant([size + 1], np.int64), rows, axis=0)
    nowhere = builder.operate("Expand", builder.constant(False, bool), shape)
    each = builder.operate("Expand", builder.constant(True, bool), builder.operate("Shape", ids))
    return builder.operate("ScatterElements", nowhere, ids, each, axis=0)


def word_ids(texts: Sequence[object], described: Mapping[str, Any]) -> Ids:
    """The ids [n, M] of the words of texts, None where one is missing, for an input of that name.

    described: what the metadata `rulekit.words` of the model says of this input, read as JSON.
    """
    feature = Feature("text", "text", tuple(described["words"]), missing_tokens=tuple(described["missing_tokens"]))
    cells = np.empty(len(texts), dtype=object)
    cells[:] = list(texts)
    schema = Schema((feature,))
    words = words_apart(schema)
    assert words is not None
    rows, places = words.held(encode({feature.name: cells}, schema), feature.name)
    numbers = np.array([described["missing"], *described["words"].values()], dtype=np.int64)
    return padded(rows, numbers[places], len(cells))


def ids_of_columns(columns: Sequence[npt.NDArray[np.bool_]]) -> Ids:
    """The ids [n, M] of rows that are given as the column [n] of each id."""
    held = np.column_stack(columns)
    rows, ids = np.nonzero(held)
    return padded(rows, ids, len(held))


def padded(rows: Ids, ids: Ids, n_rows: int) -> Ids:
    """Pairs of a row and an id as [n_rows, M], each row filled up with -1."""
    order = np.argsort(rows, kind="stable")
    lengths = np.bincount(rows, minlength=n_rows)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found = np.full((n_rows, max(lengths, default=0)), PADDING, dtype=np.int64)
    found[rows[order], place] = ids[order]
    return found


def disturbed(ids: Ids, size: int) -> Ids:
    """The same rows as an application may give them: ids that stand twice, none of the model's, in any order."""
    n_rows = len(ids)
    others = np.array([PADDING, size, PADDING, -size - 2, LARGEST, PADDING, SMALLEST], dtype=np.int64)
    strange = np.resize(others, (n_rows, 1))
    return np.hstack([strange, ids[:, ::-1], strange[::-1], ids[:, :2]])
