"""The cells of the training rows: split by a condition, counted, and the rows in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting.compiling import compiled

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """rows [n] by key, and within a key as they came; the rows of key k are rows[starts[k] : starts[k + 1]]."""

    rows: npt.NDArray[np.uint32]
    starts: Ints


@dataclass(slots=True, eq=False)
class Rows:
    """cell, label (0 or 1) and weight [n] of each row; grouped when that is first asked for."""

    cell: npt.NDArray[np.int32]
    labels: npt.NDArray[Any]
    weights: Ints
    n_cells: int
    _grouped: Grouped | None = None

    def sizes(self) -> Ints:
        """How many rows [n_cells] each cell has."""
        return np.diff(self.grouped().starts[::2])

    def grouped(self) -> Grouped:
        if self._grouped is None:
            self._grouped = group_rows(self.cell, self.labels, self.n_cells)
        return self._grouped


def group_rows(cell: npt.NDArray[Any], labels: npt.NDArray[Any], n_cells: int) -> Grouped:
    """Rows grouped by key = 2 * cell + label; fewer than 2^31 rows."""
    kernel = compiled(_group)
    rows = np.empty(len(cell), dtype=np.uint32)
    if kernel:
        starts = kernel(cell, labels, n_cells, rows)
    else:
        keys = 2 * cell.astype(np.int64) + labels
        rows[:] = np.argsort(keys, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=2 * n_cells))])
    return Grouped(rows, starts)


def _group(cell: Any, labels: Any, n_cells: int, rows: Any) -> Any:
    starts = np.zeros(2 * n_cells + 1, dtype=np.int64)
    for i in range(len(cell)):
        starts[2 * np.int64(cell[i]) + labels[i] + 1] += 1
    for k in range(2 * n_cells):
        starts[k + 1] += starts[k]
    place = starts.copy()
    for i in range(len(cell)):
        k = 2 * np.int64(cell[i]) + labels[i]
        rows[place[k]] = i
        place[k] += 1
    return starts


def split_cells(
    cell: npt.NDArray[np.int32],
    codes: npt.NDArray[Any],
    condition: Bools,
    merged: Ints,
    n_cells: int,
) -> Ints:
    """Split cells, in place, by a condition on codes; says which of the 2 n_cells halves occur, in their order.

    merged [old cells]: the one of n_cells that an old cell has become; half 2c + 1 of cell c holds the condition.
    """
    kernel = compiled(_split)
    occurs = np.zeros(2 * n_cells, dtype=np.bool_)
    if kernel:
        kernel(cell, codes, condition, merged, occurs)
    else:
        cell[:] = 2 * merged[cell] + condition[codes]
        occurs[cell] = True
    number = (np.cumsum(occurs) - 1).astype(np.int32)
    renumber = compiled(_renumber)
    if renumber:
        renumber(cell, number)
    else:
        cell[:] = number[cell]
    return np.flatnonzero(occurs)


def _split(cell: Any, codes: Any, condition: Any, merged: Any, occurs: Any) -> None:
    for i in range(len(cell)):
        half = 2 * merged[cell[i]] + (1 if condition[codes[i]] else 0)
        cell[i] = half
        occurs[half] = True


def _renumber(cell: Any, number: Any) -> None:
    for i in range(len(cell)):
        cell[i] = number[cell[i]]


def count_cells(cell: npt.NDArray[np.int32], labels: npt.NDArray[Any], weights: Ints, n_cells: int) -> Ints:
    """Weights [n_cells, 2] by cell and label."""
    kernel = compiled(_count_cells)
    if kernel:
        counts = np.zeros((n_cells, 2), dtype=np.int64)
        each = weights.strides == (0,)
        kernel(cell, labels, np.ones(1, dtype=np.int64) if each else weights, each, counts)
        return counts * weights[0] if each else counts
    # bincount adds doubles; the total of all weights is below 2^53, so that the sums are exact.
    keys = 2 * cell.astype(np.int64) + labels
    return np.bincount(keys, weights, 2 * n_cells).astype(np.int64).reshape(-1, 2)


def _count_cells(cell: Any, labels: Any, weights: Any, each: bool, counts: Any) -> None:
    for i in range(len(cell)):
        counts[cell[i], labels[i]] += 1 if each else weights[i]
