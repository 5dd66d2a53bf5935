"""Counting: weights as integers, their sums over cells, labels and codes, and what an attribute tells of the class.

Every statistic of a learner is an integer sum over rows (row weights are quantised once to int64 multiples of
a power of two), so it is additive over blocks of rows and the same for any number of threads and without numba.
Whatever is computed from the sums in floating point is computed one operation at a time in one fixed order.

Shapes: n rows; `codes` [n] of one binned column (0 is missing).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Floats, Ints, distinct_rows
from rulekit.learners.sums_of_rows.kernels import compiled
from rulekit.tables.token_sets import TokenSets

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
    factors, unit = class_steps(class_totals(weights, labels, len(factors)), len(weights), factors)
    return in_steps(weights, labels, factors, unit), unit


def class_steps(totals: Floats, n_rows: int, factors: Floats) -> tuple[Floats, float]:
    """The factors [K] by which the weights of rows are multiplied, and the unit; totals [K]: of the weights."""
    factors = moderate(factors)
    total = math.fsum((totals * factors).tolist())
    factors = factors * max(1.0, max(float(n_rows), math.fsum(totals.tolist())) / total)
    unit = _unit_of(math.fsum((totals * factors).tolist()))
    steps = np.minimum(unit, np.ldexp(1.0, np.frexp(factors)[1] - _FACTOR_BITS))
    return np.rint(factors / steps) * steps, unit


def in_steps(weights: Floats, labels: Ints, factors: Floats, unit: float) -> Ints:
    """Weights [n] times the factor of their label, in units."""
    if weights.strides == (0,) and len(weights):
        each = _steps(weights[0] * factors, unit)
        return np.broadcast_to(each[:1], weights.shape) if np.all(each == each[0]) else each[labels]
    return _steps(weights * factors[labels], unit)


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


@compiled
def group_rows(cell: Any, labels: Any, n_cells: int) -> Any:
    """The rows [n] by key = 2 * cell + label, within a key as they came; key k has rows[starts[k] : starts[k + 1]]."""
    rows, starts = np.empty(len(cell), dtype=np.uint32), np.zeros(2 * n_cells + 1, dtype=np.int64)
    for i in range(len(cell)):
        starts[2 * np.int64(cell[i]) + labels[i] + 1] += 1
    for k in range(2 * n_cells):
        starts[k + 1] += starts[k]
    place = starts.copy()
    for i in range(len(cell)):
        k = 2 * np.int64(cell[i]) + labels[i]
        rows[place[k]] = i
        place[k] += 1
    return rows, starts


def count_cells(cell: npt.NDArray[Any], labels: npt.NDArray[Any], weights: Ints, n_cells: int) -> Ints:
    """Weights [n_cells, 2] by cell and label."""
    counts, each = np.zeros((n_cells, 2), dtype=np.int64), weights.strides == (0,)
    for rows in _parts(len(cell), counts.size):
        keys = np.multiply(cell[rows], 2, dtype=np.int64) + labels[rows]
        # bincount adds doubles; the total of all quantised weights is below 2^53, so that the sums are exact.
        found = np.bincount(keys, None if each else weights[rows], counts.size)
        counts += found.astype(np.int64).reshape(counts.shape)
    return counts * weights[0] if each and len(weights) else counts


def _parts(n: int, least: int = 0) -> Iterator[slice]:
    part = max(_PART, least)
    return (slice(start, start + part) for start in range(0, n, part))


@dataclass(frozen=True, eq=False)
class RowCells:
    """Rows on which the same conditions hold as one cell: cell [n] of each row, of which labels and weights [n] are.

    holds [C, K]: which conditions hold on a cell; counts [C, 2]: its weight of label 0 and 1.
    """

    labels: npt.NDArray[Any]
    weights: Ints
    cell: npt.NDArray[np.int32]
    holds: Bools
    counts: Ints

    @classmethod
    def of_all(cls, labels: npt.NDArray[Any], weights: Ints) -> RowCells:
        """One cell of all rows, without any condition."""
        cell = np.zeros(len(labels), dtype=np.int32)
        return cls(labels, weights, cell, np.zeros((1, 0), dtype=bool), count_cells(cell, labels, weights, 1))

    @cached_property
    def grouped(self) -> tuple[npt.NDArray[np.uint32], Ints]:
        """The rows by cell and label; see `group_rows`."""
        found: tuple[npt.NDArray[np.uint32], Ints] = group_rows(self.cell, self.labels, len(self.counts))
        return found

    def sizes(self) -> Ints:
        """How many rows [C] each cell has."""
        return np.diff(self.grouped[1][::2])

    def with_condition(self, codes: npt.NDArray[Any], condition: Bools, at: int | None = None) -> tuple[RowCells, Ints]:
        """The cells with one condition more on codes [n], the last one or in a place; and what cell each was before."""
        cell, occurs = self.cell.copy(), np.zeros(2 * len(self.holds), dtype=bool)
        for rows in _parts(len(cell)):
            cell[rows] = 2 * cell[rows] + condition[codes[rows]]
            occurs[cell[rows]] = True
        number, own = np.cumsum(occurs) - 1, np.flatnonzero(occurs)
        for rows in _parts(len(cell)):
            cell[rows] = number[cell[rows]]
        holds = np.insert(self.holds[own // 2], self.holds.shape[1] if at is None else at, own % 2 == 1, axis=1)
        counts = count_cells(cell, self.labels, self.weights, len(own))
        return RowCells(self.labels, self.weights, cell, holds, counts), own // 2

    def without(self, condition: int) -> tuple[RowCells, Ints]:
        """The cells without one condition; and what cell each one has become."""
        kept = np.delete(self.holds, condition, axis=1)
        first, merged = distinct_rows(kept)
        counts = np.zeros((len(first), 2), dtype=np.int64)
        np.add.at(counts, merged, self.counts)
        cell = merged.astype(np.int32)[self.cell]
        return RowCells(self.labels, self.weights, cell, kept[first], counts), merged


@compiled
def lead_by_code(matrix: Any, starts: Any, labels: Any, weights: Any, leads: Any) -> None:
    """Add to leads, from starts[j] on, the weights [n] of the rows by their codes in column j of a matrix [n, k].

    Those of the rows without label 1 are taken off. The weights of all rows together are below 2^53, and there are
    fewer than 2^32 leads.
    """
    for i in range(len(weights)):
        value = weights[i] if labels[i] == 1 else -weights[i]
        for j in range(matrix.shape[1]):
            # An index that may be negative would be looked at for that, which takes as long as the sum.
            leads[np.uint32(starts[j]) + np.uint32(matrix[i, j])] += value


# Information ---------------------------------------------------------------------------------------------------------


def information_gain(counts: Array) -> Floats:
    """The gain [...] in nats of attributes whose values and classes occur so often: counts [..., values, classes] >= 0.

    It is the entropy of the class less its mean entropy given the value (J. R. Quinlan, Induction of Decision Trees,
    1986): sum over values v and classes c of n(v, c) log(n(v, c) N / (n(v) n(c))) / N. It is 0 where value and class
    are independent, at most the entropy of the class, and never negative but for a rounding. An attribute of any kind
    is its table of counts: two values of a word or of a threshold, one for each level.
    """
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=(-2, -1))
    parts = _x_log_x(counts).sum(axis=(-2, -1)) + _x_log_x(total)
    gain = parts - _x_log_x(counts.sum(axis=-1)).sum(axis=-1) - _x_log_x(counts.sum(axis=-2)).sum(axis=-1)
    return np.asarray(np.maximum(gain / np.where(total > 0, total, 1.0), 0.0))


def gain_of_each_class(counts: Array) -> Floats:
    """The gain [..., classes] of attributes for each class against the rest; counts [..., values, classes]."""
    counts = np.asarray(counts, dtype=np.float64)
    own = np.moveaxis(counts, -1, 0)
    return np.moveaxis(information_gain(np.stack([counts.sum(axis=-1) - own, own], axis=-1)), 0, -1)


def word_counts(sets: TokenSets, labels: Array, n_classes: int, weights: Array) -> Floats:
    """By word of a text the weight of the rows without and with it, by class: [words, 2, classes].

    labels, weights [n]: the class and the weight of each row. A missing text has no word.
    """
    rows = sets.rows
    keys = sets.ids.astype(np.int64) * n_classes + labels[rows]
    present = np.bincount(keys, weights[rows], sets.size * n_classes).reshape(sets.size, n_classes)
    every = np.bincount(labels, weights, n_classes)
    return np.stack([every - present, present], axis=1)


def _x_log_x(values: Floats) -> Floats:
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))
