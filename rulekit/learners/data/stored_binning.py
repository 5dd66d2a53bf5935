"""Binning of columns on disk, one at a time: the bins of `rulekit.learners.data.binning`, with little memory.

A numeric column is read whole once, to be sorted in place; all else goes through it a part at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.learners.data.binning import (
    BinnedColumn,
    assign_bins,
    bin_levels,
    bin_values,
    binned_features,
    capped_total,
    code_type,
    numeric_column,
    runs,
)
from rulekit.learners.data.disk_codes import DiskCodes
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.table import PART, StoredArrays, StoredColumn, Table

_FEW = 1 << 18


def bin_stored(
    table: Table,
    weights: Array,
    max_bins: int | None,
    least_level: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[tuple[BinnedColumn, ...], DiskCodes]:
    """What `bin_table` makes of the same table in memory; progress: called with the columns done and all of them."""
    assert isinstance(table.arrays, StoredArrays)
    used = binned_features(table)
    columns, codes = [], []
    for done, (index, feature) in enumerate(used):
        values = table.arrays.columns[index]
        assert isinstance(values, StoredColumn)
        column, stored = bin_stored_column(feature, index, values, weights, max_bins, least_level)
        columns.append(column)
        codes.append(stored)
        if progress is not None:
            progress(done + 1, len(used))
    return tuple(columns), DiskCodes(tuple(codes), table.n_rows)


def bin_stored_column(
    feature: Feature, index: int, column: StoredColumn, weights: Array, max_bins: int | None, least_level: int = 0
) -> tuple[BinnedColumn, StoredColumn]:
    """One encoded column, binned by the weights [n] of its values, and its codes."""
    if feature.kind == "categorical":
        totals = np.zeros(FIRST_LEVEL_CODE + len(feature.levels))
        for part, of_rows in _with_weights(column, weights):
            totals += np.bincount(part, of_rows, len(totals))
        binned, lookup = bin_levels(feature, index, totals, least_level)
        return binned, _coded(column, lookup.dtype, lambda part: lookup[part])
    if feature.kind == "boolean":
        none = np.full(1, np.nan)
        codes = _coded(column, np.dtype(np.uint8), lambda part: np.where(np.isnan(part), 0, 1 + (part > 0.5)))
        return BinnedColumn(feature, index, 3, none, none), codes
    values = Sorted.of(column, weights)
    if max_bins is None or values.n_distinct <= max(max_bins, _FEW):
        binned, high = bin_values(feature, index, *values.distinct(), max_bins)
    else:
        low, high = values.capped_quantiles(max_bins)
        binned = numeric_column(feature, index, low, high)
    del values
    dtype = code_type(binned.n_codes)

    def assigned(part: Array) -> Array:
        codes = np.empty(len(part), dtype=dtype)
        assign_bins(part, high, codes)
        return codes

    return binned, _coded(column, dtype, assigned)


def _coded(column: StoredColumn, dtype: np.dtype[Any], codes_of: Callable[[Array], Array]) -> StoredColumn:
    codes = column.store.writer(dtype)
    for part in column.parts():
        codes.add(codes_of(part))
    return codes.column()


def _with_weights(column: StoredColumn, weights: Array) -> Iterator[tuple[Array, Array]]:
    start = 0
    for part in column.parts():
        yield part, weights[start : start + len(part)]
        start += len(part)


@dataclass(frozen=True, slots=True, eq=False)
class Sorted:
    """The known values of a column in ascending order, each as often as it occurs, and what they weigh.

    each: the weight of every row where all are equal; else `weights` holds that of each distinct value.
    """

    values: Array
    n_distinct: int
    each: float
    weights: Floats

    @classmethod
    def of(cls, column: StoredColumn, weights: Array) -> Sorted:
        """Read and sort a numeric column."""
        values = column.read()
        values.sort()
        values = values[: len(values) - int(np.count_nonzero(np.isnan(values)))]
        n_distinct = sum(len(first) for first, _ in runs(values))
        none = np.zeros(0)
        if weights.strides == (0,) or not len(weights):
            return cls(values, n_distinct, float(weights[0]) if len(weights) else 1.0, none)
        # In place, so that the values are held once; each distinct value at its first place stays as it is.
        distinct = np.concatenate([values[first] for first, _ in runs(values)]) if len(values) else values
        del values
        of_value = np.zeros(len(distinct))
        for part, of_rows in _with_weights(column, weights):
            known = ~np.isnan(part)
            # whole numbers, of which no sum is above 2^53: exact in any order
            np.add.at(of_value, np.searchsorted(distinct, part[known]), of_rows[known].astype(np.float64))
        return cls(distinct, n_distinct, 1.0, of_value)

    def runs(self) -> Iterator[tuple[Array, Floats]]:
        """Distinct values in ascending order, and what each weighs, a part at a time."""
        if len(self.weights):
            for start in range(0, len(self.values), PART):
                yield self.values[start : start + PART], self.weights[start : start + PART]
            return
        for first, count in runs(self.values):
            yield self.values[first], count * self.each

    def distinct(self) -> tuple[Array, Floats]:
        """All distinct values and their weights."""
        parts = list(self.runs())
        if not parts:
            return self.values[:0], np.zeros(0)
        return np.concatenate([values for values, _ in parts]), np.concatenate([counts for _, counts in parts])

    def capped_quantiles(self, max_bins: int) -> tuple[Array, Array]:
        """The first and the last value of each bin of `rulekit.learners.data.binning.first_of_bins`."""
        how_often: dict[float, int] = {}
        for _, counts in self.runs():
            for count, n in zip(*np.unique(counts, return_counts=True), strict=True):
                how_often[float(count)] = how_often.get(float(count), 0) + int(n)
        weights = np.array(sorted(how_often))
        multiples = np.array([how_often[weight] for weight in weights.tolist()], dtype=np.float64)

        def below(cap: float) -> tuple[float, int]:
            within = weights <= cap
            return float((weights * multiples)[within].sum()), int(multiples[~within].sum())

        cap, total = capped_total(below, max_bins)
        low, high, last_bin, carry = [], [], -1, 0.0
        last_value = self.values[:0]
        for values, counts in self.runs():
            capped = np.minimum(counts, cap)
            # as one sum from the first value on: cumsum adds one after the other
            reached = np.cumsum(np.concatenate([[carry], capped]))[1:]
            carry = float(reached[-1])
            middle = (reached - capped / 2) / total * max_bins
            bins = np.minimum(middle, max_bins - 1).astype(np.int64)
            first = np.flatnonzero(np.diff(bins, prepend=last_bin) > 0)
            before = np.concatenate([last_value, values])
            low.append(values[first])
            high.append(before[first + len(last_value) - 1] if last_bin >= 0 else values[first[1:] - 1])
            last_bin, last_value = int(bins[-1]), values[-1:]
        high.append(last_value)
        return np.concatenate(low), np.concatenate(high)
