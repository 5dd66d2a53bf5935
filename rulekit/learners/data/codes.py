"""The binned columns of the training rows: in memory, or on disk, of which one column at a time is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from rulekit.arrays import Array, Bools, Ints
from rulekit.tables.table import PART, StoredColumn

ROWS_TOGETHER = 1 << 15
"""Rows that a formula is evaluated on at a time: a double for each node and row must stay small."""


class Codes(Protocol):
    """d columns of n small unsigned integers; a column is asked for when it is counted, and not kept."""

    def __len__(self) -> int: ...

    def __getitem__(self, column: int) -> Array:
        """The codes [n] of one column."""

    def take(self, rows: Array) -> Codes:
        """The same columns for some rows only: a Boolean mask [n] or row numbers."""

    def parts(self, n_rows: int) -> Iterator[tuple[slice, Codes]]:
        """The n rows in their order, some at a time: which they are, and their codes."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryCodes:
    """Codes as contiguous arrays [n]; the first ones may be the columns of one matrix [n, k] in their place."""

    arrays: tuple[Array, ...]
    matrix: Array | None = None

    @classmethod
    def of_matrix(cls, matrix: Array) -> MemoryCodes:
        return cls(tuple(matrix.T), matrix)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, column: int) -> Array:
        return self.arrays[column]

    def take(self, rows: Array) -> MemoryCodes:
        if self.matrix is None:
            return MemoryCodes(tuple(codes[rows] for codes in self.arrays))
        matrix = self.matrix[rows]
        return MemoryCodes((*matrix.T, *(codes[rows] for codes in self.arrays[matrix.shape[1] :])), matrix)

    def of_columns(self, kept: Sequence[int]) -> MemoryCodes:
        """Some columns only."""
        if self.matrix is None:
            return MemoryCodes(tuple(self.arrays[column] for column in kept))
        return MemoryCodes.of_matrix(np.ascontiguousarray(self.matrix[:, kept]))

    def parts(self, n_rows: int) -> Iterator[tuple[slice, MemoryCodes]]:
        for start in range(0, n_rows, ROWS_TOGETHER):
            rows = slice(start, min(start + ROWS_TOGETHER, n_rows))
            yield rows, MemoryCodes(tuple(codes[rows] for codes in self.arrays))


def columns_in_matrix(codes: Codes) -> int:
    """How many columns, the first ones, are those of one matrix."""
    matrix = codes.matrix if isinstance(codes, MemoryCodes) else None
    return 0 if matrix is None else int(matrix.shape[1])


def side_by_side(codes: Codes, columns: Ints, most: int) -> list[Ints]:
    """Positions in `columns` that may be read together as one matrix, at most so many at once; the others alone."""
    return groups_of(columns, columns_in_matrix(codes), most)


def groups_of(columns: Ints, width: int, most: int) -> list[Ints]:
    """The same for codes whose first columns, so many, are those of one matrix."""
    inside = np.flatnonzero(columns < width)
    groups = [inside[i : i + most] for i in range(0, len(inside), most)]
    return [*groups, *(np.array([i]) for i in np.flatnonzero(columns >= width))]


def matrix_of(codes: Codes, columns: Ints) -> tuple[Array, Ints]:
    """A matrix [n, k] that holds columns of one group of `side_by_side`, and where in it they stand."""
    if isinstance(codes, MemoryCodes) and codes.matrix is not None and columns[0] < codes.matrix.shape[1]:
        return codes.matrix, columns
    return codes[int(columns[0])].reshape(-1, 1), np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class DiskCodes:
    """Codes (see `Codes`) of columns in files; rows: a mask of the rows that count (None: all)."""

    columns: tuple[StoredColumn, ...]
    n_rows: int
    rows: Bools | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, column: int) -> Array:
        stored = self.columns[column]
        if self.rows is None:
            return stored.read()
        codes = np.empty(int(np.count_nonzero(self.rows)), dtype=stored.dtype)
        start = done = 0
        for part in stored.parts(PART):
            kept = part[self.rows[start : start + len(part)]]
            codes[done : done + len(kept)] = kept
            start, done = start + len(part), done + len(kept)
        return codes

    def parts(self, n_rows: int) -> Iterator[tuple[slice, CodesPart]]:
        """The rows in their order, some at a time; a column of a part is read when it is asked for, and kept."""
        done = 0
        for start in range(0, self.n_rows, ROWS_TOGETHER):
            stop = min(start + ROWS_TOGETHER, self.n_rows)
            rows = None if self.rows is None else self.rows[start:stop]
            count = stop - start if rows is None else int(np.count_nonzero(rows))
            yield slice(done, done + count), CodesPart(self.columns, start, stop, rows)
            done += count

    def of_columns(self, kept: Sequence[int]) -> DiskCodes:
        """Some columns only."""
        return replace(self, columns=tuple(self.columns[column] for column in kept))

    def take(self, rows: Array) -> DiskCodes:
        """Some rows only: a Boolean mask, or ascending row numbers; nothing is copied."""
        if rows.dtype != bool:
            picked = np.zeros(self.n_rows if self.rows is None else int(np.count_nonzero(self.rows)), dtype=bool)
            picked[rows] = True
            rows = picked
        if self.rows is None:
            return replace(self, rows=rows)
        kept = self.rows.copy()
        kept[self.rows] = rows
        return replace(self, rows=kept)


@dataclass(frozen=True, slots=True, eq=False)
class CodesPart:
    """Codes of the rows from start to stop of columns in files; rows: a mask of those that count."""

    columns: tuple[StoredColumn, ...]
    start: int
    stop: int
    rows: Bools | None
    _read: dict[int, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, column: int) -> Array:
        if column not in self._read:
            codes = self.columns[column].read(self.start, self.stop)
            self._read[column] = codes if self.rows is None else codes[self.rows]
        return self._read[column]

    def take(self, rows: Array) -> MemoryCodes:
        """Some rows of the part, in memory."""
        return MemoryCodes(tuple(self[column][rows] for column in range(len(self))))

    def parts(self, n_rows: int) -> Iterator[tuple[slice, CodesPart]]:
        """The part itself."""
        yield slice(0, n_rows), self
