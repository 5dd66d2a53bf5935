"""Columns as codes: capped quantiles, missing, distinct values, categories."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.learners.data.binning import assigned, bin_column, bin_table
from rulekit.schema import Feature
from rulekit.tables.table import Table


def bins_of(values: list[float], max_bins: int | None) -> tuple[list[int], list[tuple[float, float]]]:
    array = np.array(values, dtype=np.float32)
    column, codes = bin_column(Feature("x"), 0, array, np.ones(len(array), dtype=np.int64), max_bins)
    return codes.tolist(), list(zip(column.low[1:].tolist(), column.high[1:].tolist(), strict=True))


def test_every_distinct_value_is_a_bin_and_missing_is_zero() -> None:
    assert bins_of([3, 1, np.nan, 1, -np.inf, 7], None) == (
        [3, 2, 0, 2, 1, 4],
        [(-np.inf,) * 2, (1, 1), (3, 3), (7, 7)],
    )


def test_minus_zero_is_zero() -> None:
    assert bins_of([0.0, -0.0, 1.0], None)[0] == [1, 1, 2]


def test_bins_cover_ranges_of_values() -> None:
    codes, ranges = bins_of(list(range(100)), 4)
    assert ranges == [(0, 24), (25, 49), (50, 74), (75, 99)]
    assert np.bincount(codes).tolist() == [0, 25, 25, 25, 25]


def test_a_heavy_value_leaves_fine_cuts_to_the_others() -> None:
    """Plain quantiles would give nine tenths of the bins to the value 0."""
    codes, ranges = bins_of([0.0] * 9000 + list(range(1, 1001)), 10)
    assert len(ranges) == 10
    assert np.bincount(codes[9000:]).max() < 600


@pytest.mark.parametrize(("n", "dtype"), [(255, np.uint8), (256, np.uint16), (70_000, np.uint32)])
def test_codes_take_the_smallest_type(n: int, dtype: type) -> None:
    array = np.arange(n, dtype=np.float32)
    assert bin_column(Feature("x"), 0, array, np.ones(n, dtype=np.int64), None)[1].dtype == dtype


def test_all_missing_has_only_the_code_of_missing() -> None:
    codes, ranges = bins_of([np.nan] * 3, 255)
    assert codes == [0, 0, 0]
    assert ranges == []


def test_kinds_and_roles() -> None:
    features = (
        Feature("flag", "boolean"),
        Feature("colour", "categorical", ("red", "blue")),
        Feature("secret", role="forbidden"),
        Feature("seen", role="audit"),
    )
    arrays = (
        np.array([0, 1, np.nan], dtype=np.float32),
        np.array([0, 3, 2], dtype=np.int32),
        np.zeros(3, dtype=np.float32),
        np.zeros(3, dtype=np.float32),
    )
    (flag, colour), codes = bin_table(Table(features, arrays, 3), np.ones(3, dtype=np.int64), 255)
    assert codes[0].tolist() == [1, 2, 0]
    assert codes[1].tolist() == [0, 3, 2]
    assert (flag.ordered, colour.ordered) == (True, False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bins", [1, 2, 64, 300])
def test_each_value_gets_the_bin_that_ends_at_or_above_it(dtype: type, n_bins: int) -> None:
    rng = np.random.default_rng(n_bins)
    wide = np.concatenate([rng.normal(size=500), rng.normal(size=500) * 1e-40, np.exp(rng.normal(size=500) * 9)])
    ends = np.array([0.0, -np.inf, np.inf, np.finfo(dtype).tiny, -np.finfo(dtype).max])
    values = np.concatenate([wide, -wide, ends]).astype(dtype) + dtype(0)
    high = np.unique(rng.choice(values, n_bins))
    values = values[values <= high[-1]]
    values = np.concatenate([values, values * dtype(1 - 1e-6), [np.nan, -0.0]]).astype(dtype)
    high = np.where(high == 0, dtype(-0.0), high)
    assert np.array_equal(assigned(values, high), np.where(np.isnan(values), 0, np.searchsorted(high, values) + 1))


@pytest.mark.parametrize("distinct", [3, 70_000, 400_000, 10_000_000])
def test_distinct_values_and_their_bins_do_not_depend_on_the_parts(distinct: int) -> None:
    """Parts are shorter than a run of equal values here, and longer."""
    array = np.random.default_rng(3).integers(0, distinct, 700_000).astype(np.float32)
    weights = np.broadcast_to(np.ones(1, dtype=np.int64), array.shape)
    expected = np.unique(array)
    assert bin_column(Feature("x"), 0, array, weights, None)[0].low[1:].tolist() == expected.tolist()
    column, codes = bin_column(Feature("x"), 0, array, weights, 255)
    assert column.n_codes == 1 + min(distinct, 255)
    assert (np.diff(np.searchsorted(expected, column.low[1:])) > 0).all()
    assert np.array_equal(codes, np.searchsorted(column.high[1:], array) + 1)
