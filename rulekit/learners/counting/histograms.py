"""Counting: weights as integers, and histograms over (code, cell, label).

Every statistic of a learner is an integer sum over rows (row weights are quantised once to int64 multiples of
a power of two), so it is additive over blocks of rows and the same for any number of threads and without numba.
Whatever is computed from the sums in floating point is computed one operation at a time in one fixed order.

Shapes: n rows; `codes` [n] of one binned column (0 is missing); `keys` [n] = 2 * cell + label; a histogram is a list
of entries (code, key, weight), sorted by code and then by key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting.compiling import compiled
from rulekit.learners.counting.grouping import Grouped, Rows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_TOTAL_BITS = 40
_FACTOR_BITS = 16
_MOST_EXPONENT = 300
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
        each = np.rint(weights[0] * factors / unit).astype(np.int64)
        return np.broadcast_to(each[:1], weights.shape) if np.all(each == each[0]) else each[labels], unit
    return np.rint(weights * factors[labels] / unit).astype(np.int64), unit


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
    """The power of two of which a total has about 2^40."""
    return math.ldexp(1.0, math.frexp(total)[1] - _TOTAL_BITS) if total > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """Weights by (code, key): entries sorted by code, then key; `starts` [n_codes + 1] delimits the codes."""

    keys: Ints
    weights: Ints
    starts: Ints


def count(codes: npt.NDArray[Any], grouped: Grouped, weights: Ints, n_codes: int) -> Histogram:
    """The histogram of one column over the keys by which its rows are grouped."""
    kernel, fill = compiled(_count_entries), compiled(_fill_entries)
    if kernel and fill:
        each = int(weights[0]) if len(weights) and weights.strides == (0,) else 0
        given = weights[:1].copy() if each else weights
        counts = kernel(codes, grouped.rows, grouped.starts, given, each, n_codes)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        keys, values = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1], dtype=np.int64)
        fill(codes, grouped.rows, grouped.starts, given, each, starts, keys, values)
        return Histogram(keys, values, starts)
    n_keys = len(grouped.starts) - 1
    key = np.repeat(np.arange(n_keys), np.diff(grouped.starts))
    where, entry = np.unique(codes[grouped.rows].astype(np.int64) * n_keys + key, return_inverse=True)
    # bincount adds doubles; the total of all weights is below 2^53, so that the sums are exact.
    values = np.bincount(entry, weights[grouped.rows], len(where)).astype(np.int64)
    where, values = where[values > 0], values[values > 0]
    code, keys = np.divmod(where, n_keys)
    return Histogram(keys, values, np.searchsorted(code, np.arange(n_codes + 1)).astype(np.int64))


def count_dense(
    matrix: npt.NDArray[Any], columns: Ints, rows: Rows, n_codes: int, n_keys: int
) -> list[Histogram] | None:
    """The histograms of some columns of a matrix, counted as the rows come; None without numba."""
    kernel = compiled(_count_dense)
    if kernel is None:
        return None
    equal = rows.weights.strides == (0,)
    weights = rows.weights[:1].copy() if equal else rows.weights
    counts = np.zeros(len(columns) * n_codes * n_keys, dtype=np.uint32 if equal else np.int64)
    kernel(matrix, columns, rows.cell, rows.labels, weights, equal, n_codes, n_keys, counts)
    each = int(weights[0]) if equal else 1
    return [dense_histogram(flat, n_codes, n_keys, each) for flat in counts.reshape(len(columns), -1)]


def dense_histogram(counts: npt.NDArray[Any], n_codes: int, n_keys: int, each: int) -> Histogram:
    """The entries of counts [n_codes * n_keys], each of which weighs so much."""
    where = np.flatnonzero(counts)
    starts = np.searchsorted(where, np.arange(n_codes + 1) * n_keys)
    return Histogram(where % n_keys, counts[where].astype(np.int64) * each, starts)


def _count_dense(
    matrix: Any,
    columns: Any,
    cell: Any,
    labels: Any,
    weights: Any,
    equal: bool,
    n_codes: int,
    n_keys: int,
    counts: Any,
) -> None:
    n_columns = len(columns)
    for i in range(len(cell)):
        key = 2 * np.int64(cell[i]) + np.int64(labels[i])
        w = 1 if equal else weights[i]
        for j in range(n_columns):
            counts[(j * n_codes + np.int64(matrix[i, columns[j]])) * n_keys + key] += w


def _count_entries(codes: Any, rows: Any, starts: Any, weights: Any, each: int, n_codes: int) -> Any:
    counts, last = np.zeros(n_codes, dtype=np.int64), np.full(n_codes, -1, dtype=np.int64)
    for key in range(len(starts) - 1):
        for i in range(starts[key], starts[key + 1]):
            code = codes[rows[i]]
            if (each > 0 or weights[rows[i]] > 0) and last[code] != key:
                last[code] = key
                counts[code] += 1
    return counts


def _fill_entries(
    codes: Any, rows: Any, starts: Any, weights: Any, each: int, code_starts: Any, keys: Any, values: Any
) -> None:
    place = code_starts[:-1] - 1
    last = np.full(len(place), -1, dtype=np.int64)
    for key in range(len(starts) - 1):
        for i in range(starts[key], starts[key + 1]):
            code = codes[rows[i]]
            w = each if each > 0 else weights[rows[i]]
            if w > 0:
                if last[code] != key:
                    last[code] = key
                    place[code] += 1
                    keys[place[code]] = key
                    values[place[code]] = 0
                values[place[code]] += w
