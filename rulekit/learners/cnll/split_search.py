"""The split search: the best prefix of an order of codes, with the strengths of both sides, for each column and move.

A move turns the probability P of a cell into U + V a, V >= 0. With A = sum of w V (y - U) and B = sum of w V^2 over the
rows on one side of a condition, the squared error of that side with the ridge is a parabola in its strength a,

    -2 a (A + kappa a0) + a^2 (B + kappa) + kappa a0^2

so the best a is known at once. The sides of a condition are independent.

A condition is a set of codes: a prefix of an order. An ordered column takes its codes in ascending order, with missing
tried on either side and alone. The levels of a category are sorted for each move by the strength that suits them best,
which finds the best level set for an unclipped parabola.

Shapes: K columns, M moves, L codes in an order. A tie goes to the first order, then to the shortest prefix.

The sums are made row by row, or from the rows counted by cell, label and code of every column, kept from one step of
growth to the next: a new condition splits cells, the rows of the smaller half are counted, and the other half has what
is left. Cells of few rows are not kept: their rows are taken one by one. Everything is an integer, so that both make
the same sums.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn, Codes, MemoryCodes
from rulekit.learners.sums_of_rows.histograms import RowCells
from rulekit.learners.sums_of_rows.kernels import compiled, numba_runs, run_threads

_ROWS_FOR_A_COUNT = 4
_WORTH_KEEPING = 1 << 21
_MANY_CELLS = 8
_NEAR_ROWS = 256


@dataclass(slots=True, eq=False)
class CellCounts:
    """counts [slots, 2, total]; slot [C] of each cell, -1 where it has fewer than `least` rows.

    offsets [d + 1]: where the codes of each column begin.
    """

    matrix: npt.NDArray[np.uint8]
    offsets: Ints
    least: int
    threads: int
    slot: Ints
    counts: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, codes: Codes, n_codes: list[int], rows: RowCells, threads: int) -> CellCounts | None:
        """The counts of all cells; None where the columns are no matrix, weights differ or rows are few."""
        matrix = codes.matrix if isinstance(codes, MemoryCodes) else None
        if matrix is None or matrix.shape[1] < len(n_codes) or not len(n_codes) or matrix.size < _WORTH_KEEPING:
            return None
        if rows.weights.strides != (0,) or not numba_runs():
            return None
        offsets = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
        least = max(1, _ROWS_FOR_A_COUNT * int(offsets[-1]) // len(n_codes))
        nothing = np.zeros((0, 2, int(offsets[-1])), dtype=np.uint32)
        none = np.full(len(rows.counts), -1, dtype=np.int64)
        found = cls(matrix, offsets, least, threads, none, nothing)
        kept = np.flatnonzero(rows.sizes() >= least)
        found.slot[kept] = found._new_slots(len(kept))
        found._count(rows, kept, found.slot[kept], 1)
        return found

    def split(self, rows: RowCells, before: Ints) -> None:
        """Count the new cells of a split; before: the old cell [C] that each came from."""
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

    def _count(self, rows: RowCells, cells: Ints, slots: Ints, step: int) -> None:
        """Add the rows of some cells to slots, or (step -1) take them away."""
        if not len(cells):
            return
        order, starts = rows.grouped
        rows_by_key = (self.matrix, order, starts, self.offsets)
        amount = np.array([step], dtype=np.int64).astype(np.uint32)

        def count(part: tuple[slice, int, int]) -> None:
            some, first, last = part
            _count_rows(rows_by_key, first, last, cells[some], slots[some], amount, self.counts)

        run_threads(count, self._shares(rows.sizes()[cells]), self.threads)

    def _shares(self, sizes: Ints) -> list[tuple[slice, int, int]]:
        """Cells, in their order, and columns for each thread: some of the cells where they are many, else columns."""
        d, reached = len(self.offsets) - 1, np.cumsum(sizes)
        if len(sizes) < _MANY_CELLS * self.threads or self.threads == 1:
            ends = np.linspace(0, d, min(self.threads, d) + 1).astype(int).tolist()
            return [(slice(None), first, last) for first, last in itertools.pairwise(ends)]
        cuts = np.searchsorted(reached, np.linspace(0, reached[-1], self.threads + 1)[1:-1]).tolist()
        return [(slice(start, end), 0, d) for start, end in itertools.pairwise([0, *cuts, len(sizes)])]

    def add_sums(self, rows: RowCells, columns: Ints, table: Ints, first: int, sums: Ints) -> None:
        """Add what `FixedPoint.add_sums` adds, sums [k, n_codes, W], for the cells from `first` on of the table."""
        cells = np.arange(first, first + len(table) // 2)
        kept = self.slot[cells] >= 0
        order, starts = rows.grouped
        rows_by_key = (self.matrix, order, starts, self.offsets)
        ends = np.linspace(0, len(columns), max(1, min(self.threads, len(columns))) + 1).astype(int).tolist()

        def task(part: tuple[int, int]) -> None:
            some = slice(*part)
            of_cells = (cells[kept], cells[~kept], self.slot, self.counts)
            _add_sums(rows_by_key, columns[some], of_cells, table, first, sums[some])

        run_threads(task, itertools.pairwise(ends), self.threads)


@compiled
def _count_rows(rows_by_key: Any, first: int, last: int, cells: Any, slots: Any, amount: Any, counts: Any) -> None:
    matrix, order, starts, offsets = rows_by_key
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
def _add_sums(rows_by_key: Any, columns: Any, of_cells: Any, table: Any, first: int, sums: Any) -> None:
    (matrix, order, starts, offsets), (kept, others, slot, counts) = rows_by_key, of_cells
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


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """How slopes and curvatures are written as integers: `parts` numbers of `bits` bits each, the coarse one first.

    divisor: what all row weights are multiples of; unit: what a weight of `divisor` weighs.
    """

    parts: int
    bits: int
    divisor: int
    unit: float

    @classmethod
    def of(cls, weights: Ints, unit: float) -> FixedPoint:
        """So that no sum over rows of these weights can leave 62 bits."""
        divisor = int(weights[0]) if weights.strides == (0,) else int(np.gcd.reduce(weights))
        divisor = max(1, divisor)
        total = max(1, int(weights.sum()) // divisor)
        bits = 62 - total.bit_length()
        # One number of 40 bits, or two that have as many together.
        return cls(*((1, min(bits, 45)) if bits >= 31 else (2, min(bits, 20))), divisor, divisor * unit)

    def floats(self, sums: Ints, n_moves: int) -> tuple[Floats, Floats]:
        """Slope and curvature [n_codes, M] of integer sums [n_codes, parts * 2M]."""
        total = np.zeros((len(sums), 2 * n_moves))
        for part in range(self.parts):
            number = sums[:, part * 2 * n_moves : (part + 1) * 2 * n_moves].astype(np.float64)
            total += number * (self.unit * 2.0 ** -(self.bits * (part + 1)))
        return total[:, :n_moves], total[:, n_moves:]

    def lines(self, u: Floats, v: Floats) -> Ints:
        """Slope V (y - U) and curvature V^2 by key as integers [2 cells, parts * 2M], from U and V [cells, M]."""
        table = np.empty((2 * len(u), self.parts * 2 * u.shape[1]), dtype=np.int64)
        scaled = np.repeat(v * 2.0**self.bits, 2, axis=0)
        label = np.tile([0.0, 1.0], len(u))[:, None]
        x = np.concatenate([scaled * (label - np.repeat(u, 2, axis=0)), scaled * np.repeat(v, 2, axis=0)], axis=1)
        coarse = np.rint(x)
        table[:, : x.shape[1]] = coarse
        if self.parts == 2:
            table[:, x.shape[1] :] = np.rint((x - coarse) * 2.0**self.bits)
        return table

    def add_sums(self, sums: Ints, matrix: Array, columns: Ints, rows: RowCells, table: Ints, first: int) -> None:
        """Add the rows of some cells, from `first` on, to the sums of some columns of a matrix of codes.

        sums [k, n_codes, parts * 2M]; columns [k]; table: the lines of the cells.
        """
        equal = rows.weights.strides == (0,)
        weighted = (rows.weights[:1].copy() if equal else rows.weights, equal, self.divisor)
        _add_rows((matrix, columns), (rows.cell, rows.labels), weighted, table, first, sums.reshape(-1), sums.shape[1])


@compiled
def _add_rows(codes_of: Any, keys: Any, weighted: Any, table: Any, first: int, sums: Any, n_codes: int) -> None:
    # Places are unsigned: a signed one is tested for counting from the end, which takes a third of the time.
    (matrix, columns), (cell, labels), (weights, equal, divisor) = codes_of, keys, weighted
    flat, lines, n_columns = matrix.reshape(-1), table.reshape(-1), np.uint64(len(columns))
    d, codes, width = np.uint64(matrix.shape[1]), np.uint64(n_codes), np.uint64(table.shape[1])
    wanted, one, two = columns.astype(np.uint64), np.uint64(1), np.uint64(2)
    for i in range(np.uint64(len(cell))):
        own = np.int64(cell[i]) - first
        if own < 0 or 2 * own >= len(table):
            continue
        key = (two * np.uint64(own) + np.uint64(labels[i])) * width
        w = 1 if equal else weights[i] // divisor
        if width == two:
            slope, curvature = w * lines[key], w * lines[key + one]
            for j in range(n_columns):
                at = (np.uint64(j) * codes + np.uint64(flat[np.uint64(i) * d + wanted[j]])) * two
                sums[at] += slope
                sums[at + one] += curvature
            continue
        line = lines[key : key + width]
        for j in range(n_columns):
            at = (np.uint64(j) * codes + np.uint64(flat[np.uint64(i) * d + wanted[j]])) * width
            into = sums[at : at + width]
            if equal:
                for m in range(width):
                    into[m] += line[m]
            else:
                for m in range(width):
                    into[m] += w * line[m]


LEAST_STRENGTH = 1e-3


def code_orders(column: BinnedColumn, present: Ints) -> list[Ints]:
    """The orders of the codes that occur, one or two of them; none where only one code occurs.

    That of a category is sorted anew for each move.
    """
    if len(present) < 2:
        return []
    missing_last = column.ordered and present[0] == 0 and len(present) > 2
    return [present, np.append(present[1:], 0)] if missing_last else [present]


class BestSplits(NamedTuple):
    """Per column and move [K, M]: the least objective (infinity: none allowed), the order and the prefix of it that
    gives it, and both strengths.
    """

    objective: Floats
    order: Ints
    prefix: Ints
    left: Floats
    right: Floats

    @classmethod
    def none(cls, n_columns: int, n_moves: int) -> BestSplits:
        """Nothing found yet."""
        order, prefix = np.zeros((2, n_columns, n_moves), dtype=np.int64)
        left, right = np.zeros((2, n_columns, n_moves))
        return cls(np.full((n_columns, n_moves), np.inf), order, prefix, left, right)


class CodeOrders(NamedTuple):
    """Orders of the codes of K columns, end to end: order v is codes[starts[v] : starts[v + 1]].

    column [V]: the one of the K columns whose codes they are; number [V]: which one of that column's orders; sorts [V]:
    whether the codes are to be sorted for each move, by the strength that suits them best, falling.
    """

    codes: Ints
    starts: Ints
    column: Ints
    number: Ints
    sorts: Bools

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn], weights: Ints) -> CodeOrders:
        """Those of some columns, whose codes have these weights [k, n_codes]."""
        own = [code_orders(column, np.flatnonzero(weight)) for column, weight in zip(columns, weights, strict=True)]
        every = [(k, number, order) for k, orders in enumerate(own) for number, order in enumerate(orders)]
        return cls(
            np.concatenate([np.zeros(0, dtype=np.int64), *(order for _, _, order in every)]),
            np.cumsum([0, *(len(order) for _, _, order in every)], dtype=np.int64),
            np.array([k for k, _, _ in every], dtype=np.int64),
            np.array([number for _, number, _ in every], dtype=np.int64),
            np.array([not columns[k].ordered for k, _, _ in every], dtype=np.bool_),
        )


def _stable_order(values: Floats) -> Ints:
    """As numpy's stable argsort, which takes longer to compile than all the rest here."""
    n, width = len(values), 1
    order, merged = np.arange(n), np.empty(n, dtype=np.int64)
    while width < n:
        for start in range(0, n, 2 * width):
            i, middle = start, min(start + width, n)
            j, end = middle, min(start + 2 * width, n)
            for place in range(start, end):
                if i < middle and (j >= end or values[order[i]] <= values[order[j]]):
                    merged[place] = order[i]
                    i += 1
                else:
                    merged[place] = order[j]
                    j += 1
        order, merged = merged, order
        width *= 2
    return order


@compiled
def best_splits(sums: Any, orders: Any, rest: Any, constant: Any, ridge: float, least: int, best: Any) -> None:
    """Write into `best` the best prefix of the orders of each column, and both strengths, for each move.

    sums: slope and curvature [K, n_codes, M] and weight [K, n_codes]; rest [M]: the strength that does nothing;
    constant [M]: the objective at strength 0, without the ridge of the bit; least: the least weight of either side.
    """
    for q in range(len(orders.column)):
        k, length = orders.column[q], orders.starts[q + 1] - orders.starts[q]
        own = chosen = orders.codes[orders.starts[q] : orders.starts[q + 1]]
        slope, curvature, weight = sums[0][k], sums[1][k], sums[2][k]
        w_total = 0
        for i in range(length):
            w_total += weight[own[i]]
        for m in range(len(rest)):
            if orders.sorts[q]:
                falling = np.empty(length)
                for i in range(length):
                    a, b = slope[own[i], m], curvature[own[i], m]
                    falling[i] = -(a / b if b > 0.0 else rest[m])
                chosen = own[_stable_order(falling)]
            a_total, b_total = 0.0, 0.0
            for i in range(length):
                c = chosen[i]
                a_total += slope[c, m]
                b_total += curvature[c, m]
            pull, pulled = ridge * rest[m], ridge * rest[m] * rest[m]
            w, a_sum, b_sum = 0, 0.0, 0.0
            for i in range(length - 1):
                c = chosen[i]
                w += weight[c]
                a_sum += slope[c, m]
                b_sum += curvature[c, m]
                if w < least or w_total - w < least:
                    continue
                aim_l, bend_l = a_sum + pull, b_sum + ridge
                aim_r, bend_r = a_total - a_sum + pull, b_total - b_sum + ridge
                s_l = min(max(aim_l / bend_l if bend_l > 0.0 else rest[m], LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
                s_r = min(max(aim_r / bend_r if bend_r > 0.0 else rest[m], LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
                v_l = s_l * (bend_l * s_l - 2.0 * aim_l) + pulled
                v_r = s_r * (bend_r * s_r - 2.0 * aim_r) + pulled
                value = v_l + v_r
                value += constant[m]
                if value < best.objective[k, m]:
                    best.objective[k, m] = value
                    best.order[k, m], best.prefix[k, m] = orders.number[q], i + 1
                    best.left[k, m], best.right[k, m] = s_l, s_r
