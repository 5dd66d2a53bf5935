"""Coordinate descent ends at the maximum, with a certificate, and says so to the same bits with numba and without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import cells_of, drawn

from rulekit.errors import InputError
from rulekit.learners.noisy_or.fitting.coordinate_descent import coordinate_descent
from rulekit.learners.noisy_or.fitting.em import expectation_maximisation
from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.strengths import Strengths


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 2.0, 10.0]), st.sampled_from([0.05, 0.4, 0.9]))
def test_the_certificate_holds_and_em_is_never_above(seed: int, prior: float, share: float) -> None:
    words, labels = drawn(seed, share=share)
    incidence = Incidence.of(cells_of(words), labels)
    found = coordinate_descent(incidence, prior=prior, tolerance=1e-9, sweeps=20_000)
    assert found.violation <= 2e-9 * incidence.positive
    em = expectation_maximisation(incidence, prior=prior, iterations=300)
    assert found.objective >= em.objectives[-1] - 1e-5


def test_it_is_the_limit_of_em() -> None:
    words, labels = drawn(11, n=500)
    incidence = Incidence.of(cells_of(words), labels)
    found = coordinate_descent(incidence, prior=1.0, tolerance=1e-10)
    em = expectation_maximisation(incidence, prior=1.0, iterations=4000)
    assert found.objective == pytest.approx(em.objectives[-1], abs=1e-5)
    np.testing.assert_allclose(found.strengths.present, em.strengths.present, atol=1e-3)


def test_a_large_prior_leaves_exact_zeros() -> None:
    words, labels = drawn(12)
    incidence = Incidence.of(cells_of(words), labels)
    assert coordinate_descent(incidence, prior=1000.0).strengths.present.tolist() == [0.0] * 8
    some = coordinate_descent(incidence, prior=5.0).strengths.present
    assert 0 < np.count_nonzero(some) < 8


def test_cells_that_are_no_causes_keep_strength_0() -> None:
    words, labels = drawn(13)
    incidence = Incidence.of(cells_of(words), labels)
    free = np.arange(8) % 2 == 0
    found = coordinate_descent(incidence, prior=0.0, free=free, tolerance=1e-8)
    only = coordinate_descent(Incidence.of(cells_of(words[:, free]), labels), prior=0.0, tolerance=1e-8)
    assert not found.strengths.present[~free].any()
    np.testing.assert_allclose(found.strengths.present[free], only.strengths.present, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 2.0]))
def test_the_start_does_not_matter(seed: int, prior: float) -> None:
    words, labels = drawn(seed)
    incidence = Incidence.of(cells_of(words), labels)
    rng = np.random.default_rng(seed)
    start = Strengths(rng.exponential(3.0, 8) * (rng.random(8) < 0.5), None, float(rng.exponential()))
    one = coordinate_descent(incidence, prior=prior, tolerance=1e-9)
    other = coordinate_descent(incidence, start, prior=prior, tolerance=1e-9)
    assert other.objective == pytest.approx(one.objective, abs=1e-6)


def test_words_of_one_class_alone() -> None:
    """A word of positive rows only without a prior has no finite best strength, and one of negative rows has 0."""
    words = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])
    incidence = Incidence.of(cells_of(words), np.array([1, 1, 0, 0, 1]))
    found = coordinate_descent(incidence, prior=0.0, tolerance=1e-6)
    assert found.strengths.present[1] == 0.0
    assert found.strengths.present[0] > 10.0
    assert found.violation < 1e-5


def test_compiled_and_interpreted_sweeps_are_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    words, labels = drawn(14)
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("RULEKIT_NO_NUMBA", switch)
        incidence = Incidence.of(cells_of(words), labels)
        found.append(coordinate_descent(incidence, prior=1.0).strengths)
    assert found[0].present.tobytes() == found[1].present.tobytes()
    assert found[0].leak == found[1].leak


def test_absent_words_are_refused() -> None:
    words, labels = drawn(15)
    with pytest.raises(InputError, match="use EM"):
        coordinate_descent(Incidence.of(cells_of(words), labels, absent=True))
