"""A tuned threshold is the best of all that part the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.papers.noisy_or.learner import best_cut

Array = npt.NDArray[Any]


def quality(goal: str, predicted: Array, labels: Array, weights: Array) -> float:
    both = float(weights[predicted & (labels == 1)].sum())
    yes, true = float(weights[predicted].sum()), float(weights[labels == 1].sum())
    if goal == "accuracy":
        return float(weights[predicted == (labels == 1)].sum())
    if goal == "f1":
        return 2.0 * both / (yes + true) if yes + true else 0.0
    return -abs(yes - true)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["accuracy", "f1", "break-even"]), st.integers(1, 12))
def test_no_other_cut_is_better(seed: int, goal: Any, values: int) -> None:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, values, 20) / 4.0
    labels, weights = rng.integers(0, 2, 20), rng.integers(1, 4, 20)
    cut = best_cut(s, labels, goal, weights)
    assert cut >= 0.0
    found = quality(goal, s > cut, labels, weights)
    assert found >= max(quality(goal, s > other, labels, weights) for other in [0.0, *s]) - 1e-12
    repeated = np.repeat(np.arange(20), weights)
    assert best_cut(s[repeated], labels[repeated], goal) == cut
    order = rng.permutation(20)
    assert best_cut(s[order], labels[order], goal, weights[order]) == cut


def test_large_activations_do_not_tie() -> None:
    """Their exp(-s) is 0 for all of them."""
    s = np.array([800.0, 900.0, 1000.0])
    assert best_cut(s, np.array([0, 1, 1])) == 850.0


def test_a_cut_parts_neighbouring_doubles() -> None:
    below = 1.0
    above = math.nextafter(below, 2.0)
    cut = best_cut(np.array([below, above]), np.array([0, 1]))
    assert below <= cut < above
