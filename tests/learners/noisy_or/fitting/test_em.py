"""EM on sums of positive rows does what EM on the joint distribution of everything hidden does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import Array, cells_of, drawn

from rulekit.errors import InputError
from rulekit.learners.noisy_or.fitting.em import expectation_maximisation, start_of
from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.noisy_or.fitting.strengths import Strengths, log_likelihood, log_positive, slopes, violation


def by_enumeration(codes: Array, labels: Array, tables: Array, prior: float, free: Array) -> tuple[Array, float]:
    """An iteration of EM over the full joint: tables [k, 2] of P(A' = 1 | A = v), and the log-likelihood before it."""
    k = codes.shape[1]
    states = np.array(list(itertools.product((0, 1), repeat=k)))
    acts = tables[np.arange(k), codes]  # [n, k]
    joint = np.prod(np.where(states[None], acts[:, None, :], 1.0 - acts[:, None, :]), axis=2)
    joint = joint * (states.max(axis=1)[None] == labels[:, None])
    likely = joint.sum(axis=1)
    posterior = joint / likely[:, None] @ states  # P(A'_j = 1 | the row) [n, k]
    new = tables.copy()
    for j, v in itertools.product(range(k), (0, 1)):
        held = codes[:, j] == v
        if held.any() and free[j, v]:
            penalty = prior if j < k - 1 else 0.0
            new[j, v] = posterior[held, j].sum() / (held.sum() + penalty)
    return new, float(np.log(likely).sum())


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize(("k", "prior"), [(3, 0.0), (5, 2.0), (7, 0.0)])
def test_every_iteration_is_that_of_the_full_joint(k: int, prior: float, absent: bool) -> None:
    words, labels = drawn(k, n=60, k=k)
    incidence = Incidence.of(cells_of(words), labels, absent=absent)
    at = start_of(incidence, seed=1)
    codes = np.column_stack([words, np.ones(len(words))]).astype(int)  # the leak is always there
    tables = np.zeros((k + 1, 2))
    tables[:k, 1], tables[k, 1] = at.probabilities, -np.expm1(-at.leak)
    if at.absent is not None:
        tables[:k, 0] = -np.expm1(-at.absent)
    for _ in range(25):
        tables, likelihood = by_enumeration(codes, labels, tables, prior, tables > 0.0)
        found = expectation_maximisation(incidence, at, prior=prior, iterations=1)
        at = found.strengths
        assert found.likelihoods[0] == pytest.approx(likelihood, abs=1e-9)
        np.testing.assert_allclose(at.probabilities, tables[:k, 1], rtol=0, atol=1e-12)
        assert -np.expm1(-at.leak) == pytest.approx(tables[k, 1], abs=1e-12)
        if at.absent is not None:
            np.testing.assert_allclose(-np.expm1(-at.absent), tables[:k, 0], rtol=0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 2.0]), st.booleans())
def test_the_objective_never_falls(seed: int, prior: float, absent: bool) -> None:
    words, labels = drawn(seed)
    incidence = Incidence.of(cells_of(words), labels, absent=absent)
    found = expectation_maximisation(incidence, start_of(incidence, seed=seed), prior=prior, iterations=40)
    assert np.diff(found.objectives).min() >= -1e-10 * abs(found.objectives[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_the_log_likelihood_is_concave(seed: int, share: float) -> None:
    words, labels = drawn(seed)
    incidence = Incidence.of(cells_of(words), labels, absent=True)
    one, other = start_of(incidence, seed=seed), start_of(incidence, probability=0.5, seed=seed + 1)
    assert one.absent is not None
    assert other.absent is not None
    between = Strengths(
        share * one.present + (1 - share) * other.present,
        share * one.absent + (1 - share) * other.absent,
        share * one.leak + (1 - share) * other.leak,
    )
    chord = share * log_likelihood(incidence, one) + (1 - share) * log_likelihood(incidence, other)
    assert log_likelihood(incidence, between) >= chord - 1e-9 * abs(chord)


def test_sums_of_the_positive_rows_are_the_likelihood_of_all() -> None:
    words, labels = drawn(3)
    incidence = Incidence.of(cells_of(words), labels, absent=True)
    at = start_of(incidence, seed=2)
    s = at.activations(cells_of(words))
    assert at.absent is not None
    np.testing.assert_allclose(s, at.leak + words @ at.present + ~words @ at.absent, rtol=1e-13)
    every = np.where(labels == 1, np.log(-np.expm1(-s)), -s).sum()
    assert log_likelihood(incidence, at) == pytest.approx(every, rel=1e-13)


def test_slopes_are_those_of_finite_differences() -> None:
    words, labels = drawn(5)
    incidence = Incidence.of(cells_of(words), labels)
    at = start_of(incidence, seed=4)
    found, step = slopes(incidence, at, 0.0), 1e-6
    for j in range(incidence.n_cells):
        up, down = at.present.copy(), at.present.copy()
        up[j], down[j] = up[j] + step, down[j] - step
        rise = log_likelihood(incidence, Strengths(up, None, at.leak)) - log_likelihood(
            incidence, Strengths(down, None, at.leak)
        )
        assert found.present[j] == pytest.approx(rise / (2 * step), abs=1e-4)


def test_limits_of_many_starts_are_one_in_canonical_form() -> None:
    words, labels = drawn(8, n=400, k=4)
    incidence = Incidence.of(cells_of(words), labels, absent=True)
    limits = [
        expectation_maximisation(incidence, start_of(incidence, seed=seed), iterations=60_000, tolerance=1e-13)
        for seed in range(3)
    ]
    weights = []
    for limit in limits:
        at = limit.strengths
        assert at.absent is not None
        weights.append([*(at.present - at.absent), at.leak + at.absent.sum()])
    np.testing.assert_allclose(weights[1:], [weights[0]] * 2, rtol=0, atol=1e-3)
    assert np.ptp([limit.likelihoods[-1] for limit in limits]) < 1e-6


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_neither_the_order_of_rows_nor_their_repetition_matters(seed: int, absent: bool) -> None:
    words, labels = drawn(seed, n=60, k=5)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, len(words))
    weights[labels.argmax()] = 1
    order = rng.permutation(len(words))
    repeated = np.repeat(np.arange(len(words)), weights)
    given_ = [
        Incidence.of(cells_of(words), labels, weights, absent=absent),
        Incidence.of(cells_of(words[order]), labels[order], weights[order], absent=absent),
        Incidence.of(cells_of(words[repeated]), labels[repeated], absent=absent),
    ]
    found = [expectation_maximisation(one, iterations=10, prior=1.0) for one in given_]
    for other in found[1:]:
        assert other.strengths.present.tobytes() == found[0].strengths.present.tobytes()
        assert other.strengths.leak == found[0].strengths.leak
        assert other.objectives.tolist() == found[0].objectives.tolist()


def test_levels_of_columns_are_cells() -> None:
    """Two cells for each binary column are the general noisy-or."""
    words, labels = drawn(9)
    general = Incidence.of(cells_of(words), labels, absent=True)
    n, k = words.shape
    indices = (2 * np.arange(k) + words).ravel().astype(np.int32)
    rows = RowCells(np.arange(n + 1, dtype=np.int64) * k, indices, np.repeat(np.arange(k, dtype=np.int32), 2))
    levels = Incidence.of(rows, labels)
    start = start_of(general, seed=3)
    assert start.absent is not None
    both = np.column_stack([start.absent, start.present]).ravel()
    one = expectation_maximisation(general, start, iterations=30)
    other = expectation_maximisation(levels, Strengths(both, None, start.leak), iterations=30)
    np.testing.assert_allclose(one.objectives, other.objectives, rtol=1e-11)
    np.testing.assert_allclose(one.strengths.present, other.strengths.present[1::2], atol=1e-10)


def test_thousands_of_attributes_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    words = rng.random((300, 5000)) < 0.3
    labels = (words[:, 0] | (rng.random(300) < 0.1)).astype(int)
    incidence = Incidence.of(cells_of(words), labels, absent=True)
    found = expectation_maximisation(incidence, start_of(incidence, probability=0.5), iterations=30)
    assert np.isfinite(found.objectives).all()
    assert np.diff(found.objectives).min() >= -1e-9
    assert found.objectives[-1] > found.objectives[0]


def test_a_positive_row_without_a_cause_is_refused() -> None:
    words, labels = np.array([[0, 0], [1, 0]]), np.array([1, 0])
    incidence = Incidence.of(cells_of(words), labels)
    with pytest.raises(InputError, match="allow a leak"):
        expectation_maximisation(incidence, start_of(incidence, leak=False))
    with pytest.raises(InputError, match="no row of the class"):
        Incidence.of(cells_of(words), np.zeros(2))


def test_log_positive_keeps_its_digits() -> None:
    s = np.array([1e-300, 1e-12, 0.5, 0.7, 40.0, 800.0])
    np.testing.assert_allclose(log_positive(s)[:2], np.log(s[:2]), rtol=1e-12)
    np.testing.assert_allclose(log_positive(s)[2:5], np.log1p(-np.exp(-s[2:5])), rtol=1e-12)
    assert log_positive(s)[-1] == 0.0
    assert log_positive(np.zeros(1))[0] == -np.inf


def test_em_comes_near_a_point_without_violation() -> None:
    words, labels = drawn(2)
    incidence = Incidence.of(cells_of(words), labels)
    start = start_of(incidence)
    end = expectation_maximisation(incidence, start, prior=0.0, iterations=5000).strengths
    assert violation(incidence, end, 0.0) < violation(incidence, start, 0.0)
