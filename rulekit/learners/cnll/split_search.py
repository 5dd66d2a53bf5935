"""The split search: the best prefix of an order of codes, with the strengths of both sides, for each column and move.

A move turns the probability P of a cell into U + V a, V >= 0. With A = sum of w V (y - U) and B = sum of w V^2 over the
rows on one side of a condition, the squared error of that side with the ridge is a parabola in its strength a,

    -2 a (A + kappa a0) + a^2 (B + kappa) + kappa a0^2

so the best a is known at once. The sides of a condition are independent.

A condition is a set of codes: a prefix of an order. An ordered column takes its codes in ascending order, with missing
tried on either side and alone. The levels of a category are sorted for each move by the strength that suits them best,
which finds the best level set for an unclipped parabola.

Shapes: K columns, M moves, L codes in an order. A tie goes to the first order, then to the shortest prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.sums_of_rows.histograms import Rows
from rulekit.learners.sums_of_rows.kernels import compiled


@dataclass(frozen=True, slots=True, eq=False)
class CodeSums:
    """Per code of a column: slope and curvature [n_codes, M], and weight [n_codes]."""

    slope: Floats
    curvature: Floats
    weight: Ints


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


def add_code_sums(
    sums: Ints, matrix: Array, columns: Ints, rows: Rows, fixed: FixedPoint, table: Ints, first: int
) -> None:
    """Add the rows of some cells, from `first` on, to the sums of some columns of a matrix of codes.

    sums [k, n_codes, parts * 2M]; columns [k]; table: the `fixed_lines` of the cells.

    Row by row as they come each adds its line to the sums of its codes; where the lines of all cells do not stay in the
    cache, the rows are taken cell by cell, to the same integers.
    """
    equal = rows.weights.strides == (0,)
    weights = rows.weights[:1].copy() if equal else rows.weights
    n_codes, flat = sums.shape[1], sums.reshape(-1)
    weighted = (weights, equal, fixed.divisor, table)
    if len(table) == 2 * rows.n_cells and table.nbytes <= _NEAR:
        _add_by_row(matrix, columns, rows.cell, rows.labels, *weighted, flat, n_codes)
    else:
        grouped = rows.grouped()
        _add_by_cell(matrix, columns, grouped.rows, grouped.starts, *weighted, 2 * first, flat, n_codes)


_NEAR = 1 << 23


def fixed_lines(u: Floats, v: Floats, fixed: FixedPoint) -> Ints:
    """Slope V (y - U) and curvature V^2 by key as integers [2 cells, parts * 2M], from U and V [cells, M]."""
    table = np.empty((2 * len(u), fixed.parts * 2 * u.shape[1]), dtype=np.int64)
    scaled = np.repeat(v * 2.0**fixed.bits, 2, axis=0)
    label = np.tile([0.0, 1.0], len(u))[:, None]
    x = np.concatenate([scaled * (label - np.repeat(u, 2, axis=0)), scaled * np.repeat(v, 2, axis=0)], axis=1)
    coarse = np.rint(x)
    table[:, : x.shape[1]] = coarse
    if fixed.parts == 2:
        table[:, x.shape[1] :] = np.rint((x - coarse) * 2.0**fixed.bits)
    return table


@compiled
def _add_by_row(
    matrix: Any,
    columns: Any,
    cell: Any,
    labels: Any,
    weights: Any,
    equal: bool,
    divisor: int,
    table: Any,
    sums: Any,
    n_codes: int,
) -> None:
    # Places are unsigned: a signed one is tested for counting from the end, which takes a third of the time.
    flat, lines, n_columns = matrix.reshape(-1), table.reshape(-1), np.uint64(len(columns))
    d, codes, width = np.uint64(matrix.shape[1]), np.uint64(n_codes), np.uint64(table.shape[1])
    wanted, one, two = columns.astype(np.uint64), np.uint64(1), np.uint64(2)
    for i in range(np.uint64(len(cell))):
        key = (two * np.uint64(cell[i]) + np.uint64(labels[i])) * width
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


@compiled
def _add_by_cell(
    matrix: Any,
    columns: Any,
    order: Any,
    starts: Any,
    weights: Any,
    equal: bool,
    divisor: int,
    table: Any,
    first: int,
    sums: Any,
    n_codes: int,
) -> None:
    flat, n_columns, wanted = matrix.reshape(-1), np.uint64(len(columns)), columns.astype(np.uint64)
    d, codes, width = np.uint64(matrix.shape[1]), np.uint64(n_codes), np.uint64(table.shape[1])
    for key in range(len(table)):
        line = table[key]
        for i in range(starts[first + key], starts[first + key + 1]):
            row = np.uint64(order[i])
            w = 1 if equal else weights[order[i]] // divisor
            for j in range(n_columns):
                at = (np.uint64(j) * codes + np.uint64(flat[row * d + wanted[j]])) * width
                into = sums[at : at + width]
                if equal:
                    for m in range(width):
                        into[m] += line[m]
                else:
                    for m in range(width):
                        into[m] += w * line[m]


LEAST_STRENGTH = 1e-3


def code_orders(column: BinnedColumn, sums: CodeSums, rest: Floats) -> list[Ints]:
    """The orders [M or 1, L] of the codes that occur, one or two of them; none where only one code occurs."""
    present = np.flatnonzero(sums.weight)
    if len(present) < 2:
        return []
    if not column.ordered:
        slopes, curvatures = sums.slope[present].T, sums.curvature[present].T
        curved = curvatures > 0.0
        ratio = np.where(curved, slopes / np.where(curved, curvatures, 1.0), rest[:, None])
        return [present[np.argsort(-ratio, axis=1, kind="stable")]]
    orders = [present[None]]
    if present[0] == 0 and len(present) > 2:
        orders.append(np.append(present[1:], 0)[None])
    return orders


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
    def of(cls, orders: Sequence[Sequence[Ints]], sorts: Sequence[bool]) -> CodeOrders:
        """From the orders of each column, and whether those of the column are to be sorted."""
        every = [order for own in orders for order in own]
        counts = np.array([len(own) for own in orders], dtype=np.int64)
        return cls(
            np.concatenate([np.zeros(0, dtype=np.int64), *every]),
            np.cumsum([0, *(len(order) for order in every)], dtype=np.int64),
            np.repeat(np.arange(len(orders)), counts),
            np.array([i for own in orders for i in range(len(own))], dtype=np.int64),
            np.repeat(np.asarray(sorts, dtype=np.bool_), counts),
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
def best_splits(
    sums: tuple[Floats, Floats, Ints],
    orders: CodeOrders,
    rest: Floats,
    constant: Floats,
    ridge: float,
    least: int,
    best: BestSplits,
) -> None:
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
