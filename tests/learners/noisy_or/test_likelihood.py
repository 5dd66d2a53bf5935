"""Rows of cells: their sums are those of a dense matrix, and nothing depends on their order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import cells_of, drawn, general

from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, log_positive, merged
from rulekit.learners.papers.noisy_or.em import start_of


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 9))
def test_equal_rows_are_one_row_of_their_weight(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    held, weights = rng.random((n, k)) < 0.4, rng.integers(1, 4, n).astype(float)
    rows, own = merged(cells_of(held), weights)
    found = {tuple(row): weight for row, weight in zip(rows.toarray() > 0, own.tolist(), strict=True)}
    assert len(found) == len(own)
    assert all(found[row] == weights[(held == row).all(axis=1)].sum() for row in map(tuple, held))
    order = rng.permutation(n)
    again, of_again = merged(cells_of(held[order]), weights[order])
    assert np.array_equal(again.toarray(), rows.toarray())
    assert np.array_equal(of_again, own)


def test_sums_of_the_positive_rows_are_the_likelihood_of_all() -> None:
    words, labels = drawn(3)
    rows = general(words)
    incidence = Incidence.of(rows, labels)
    at = start_of(incidence, seed=2)
    s = at.activations(rows)
    np.testing.assert_allclose(s, at.leak + words @ at.cells[:8] + ~words @ at.cells[8:], rtol=1e-13)
    every = np.where(labels == 1, np.log(-np.expm1(-s)), -s).sum()
    assert incidence.likelihood(at) == pytest.approx(every, rel=1e-13)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_the_log_likelihood_is_concave(seed: int, share: float) -> None:
    words, labels = drawn(seed)
    incidence = Incidence.of(general(words), labels)
    one, other = start_of(incidence, seed=seed), start_of(incidence, probability=0.5, seed=seed + 1)
    between = Strengths(share * one.cells + (1 - share) * other.cells, share * one.leak + (1 - share) * other.leak)
    chord = share * incidence.likelihood(one) + (1 - share) * incidence.likelihood(other)
    assert incidence.likelihood(between) >= chord - 1e-9 * abs(chord)


def test_log_positive_keeps_its_digits() -> None:
    s = np.array([1e-300, 1e-12, 0.5, 0.7, 40.0, 800.0])
    np.testing.assert_allclose(log_positive(s)[:2], np.log(s[:2]), rtol=1e-12)
    np.testing.assert_allclose(log_positive(s)[2:5], np.log1p(-np.exp(-s[2:5])), rtol=1e-12)
    assert log_positive(s)[-1] == 0.0
    assert log_positive(np.zeros(1))[0] == -np.inf
