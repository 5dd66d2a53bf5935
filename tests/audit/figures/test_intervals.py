"""Intervals of rates, differences and ratios: as scipy has them, and as often right as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rulekit.audit.figures.rates import difference_bounds, effective_rows, exact_bounds, ratio_bounds

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
    assert np.isnan(difference_bounds(0.5, 10, np.nan, 0)).all()
    assert np.isnan(ratio_bounds(0.5, 10, np.nan, 0)).all()


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


@pytest.mark.parametrize("against", ["difference", "ratio"])
def test_so_it_is_of_differences_and_ratios(against: str) -> None:
    rng = np.random.default_rng(17)
    bounds = difference_bounds if against == "difference" else ratio_bounds
    for n, m in ((10, 10), (10, 200), (30, 30), (30, 2000), (100, 500), (2000, 2000)):
        for p in (*RATES, 0.9):
            for q in RATES:
                drawn = rng.binomial(n, p, TRIALS), rng.binomial(m, q, TRIALS)
                (seen, other), times = np.unique(drawn, axis=1, return_counts=True)
                low, high = bounds(seen / n, n, other / m, m)
                truth = p - q if against == "difference" else p / q
                right = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
                assert times[right].sum() >= HELD * TRIALS, (n, m, p, q)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_what_is_seen_lies_inside(n: int, m: int, data: st.DataObject) -> None:
    share, other = data.draw(st.integers(0, n)) / n, data.draw(st.integers(0, m)) / m
    low, high = difference_bounds(share, n, other, m)
    assert -1 <= low <= share - other <= high <= 1
    low, high = ratio_bounds(share, n, other, m)
    if other > 0:
        assert 0 <= low <= share / other * (1 + 1e-12)
        assert share / other <= high * (1 + 1e-12)
