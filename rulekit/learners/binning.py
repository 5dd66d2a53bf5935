"""Binning: the columns of a table as small integer codes, 0 for missing.

A numeric column gets one code per distinct value, or at most `max_bins` by capped quantiles: a value's weight is capped
at the mean weight of a bin, repeatedly, before the weights are cut at equal steps, so that a column heavy at one value
keeps fine cuts elsewhere (findings/small_models.md, section 1). A category keeps the codes of its table (1 is unseen);
a Boolean column has 1 for false and 2 for true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting import Floats
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.table import Table

_CAPPINGS = 8


@dataclass(frozen=True, slots=True, eq=False)
class BinnedColumn:
    """codes [n] of one feature below n_codes; `low`, `high` [n_codes]: the training values a numeric bin spans.

    `index` is the position of the feature in the table; `whole`: all training values are whole numbers.
    """

    feature: Feature
    index: int
    codes: npt.NDArray[Any]
    n_codes: int
    low: Floats
    high: Floats
    whole: bool = False

    @property
    def ordered(self) -> bool:
        """Whether neighbouring codes are neighbouring values."""
        return self.feature.kind != "categorical" or self.feature.ordered


def bin_table(table: Table, weights: npt.NDArray[Any], max_bins: int | None) -> tuple[BinnedColumn, ...]:
    """The usable columns of a table, binned; columns whose role is not "use" are left out."""
    return tuple(
        bin_column(feature, index, array, weights, max_bins)
        for index, (feature, array) in enumerate(zip(table.features, table.arrays, strict=True))
        if feature.role == "use"
    )


def bin_column(
    feature: Feature, index: int, array: npt.NDArray[Any], weights: npt.NDArray[Any], max_bins: int | None
) -> BinnedColumn:
    """One encoded column [n], binned by the weights [n] of its values."""
    none = np.full(1, np.nan)
    if feature.kind == "categorical":
        n_codes = FIRST_LEVEL_CODE + len(feature.levels)
        return BinnedColumn(feature, index, array.astype(_code_type(n_codes)), n_codes, none, none)
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
