"""The likelihood of rows of cells, and its maximum, which coordinate descent reaches with a certificate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import cells_of, drawn, general
from scipy.sparse import csr_array

from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, coordinate_descent, log_positive, merged
from rulekit.learners.papers.noisy_or.em import expectation_maximisation, start_of


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


def test_rows_that_share_a_hash_stay_apart() -> None:
    """Two rows of four cells that were searched for: anyone can, for a table of many cells."""
    cells = [134, 2779, 7718, 7850, 4167, 5372, 9069, 10316]
    rows, own = merged(csr_array((np.ones(8), cells, [0, 4, 8]), shape=(2, 12000)), np.ones(2))
    assert rows.shape == (2, 12000)
    assert own.tolist() == [1.0, 1.0]


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


# Coordinate descent ---------------------------------------------------------------------------------------------------


def slopes(incidence: Incidence, at: Strengths, prior: float) -> np.ndarray:
    """The derivatives of the objective by each strength, and by the leak."""
    each = incidence.weights / np.expm1(at.activations(incidence.rows))
    return np.append(incidence.rows.T @ each - incidence.of_negative - prior, each.sum() - incidence.negative)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 2.0, 10.0]), st.sampled_from([0.05, 0.4, 0.9]))
def test_the_certificate_holds_and_em_is_never_above(seed: int, prior: float, share: float) -> None:
    words, labels = drawn(seed, share=share)
    incidence = Incidence.of(cells_of(words), labels)
    found = coordinate_descent(incidence, prior=prior, tolerance=1e-9, sweeps=20_000)
    assert found.violation <= 1e-9 * incidence.positive
    slope, strengths = slopes(incidence, found.strengths, prior), np.append(found.strengths.cells, found.strengths.leak)
    assert np.abs(slope[(strengths > 1e-9) & (strengths < 27.0)]).max(initial=0.0) < 1e-6
    assert slope[strengths <= 1e-9].max(initial=0.0) < 1e-6
    em = expectation_maximisation(incidence, prior=prior, iterations=300)
    assert objective(incidence, found.strengths, prior) >= em.objectives[-1] - 1e-5


def objective(incidence: Incidence, strengths: Strengths, prior: float) -> float:
    return incidence.likelihood(strengths) - prior * float(strengths.cells.sum())


def test_slopes_are_those_of_finite_differences() -> None:
    words, labels = drawn(5)
    incidence, at, step = Incidence.of(cells_of(words), labels), Strengths(np.linspace(0.1, 0.8, 8), 0.2), 1e-6
    for j, slope in enumerate(slopes(incidence, at, 0.0)[:-1]):
        move = np.where(np.arange(8) == j, step, 0.0)
        rise = incidence.likelihood(Strengths(at.cells + move, 0.2)) - incidence.likelihood(
            Strengths(at.cells - move, 0.2)
        )
        assert slope == pytest.approx(rise / (2 * step), abs=1e-4)


def test_it_is_the_limit_of_em() -> None:
    words, labels = drawn(11, n=500)
    incidence = Incidence.of(cells_of(words), labels)
    found = coordinate_descent(incidence, prior=1.0, tolerance=1e-10)
    em = expectation_maximisation(incidence, prior=1.0, iterations=4000)
    assert objective(incidence, found.strengths, 1.0) == pytest.approx(em.objectives[-1], abs=1e-5)
    np.testing.assert_allclose(found.strengths.cells, em.strengths.cells, atol=1e-3)


def test_a_large_prior_leaves_exact_zeros() -> None:
    words, labels = drawn(12)
    incidence = Incidence.of(cells_of(words), labels)
    assert coordinate_descent(incidence, prior=1000.0).strengths.cells.tolist() == [0.0] * 8
    some = coordinate_descent(incidence, prior=5.0).strengths.cells
    assert 0 < np.count_nonzero(some) < 8


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 2.0]))
def test_the_start_does_not_matter(seed: int, prior: float) -> None:
    words, labels = drawn(seed)
    incidence = Incidence.of(cells_of(words), labels)
    rng = np.random.default_rng(seed)
    start = Strengths(rng.exponential(3.0, 8) * (rng.random(8) < 0.5), float(rng.exponential()))
    found = (coordinate_descent(incidence, begin, prior=prior, tolerance=1e-9) for begin in (None, start))
    one, other = (objective(incidence, each.strengths, prior) for each in found)
    assert other == pytest.approx(one, abs=1e-6)


def test_words_of_one_class_alone() -> None:
    """A word of positive rows only without a prior has no finite best strength, and one of negative rows has 0."""
    words = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])
    incidence = Incidence.of(cells_of(words), np.array([1, 1, 0, 0, 1]))
    found = coordinate_descent(incidence, prior=0.0, tolerance=1e-6)
    assert found.strengths.cells[1] == 0.0
    assert found.strengths.cells[0] > 10.0
    assert found.violation < 1e-5


def test_compiled_and_interpreted_sweeps_are_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    words, labels = drawn(14)
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("RULEKIT_NO_NUMBA", switch)
        incidence = Incidence.of(cells_of(words), labels)
        found.append(coordinate_descent(incidence, prior=1.0).strengths)
    assert found[0].cells.tobytes() == found[1].cells.tobytes()
    assert found[0].leak == found[1].leak
