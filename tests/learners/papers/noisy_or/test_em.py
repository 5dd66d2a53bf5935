"""EM on sums of positive rows does what EM on the joint distribution of everything hidden does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import Array, cells_of, drawn, general

from rulekit.learners.noisy_or.causes import Cause
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, cells_held
from rulekit.learners.papers.noisy_or import em, factorised
from rulekit.learners.papers.noisy_or.counted import CountedRows, CountExpectation, em_of_chances
from rulekit.learners.papers.noisy_or.em import expectation_maximisation, start_of
from rulekit.learners.papers.noisy_or.factorised import (
    UNKNOWN,
    Factorisation,
    Influences,
    by_max,
    by_min,
    by_parity,
    by_sum,
    by_table,
    em_step,
)
from rulekit.learners.papers.noisy_or.noisy_counts import parity_expectation


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
    tables[:k, 1], tables[k, 1] = -np.expm1(-at.cells[:k]), -np.expm1(-at.leak)
    if absent:
        tables[:k, 0] = -np.expm1(-at.cells[k:])
    for _ in range(25):
        tables, likelihood = by_enumeration(codes, labels, tables, prior, tables > 0.0)
        found = expectation_maximisation(incidence, at, prior=prior, iterations=1)
        at = found.strengths
        assert found.likelihoods[0] == pytest.approx(likelihood, abs=1e-9)
        np.testing.assert_allclose(-np.expm1(-at.cells[:k]), tables[:k, 1], rtol=0, atol=1e-12)
        assert -np.expm1(-at.leak) == pytest.approx(tables[k, 1], abs=1e-12)
        if absent:
            np.testing.assert_allclose(-np.expm1(-at.cells[k:]), tables[:k, 0], rtol=0, atol=1e-12)


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


# The hidden-variable factorisation ------------------------------------------------------------------------------------


Function = Callable[[Sequence[int]], int]
FAMILIES: dict[str, tuple[Callable[[int, int], Factorisation], Function, Callable[[int, int], int]]] = {
    "max": (by_max, max, lambda k, values: values),
    "min": (by_min, min, lambda k, values: values),
    "add": (by_sum, sum, lambda k, values: k * (values - 1) + 1),
    "parity": (lambda k, _: by_parity(k), lambda a: sum(a) % 2, lambda k, values: 2),
}


def case(seed: int, name: str, n: int = 40) -> tuple[Influences, Influences, np.ndarray, np.ndarray]:
    """A random model, the same by enumeration, and rows with missing values and classes of some probability."""
    rng = np.random.default_rng(seed)
    make, f, classes = FAMILIES[name]
    k, levels = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    values = 2 if name == "parity" else int(rng.integers(2, 5))
    tables = rng.dirichlet(np.ones(values), size=(k, levels))
    priors = rng.dirichlet(np.ones(levels), size=k)
    fast = Influences.of(make(k, values), tables, priors)
    slow = Influences.of(by_table(k, values, classes(k, values), f), tables, priors)
    codes = rng.integers(UNKNOWN, levels, size=(n, k))
    labels = np.array([rng.choice(p.shape[0], p=p / p.sum()) for p in np.maximum(slow.probabilities(codes), 0.0)])
    return fast, slow, codes, labels


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_the_e_step_is_that_of_enumeration(name: str, seed: int) -> None:
    fast, slow, codes, labels = case(seed, name)
    tolerance = 1e-10 if name == "add" else 1e-12
    assert fast.probabilities(codes) == pytest.approx(slow.probabilities(codes), abs=tolerance)
    assert fast.probabilities(codes).sum(axis=1) == pytest.approx(1.0)
    likely = slow.posteriors(codes, labels)[1]
    far = likely > 1e-6  # the transform is right absolutely, not relatively
    one, two = fast.posteriors(codes, labels)[0][far], slow.posteriors(codes, labels)[0][far]
    assert one == pytest.approx(two, abs=1e-8 if name == "add" else 1e-10)


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_the_likelihood_of_complete_rows_never_falls(name: str, seed: int) -> None:
    fast, slow, codes, labels = case(seed, name)
    codes = np.maximum(codes, 0)
    learned, history = factorised.expectation_maximisation(slow, codes, labels, 10)
    assert np.diff(history).min() > -1e-9
    assert em_step(fast, codes, labels).tables == pytest.approx(em_step(slow, codes, labels).tables, abs=1e-6)
    assert learned.tables.sum(axis=2) == pytest.approx(1.0)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10, deadline=None)
def test_the_likelihood_of_rows_with_missing_values_never_falls(seed: int) -> None:
    """Of the class and of what is known of the attributes together, which is what EM climbs then."""
    model, _, codes, labels = case(seed, "max")

    def joint(model: Influences) -> float:
        with np.errstate(divide="ignore"):
            prior = np.log(model.priors[np.arange(codes.shape[1]), codes])
        return model.log_likelihood(codes, labels) + float(prior[codes != UNKNOWN].sum())

    found = [joint(model)]
    for _ in range(10):
        model = em_step(model, codes, labels)
        found.append(joint(model))
    assert np.diff(found).min() > -1e-9


def test_a_weight_of_two_is_two_rows() -> None:
    model, _, codes, labels = case(1, "max")
    weights = np.ones(len(labels))
    weights[:7] = 2.0
    twice = np.concatenate([codes, codes[:7]]), np.concatenate([labels, labels[:7]])
    assert em_step(model, codes, labels, weights).tables == pytest.approx(em_step(model, *twice).tables, abs=1e-12)


def test_a_noisy_or_is_lemma_2() -> None:
    """P(A'_l = 1 | C = 1, a) = p_l / (1 - Q), and 0 where C = 0."""
    rng = np.random.default_rng(2)
    k, n = 6, 50
    p = rng.random((k, 2))
    model = Influences.of(by_max(k, 2), np.stack([1.0 - p, p], axis=2))
    codes, labels = rng.integers(0, 2, (n, k)), rng.integers(0, 2, n)
    own = p[np.arange(k), codes]
    q = np.prod(1.0 - own, axis=1, keepdims=True)
    assert model.posteriors(codes, labels)[0][:, :, 1] == pytest.approx(
        np.where(labels[:, None] == 1, own / (1.0 - q), 0.0), abs=1e-12
    )


# What the learner fits is that --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_expectations_of_noisy_add_are_those_of_the_general_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held, hidden = rng.random((2, 4, 300)) < np.array([0.5, 0.6])[:, None, None]
    y = (held & hidden).sum(axis=0)
    rows = CountedRows.of(list(held), y, np.full(300, 2), 0.5)
    most, chances, leak = int(y.max()), rng.random(4), 0.03
    found = CountExpectation(most)(rows, chances, leak)

    tables = [[[1.0, 0.0], [1.0 - p, p]] for p in chances] + [[[1.0 - leak, leak]] * 2] * most
    model = Influences.of(by_sum(4 + most, 2), np.array(tables))
    codes = np.column_stack([rows.held, np.ones((len(rows.labels), most))]).astype(int)
    acted, likely = model.posteriors(codes, rows.labels)
    assert found.likely == pytest.approx(likely, abs=1e-12)
    assert found.acted == pytest.approx(acted[:, :4, 1], abs=1e-9)
    assert most * found.leaked == pytest.approx(acted[:, 4:, 1].sum(axis=1), abs=1e-9)


def test_an_iteration_of_noisy_parity_is_that_of_the_general_form() -> None:
    rng = np.random.default_rng(0)
    held, y = rng.random((4, 400)) < 0.5, rng.integers(0, 2, 400)
    rows, chances, leak = CountedRows.of(list(held), y, np.ones(400)), rng.random(4), 0.1
    tables = [[[1.0, 0.0], [1.0 - p, p]] for p in chances] + [[[1.0 - leak, leak]] * 2]
    codes = np.column_stack([rows.held, np.ones(len(rows.labels))]).astype(int)
    step = em_step(Influences.of(by_parity(5), np.array(tables)), codes, rows.labels, rows.weights)
    one = em_of_chances(rows, parity_expectation, chances, leak, prior=0.0, iterations=1)
    assert [*one.chances, one.leak] == pytest.approx(step.tables[:, 1, 1], abs=1e-9)


@given(seed=st.integers(0, 2**32), iterations=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_em_with_missing_cells_summed_out_is_that_of_the_joint_model(seed: int, iterations: int) -> None:
    """Every level of every column is a cause, and the leak is a column that is always 1."""
    rng = np.random.default_rng(seed)
    n, k, levels = 60, int(rng.integers(1, 4)), 3
    codes = rng.integers(UNKNOWN, levels, size=(n, k))
    labels = rng.integers(0, 2, n)
    labels[0] = 1
    p, leak = rng.uniform(0.05, 0.6, size=(k, levels)), 0.1
    share = rng.dirichlet(np.ones(levels), size=k)

    held = [codes[:, j] == v for j in range(k) for v in range(levels)]
    causes = [Cause(j, np.arange(levels) == v) for j in range(k) for v in range(levels)]
    unknown = em.Unknown.of(causes, dict(enumerate(share)))
    incidence = Incidence.of(cells_held([*held, *(codes[:, j] == UNKNOWN for j in range(k))], n), labels)
    start = Strengths(np.append(-np.log1p(-p).ravel(), np.zeros(k)), float(-np.log1p(-leak)))
    found = em.expectation_maximisation(incidence, start, unknown=unknown, iterations=iterations).strengths

    tables = np.zeros((k + 1, levels, 2))
    tables[:k, :, 1], tables[k, :, 1] = p, leak
    tables[:, :, 0] = 1.0 - tables[:, :, 1]
    prior = np.concatenate([share, [[1.0, 0.0, 0.0]]])
    model = Influences(by_max(k + 1, 2), tables, prior)
    own = np.column_stack([codes, np.zeros(n, dtype=np.int64)])
    for _ in range(iterations):
        model = Influences(model.family, em_step(model, own, labels).tables, prior)
    seen = np.array(
        [np.any(codes[:, j] == v) or np.any(codes[:, j] == UNKNOWN) for j in range(k) for v in range(levels)]
    )
    learned = -np.expm1(-found.cells[: k * levels])
    assert learned[seen] == pytest.approx(model.tables[:k, :, 1].ravel()[seen], abs=1e-9)
    assert -np.expm1(-found.leak) == pytest.approx(model.tables[k, 0, 1], abs=1e-9)
    assert incidence.likelihood(found) == pytest.approx(model.log_likelihood(own, labels), abs=1e-6)
