"""The rows of a rule as ascending numbers: those of a rule with one literal more, and what tells two sets apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.additive.corrective import RuleCells, RuleWeights, probabilities
from rulekit.learners.additive.layout import Layout, Literal, Literals
from rulekit.learners.data.binning import Codes, columns_in_matrix, matrix_of, side_by_side
from rulekit.learners.sums_of_rows.kernels import compiled, compiled_unless

RowNumbers = npt.NDArray[np.uint32]

_FINE = 13
_COUNT, _CURVATURE = 13, 25
_ROWS = 4000
"""A gradient is at most 2^13 and a curvature, four times as fine, too: 4,000 rows stay within the fields."""
_TOGETHER = 64


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """What each row adds: [n] with its three fields in one integer, or [n, 3]; their total [3], the units [3] of it.

    The gradient and the curvature of the log loss at the scores of the rows' cells, and their weight. A row of weight 2
    adds what two rows add.
    """

    each: Ints
    total: Ints
    units: Floats


def values_of(cells: RuleCells, at: RuleWeights, labels: Ints, weights: Ints, unit: float) -> Values:
    """The values at some weights of the rules; unit: what one unit of the rows' weights is."""
    shares = probabilities(at.scores(cells.holds))
    gradient = np.rint(np.column_stack([shares, shares - 1.0]) * 2.0**_FINE).astype(np.int64)
    curvature = np.rint(shares * (1.0 - shares) * 2.0 ** (_FINE + 2)).astype(np.int64)
    equal = weights.strides == (0,) and len(weights) > 0
    shared = int(weights[0]) if equal else 1
    counts = cells.counts // shared
    total = np.array([(gradient * counts).sum(), (curvature * counts.sum(axis=1)).sum(), counts.sum()])
    by_cell = (gradient << (_CURVATURE + _COUNT)) + (curvature[:, None] << _COUNT) + 1
    units = np.array([2.0**-_FINE, 2.0 ** -(_FINE + 2), 1.0]) * (unit * shared)
    each = by_cell[cells.cell, labels]
    if equal:
        return Values(each, total, units)
    return Values(np.column_stack(_fields(each)) * weights[:, None], total, units)


def _fields(packed: Ints) -> tuple[Ints, Ints, Ints]:
    curvature = (packed >> _COUNT) & ((1 << _CURVATURE) - 1)
    return packed >> (_COUNT + _CURVATURE), curvature, packed & ((1 << _COUNT) - 1)


def sums_by_code(codes: Codes, layout: Layout, rows: RowNumbers, values: Values) -> Ints:
    """The sums [codes, 3] over some rows, whose numbers are given, by the code of every column."""
    sums = np.zeros((layout.size, 3), dtype=np.int64)
    kernel = _add_fields if values.each.ndim == 1 else _add
    for group in _groups(layout, columns_in_matrix(codes)):
        matrix, where = matrix_of(codes, group.columns)
        kernel(matrix, where.astype(np.uint64), group.starts, group.ends, rows, values.each, sums)
    return sums


class _ColumnGroup(NamedTuple):
    """Columns [k] that are read together, and where the codes of each begin [k] and end [k] among all."""

    columns: Ints
    starts: npt.NDArray[np.uint64]
    ends: Ints


@lru_cache(maxsize=4)
def _groups(layout: Layout, width: int) -> tuple[_ColumnGroup, ...]:
    """Kept, since the sums of a few rows take no longer than to find these; width: see `columns_in_matrix`."""
    columns = np.arange(len(layout.columns))
    return tuple(
        _ColumnGroup(group, layout.offsets[group].astype(np.uint64), layout.offsets[group + 1])
        for group in side_by_side(width, columns, _TOGETHER)
    )


def _fields_at_once(matrix: Any, where: Any, starts: Any, ends: Any, rows: Any, values: Any, sums: Any) -> None:
    chosen = [field.astype(np.float64) for field in _fields(values[rows])[:2]]
    for place, start, end in zip(where.tolist(), starts.tolist(), ends.tolist(), strict=True):
        own = matrix[rows, place]
        for k, weights in enumerate((*chosen, None)):
            sums[start:end, k] += np.bincount(own, weights, end - start).astype(np.int64)


@compiled_unless(_fields_at_once)
def _add_fields(matrix: Any, where: Any, starts: Any, ends: Any, rows: Any, values: Any, sums: Any) -> None:
    packed, k = np.zeros(len(sums), dtype=np.int64), len(where)
    for first in range(0, len(rows), _ROWS):
        for i in range(first, min(first + _ROWS, len(rows))):
            row = rows[i]
            value = values[row]
            j = 0
            # Four places are known before the first is written: the processor cannot tell that they are different ones.
            while j + 4 <= k:
                a = starts[j] + np.uint64(matrix[row, where[j]])
                b = starts[j + 1] + np.uint64(matrix[row, where[j + 1]])
                c = starts[j + 2] + np.uint64(matrix[row, where[j + 2]])
                d = starts[j + 3] + np.uint64(matrix[row, where[j + 3]])
                packed[a] += value
                packed[b] += value
                packed[c] += value
                packed[d] += value
                j += 4
            while j < k:
                packed[starts[j] + np.uint64(matrix[row, where[j]])] += value
                j += 1
        for j in range(k):
            for code in range(np.int64(starts[j]), ends[j]):
                found = packed[code]
                if found != 0:
                    sums[code, 0] += found >> (_COUNT + _CURVATURE)
                    sums[code, 1] += (found >> _COUNT) & ((1 << _CURVATURE) - 1)
                    sums[code, 2] += found & ((1 << _COUNT) - 1)
                    packed[code] = 0


@compiled
def _add(matrix: Any, where: Any, starts: Any, ends: Any, rows: Any, values: Any, sums: Any) -> None:
    for i in range(len(rows)):
        row = rows[i]
        gradient, curvature, weight = values[row, 0], values[row, 1], values[row, 2]
        for j in range(len(where)):
            k = starts[j] + np.uint64(matrix[row, where[j]])
            sums[k, 0] += gradient
            sums[k, 1] += curvature
            sums[k, 2] += weight


_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_PART = 1 << 16


def all_rows(n: int) -> RowNumbers:
    """0 .. n - 1."""
    return np.arange(n, dtype=np.uint32)


def parted(codes: Codes, rows: RowNumbers, literal: Literal) -> tuple[RowNumbers, RowNumbers]:
    """The rows on which a literal holds, and the others."""
    inside, outside = np.empty_like(rows), np.empty_like(rows)
    n = _part(codes[literal.column], rows, literal.condition, inside, outside)
    return inside[:n].copy(), outside[: len(rows) - n].copy()


def _part_at_once(codes: Any, rows: Any, condition: Any, inside: Any, outside: Any) -> int:
    held = condition[codes[rows]]
    n = int(np.count_nonzero(held))
    inside[:n], outside[: len(rows) - n] = rows[held], rows[~held]
    return n


@compiled_unless(_part_at_once)
def _part(codes: Any, rows: Any, condition: Any, inside: Any, outside: Any) -> int:
    n = 0
    for i in range(len(rows)):
        row = rows[i]
        inside[n] = row
        outside[i - n] = row
        n += 1 if condition[codes[row]] else 0
    return n


def rows_of(codes: Codes, n: int, literals: Literals) -> RowNumbers:
    """The rows, of n, on which all literals hold."""
    rows = all_rows(n)
    for literal in literals:
        rows = parted(codes, rows, literal)[0]
    return rows


def mask_of(rows: RowNumbers, n: int) -> Bools:
    """Which of n rows they are [n]."""
    held = np.zeros(n, dtype=bool)
    held[rows] = True
    return held


def others(rows: RowNumbers, n: int) -> RowNumbers:
    """All the other ones of n rows."""
    return np.flatnonzero(~mask_of(rows, n)).astype(np.uint32)


def mark(rows: RowNumbers, n: int) -> int:
    """What tells one set of rows from another, but not from all the other rows: the bias makes up for that."""
    own = _hash(rows)
    return min(own, (_hash_of_all(n) - own) % 2**64)


@cache
def _hash_of_all(n: int) -> int:
    return _hash(all_rows(n))


def _hash(rows: npt.NDArray[np.uint32]) -> int:
    """The sum of a hash of each; a row in its place is no more than a number, so that any hash does."""
    total = 0
    for start in range(0, len(rows), _PART):
        mixed = (rows[start : start + _PART].astype(np.uint64) + np.uint64(1)) * _SPREAD
        mixed ^= mixed >> _HALF
        mixed *= _SPREAD
        mixed ^= mixed >> _HALF
        total += int(mixed.sum(dtype=np.uint64))
    return total % 2**64
