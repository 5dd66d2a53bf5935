"""Walks have the probability they are given as their long-run shares, and their means say how far to trust them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from rulekit.sampling import (
    Chain,
    along,
    by_average,
    by_eigenvector,
    by_inverse,
    evenly,
    lattice,
    mean_of,
    metropolis_matrix,
)

WAYS = (by_eigenvector, by_inverse, by_average)


def _random_matrix(rng: np.random.Generator) -> np.ndarray:
    """A strongly connected graph: a cycle through all vertices and further edges, with any probabilities."""
    n = int(rng.integers(2, 12))
    edges = (rng.random((n, n)) < 0.3) | np.roll(np.eye(n, dtype=bool), 1, axis=0)
    weights = edges * rng.uniform(0.05, 1.0, (n, n))
    return weights / weights.sum(axis=0)


def _even_cycle(n: int) -> np.ndarray:
    return (np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)) / 2.0


def test_three_ways_to_the_stationary_vector_agree() -> None:
    """On even cycles too, whose walks never settle."""
    for matrix in (*(_random_matrix(np.random.default_rng(seed)) for seed in range(50)), *map(_even_cycle, (2, 6, 10))):
        found = [way(matrix) for way in WAYS]
        for vector in found:
            assert vector == pytest.approx(found[0], abs=1e-9)
            assert matrix @ vector == pytest.approx(vector, abs=1e-9)
    assert found[0] == pytest.approx(np.full(10, 0.1), abs=1e-9)
    assert np.linalg.matrix_power(matrix, 1000)[:, 0] != pytest.approx(found[0], abs=1e-3)


def test_the_matrix_of_the_lattice_walk_has_the_given_probability_as_stationary_vector() -> None:
    n, d, rng = 3, 2, np.random.default_rng(1)
    states = list(product(range(n + 1), repeat=d))
    place = {state: i for i, state in enumerate(states)}
    p = rng.dirichlet(np.ones(len(states)))
    propose = lattice(n, d)
    drawn = [[propose(state, lambda _, k=k: k) for k in range(2 * d)] for state in states]
    around = [[place[one[0]] for one in found if one is not None] for found in drawn]
    assert {len(found) for found in around} == {2, 3, 4}
    matrix = metropolis_matrix(np.log(p), around, 2 * d)
    for way in WAYS:
        assert way(matrix) == pytest.approx(p, abs=1e-9)
    flow = matrix * p
    assert flow == pytest.approx(flow.T, abs=1e-15), "detailed balance"


@pytest.mark.parametrize("powers", [(), (0.5, 0.2)])
def test_a_walk_visits_states_as_often_as_their_probability_says(powers: tuple[float, ...]) -> None:
    n, p = 9, np.random.default_rng(2).dirichlet(np.ones(10))
    chains = [Chain((0,), lambda s: math.log(p[s[0]]), lattice(n, 1), seed, powers) for seed in range(4)]
    for chain in chains:
        chain.walk(20_000)
    mean = mean_of(along(chains, lambda state: state[0]))
    expected = float(p @ np.arange(10))
    assert abs(mean.value - expected) < 4.0 * mean.error
    assert mean.r_hat < 1.02
    shares = [mean_of(along(chains, lambda state, k=k: state[0] == k)).value for k in range(10)]
    assert 0.5 * np.abs(np.array(shares) - p).sum() < 0.03


def test_walks_on_a_peak_leave_it_with_others_beside_them() -> None:
    """Two peaks with 1e-9 between them: a walk alone stays on the first; R-hat of walks from both says so."""
    p = np.array([0.7, *[1e-9] * 5, 0.3])
    alone = [Chain((at,), lambda s: math.log(p[s[0]]), lattice(6, 1), at) for at in (0, 6)]
    joined = [Chain((at,), lambda s: math.log(p[s[0]]), lattice(6, 1), at, (0.3, 0.1, 0.0)) for at in (0, 6)]
    for chain in (*alone, *joined):
        chain.walk(20_000)
    assert not mean_of(along(alone, lambda state: state[0] > 3)).r_hat < 1.5
    found = mean_of(along(joined, lambda state: state[0] > 3))
    assert found.value == pytest.approx(0.3, abs=0.06)
    assert found.r_hat < 1.1


def test_the_effective_size_of_an_autoregression_is_its_known_one() -> None:
    """And walks that never move agree with their like, and not with others."""
    rng, n, rho = np.random.default_rng(3), 20_000, 0.8
    noise, values = rng.normal(size=(4, n)), np.zeros((4, n))
    for t in range(1, n):
        values[:, t] = rho * values[:, t - 1] + noise[:, t]
    found = mean_of(values)
    assert found.effective == pytest.approx(4 * n * (1 - rho) / (1 + rho), rel=0.1)
    assert found.error == pytest.approx(values.std() / math.sqrt(found.effective), rel=0.05)
    assert found.r_hat == pytest.approx(1.0, abs=0.01)
    assert mean_of(noise).effective == pytest.approx(4 * n, rel=0.05)
    apart = mean_of(noise + 2.0 * np.arange(4)[:, None])
    assert apart.r_hat > 2.0
    assert apart.effective < 10
    still = np.zeros((2, 100))
    assert (mean_of(still).r_hat, mean_of(still).error) == (1.0, 0.0)
    assert mean_of(still + np.array([[0.0], [1.0]])).r_hat == math.inf


def test_the_same_seed_walks_the_same_way_however_the_steps_are_given() -> None:
    def chain() -> Chain[int]:
        return Chain(0, lambda s: -abs(s) / 3, evenly(lambda s: (s - 1, s + 1), 2), 7)

    one, other = chain(), chain()
    one.walk(100)
    for _ in range(5):
        other.walk(20)
    assert one.places == other.places
    assert one.visited == other.visited
