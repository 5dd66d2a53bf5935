"""Rows as the cells that they hold: a cell is one value of one attribute, such as a word that is there, or a level.

A row holds a cell or does not, so that only the numbers of its cells are kept (CSR without values). Sums over the cells
of a row and over the rows of a cell add one number after the other in the order in which they stand: with numba and
without it they are the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled

_PART = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class RowCells:
    """The cells of row i are indices[indptr[i] : indptr[i + 1]], ascending; attribute [n_cells] of each cell."""

    indptr: Ints
    indices: npt.NDArray[np.int32]
    attribute: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_cells(self) -> int:
        return len(self.attribute)

    @property
    def lengths(self) -> Ints:
        """How many cells [n] each row holds."""
        return np.diff(self.indptr)

    def parts(self) -> Iterator[tuple[int, int]]:
        """Stretches of rows, first and one behind the last, of about 65,536 cells each."""
        start = 0
        while start < len(self):
            end = int(np.searchsorted(self.indptr, self.indptr[start] + _PART, side="right")) - 1
            end = min(max(end, start + 1), start + _PART)
            yield start, end
            start = end

    def take(self, rows: Ints | Bools) -> RowCells:
        """Some of the rows: a Boolean mask [n] or row numbers."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        indptr = np.concatenate([[0], np.cumsum(self.lengths[chosen])])
        found = RowCells(indptr, np.empty(indptr[-1], dtype=np.int32), self.attribute)
        for start, end in found.parts():
            first, last = indptr[start], indptr[end]
            lengths = np.diff(indptr[start : end + 1])
            shift = np.repeat(self.indptr[chosen[start:end]] - indptr[start:end], lengths)
            found.indices[first:last] = self.indices[np.arange(first, last) + shift]
        return found

    def followed_by(self, other: RowCells) -> RowCells:
        """These rows and then those of another one, of the same cells."""
        indptr = np.concatenate([self.indptr, self.indptr[-1] + other.indptr[1:]])
        return RowCells(indptr, np.concatenate([self.indices, other.indices]), self.attribute)

    def row_sums(self, values: Floats) -> Floats:
        """The sum [n] of the values [n_cells] of the cells of each row."""
        sums = np.zeros(len(self))
        _row_sums(self.indptr, self.indices, values, sums)
        return sums

    def cell_sums(self, values: Floats) -> Floats:
        """The sum [n_cells] of the values [n] of the rows that hold each cell."""
        sums = np.zeros(self.n_cells)
        _cell_sums(self.indptr, self.indices, values, sums)
        return sums

    def by_cell(self) -> tuple[Ints, npt.NDArray[np.int32]]:
        """The rows of each cell (CSC): those of cell j are rows[starts[j] : starts[j + 1]], ascending."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.indices, minlength=self.n_cells))]).astype(np.int64)
        rows = np.empty(len(self.indices), dtype=np.int32)
        _turn(self.indptr, self.indices, starts[:-1].copy(), rows)
        return starts, rows


@compiled
def _row_sums(indptr: Any, indices: Any, values: Any, sums: Any) -> None:
    for i in range(len(indptr) - 1):
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            total += values[indices[at]]
        sums[i] = total


@compiled
def _cell_sums(indptr: Any, indices: Any, values: Any, sums: Any) -> None:
    for i in range(len(indptr) - 1):
        value = values[i]
        for at in range(indptr[i], indptr[i + 1]):
            sums[indices[at]] += value


@compiled
def _turn(indptr: Any, indices: Any, place: Any, rows: Any) -> None:
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            cell = indices[at]
            rows[place[cell]] = i
            place[cell] += 1
