"""Counting: weights as integers, and their sums over cells, labels and codes.

Every statistic of a learner is an integer sum over rows (row weights are quantised once to int64 multiples of
a power of two), so it is additive over blocks of rows and the same for any number of threads and without numba.
Whatever is computed from the sums in floating point is computed one operation at a time in one fixed order.

Shapes: n rows; `codes` [n] of one binned column (0 is missing); `keys` [n] = 2 * cell + label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit import arrays
from rulekit.learners.sums_of_rows.kernels import compiled, compiled_unless

Ints = arrays.Ints
Floats = arrays.Floats
Bools = arrays.Bools

_TOTAL_BITS = 40
_FACTOR_BITS = 16
_MOST_EXPONENT = 40
_PART = 1 << 16


def moderate(values: Floats) -> Floats:
    """Numbers >= 0 times the power of two that takes the largest away from the ends of the doubles (1, but there).

    So that no sum, product or quotient of weights over- or underflows.
    """
    exponent = int(np.frexp(values.max(initial=0.0))[1])
    return np.ldexp(values, int(np.clip(exponent, -_MOST_EXPONENT, _MOST_EXPONENT)) - exponent)


def quantise_by_class(weights: Floats, labels: Ints, factors: Floats) -> tuple[Ints, float]:
    """Row weights [n] > 0 times the factor of their label, quantised; `factors` [K].

    Where that is fewer than there are rows, all are scaled up: weights that were scaled down must not make fewer rows
    of them, where a limit or a ridge is stated in rows. The factors are rounded before they are multiplied, so that
    with them, too, a row of weight 2 counts like two rows; the sums do not depend on the order of the rows.
    """
    totals = class_totals(weights, labels, len(factors))
    factors = moderate(factors)
    total = math.fsum((totals * factors).tolist())
    factors = factors * max(1.0, max(float(len(weights)), math.fsum(totals.tolist())) / total)
    unit = _unit_of(math.fsum((totals * factors).tolist()))
    steps = np.minimum(unit, np.ldexp(1.0, np.frexp(factors)[1] - _FACTOR_BITS))
    factors = np.rint(factors / steps) * steps
    if weights.strides == (0,):
        each = _steps(weights[0] * factors, unit)
        return np.broadcast_to(each[:1], weights.shape) if np.all(each == each[0]) else each[labels], unit
    return _steps(weights * factors[labels], unit), unit


def _steps(weights: Floats, unit: float) -> Ints:
    """Weights in units, of which those above 0 have one at least: beside 1e18, rows of 1 would leave a class empty."""
    return np.maximum(np.rint(weights / unit), np.sign(weights)).astype(np.int64)


def class_totals(weights: Floats | Ints, labels: npt.NDArray[Any], n_classes: int) -> Floats:
    """The sum [n_classes] of the weights [n] of each label, exact but for one rounding."""
    if weights.strides == (0,):
        return np.array([np.count_nonzero(labels == k) for k in range(n_classes)]) * float(weights[0])
    return np.array([exact_sum(weights[labels == k]) for k in range(n_classes)])


def exact_sum(values: Floats | Ints) -> float:
    """The sum of doubles [n], exact but for one rounding; no list of all of them is made."""
    return math.fsum(chain.from_iterable(values[i : i + _PART].tolist() for i in range(0, len(values), _PART)))


def share_equal(weights: Ints) -> Ints:
    """Weights [n] that are all equal as one number seen n times, which takes no memory and is counted faster."""
    if len(weights) and int(weights.min()) == int(weights.max()):
        return np.broadcast_to(weights[:1].copy(), weights.shape)
    return weights


def _unit_of(total: float) -> float:
    return math.ldexp(1.0, math.frexp(total)[1] - _TOTAL_BITS) if total > 0 else 1.0


# The cells of the training rows ---------------------------------------------------------------------------------------


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
    rows = np.empty(len(cell), dtype=np.uint32)
    return Grouped(rows, _group(cell, labels, n_cells, rows))


@compiled
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
    labels: npt.NDArray[Any],
    weights: Ints,
) -> tuple[Ints, Ints]:
    """Split cells, in place, by a condition on codes; which of the 2 n_cells halves occur, and weights by label [:, 2].

    merged [old cells]: the one of n_cells that an old cell has become; half 2c + 1 of cell c holds the condition.
    """
    number, counts = np.full(2 * n_cells, -1, dtype=np.int32), np.zeros((2 * n_cells, 2), dtype=np.int64)
    each = weights.strides == (0,)
    _split(cell, codes, condition, merged, labels, np.ones(1, dtype=np.int64) if each else weights, number, counts)
    occurring = np.flatnonzero(number >= 0)
    counts = counts[: len(occurring)]
    return occurring, counts * weights[0] if each else counts


def _split_by_counting(
    cell: Any, codes: Any, condition: Any, merged: Any, labels: Any, weights: Any, number: Any, counts: Any
) -> None:
    half = 2 * merged[cell] + condition[codes]
    occurring = np.flatnonzero(np.bincount(half, minlength=len(number)))
    number[occurring] = np.arange(len(occurring))
    cell[:] = number[half]
    _count_by_bins(cell, labels, weights, len(weights) < len(cell), counts)


def _count_by_bins(cell: Any, labels: Any, weights: Any, each: bool, counts: Any) -> None:
    # bincount adds doubles; the total of all quantised weights is below 2^53, so that the sums are exact.
    part = max(_PART, counts.size)
    for start in range(0, len(cell), part):
        rows = slice(start, start + part)
        keys = np.multiply(cell[rows], 2, dtype=np.int64) + labels[rows]
        found = np.bincount(keys, None if each else weights[rows], counts.size)
        counts += found.astype(np.int64).reshape(counts.shape)


@compiled_unless(_split_by_counting)
def _split(
    cell: Any, codes: Any, condition: Any, merged: Any, labels: Any, weights: Any, number: Any, counts: Any
) -> None:
    for i in range(len(cell)):
        half = 2 * merged[cell[i]] + (1 if condition[codes[i]] else 0)
        cell[i] = half
        number[half] = 0
    met = 0
    for half in range(len(number)):
        if number[half] == 0:
            number[half] = met
            met += 1
    each = len(weights) < len(cell)
    for i in range(len(cell)):
        k = number[cell[i]]
        cell[i] = k
        counts[k, labels[i]] += 1 if each else weights[i]


def count_cells(cell: npt.NDArray[np.int32], labels: npt.NDArray[Any], weights: Ints, n_cells: int) -> Ints:
    """Weights [n_cells, 2] by cell and label."""
    counts = np.zeros((n_cells, 2), dtype=np.int64)
    each = weights.strides == (0,)
    _count_cells(cell, labels, np.ones(1, dtype=np.int64) if each else weights, each, counts)
    return counts * weights[0] if each else counts


@compiled
def _count_cells(cell: Any, labels: Any, weights: Any, each: bool, counts: Any) -> None:
    for i in range(len(cell)):
        counts[cell[i], labels[i]] += 1 if each else weights[i]


def lead_by_code(matrix: npt.NDArray[Any], starts: Ints, labels: npt.NDArray[Any], weights: Ints, leads: Ints) -> None:
    """Add to leads, from starts[j] on, the weights [n] of the rows by their codes in column j of a matrix [n, k].

    Those of the rows without label 1 are taken off. The weights of all rows together are below 2^53, and there are
    fewer than 2^32 leads.
    """
    # An index that may be negative would be looked at for that, which takes as long as the sum.
    _lead_by_code(matrix, starts.astype(np.uint32), labels, weights, leads)


@compiled
def _lead_by_code(matrix: Any, starts: Any, labels: Any, weights: Any, leads: Any) -> None:
    k = matrix.shape[1]
    for i in range(len(weights)):
        value = weights[i] if labels[i] == 1 else -weights[i]
        j = 0
        # Four places are known before the first is written: the processor cannot tell that they are different ones.
        while j + 4 <= k:
            a = starts[j] + np.uint32(matrix[i, j])
            b = starts[j + 1] + np.uint32(matrix[i, j + 1])
            c = starts[j + 2] + np.uint32(matrix[i, j + 2])
            d = starts[j + 3] + np.uint32(matrix[i, j + 3])
            leads[a] += value
            leads[b] += value
            leads[c] += value
            leads[d] += value
            j += 4
        while j < k:
            leads[starts[j] + np.uint32(matrix[i, j])] += value
            j += 1
