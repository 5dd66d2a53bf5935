"""Columns as codes: capped quantiles, missing, distinct values, categories."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.arrays import Array, Ints
from rulekit.learners.data import binning, quantiles
from rulekit.learners.data.binning import Asked, answer, bin_column, bin_parts, bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.data.quantiles import SortedPart
from rulekit.learners.data.recoding import recoded
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


# Rows in parts -----------------------------------------------------------------------------------------------------


def quantiles_at_once(array: Array, weights: Ints, most: int) -> tuple[list[float], list[float]]:
    """The first and last values of the bins, of all values in memory: the definition."""
    values, place = np.unique(array[~np.isnan(array)] + array.dtype.type(0), return_inverse=True)
    counts = np.bincount(place, weights[~np.isnan(array)], len(values)).astype(np.float64)
    if len(values) <= most:
        return values.tolist(), values.tolist()
    total = counts.sum()
    for _ in range(8):
        cap = total / most
        if not (counts > cap).any():
            break
        total = counts[counts <= cap].sum() + int((counts > cap).sum()) * cap
    capped = np.minimum(counts, cap)
    reached = np.cumsum(capped)
    own = np.minimum((reached - capped / 2) / total * most, most - 1).astype(np.int64)
    begins = np.flatnonzero(np.diff(own, prepend=-1))
    return values[begins].tolist(), values[np.append(begins[1:], len(values)) - 1].tolist()


def made_column(kind: str, n: int, dtype: type, rng: np.random.Generator) -> Array:
    word = np.uint32 if dtype is np.float32 else np.uint64
    made: dict[str, Any] = {
        "plain": lambda: rng.normal(size=n),
        "heavy": lambda: np.where(rng.random(n) < 0.7, rng.integers(0, 3, n), rng.normal(size=n)),
        "years": lambda: rng.integers(1900, 2021, n),
        "tenths": lambda: np.round(rng.pareto(0.5, n), 1),
        "one": lambda: np.full(n, -3.7),
        "missing": lambda: np.full(n, np.nan),
        "ends": lambda: rng.choice(
            [0.0, -0.0, np.inf, -np.inf, 1.0, np.nan, *np.finfo(dtype).max * np.array([1, -1])], n
        ),
        "denormal": lambda: rng.integers(0, 2000, n).astype(word).view(dtype) * rng.choice([-1, 1], n).astype(dtype),
        "bits": lambda: (np.full(n, 1.5, dtype).view(word) + rng.integers(0, 300, n).astype(word)).view(dtype),
        "all": lambda: rng.integers(0, np.iinfo(word).max, n, dtype=word).view(dtype),
    }
    with np.errstate(all="ignore"):
        return made[kind]().astype(dtype)


KINDS = ["plain", "heavy", "years", "tenths", "one", "missing", "ends", "denormal", "bits", "all"]


def made_weights(kind: int, n: int, rng: np.random.Generator) -> Ints:
    if kind < 2:
        return np.broadcast_to(np.array([1 << (20 * kind)]), n)
    light = rng.integers(1, 6, n)
    return light if kind == 2 else np.where(rng.random(n) < 0.02, (1 << 38) // n, light)


def cut_up(n: int, parts: int, rng: np.random.Generator) -> list[Ints]:
    """Shuffled rows in parts; of three or more, the first is empty and the second has a single row."""
    ends = {1: [], 2: [n // 2], 3: [0, 1], 7: [0, 1, *np.sort(rng.integers(1, n + 1, 4))]}
    return np.split(rng.permutation(n), ends[parts])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1, 2, 3, 7]),
    st.integers(0, 3),
    st.sampled_from([2, 3, 10, 64, 255]),
    st.sampled_from([1, 40, 700, 5000]),
    st.integers(0, 10**6),
)
def test_parts_answer_all_that_decides_the_bins(
    kind: str, dtype: type, parts: int, weighted: int, most: int, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    array, weights = made_column(kind, n, dtype, rng), made_weights(weighted, n, rng)
    array[rng.random(n) < rng.choice([0.0, 0.2])] = np.nan
    feature = Feature("x", precision=np.dtype(dtype).name)  # type: ignore[arg-type]
    tables, passes = list[tuple[Table, Ints]](), 0
    for rows in cut_up(n, parts, rng):
        same = np.broadcast_to(weights[:1], rows.shape) if weighted < 2 else weights[rows]
        tables.append((Table((feature,), (array[rows],), len(rows)), same))

    def ask(asked: Asked) -> list[Any]:
        nonlocal passes
        passes += 1
        answers = [answer(table, own, asked) for table, own in tables]
        assert max(getattr(each[0], "nbytes", 0) for each in answers) <= 240 << 10
        return [reduce(add, of_column) for of_column in zip(*answers, strict=True)]

    (column,) = bin_parts((feature,), ask, most)
    low, high = quantiles_at_once(array, weights, most)
    assert (column.low[1:].tobytes(), column.high[1:].tobytes()) == (np.array(low).tobytes(), np.array(high).tobytes())
    assert passes <= 9
    in_memory = bin_column(feature, 0, array, weights, most)[0]
    np.testing.assert_array_equal(in_memory.low, column.low)
    np.testing.assert_array_equal(in_memory.high, column.high)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_in_several_parts_of_memory_has_the_bins_of_one(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    array, weights = made_column(kind, 3000, np.float64, rng), made_weights(3, 3000, rng)
    for together in (1 << 18, 10):
        monkeypatch.setattr(binning, "PART", 700)
        monkeypatch.setattr(quantiles, "_TOGETHER", together)
        column, _ = bin_column(Feature("x", precision="float64"), 0, array, weights, 64)
        assert (column.low[1:].tolist(), column.high[1:].tolist()) == quantiles_at_once(array, weights, 64)


def test_columns_of_all_kinds_in_parts_have_the_bins_and_codes_of_one_table() -> None:
    rng = np.random.default_rng(4)
    features = (
        Feature("a"),
        Feature("b", "categorical", ("x", "y", "z")),
        Feature("c", role="audit"),
        Feature("d", "boolean"),
        Feature("e", precision="float64"),
    )
    n = 4000
    weights = rng.integers(1, 9, n)
    arrays = (
        rng.normal(size=n).astype(np.float32),
        rng.choice(np.array([0, 2, 3, 4], dtype=np.int32), n, p=[0.1, 0.499, 0.4, 0.001]),
        np.zeros(n, dtype=np.float32),
        rng.choice(np.array([0, 1, np.nan], dtype=np.float32), n),
        np.round(rng.normal(size=n), 2),
    )
    table = Table(features, arrays, n)
    rows = cut_up(n, 7, rng)
    kept: list[dict[int, SortedPart]] = [{} for _ in rows]

    def ask(asked: Asked) -> list[Ints]:
        answers = [answer(table.take(own), weights[own], asked, k) for own, k in zip(rows, kept, strict=True)]
        return [reduce(np.add, of_column) for of_column in zip(*answers, strict=True)]

    columns, codes = bin_table(table, weights, 100, 40)
    found = bin_parts(features, ask, 100, 40)
    for own, column in zip(found, columns, strict=True):
        assert (own.feature, own.index, own.n_codes, own.levels) == (
            column.feature,
            column.index,
            column.n_codes,
            column.levels,
        )
        np.testing.assert_array_equal(own.low, column.low)
        np.testing.assert_array_equal(own.high, column.high)
    for own in rows:
        part = Problem((), binning.MemoryCodes(()), np.zeros(len(own), np.int64), weights[own], 1.0)
        of_part = recoded(part, found, table.take(own)).codes
        for j in range(len(columns)):
            np.testing.assert_array_equal(of_part[j], codes[j][own])
    only = bin_parts(features[1:2], lambda asked: answer(table.select(("b",)), weights, asked), 100, 40)
    assert only[0].levels == columns[1].levels == ("x", "y")
