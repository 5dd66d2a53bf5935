"""EM on sums of positive rows does what EM on the joint distribution of everything hidden does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import Array, cells_of, drawn, general

from rulekit.learners.noisy_or.likelihood import Incidence
from rulekit.learners.papers.noisy_or.em import expectation_maximisation, start_of


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
    incidence = Incidence.of((general if absent else cells_of)(words), labels)
    at = start_of(incidence, seed=1)
    codes = np.column_stack([words, np.ones(len(words))]).astype(int)  # the leak is always there
    tables = np.zeros((k + 1, 2))
    tables[:k, 1], tables[k, 1] = at.probabilities[:k], -np.expm1(-at.leak)
    if absent:
        tables[:k, 0] = at.probabilities[k:]
    for _ in range(25):
        tables, likelihood = by_enumeration(codes, labels, tables, prior, tables > 0.0)
        found = expectation_maximisation(incidence, at, prior=prior, iterations=1)
        at = found.strengths
        assert found.likelihoods[0] == pytest.approx(likelihood, abs=1e-9)
        np.testing.assert_allclose(at.probabilities[:k], tables[:k, 1], rtol=0, atol=1e-12)
        assert -np.expm1(-at.leak) == pytest.approx(tables[k, 1], abs=1e-12)
        if absent:
            np.testing.assert_allclose(at.probabilities[k:], tables[:k, 0], rtol=0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 2.0]), st.booleans())
def test_the_objective_never_falls(seed: int, prior: float, absent: bool) -> None:
    words, labels = drawn(seed)
    incidence = Incidence.of((general if absent else cells_of)(words), labels)
    found = expectation_maximisation(incidence, start_of(incidence, seed=seed), prior=prior, iterations=40)
    assert np.diff(found.objectives).min() >= -1e-10 * abs(found.objectives[0])


def test_limits_of_many_starts_are_one_in_canonical_form() -> None:
    words, labels = drawn(8, n=400, k=4)
    incidence = Incidence.of(general(words), labels)
    limits = [
        expectation_maximisation(incidence, start_of(incidence, seed=seed), iterations=60_000, tolerance=1e-13)
        for seed in range(3)
    ]
    weights = []
    for limit in limits:
        at = limit.strengths
        weights.append([*(at.cells[:4] - at.cells[4:]), at.leak + at.cells[4:].sum()])
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
    rows = (general if absent else cells_of)(words)
    given_ = [
        Incidence.of(rows, labels, weights),
        Incidence.of(rows[order], labels[order], weights[order]),
        Incidence.of(rows[repeated], labels[repeated]),
    ]
    found = [expectation_maximisation(one, iterations=10, prior=1.0) for one in given_]
    for other in found[1:]:
        assert other.strengths.cells.tobytes() == found[0].strengths.cells.tobytes()
        assert other.strengths.leak == found[0].strengths.leak
        assert other.objectives.tolist() == found[0].objectives.tolist()


def test_thousands_of_attributes_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    words = rng.random((300, 5000)) < 0.3
    labels = (words[:, 0] | (rng.random(300) < 0.1)).astype(int)
    incidence = Incidence.of(general(words), labels)
    found = expectation_maximisation(incidence, start_of(incidence, probability=0.5), iterations=30)
    assert np.isfinite(found.objectives).all()
    assert np.diff(found.objectives).min() >= -1e-9
    assert found.objectives[-1] > found.objectives[0]
