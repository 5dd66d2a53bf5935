"""Data hash: which table a model was trained on, for its provenance."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

import numpy as np

from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Array, Table


def data_hash(data: Table | LabelledTable) -> str:
    """sha256 (hex) of features, encoded columns, labels and weights; the same on every machine.

    Source, notes and memory layout do not enter; numbers enter as little-endian bytes, every NaN as the same.
    """
    digest = hashlib.sha256()
    table = data.table if isinstance(data, LabelledTable) else data
    header: list[object] = [[asdict(feature) for feature in table.features], table.n_rows]
    arrays = list(table.arrays)
    if isinstance(data, LabelledTable):
        header += [data.target, [[type(label).__name__, label] for label in data.classes], data.ordered, data.cost]
        header += [data.weight is not None, data.group is not None]
        arrays += [array for array in (data.y, data.weight, data.group) if array is not None]
    digest.update(json.dumps(header, sort_keys=True, ensure_ascii=True).encode())
    for array in arrays:
        digest.update(_bytes(array))
    return digest.hexdigest()


def _bytes(array: Array) -> memoryview:
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array + array.dtype.type(0))
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data
