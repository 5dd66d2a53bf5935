"""Gradient sums: slopes and curvatures per code and move, as integers, which the search for the squared error needs.

A move turns the probability P of a cell into U + V a; a row adds V (y - U) to the slope of its code and V^2 to the
curvature. Both lie in [-1, 1]. They are rounded to multiples of a power of two and added as integers, so the sums are
the same in any order of the rows, in any blocks, with any number of threads, and rows may be added one by one or cell
by cell, whichever is faster.

Shapes: C cells, M moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats, Ints
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
