"""Binning: the columns of a table as small integer codes, 0 for missing.

A numeric column gets one code per distinct value, or at most `max_bins` by capped quantiles: a value's weight is capped
at the mean weight of a bin, repeatedly, before the weights are cut at equal steps, so that a column heavy at one value
keeps fine cuts elsewhere (findings/small_models.md, section 1). A Boolean column has 1 for false and 2 for true.

A category has 2.. for the levels that stand for themselves. The levels of an unordered one with few rows share code 1
with a level never seen (section 2 of the same): a condition that names a level of one row has learned that row by
heart, and a category with a level for each row would fit everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting import Floats
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import Table

_CAPPINGS = 8


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """codes [n] of one feature below n_codes; `low`, `high` [n_codes]: the training values a numeric bin spans.

    `index` is the position of the feature in the table; `whole`: all training values are whole numbers.
    levels: what the codes 2.. of a category stand for; the feature's other levels have code 1, like unseen ones.
    """

    feature: Feature
    index: int
    codes: npt.NDArray[Any]
    n_codes: int
    low: Floats
    high: Floats
    whole: bool = False
    levels: tuple[str, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether neighbouring codes are neighbouring values."""
        return self.feature.kind != "categorical" or self.feature.ordered


def min_level_rows(rows: float) -> float:
    """The default least weight of a level: 10 rows, or a hundredth of them where that is less, but 2 at least."""
    return max(2.0, min(10.0, rows / 100.0))


def bin_table(
    table: Table, weights: npt.NDArray[Any], max_bins: int | None, least_level: int = 0
) -> tuple[BinnedColumn, ...]:
    """The usable columns of a table, binned; columns whose role is not "use" are left out."""
    return tuple(
        bin_column(feature, index, array, weights, max_bins, least_level)
        for index, (feature, array) in enumerate(zip(table.features, table.arrays, strict=True))
        if feature.role == "use"
    )


def bin_column(
    feature: Feature,
    index: int,
    array: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    max_bins: int | None,
    least_level: int = 0,
) -> BinnedColumn:
    """One encoded column [n], binned by the weights [n] of its values; levels below least_level are pooled."""
    none = np.full(1, np.nan)
    if feature.kind == "categorical":
        return _bin_levels(feature, index, array, weights, least_level)
    if feature.kind == "boolean":
        codes = np.where(np.isnan(array), 0, 1 + (array > 0.5)).astype(np.uint8)
        return BinnedColumn(feature, index, codes, 3, none, none)
    known = ~np.isnan(array)
    values, where = np.unique(array[known], return_inverse=True)
    bins = capped_quantiles(np.bincount(where, weights[known], len(values)), max_bins)
    n_codes = 1 + (int(bins[-1]) + 1 if len(bins) else 0)
    codes = np.zeros(len(array), dtype=_code_type(n_codes))
    codes[known] = (bins[where] + 1).astype(codes.dtype) if len(bins) else 0
    first = np.searchsorted(bins, np.arange(n_codes - 1))
    last = np.searchsorted(bins, np.arange(n_codes - 1), side="right") - 1
    doubles = values.astype(np.float64)
    finite = doubles[np.isfinite(doubles)]
    whole = bool(np.all(finite == np.rint(finite)))
    low, high = np.concatenate([none, doubles[first]]), np.concatenate([none, doubles[last]])
    return BinnedColumn(feature, index, codes, n_codes, low, high, whole)


def _bin_levels(
    feature: Feature, index: int, array: npt.NDArray[Any], weights: npt.NDArray[Any], least_level: int
) -> BinnedColumn:
    n_levels = len(feature.levels)
    # bincount adds doubles; the total of all quantised weights is below 2^53, so that the sums are exact.
    level_weights = np.bincount(array, weights, FIRST_LEVEL_CODE + n_levels)[FIRST_LEVEL_CODE:]
    kept = np.ones(n_levels, dtype=bool) if feature.ordered else level_weights >= least_level
    n_codes = FIRST_LEVEL_CODE + int(kept.sum())
    codes = np.full(FIRST_LEVEL_CODE + n_levels, UNSEEN_CODE, dtype=_code_type(n_codes))
    codes[MISSING_CODE] = MISSING_CODE
    codes[FIRST_LEVEL_CODE:][kept] = np.arange(FIRST_LEVEL_CODE, n_codes)
    levels = tuple(level for level, stays in zip(feature.levels, kept.tolist(), strict=True) if stays)
    none = np.full(1, np.nan)
    return BinnedColumn(feature, index, codes[array], n_codes, none, none, levels=levels)


def capped_quantiles(counts: npt.NDArray[Any], max_bins: int | None) -> npt.NDArray[np.int64]:
    """The bin [m], counted from 0 without gaps, of each of m distinct values in ascending order."""
    m = len(counts)
    if max_bins is None or m <= max_bins:
        return np.arange(m, dtype=np.int64)
    capped = counts.astype(np.float64)
    for _ in range(_CAPPINGS):
        # Capping lowers the total and so the cap; a heavy value ends up with a single bin.
        capped = np.minimum(counts, capped.sum() / max_bins)
    middle = np.cumsum(capped) - capped / 2
    raw = np.minimum((middle / capped.sum() * max_bins).astype(np.int64), max_bins - 1)
    return np.unique(raw, return_inverse=True)[1].astype(np.int64)


def _code_type(n_codes: int) -> np.dtype[Any]:
    return np.dtype(np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32)
