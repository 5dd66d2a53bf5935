"""Intervals of rates as scipy has them, and as often right as they say; figures by group, counted again by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rulekit.audit.figures.rates import (
    MEASURES,
    Grouping,
    compared_bounds,
    effective_rows,
    exact_bounds,
    grouping_of,
    parity,
)
from rulekit.errors import InputError
from rulekit.schema import Feature

TRIALS = 10_000
RATES, SIZES = (0.02, 0.1, 0.5), (10, 30, 100, 500, 2000)
HELD = 0.95 - 3 * math.sqrt(0.95 * 0.05 / TRIALS)  # three standard errors of 10,000 trials below what is stated


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_rate_has_the_interval_of_clopper_and_pearson(pair: tuple[int, int]) -> None:
    right, n = pair
    found = exact_bounds(right / n, n)
    expected = binomtest(right, n).proportion_ci(0.95, "exact")
    assert (float(found.low), float(found.high)) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_nothing_is_said_of_no_rows() -> None:
    assert np.isnan(exact_bounds([0.0, np.nan], [0, 0])).all()
    assert np.isnan(compared_bounds(0.5, 10, np.nan, 0)).all()


def test_equal_weights_count_as_their_rows() -> None:
    assert effective_rows(None, 7) == 7
    assert effective_rows(np.full(7, 1e-300), 7) == pytest.approx(7)
    assert effective_rows(np.array([1.0, 0.0, 0.0]), 3) == 1
    assert effective_rows(np.zeros(3), 3) == 0


def test_the_stated_share_of_10_000_samples_is_inside() -> None:
    """Rates .02, .1 and .5 on 10 to 2,000 rows."""
    rng = np.random.default_rng(16)
    for n in SIZES:
        for p in RATES:
            seen, times = np.unique(rng.binomial(n, p, TRIALS), return_counts=True)
            low, high = exact_bounds(seen / n, n)
            assert times[(low <= p) & (p <= high)].sum() >= HELD * TRIALS, (n, p)


def test_so_it_is_of_differences_and_ratios() -> None:
    rng = np.random.default_rng(17)
    for n, m in ((10, 10), (10, 200), (30, 2000), (100, 500)):
        for p in (*RATES, 0.9):
            for q in RATES:
                drawn = rng.binomial(n, p, TRIALS), rng.binomial(m, q, TRIALS)
                (seen, other), times = np.unique(drawn, axis=1, return_counts=True)
                both = compared_bounds(seen / n, n, other / m, m)
                for truth, (low, high) in zip((p - q, p / q), both, strict=True):
                    right = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
                    assert times[right].sum() >= HELD * TRIALS, (n, m, p, q)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_what_is_seen_lies_inside(n: int, m: int, data: st.DataObject) -> None:
    share, other = data.draw(st.integers(0, n)) / n, data.draw(st.integers(0, m)) / m
    (low, high), ratio = compared_bounds(share, n, other, m)
    assert -1 <= low <= share - other <= high <= 1
    if other > 0:
        assert 0 <= ratio.low <= share / other * (1 + 1e-12)
        assert share / other <= ratio.high * (1 + 1e-12)


# Groups --------------------------------------------------------------------------------------------------------------


def _by_hand(is_label: list[bool], decided: list[bool], weight: list[float]) -> dict[str, float]:
    rows = list(zip(is_label, decided, weight, strict=True))

    def share(part: list[float], whole: list[float]) -> float:
        return sum(part) / sum(whole) if sum(whole) else float("nan")

    every = [w for _, _, w in rows]
    return {
        "selection rate": share([w for _, d, w in rows if d], every),
        "true positive rate": share([w for y, d, w in rows if y and d], [w for y, _, w in rows if y]),
        "false positive rate": share([w for y, d, w in rows if d and not y], [w for y, _, w in rows if not y]),
        "accuracy": share([w for y, d, w in rows if y == d], every),
        "precision": share([w for y, d, w in rows if y and d], [w for _, d, w in rows if d]),
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans(), st.sampled_from([0.5, 1.0, 3.0]))))
def test_rates_are_those_of_the_rows_of_each_group(rows: list[tuple[int, bool, bool, float]]) -> None:
    rows = [*rows, (0, True, True, 1.0)]
    codes, y, decided, weight = (np.array(part) for part in zip(*rows, strict=True))
    found = parity(Grouping("g", ("a", "b", "c"), codes.astype(np.int64)), "yes", y, decided, weight.astype(float))
    for k, group in enumerate(found.groups):
        own = [row for row in rows if row[0] == k]
        expected = _by_hand([r[1] for r in own], [r[2] for r in own], [r[3] for r in own])
        assert group.rows == len(own)
        for measure in MEASURES:
            share = group.rate(measure).share
            assert (np.nan if share is None else share) == pytest.approx(expected[measure], nan_ok=True)
            compared = group.rate(measure).difference
            other = next(g for g in found.groups if g.name == found.reference).rate(measure)
            if compared is not None and share is not None and other.share is not None:
                assert compared.value == pytest.approx(share - other.share)
                ends, _ = compared_bounds(share, group.rate(measure).effective_n, other.share, other.effective_n)
                assert (compared.low, compared.high) == pytest.approx(tuple(map(float, ends)))
        assert (group.rates[0].difference is None) == (group.name == found.reference)
    heaviest = np.bincount(codes, weight, 3).argmax()
    assert found.reference == found.groups[heaviest].name


def test_a_category_has_its_levels_the_most_frequent_first_and_missing_last() -> None:
    found = grouping_of(Feature("c", "categorical", ("x", "y", "z")), np.array([0, 1, 3, 3, 2, 0], dtype=np.int32))
    assert found.names == ("y", "x", "(missing)", "(new level)")
    assert found.codes.tolist() == [2, 3, 0, 0, 1, 2]
    many = Feature("c", "categorical", tuple(f"level {k}" for k in range(40)))
    found = grouping_of(many, np.repeat(np.arange(40) + 2, 2).astype(np.int32))
    assert (len(found.names), found.names[-1], np.bincount(found.codes)[-1]) == (12, "(the other 29)", 58)


def test_numbers_are_parted_at_values_of_their_own_and_a_text_has_no_groups() -> None:
    ages = np.array([20, 30, 40, 50, 60, 70, 80, np.nan], dtype=np.float32)
    found = grouping_of(Feature("age", unit="years"), ages)
    parted = ("up to 30 years", "above 30 years up to 50 years", "above 50 years up to 70 years", "above 70 years")
    assert found.names == (*parted, "(missing)")
    assert found.codes.tolist() == [0, 0, 1, 1, 2, 2, 3, 4]
    assert grouping_of(Feature("n"), np.array([1, 2, 2], dtype=np.float32)).names == ("1", "2")
    flags = np.array([1, 0, np.nan], dtype=np.float32)
    assert grouping_of(Feature("b", "boolean"), flags).names == ("false", "true", "(missing)")
    with pytest.raises(InputError, match="a text has no groups"):
        grouping_of(Feature("t", "text"), None)
