"""Columns as codes: capped quantiles, missing, distinct values, categories."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.learners.data.binning import bin_column, bin_table
from rulekit.schema import Feature
from rulekit.tables.table import Table


def bins_of(values: list[float], max_bins: int | None) -> tuple[list[int], list[tuple[float, float]]]:
    array = np.array(values, dtype=np.float32)
    column, codes = bin_column(Feature("x"), 0, array, np.ones(len(array), dtype=np.int64), max_bins)
    return codes.tolist(), list(zip(column.low[1:].tolist(), column.high[1:].tolist(), strict=True))


@pytest.mark.parametrize(
    ("values", "max_bins", "codes", "ranges"),
    [
        ([3, 1, np.nan, 1, -np.inf, 7], None, [3, 2, 0, 2, 1, 4], [(-np.inf,) * 2, (1, 1), (3, 3), (7, 7)]),
        ([0.0, -0.0, 1.0], None, [1, 1, 2], [(0, 0), (1, 1)]),
        ([np.nan] * 3, 255, [0, 0, 0], []),
        (list(range(100)), 4, [k // 25 + 1 for k in range(100)], [(0, 24), (25, 49), (50, 74), (75, 99)]),
    ],
)
def test_values_are_bins_or_ranges_of_them_and_missing_is_0(
    values: list[float], max_bins: int | None, codes: list[int], ranges: list[tuple[float, float]]
) -> None:
    assert bins_of(values, max_bins) == (codes, ranges)


def test_a_heavy_value_leaves_fine_cuts_to_the_others() -> None:
    """Plain quantiles would give nine tenths of the bins to the value 0."""
    codes, ranges = bins_of([0.0] * 9000 + list(range(1, 1001)), 10)
    assert len(ranges) == 10
    assert np.bincount(codes[9000:]).max() < 600


@pytest.mark.parametrize(("n", "dtype"), [(255, np.uint8), (256, np.uint16), (70_000, np.uint32)])
def test_codes_take_the_smallest_type(n: int, dtype: type) -> None:
    array = np.arange(n, dtype=np.float32)
    assert bin_column(Feature("x"), 0, array, np.ones(n, dtype=np.int64), None)[1].dtype == dtype


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
