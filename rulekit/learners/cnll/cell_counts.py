"""Rows counted by cell, label and code of every column, kept from one step of growth to the next.

A new condition splits cells. The rows of the smaller half are counted, and the other half has what is left, so a step
reads few rows; bits that are tried anew between two changes read none. Cells of few rows are not kept: their rows are
taken one by one. Everything is an integer, so sums that are made from the counts are those that the rows make.

Shapes: C cells, d columns with `total` codes together, W numbers in a line of a cell and label.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Ints
from rulekit.learners.data.binning import Codes, MemoryCodes
from rulekit.learners.sums_of_rows.histograms import Rows
from rulekit.learners.sums_of_rows.kernels import compiled, numba_runs, run_threads

_ROWS_FOR_A_COUNT = 4
_WORTH_KEEPING = 1 << 21
_MANY_CELLS = 8
_NEAR_ROWS = 256


@dataclass(slots=True, eq=False)
class CellCounts:
    """counts [slots, 2, total]; slot [C] of each cell, -1 where it has fewer than `least` rows.

    offsets [d + 1]: where the codes of each column begin; before: the cell [C] of which each was a half, where the
    cells were split and the halves are not counted yet.
    """

    matrix: npt.NDArray[np.uint8]
    offsets: Ints
    least: int
    threads: int
    slot: Ints
    counts: npt.NDArray[np.uint32]
    before: Ints | None = None

    @classmethod
    def of(cls, codes: Codes, n_codes: list[int], rows: Rows, threads: int) -> CellCounts | None:
        """The counts of all cells; None where the columns are no matrix, weights differ or rows are few."""
        matrix = codes.matrix if isinstance(codes, MemoryCodes) else None
        if matrix is None or matrix.shape[1] < len(n_codes) or not len(n_codes) or matrix.size < _WORTH_KEEPING:
            return None
        if rows.weights.strides != (0,) or not numba_runs():
            return None
        offsets = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
        least = max(1, _ROWS_FOR_A_COUNT * int(offsets[-1]) // len(n_codes))
        nothing = np.zeros((0, 2, int(offsets[-1])), dtype=np.uint32)
        none = np.full(rows.n_cells, -1, dtype=np.int64)
        found = cls(matrix, offsets, least, threads, none, nothing)
        kept = np.flatnonzero(rows.sizes() >= least)
        found.slot[kept] = found._new_slots(len(kept))
        found._count(rows, kept, found.slot[kept], 1)
        return found

    def merge(self, merged: Ints, rows: Rows) -> None:
        """Join cells; merged [C]: the cell that each becomes. rows: by the cells as they are before."""
        self.settle(rows)
        slot, sizes = self.slot, rows.sizes()
        total = np.bincount(merged, sizes).astype(np.int64)
        held = np.flatnonzero(slot >= 0)
        group, first = np.unique(merged[held], return_index=True)
        self.slot = np.full(len(total), -1, dtype=np.int64)
        self.slot[group] = slot[held[first]]
        others = np.delete(held, first)
        for giver, taker in zip(slot[others].tolist(), self.slot[merged[others]].tolist(), strict=True):
            self.counts[taker] += self.counts[giver]
        large = np.flatnonzero((total >= self.least) & (self.slot < 0))
        self.slot[large] = self._new_slots(len(large))
        small = np.flatnonzero((slot < 0) & (total[merged] >= self.least))
        self._count(rows, small, self.slot[merged[small]], 1)

    def split(self, before: Ints) -> bool:
        """Note that the cells are halves of these; says whether that can be followed."""
        if self.before is not None:
            return False
        self.before = before
        return True

    def settle(self, rows: Rows) -> None:
        """Count the halves of cells that were split."""
        if self.before is None:
            return
        before, self.before = self.before, None
        sizes, held = rows.sizes(), self.slot[before]
        first = np.flatnonzero((before[1:] == before[:-1]) & (held[1:] >= 0))
        left_smaller = sizes[first] <= sizes[first + 1]
        smaller, larger = first + ~left_smaller, first + left_smaller
        self.slot = np.where(sizes >= self.least, held, -1)
        self.slot[smaller] = -1
        own = sizes[smaller] >= self.least
        new = smaller[own]
        self.slot[new] = self._new_slots(len(new))
        self._count(rows, new, self.slot[new], 1)
        for giver, taker in zip(held[larger[own]].tolist(), self.slot[new].tolist(), strict=True):
            self.counts[giver] -= self.counts[taker]
        lost = ~own & (sizes[larger] >= self.least)
        self._count(rows, smaller[lost], held[smaller[lost]], -1)

    def _new_slots(self, n: int) -> Ints:
        used = np.zeros(len(self.counts), dtype=bool)
        used[self.slot[self.slot >= 0]] = True
        free = np.flatnonzero(~used)[:n]
        self.counts[free] = 0
        more = n - len(free)
        if more <= 0:
            return free
        held = len(self.counts)
        self.counts = np.concatenate([self.counts, np.zeros((more, *self.counts.shape[1:]), dtype=np.uint32)])
        return np.concatenate([free, np.arange(held, held + more)])

    def _count(self, rows: Rows, cells: Ints, slots: Ints, step: int) -> None:
        """Add the rows of some cells to slots, or (step -1) take them away."""
        if not len(cells):
            return
        grouped = rows.grouped()
        rows_by_key = (self.matrix, grouped.rows, grouped.starts, self.offsets)
        amount = np.array([step], dtype=np.int64).astype(np.uint32)

        def count(part: tuple[slice, int, int]) -> None:
            some, first, last = part
            _count_rows(*rows_by_key, first, last, cells[some], slots[some], amount, self.counts)

        run_threads(count, self._shares(rows.sizes()[cells]), self.threads)

    def _shares(self, sizes: Ints) -> list[tuple[slice, int, int]]:
        """Cells, in their order, and columns for each thread: some of the cells where they are many, else columns."""
        d, reached = len(self.offsets) - 1, np.cumsum(sizes)
        if len(sizes) < _MANY_CELLS * self.threads or self.threads == 1:
            ends = np.linspace(0, d, min(self.threads, d) + 1).astype(int).tolist()
            return [(slice(None), first, last) for first, last in itertools.pairwise(ends)]
        cuts = np.searchsorted(reached, np.linspace(0, reached[-1], self.threads + 1)[1:-1]).tolist()
        return [(slice(start, end), 0, d) for start, end in itertools.pairwise([0, *cuts, len(sizes)])]

    def add_sums(self, rows: Rows, columns: Ints, table: Ints, first: int, sums: Ints) -> None:
        """Add what `add_code_sums` adds, sums [k, n_codes, W], for the cells from `first` on that `table` tells of."""
        self.settle(rows)
        cells = np.arange(first, first + len(table) // 2)
        kept = self.slot[cells] >= 0
        grouped = rows.grouped()
        rows_by_key = (self.matrix, grouped.rows, grouped.starts, self.offsets)
        ends = np.linspace(0, len(columns), max(1, min(self.threads, len(columns))) + 1).astype(int).tolist()

        def task(part: tuple[int, int]) -> None:
            some = slice(*part)
            _add_sums(
                *rows_by_key, columns[some], cells[kept], cells[~kept], self.slot, self.counts, table, first, sums[some]
            )

        run_threads(task, itertools.pairwise(ends), self.threads)


@compiled
def _count_rows(
    matrix: Any,
    order: Any,
    starts: Any,
    offsets: Any,
    first: int,
    last: int,
    cells: Any,
    slots: Any,
    amount: Any,
    counts: Any,
) -> None:
    # Rows of a cell lie far apart: some at a time are brought near first, as many reads then wait together.
    step, width, d = amount[0], np.uint64(last - first), np.uint64(matrix.shape[1])
    flat, near = matrix.reshape(-1), np.empty(_NEAR_ROWS * (last - first), dtype=np.uint8)
    begins = offsets[first:last].astype(np.uint64)
    for k in range(len(cells)):
        for key in range(2 * cells[k], 2 * cells[k] + 2):
            into = counts[slots[k], key & 1]
            for start in range(starts[key], starts[key + 1], _NEAR_ROWS):
                some = np.uint64(min(_NEAR_ROWS, starts[key + 1] - start))
                for i in range(some):
                    here, there = i * width, np.uint64(order[start + i]) * d + np.uint64(first)
                    for j in range(width):
                        near[here + j] = flat[there + j]
                for i in range(some):
                    for j in range(width):
                        into[begins[j] + np.uint64(near[i * width + j])] += step


@compiled
def _add_sums(
    matrix: Any,
    order: Any,
    starts: Any,
    offsets: Any,
    columns: Any,
    kept: Any,
    others: Any,
    slot: Any,
    counts: Any,
    table: Any,
    first: int,
    sums: Any,
) -> None:
    n_columns, width = len(columns), table.shape[1]
    for j in range(n_columns):
        start, end = offsets[columns[j]], offsets[columns[j] + 1]
        for k in range(len(kept)):
            for y in range(2):
                line, own = table[2 * (kept[k] - first) + y], counts[slot[kept[k]], y]
                for at in range(start, end):
                    w = np.int64(own[at])
                    if w > 0:
                        into = sums[j, at - start]
                        for m in range(width):
                            into[m] += w * line[m]
    for k in range(len(others)):
        for y in range(2):
            line, key = table[2 * (others[k] - first) + y], 2 * others[k] + y
            for i in range(starts[key], starts[key + 1]):
                row = order[i]
                for j in range(n_columns):
                    into = sums[j, np.int64(matrix[row, columns[j]])]
                    for m in range(width):
                        into[m] += line[m]
