"""Data hash: which table a model was trained on, for its provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import chain

import numpy as np
import numpy.typing as npt

from rulekit.schema import Feature
from rulekit.tables.labels import LabelledTable
from rulekit.tables.storage import PART, StoredArrays
from rulekit.tables.table import Array, Table


def data_hash(data: Table | LabelledTable) -> str:
    """sha256 (hex) of features, encoded columns, labels and weights; the same on every machine.

    Source, notes and memory layout do not enter; numbers enter as little-endian bytes, every NaN as the same.
    """
    digest = hashlib.sha256()
    table = data.table if isinstance(data, LabelledTable) else data
    names = [field.name for field in fields(Feature)]  # asdict would copy every value, which takes as long as to learn
    features = [{name: getattr(feature, name) for name in names} for feature in table.features]
    header: list[object] = [features, table.n_rows]
    columns = [c.parts() for c in table.arrays.columns] if isinstance(table.arrays, StoredArrays) else [table.arrays]
    parts: list[Iterable[Array]] = [*columns]
    if isinstance(data, LabelledTable):
        header += [data.target, [[type(label).__name__, label] for label in data.classes], data.ordered, data.cost]
        header += [data.weight is not None, data.group is not None]
        parts.append(_in_parts(data.y, np.int64))
        parts += [_in_parts(data.weight, np.float64)] if data.weight is not None else []
        parts += [_in_parts(data.group, np.int64)] if data.group is not None else []
    digest.update(json.dumps(header, sort_keys=True, ensure_ascii=True).encode())
    for part in chain.from_iterable(parts):
        digest.update(_bytes(part))
    return digest.hexdigest()


def _in_parts(array: Array, dtype: npt.DTypeLike) -> Iterator[Array]:
    """Labels, weights or groups as they are meant; a table on disk holds them in fewer bytes each."""
    for start in range(0, len(array), PART):
        yield array[start : start + PART].astype(dtype)


def _bytes(array: Array) -> memoryview:
    if array.dtype.kind == "f":
        array = np.ascontiguousarray(array) + array.dtype.type(0)
        missing = np.isnan(array)
        if missing.any():
            array[missing] = np.nan
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data
