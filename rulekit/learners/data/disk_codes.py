"""The binned columns of the training rows on disk; one column at a time is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Array, Bools
from rulekit.learners.data.codes import ROWS_TOGETHER, MemoryCodes
from rulekit.tables.table import PART, StoredColumn


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
