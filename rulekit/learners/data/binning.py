"""Binning: the columns of a table as small integer codes, 0 for missing.

A numeric column gets one code per distinct value, or at most `max_bins` by capped quantiles: a value's weight is capped
at the mean weight of a bin, repeatedly, before the weights are cut at equal steps, so that a column heavy at one value
keeps fine cuts elsewhere. A Boolean column has 1 for false and 2 for true.

A category has 2.. for the levels that stand for themselves. The levels of an unordered one with few rows share code 1
with a level never seen (section 2 of the same): a condition that names a level of one row has learned that row by
heart, and a category with a level for each row would fit everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats, Ints
from rulekit.learners.data.codes import DiskCodes, MemoryCodes
from rulekit.learners.sums_of_rows.kernels import compiled, numba_runs, run_threads
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import PART, StoredArrays, StoredColumn, Table, gathered

_CAPPINGS = 8
_WORTH_A_THREAD = 50_000
_MOST_SMALL = 256
_TOGETHER = 2  # columns that are copied together
_PART = 1 << 16  # values that whole arrays hold between their steps


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """The codes of one feature, below n_codes; `low`, `high` [n_codes]: the training values a numeric bin spans.

    `index` is the position of the feature in the table.
    levels: what the codes 2.. of a category stand for; the feature's other levels have code 1, like unseen ones.
    """

    feature: Feature
    index: int
    n_codes: int
    low: Floats
    high: Floats
    levels: tuple[str, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether neighbouring codes are neighbouring values."""
        return self.feature.kind != "categorical" or self.feature.ordered


def least_level(rows: float | None, weights: Ints, unit: float) -> int:
    """The least weight, in units, with which a level stands for itself.

    By default 10 rows, or a hundredth of them where that is less, but 2 at least.
    """
    rows = max(2.0, min(10.0, float(weights.sum()) * unit / 100.0)) if rows is None else rows
    return int(np.ceil(rows / unit - 1e-9))


def least_side(rows: float) -> float:
    """The default least weight of rows on either side of a condition, for rows of so much weight."""
    return max(1.0, min(5.0, rows / 40.0))


def bin_table(
    table: Table, weights: Array, max_bins: int | None, least_level: int = 0, n_threads: int = 1
) -> tuple[tuple[BinnedColumn, ...], MemoryCodes]:
    """The usable columns of a table and their codes; texts and columns whose role is not "use" are left out."""
    used = binned_features(table)
    together = bool(used) and max_bins is not None and max_bins < _MOST_SMALL
    matrix = np.empty((table.n_rows, len(used) if together else 0), dtype=np.uint8)
    alone: dict[int, Array] = {}

    def put(first: int) -> list[BinnedColumn]:
        few, found = used[first : first + _TOGETHER], list[BinnedColumn]()
        small: dict[int, Array] = {}
        for place, array in enumerate(gathered([table.arrays[index] for index, _ in few]), first):
            index, feature = used[place]
            column, codes = bin_column(feature, index, array, weights, max_bins, least_level)
            found.append(column)
            (small if together and codes.dtype == np.uint8 else alone)[place] = codes
        for rows in _parts(len(matrix) if small else 0):  # which stay in the processor's cache
            for place, codes in small.items():
                matrix[rows, place] = codes[rows]
        return found

    threads = n_threads if table.n_rows >= _WORTH_A_THREAD else 1
    groups = run_threads(put, range(0, len(used), _TOGETHER), threads)
    columns = tuple(column for group in groups for column in group)
    if together and not alone:
        return columns, MemoryCodes.of_matrix(matrix)
    # then there is no matrix, and kernels take columns that lie together
    return columns, MemoryCodes(
        tuple(alone[i] if i in alone else np.ascontiguousarray(matrix[:, i]) for i in range(len(used)))
    )


def binned_features(table: Table) -> list[tuple[int, Feature]]:
    """The columns that are binned, each with its place; the words of a text are conditions of their own."""
    return [(i, f) for i, f in enumerate(table.features) if f.role == "use" and f.kind != "text"]


def bin_column(
    feature: Feature, index: int, array: Array, weights: Array, max_bins: int | None, least_level: int = 0
) -> tuple[BinnedColumn, Array]:
    """One encoded column [n], binned by the weights [n] of its values, and its codes [n].

    Levels of a category that weigh less than least_level are pooled.
    """
    none = np.full(1, np.nan)
    if feature.kind == "categorical":
        return _bin_levels(feature, index, array, weights, least_level)
    if feature.kind == "boolean":
        codes = (array > 0.5).view(np.uint8) + np.uint8(1)
        codes[np.isnan(array)] = MISSING_CODE
        return BinnedColumn(feature, index, 3, none, none), codes
    # A column of a matrix is gathered once, and not kept.
    array = array + array.dtype.type(0)  # minus zero is zero
    column, high = bin_values(feature, index, *_distinct(array, weights), max_bins)
    codes = np.empty(len(array), dtype=code_type(column.n_codes))
    assign_bins(array, high, codes)
    return column, codes


def bin_values(
    feature: Feature, index: int, values: Array, counts: Floats, max_bins: int | None
) -> tuple[BinnedColumn, Array]:
    """The bins of distinct values [m] in ascending order by their weights [m], and the last value of each bin."""
    first = first_of_bins(counts, max_bins)
    low = values[first]
    high = values[np.append(first[1:], len(values)) - 1] if len(values) else values
    return numeric_column(feature, index, low, high), high


def numeric_column(feature: Feature, index: int, low: Array, high: Array) -> BinnedColumn:
    """A numeric column whose bins have these first and last values."""
    none = np.full(1, np.nan)
    bottoms, tops = (np.concatenate([none, edge.astype(np.float64)]) for edge in (low, high))
    return BinnedColumn(feature, index, 1 + len(low), bottoms, tops)


def assign_bins(array: Array, high: Array, codes: Array) -> None:
    """Write the code of each value: one more than the number of bins that end below it; 0 for missing.

    The first bits of a float tell its place among the bins but for the few values near an end, which pays where there
    are more values than such places.
    """
    if not numba_runs() or len(array) < 1 << _LOOKED_UP_BITS or not 0 < len(high) < _MOST_LOOKED_UP:
        for part in _parts(len(array)):
            codes[part] = np.where(np.isnan(array[part]), 0, np.searchsorted(high, array[part]) + 1)
        return
    bits = np.dtype(np.int32 if array.dtype.itemsize == 4 else np.int64)
    shift = 8 * bits.itemsize - _LOOKED_UP_BITS
    high = np.append(high, high.dtype.type(np.inf)) + high.dtype.type(0)  # minus zero is zero
    ends = _rising(high[:-1].view(bits)) >> shift
    place = np.arange(-(1 << (_LOOKED_UP_BITS - 1)), 1 << (_LOOKED_UP_BITS - 1))
    first = np.searchsorted(ends, place).astype(np.uint16)
    _assign_bins(array, np.ascontiguousarray(array).view(bits), shift, first, high, codes)


_LOOKED_UP_BITS = 15
_MOST_LOOKED_UP = 1 << 15


def _rising(bits: Array) -> Array:
    """Bits of floats, without minus zero and NaN, as integers in the order of the floats."""
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


@compiled
def _assign_bins(array: Any, bits: Any, shift: int, first: Any, high: Any, codes: Any) -> None:
    middle = len(first) // 2
    for i in range(len(array)):
        x = array[i]
        b = np.int64(bits[i]) >> shift
        # All bits of a negative float but the sign run the other way.
        place = middle + (b if b >= 0 else -middle - 1 - b)
        at = np.int64(first[place])
        at += high[at] < x  # one step without a branch, which would often be guessed wrong
        while high[at] < x:
            at += 1
        codes[i] = at + 1 if x == x else 0


def _distinct(array: Array, weights: Array) -> tuple[Array, Floats]:
    values = np.sort(array)
    values = values[: len(values) - int(np.count_nonzero(np.isnan(values)))]
    counts, m = np.empty(len(values)), 0
    for first, often in runs(values):  # the values are put together in place: not one of those to come is overwritten
        values[m : m + len(first)], counts[m : m + len(first)] = values[first], often
        m += len(first)
    values, counts = values[:m], counts[:m]
    if weights.strides == (0,):
        counts *= float(weights[0])
    else:
        known = ~np.isnan(array)
        counts[:] = np.bincount(np.searchsorted(values, array[known]), weights[known], len(values))
    return values, counts


def runs(values: Array) -> Iterator[tuple[Ints, Floats]]:
    """Where each distinct value first stands among sorted values, and how often it occurs, a part at a time."""
    start = 0
    while start < len(values):
        stop = min(start + PART, len(values))
        if stop < len(values):
            # a value must not be cut in two
            stop = max(int(np.searchsorted(values, values[stop - 1])), start)
            stop = stop if stop > start else int(np.searchsorted(values, values[start], side="right"))
        part = values[start:stop]
        first = np.concatenate([[0], np.flatnonzero(part[1:] != part[:-1]) + 1])
        yield first + start, np.diff(first, append=len(part)).astype(np.float64)
        start = stop


def _bin_levels(
    feature: Feature, index: int, array: Array, weights: Array, least_level: int
) -> tuple[BinnedColumn, Array]:
    # bincount adds doubles; the total of all quantised weights is below 2^53, so that the sums are exact.
    totals = np.bincount(array, weights, FIRST_LEVEL_CODE + len(feature.levels))
    column, codes = bin_levels(feature, index, totals, least_level)
    return column, codes[array]


def bin_levels(feature: Feature, index: int, totals: Array, least_level: int) -> tuple[BinnedColumn, Array]:
    """A category by the weights of its encoded codes, and the bin of each of these codes."""
    n_levels = len(feature.levels)
    kept = np.ones(n_levels, dtype=bool) if feature.ordered else totals[FIRST_LEVEL_CODE:] >= least_level
    n_codes = FIRST_LEVEL_CODE + int(kept.sum())
    codes = np.full(FIRST_LEVEL_CODE + n_levels, UNSEEN_CODE, dtype=code_type(n_codes))
    codes[MISSING_CODE] = MISSING_CODE
    codes[FIRST_LEVEL_CODE:][kept] = np.arange(FIRST_LEVEL_CODE, n_codes)
    levels = tuple(level for level, stays in zip(feature.levels, kept.tolist(), strict=True) if stays)
    none = np.full(1, np.nan)
    return BinnedColumn(feature, index, n_codes, none, none, levels=levels), codes


def first_of_bins(counts: Array, max_bins: int | None) -> Ints:
    """Where each bin begins among m distinct values in ascending order, by capped quantiles of their weights [m]."""
    m = len(counts)
    if max_bins is None or m <= max_bins:
        return np.arange(m, dtype=np.int64)
    counts = counts.astype(np.float64, copy=False)
    whole = float(counts.sum())

    def below(cap: float) -> tuple[float, int]:
        heavy = counts[counts > cap]
        return whole - float(heavy.sum()), len(heavy)

    cap, total = capped_total(below, max_bins)
    first, bins, last, reached = np.empty(max_bins, dtype=np.int64), 0, np.full(1, -1), np.zeros(1)
    for part in _parts(len(counts)):
        capped = np.minimum(counts[part], cap)
        reached = np.cumsum(np.concatenate([reached[-1:], capped]))[1:]
        middle = (reached - capped / 2) / total * max_bins
        own = np.minimum(middle, max_bins - 1.0).astype(np.int64)
        last = np.maximum.accumulate(np.concatenate([last[-1:], own]))
        begins = part.start + np.flatnonzero(own > last[:-1])
        first[bins : bins + len(begins)] = begins
        bins += len(begins)
    return first[:bins].copy()


def capped_total(below: Callable[[float], tuple[float, int]], max_bins: int) -> tuple[float, float]:
    """The weight at which the weights of distinct values are capped, and their sum then.

    below(cap): the sum of the weights of at most `cap`, which are whole numbers, and how many are above it; so the
    result does not depend on the order in which they are added.
    """
    cap = math.inf
    total, _ = below(cap)
    for _ in range(_CAPPINGS):
        # Capping lowers the total and so the cap; a heavy value ends up with a single bin.
        cap = total / max_bins
        within, above = below(cap)
        if above == 0:
            break  # nothing is heavier than the cap, and so it stays
        total = within + above * cap
    return cap, total


def _parts(n: int) -> list[slice]:
    return [slice(start, min(start + _PART, n)) for start in range(0, n, _PART)]


def code_type(n_codes: int) -> np.dtype[Any]:
    """The smallest type that holds the codes below n_codes."""
    return np.dtype(np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32)


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
    return codes


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
