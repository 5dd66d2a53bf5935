"""Few rows of plain Python cells, encoded without a frame: what a service gets of one row takes microseconds.

Every answer is that of `rulekit.tables.kinds.encoding.encode`. What is not plain has none here, a refusal too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.schema import MISSING_CODE, Feature, Schema
from rulekit.tables.raw.columns import LARGEST_EXACT_INTEGER
from rulekit.tables.table import Array, Table, encoded_dtype, missing_cells

_NUMBERS: set[type] = {int, float, NoneType}
_TRUTHS: set[type] = {bool, NoneType}
_ANY: set[type] = {str, bool, *_NUMBERS}

_KEPT = 64
"""For so many numbers of rows the columns that no rule reads are kept; they take no memory by row."""

Reader = Callable[[Sequence[Any]], Array | None]


@dataclass(frozen=True, slots=True, eq=False)
class PlainCells:
    """What reads the used columns of a schema by their names, where their cells are plain."""

    schema: Schema
    readers: Mapping[str, Reader]
    _absent: dict[int, tuple[Array, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, used: Collection[str]) -> PlainCells | None:
        """None where a used column holds texts or dates."""
        readers = {feature.name: _reader(feature) for feature in schema if feature.name in used}
        known = {name: reader for name, reader in readers.items() if reader is not None}
        return cls(schema, known) if len(known) == len(readers) else None

    def table(self, columns: Mapping[str, Any]) -> Table | None:
        """The rows of lists of cells, None where one of them has to be read, or refused, by `encode`."""
        encoded, lengths = {}, set()
        for name, cells in columns.items():
            if type(name) is not str or type(cells) is not list:
                return None
            lengths.add(len(cells))
            reader = self.readers.get(name)
            array = _unread(name, cells) if reader is None else reader(cells)
            if array is None:
                return None
            encoded[name] = array
        if len(lengths) != 1 or not self.readers.keys() <= encoded.keys():
            return None
        (n_rows,) = lengths
        names, readers = self.schema.names, self.readers
        absent = self._absent.get(n_rows)
        if absent is None:
            absent = tuple(missing_cells(feature, n_rows) for feature in self.schema)
            if len(self._absent) >= _KEPT:
                self._absent.clear()
            self._absent[n_rows] = absent
        arrays = tuple(encoded[n] if n in readers else own for n, own in zip(names, absent, strict=True))
        return Table(self.schema.features, arrays, n_rows, constraints=self.schema.constraints)


def _reader(feature: Feature) -> Reader | None:
    if feature.kind == "text" or feature.dated:
        return None
    if feature.kind == "categorical":
        codes: dict[Any, int] = {None: MISSING_CODE, **feature.codes_of_texts}
        return lambda cells: _codes(cells, codes)
    missing, dtype, truths = feature.missing_numbers, encoded_dtype(feature), feature.kind == "boolean"

    def read(cells: Sequence[Any]) -> Array | None:
        values = _numbers(cells, _TRUTHS if truths else None)
        if values is None:
            return None
        for number in missing:
            values[values == number] = np.nan
        if truths:
            values = np.where(np.isnan(values), np.nan, values > 0.5)
        with np.errstate(over="ignore"):
            encoded: Array = values.astype(dtype)
        encoded += 0  # minus zero is zero
        return encoded

    return read


def _numbers(cells: Sequence[Any], also: set[type] | None) -> Floats | None:
    """Doubles with NaN for missing; also: other types that all cells may have."""
    kinds = set(map(type, cells))
    if not (kinds <= _NUMBERS or (also is not None and kinds <= also)):
        return None
    if int in kinds and not all(type(c) is not int or abs(c) <= LARGEST_EXACT_INTEGER for c in cells):
        return None
    return np.array(cells, dtype=np.float64)


def _codes(cells: Sequence[Any], codes: Mapping[Any, int]) -> Array | None:
    """Codes of known levels; a truth value or a number means a level, which is for `encode` to find."""
    if not set(map(type, cells)) <= {str, NoneType}:
        return None
    found = list(map(codes.get, cells))
    return None if None in found else np.array(found, dtype=np.int32)


def _unread(name: str, cells: list[Any]) -> Array | None:
    """Something where a column that no rule reads has nothing that `encode` would refuse."""
    kinds = set(map(type, cells))
    texts = "".join([name, *(cell for cell in cells if type(cell) is str)])
    return np.empty(0) if texts.isascii() and kinds <= _ANY else None
