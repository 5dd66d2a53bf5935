"""A noisy-max is its cuts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rulekit.learners.noisy_or.reductions import class_probabilities, cuts_of_max, reversed_classes


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_cuts_are_the_maximum_of_hidden_values(n_classes: int) -> None:
    """P(A'_j <= c) = exp(-sum over c' > c of d_c'j), and C is the largest A'; enumerated."""
    rng = np.random.default_rng(n_classes)
    k = 3
    parts = rng.exponential(0.5, (k, n_classes - 1))
    each = np.exp(-np.concatenate([np.cumsum(parts[:, ::-1], axis=1)[:, ::-1], np.zeros((k, 1))], axis=1))
    values = np.diff(each, axis=1, prepend=0.0)
    expected = np.zeros(n_classes)
    for state in itertools.product(range(n_classes), repeat=k):
        expected[max(state)] += np.prod(values[np.arange(k), list(state)])
    found = class_probabilities(parts.sum(axis=0)[None])
    np.testing.assert_allclose(found[0], expected, atol=1e-15)


def test_the_log_likelihood_is_the_sum_of_those_of_the_cuts() -> None:
    rng = np.random.default_rng(1)
    d, labels = rng.exponential(1.0, (50, 3)), rng.integers(0, 4, 50)
    whole = np.log(class_probabilities(d)[np.arange(50), labels]).sum()
    parts = 0.0
    for cut in cuts_of_max(labels, 4):
        s = d[cut.rows, cut.threshold - 1]
        parts += np.where(cut.labels == 1, np.log(-np.expm1(-s)), -s).sum()
    assert parts == pytest.approx(whole, rel=1e-12)


def test_small_probabilities_keep_their_digits() -> None:
    found = class_probabilities(np.array([[1e-30, 1e-20]]))
    assert found[0].tolist() == [1.0, 1e-30, 1e-20]


def test_reversed_classes_of_two_are_flipped() -> None:
    assert reversed_classes(np.array([0, 1, 1]), 2).tolist() == [1, 0, 0]
