"""Binning: the columns of a table as small integer codes, 0 for missing.

A numeric column gets one code per distinct value, or at most `max_bins` by capped quantiles: a value's weight is capped
at the mean weight of a bin, repeatedly, before the weights are cut at equal steps, so that a column heavy at one value
keeps fine cuts elsewhere. A Boolean column has 1 for false and 2 for true.

A category has 2.. for the levels that stand for themselves. The levels of an unordered one with few rows share code 1
with a level never seen (section 2 of the same): a condition that names a level of one row has learned that row by
heart, and a category with a level for each row would fit everything.

The codes are in memory, or on disk, of which one column at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.learners.data.quantiles import Ranges, SortedPart, bins_of_column, bins_of_parts
from rulekit.learners.sums_of_rows.kernels import run_threads
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import PART, HeldColumn, StoredArrays, StoredColumn, Table, encoded_dtype

_WORTH_A_THREAD = 50_000
_PART = 1 << 16  # values that whole arrays hold between their steps
NO_BOUNDS = np.full(1, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """The codes of one feature, below n_codes; `low`, `high` [n_codes]: the training values a numeric bin spans.

    `index` is the position of the feature in the table.
    levels: what the codes 2.. of a category stand for; the feature's other levels have code 1, like unseen ones.
    """

    feature: Feature
    index: int
    n_codes: int
    low: Floats = field(default_factory=lambda: NO_BOUNDS)
    high: Floats = field(default_factory=lambda: NO_BOUNDS)
    levels: tuple[str, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether neighbouring codes are neighbouring values."""
        return self.feature.kind != "categorical" or self.feature.ordered

    @property
    def first_known(self) -> int:
        """The first code that has a place in the order: missing cells, and levels never seen, have none."""
        return FIRST_LEVEL_CODE if self.feature.kind == "categorical" else 1


# Codes ------------------------------------------------------------------------------------------------------------


ROWS_TOGETHER = 1 << 15
"""Rows that a formula is evaluated on at a time: a double for each node and row must stay small."""


class Codes(Protocol):
    """d columns of n small unsigned integers; a column is asked for when it is counted, and not kept."""

    def __len__(self) -> int: ...

    def __getitem__(self, column: int) -> Array:
        """The codes [n] of one column."""

    def take(self, rows: Array | slice) -> Codes:
        """The same columns for some rows only: a Boolean mask [n], row numbers, or a slice of what is in memory."""

    def with_arrays(self, arrays: Mapping[int, Array]) -> Codes:
        """With other codes [n] of some columns that are in memory, or of further columns behind the others."""

    def parts(self, n_rows: int) -> Iterator[tuple[slice, Codes]]:
        """The n rows in their order, some at a time: which they are, and their codes."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryCodes:
    """Codes as contiguous arrays [n]; the first ones may be the columns of one matrix [n, k] in their place."""

    arrays: tuple[Array, ...]
    matrix: Array | None = None

    @classmethod
    def of_matrix(cls, matrix: Array) -> MemoryCodes:
        return cls(tuple(matrix.T), matrix)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, column: int) -> Array:
        return self.arrays[column]

    def take(self, rows: Array | slice) -> MemoryCodes:
        if self.matrix is None:
            return MemoryCodes(tuple(codes[rows] for codes in self.arrays))
        matrix = self.matrix[rows]
        return MemoryCodes((*matrix.T, *(codes[rows] for codes in self.arrays[matrix.shape[1] :])), matrix)

    def of_columns(self, kept: Sequence[int]) -> MemoryCodes:
        """Some columns only."""
        if self.matrix is None:
            return MemoryCodes(tuple(self.arrays[column] for column in kept))
        return MemoryCodes.of_matrix(np.ascontiguousarray(self.matrix[:, kept]))

    def with_arrays(self, arrays: Mapping[int, Array]) -> MemoryCodes:
        return replace(self, arrays=tuple(({**dict(enumerate(self.arrays)), **arrays}).values()))

    def parts(self, n_rows: int) -> Iterator[tuple[slice, MemoryCodes]]:
        for start in range(0, n_rows, ROWS_TOGETHER):
            rows = slice(start, min(start + ROWS_TOGETHER, n_rows))
            yield rows, MemoryCodes(tuple(codes[rows] for codes in self.arrays))


def columns_in_matrix(codes: Codes) -> int:
    """How many columns, the first ones, are those of one matrix."""
    return codes.matrix.shape[1] if isinstance(codes, MemoryCodes) and codes.matrix is not None else 0


def side_by_side(width: int, columns: Ints, most: int) -> list[Ints]:
    """Positions in `columns` that may be read together as one matrix, at most so many at once; the others alone.

    width: see `columns_in_matrix`.
    """
    inside = np.flatnonzero(columns < width)
    groups = [inside[i : i + most] for i in range(0, len(inside), most)]
    return [*groups, *(np.array([i]) for i in np.flatnonzero(columns >= width))]


def matrix_of(codes: Codes, columns: Ints) -> tuple[Array, Ints]:
    """A matrix [n, k] that holds columns of one group of `side_by_side`, and where in it they stand."""
    if isinstance(codes, MemoryCodes) and codes.matrix is not None and columns[0] < columns_in_matrix(codes):
        return codes.matrix, columns
    return codes[int(columns[0])].reshape(-1, 1), np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class DiskCodes:
    """Codes (see `Codes`) of columns in files, beside which further ones [stop] may be in memory.

    They are those of the rows from start to stop; rows: a mask of those that count (None: all). kept: what was read, of
    a part of the rows.
    """

    columns: tuple[StoredColumn | Array, ...]
    stop: int
    rows: Bools | None = None
    start: int = 0
    kept: dict[int, Array] | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def n_rows(self) -> int:
        return self.stop - self.start if self.rows is None else int(np.count_nonzero(self.rows))

    def __getitem__(self, column: int) -> Array:
        if self.kept is not None and column in self.kept:
            return self.kept[column]
        stored, found = self.columns[column], list[Array]()
        for start in range(self.start, self.stop, PART):
            stop = min(start + PART, self.stop)
            part = stored.read(start, stop) if isinstance(stored, StoredColumn) else stored[start:stop]
            found.append(part if self.rows is None else part[self.rows[start - self.start : stop - self.start]])
        codes = found[0] if len(found) == 1 else np.concatenate([np.zeros(0, dtype=stored.dtype), *found])
        if self.kept is not None:
            self.kept[column] = codes
        return codes

    def parts(self, n_rows: int) -> Iterator[tuple[slice, DiskCodes]]:
        """The rows in their order, some at a time; a column of a part is read when it is asked for, and kept."""
        done = 0
        for start in range(self.start, self.stop, ROWS_TOGETHER):
            stop = min(start + ROWS_TOGETHER, self.stop)
            rows = None if self.rows is None else self.rows[start - self.start : stop - self.start]
            part = DiskCodes(self.columns, stop, rows, start, {})
            yield slice(done, done + part.n_rows), part
            done += part.n_rows

    def of_columns(self, kept: Sequence[int]) -> DiskCodes:
        """Some columns only."""
        return replace(self, columns=tuple(self.columns[column] for column in kept), kept=None)

    def with_arrays(self, arrays: Mapping[int, Array]) -> DiskCodes:
        columns: dict[int, StoredColumn | Array] = dict(enumerate(self.columns))
        for column, codes in arrays.items():
            columns[column] = whole = np.zeros(self.stop, dtype=codes.dtype)
            whole[self.start :][slice(None) if self.rows is None else self.rows] = codes
        return replace(self, columns=tuple(columns.values()), kept=None)

    def take(self, rows: Array | slice) -> DiskCodes:
        """Some rows only: a Boolean mask, ascending row numbers, or a slice; nothing is copied."""
        if isinstance(rows, slice):
            before = np.cumsum(np.append(0, np.ones(self.stop - self.start, bool) if self.rows is None else self.rows))
            first, last = np.searchsorted(before, [rows.start, rows.stop]).tolist()
            kept = None if self.rows is None else self.rows[first:last]
            return replace(self, start=self.start + first, stop=self.start + last, rows=kept, kept=None)
        if rows.dtype != bool:
            picked = np.zeros(self.n_rows, dtype=bool)
            picked[rows] = True
            rows = picked
        if self.rows is None:
            return replace(self, rows=rows, kept=None)
        kept = self.rows.copy()
        kept[self.rows] = rows
        return replace(self, rows=kept, kept=None)


# Binning -----------------------------------------------------------------------------------------------------------


def least_level(rows: float | None, total: float, unit: float) -> int:
    """The least weight, in units, with which a level stands for itself; total: the weight of all rows.

    By default 10 rows, or a hundredth of them where that is less, but 2 at least.
    """
    rows = max(2.0, min(10.0, total / 100.0)) if rows is None else rows
    return int(np.ceil(rows / unit - 1e-9))


def least_side(rows: float) -> float:
    """The default least weight of rows on either side of a condition, for rows of so much weight."""
    return max(1.0, min(5.0, rows / 40.0))


def bin_table(
    table: Table,
    weights: Array,
    max_bins: int | None,
    least_level: int = 0,
    n_threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[tuple[BinnedColumn, ...], MemoryCodes | DiskCodes]:
    """The usable columns of a table and their codes, where its columns are: in memory, or on disk.

    The words of texts, which are conditions of their own, and columns whose role is not "use" are left out. progress:
    called with the columns done and all of them, where they are on disk.
    """
    used = [
        (i, feature) for i, feature in enumerate(table.features) if feature.role == "use" and feature.kind != "text"
    ]
    if isinstance(table.arrays, StoredArrays):
        stored = list[tuple[BinnedColumn, StoredColumn]]()
        for index, feature in used:
            column = table.arrays.columns[index]
            assert isinstance(column, StoredColumn)
            stored.append(bin_stored_column(feature, index, column, weights, max_bins, least_level))
            if progress is not None:
                progress(len(stored), len(used))
        return tuple(column for column, _ in stored), DiskCodes(tuple(codes for _, codes in stored), table.n_rows)

    def binned(place: tuple[int, Feature]) -> tuple[BinnedColumn, Array]:
        index, feature = place
        return bin_column(feature, index, table.arrays[index], weights, max_bins, least_level)

    found = run_threads(binned, used, n_threads if table.n_rows >= _WORTH_A_THREAD else 1)
    columns, codes = tuple(column for column, _ in found), tuple(codes for _, codes in found)
    if codes and all(each.dtype == np.uint8 for each in codes):  # kernels take columns that lie together
        return columns, MemoryCodes.of_matrix(np.stack(codes, axis=1))
    return columns, MemoryCodes(codes)


def bin_column(
    feature: Feature, index: int, array: Array, weights: Array, max_bins: int | None, least_level: int = 0
) -> tuple[BinnedColumn, Array]:
    """One encoded column [n], binned by the weights [n] of its values, and its codes [n].

    Levels of a category that weigh less than least_level are pooled.
    """
    held = HeldColumn(array.dtype, np.ascontiguousarray(array))  # a column of a matrix is gathered once, and not kept
    column, codes_of = _binned(feature, index, held, weights, max_bins, least_level)
    return column, codes_of(held.read())


def bin_stored_column(
    feature: Feature, index: int, column: StoredColumn, weights: Array, max_bins: int | None, least_level: int = 0
) -> tuple[BinnedColumn, StoredColumn]:
    """The same of a column on disk."""
    binned, codes_of = _binned(feature, index, column, weights, max_bins, least_level)
    codes = StoredColumn(column.store, np.dtype(code_type(binned.n_codes)))
    for part in column.parts():
        codes.add(codes_of(part))
    return binned, codes


def _binned(
    feature: Feature, index: int, column: HeldColumn | StoredColumn, weights: Array, max_bins: int | None, least: int
) -> tuple[BinnedColumn, Callable[[Array], Array]]:
    """The bins of a column, and what makes codes of its values."""
    if feature.kind == "categorical":
        totals = np.zeros(FIRST_LEVEL_CODE + len(feature.levels))
        for part, of_rows in _with_weights(column, weights):
            # bincount adds doubles; the total of all quantised weights is below 2^53, so that the sums are exact.
            totals += np.bincount(part, of_rows, len(totals))
        binned, lookup = _bin_levels(feature, index, totals, least)
        return binned, lookup.__getitem__
    if feature.kind == "boolean":
        return BinnedColumn(feature, index, 3), boolean_codes
    parts = [SortedPart.of(part, of_rows) for part, of_rows in _with_weights(column, weights)]
    low, high = bins_of_column(parts, column.dtype, max_bins)
    return numeric_column(feature, index, low, high), lambda part: assigned(part, high)


def boolean_codes(array: Array) -> Array:
    """The codes of truth values: 1 for false, 2 for true, 0 for missing."""
    return np.where(np.isnan(array), MISSING_CODE, 1 + (array > 0.5)).astype(np.uint8)


def numeric_column(feature: Feature, index: int, low: Array, high: Array) -> BinnedColumn:
    """A numeric column whose bins have these first and last values."""
    bottoms, tops = (np.concatenate([NO_BOUNDS, edge.astype(np.float64)]) for edge in (low, high))
    return BinnedColumn(feature, index, 1 + len(low), bottoms, tops)


def assigned(array: Array, high: Array) -> Array:
    """The code of each value: one more than the number of bins that end below it; 0 for missing."""
    codes = np.empty(len(array), dtype=code_type(1 + len(high)))
    for part in _parts(len(array)):
        codes[part] = np.where(np.isnan(array[part]), 0, np.searchsorted(high, array[part]) + 1)
    return codes


def code_type(n_codes: int) -> np.dtype[Any]:
    """The smallest type that holds the codes below n_codes."""
    return np.dtype(np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32)


def _bin_levels(feature: Feature, index: int, totals: Array, least_level: int) -> tuple[BinnedColumn, Array]:
    """A category by the weights of its encoded codes, and the bin of each of these codes."""
    n_levels = len(feature.levels)
    kept = np.ones(n_levels, dtype=bool) if feature.ordered else totals[FIRST_LEVEL_CODE:] >= least_level
    n_codes = FIRST_LEVEL_CODE + int(kept.sum())
    codes = np.full(FIRST_LEVEL_CODE + n_levels, UNSEEN_CODE, dtype=code_type(n_codes))
    codes[MISSING_CODE] = MISSING_CODE
    codes[FIRST_LEVEL_CODE:][kept] = np.arange(FIRST_LEVEL_CODE, n_codes)
    levels = tuple(level for level, stays in zip(feature.levels, kept.tolist(), strict=True) if stays)
    return BinnedColumn(feature, index, n_codes, levels=levels), codes


def _with_weights(column: HeldColumn | StoredColumn, weights: Array) -> Iterator[tuple[Array, Array]]:
    for start in range(0, max(1, column.rows), PART):
        yield column.read(start, start + PART), weights[start : start + PART]


def _parts(n: int) -> list[slice]:
    return [slice(start, min(start + _PART, n)) for start in range(0, n, _PART)]


# Rows in parts -----------------------------------------------------------------------------------------------------


Asked = tuple[Ranges | int | None, ...]
"""The question of a pass to each column: ranges of its numbers, how many codes it has, or None for no question."""


def answer(table: Table, weights: Ints, asked: Asked, kept: dict[int, SortedPart] | None = None) -> list[Any]:
    """Answer a question about each column from the rows of a part and their weights [n] above 0; `ask` adds answers up.

    kept: sorted columns, which save the next pass the sorting; they take as much as the numbers, and 8 bytes a weight.
    """
    found, kept = list[Any](), {} if kept is None else kept
    for j, question in enumerate(asked):
        if isinstance(question, int):
            found.append(np.bincount(table.arrays[j], weights, question).astype(np.int64))
        elif question is not None:
            part = kept.get(j) or SortedPart.of(table.arrays[j], weights)
            found.append(part.answer(question))
            kept |= {j: part}
    return found


def bin_parts(
    features: Sequence[Feature], ask: Callable[[Asked], Sequence[Any]], max_bins: int, least_level: int = 0
) -> tuple[BinnedColumn, ...]:
    """Bin a table whose rows lie in parts, as `bin_table` does; see `answer`.

    ask: the sum of the answers of all parts, column by column.
    """
    used = {j: feature for j, feature in enumerate(features) if feature.role == "use" and feature.kind != "text"}
    totals = {j: FIRST_LEVEL_CODE + len(f.levels) for j, f in used.items() if f.kind == "categorical"}
    columns = {j: BinnedColumn(feature, j, 3) for j, feature in used.items()}
    counts = dict[int, Ints]()

    def asking(ranges: Mapping[int, Ranges]) -> dict[int, Any]:
        questions: dict[int, Ranges | int] = {**({} if counts else totals), **ranges}
        answers = ask(tuple(questions.get(j) for j in range(len(features))))
        sums = dict(zip(sorted(questions), answers, strict=True))
        counts.update((j, sums[j]) for j in totals if j in sums)
        return sums

    dtypes = {j: encoded_dtype(feature) for j, feature in used.items() if feature.kind == "numeric"}
    for j, (low, high) in bins_of_parts(dtypes, asking, max_bins).items():
        columns[j] = numeric_column(used[j], j, low, high)
    for j in totals:
        columns[j] = _bin_levels(used[j], j, (counts or asking({}))[j], least_level)[0]
    return tuple(columns.values())
