"""Probabilities of differences, against the distributions of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rulekit.audit.drift.significance import (
    all_in_one,
    at_least,
    chi_square_tail,
    homogeneity,
    rejected,
    share_test,
    stability_index,
)


@settings(max_examples=80, deadline=None)
@given(statistic=st.floats(0.001, 3000), degrees=st.integers(1, 300))
def test_the_tail_of_chi_square(statistic: float, degrees: int) -> None:
    assert chi_square_tail(statistic, degrees) == pytest.approx(stats.chi2.sf(statistic, degrees), rel=1e-8, abs=1e-14)


@settings(max_examples=80, deadline=None)
@given(data=st.data(), n=st.integers(1, 400), known=st.integers(1, 400))
def test_a_share_is_tested_by_the_hypergeometric_distribution(data: st.DataObject, n: int, known: int) -> None:
    marked, before = data.draw(st.integers(0, n)), data.draw(st.integers(0, known))
    law = stats.hypergeom(n + known, marked + before, n)
    expected = min(1.0, 2.0 * min(law.cdf(marked), law.sf(marked - 1)))
    assert share_test(marked, n, before, known) == pytest.approx(expected, rel=1e-6, abs=1e-14)


def test_far_shares_of_many_rows_have_no_chance() -> None:
    assert share_test(900_000, 1_000_000, 100_000, 1_000_000) == 0.0
    assert share_test(500_100, 1_000_000, 500_000, 1_000_000) > 0.5


def test_rows_that_are_all_in_one_part() -> None:
    assert all_in_one(1, 1, 1501) == pytest.approx(1 / 1501)
    assert all_in_one(3, 10, 20) == pytest.approx(10 * 9 * 8 / (20 * 19 * 18))
    assert all_in_one(11, 10, 20) == 0.0
    assert all_in_one(0, 10, 20) == 1.0


@pytest.mark.parametrize(("count", "mean"), [(0, 0.5), (1, 0.0), (1, 0.001), (3, 2.5), (40, 4.0)])
def test_the_tail_of_poisson(count: int, mean: float) -> None:
    assert at_least(count, mean) == pytest.approx(stats.poisson.sf(count - 1, mean), rel=1e-9, abs=1e-300)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), size=st.integers(1, 12), in_order=st.booleans())
def test_any_counts_are_tested_as_their_merged_cells(data: st.DataObject, size: int, in_order: bool) -> None:
    """The last cells, too rare to stand alone, once ended in an IndexError, or replaced the first cells."""
    cells = st.lists(st.integers(0, 60), min_size=size, max_size=size)
    counts, known = (np.array(data.draw(cells), dtype=float) for _ in range(2))
    both, n, total = counts + known, counts.sum(), counts.sum() + known.sum()
    expected = 1.0
    if 0 < n < total:
        order = range(size) if in_order else np.argsort(both, kind="stable")
        merged = [np.zeros(2)]
        for cell in order:  # from the first cell on; what is left at the end belongs to the last whole cell
            merged[-1] += counts[cell], known[cell]
            if merged[-1].sum() * min(n, total - n) / total >= 5.0 - 1e-9:
                merged.append(np.zeros(2))
        rest = merged.pop()
        if merged:
            merged[-1] += rest
        if len(merged) > 1:
            expected = stats.chi2_contingency(np.array(merged).T, correction=False).pvalue
    assert homogeneity(counts, known, in_order=in_order) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_holms_procedure() -> None:
    assert rejected([0.001, 0.04, 0.02, 0.5], 0.05) == [True, False, False, False]
    assert rejected([0.001, 0.04, 0.015, 0.01], 0.05) == [True, True, True, True]
    assert rejected([], 0.05) == []


def test_the_stability_index() -> None:
    assert stability_index(np.array([50.0, 50.0]), np.array([500.0, 500.0])) == 0.0
    expected = 0.2 * np.log(0.7 / 0.5) - 0.2 * np.log(0.3 / 0.5)
    assert stability_index(np.array([7e6, 3e6]), np.array([5e6, 5e6])) == pytest.approx(expected, rel=1e-5)
