"""The default learner finds small trees, whatever the columns are called, and takes whatever rows there are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.contract import Watch
from rulekit.learners.ltu.fit import FitResult, fit_tree


def held_out(n: int, seed: int = 0) -> Bools:
    held = np.zeros(n, dtype=bool)
    held[np.random.default_rng(seed).permutation(n)[: n // 4]] = True
    return held


def fitted(bits: npt.NDArray[np.int64], labels: Bools, seed: int = 0) -> FitResult:
    inputs = 2.0 * bits - 1.0
    return fit_tree(inputs, labels.astype(np.int64), np.ones(len(bits)), held_out(len(bits), seed), seed=seed)


def paper_bits(n: int, d: int, seed: int = 0) -> tuple[npt.NDArray[np.int64], Bools, Ints]:
    """The paper's function of five columns anywhere among d."""
    rng = np.random.default_rng(seed)
    bits, which = rng.integers(0, 2, (n, d)), rng.permutation(d)[:5]
    sums = bits[:, which].sum(axis=1)
    return bits, (sums <= 1) | (sums >= 4), which


@pytest.mark.long_from("seed", 1)
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_function_is_two_units_of_five_weights(seed: int) -> None:
    bits, labels, which = paper_bits(1000, 30, seed)
    result = fitted(bits, labels, seed)
    assert np.array_equal(result.tree.decides(2.0 * bits - 1.0), labels)
    assert result.tree.size == 2
    assert result.tree.live.tolist() == sorted(which.tolist())
    assert result.complete
    assert [tree.size for tree in result.ladder] == [1, 2]
    assert result.ladder[-1] is result.tree
    assert result.errors[0] > 0.1
    assert result.errors[1] == 0.0


def test_two_blocks_are_an_or_of_two_units() -> None:
    bits = np.random.default_rng(5).integers(0, 2, (2000, 20))
    labels = (bits[:, 2:8].sum(axis=1) >= 5) | (bits[:, 9:15].sum(axis=1) >= 5)
    tree = fitted(bits, labels).tree
    assert tree.size == 2
    assert np.array_equal(tree.decides(2.0 * bits - 1.0), labels)


def test_it_is_the_same_each_time() -> None:
    bits, labels, _ = paper_bits(200, 9)
    first, second = (fitted(bits, labels ^ (bits[:, 8] == 1)).tree for _ in range(2))
    assert np.array_equal(first.weights, second.weights)


def test_a_weight_of_two_is_two_rows() -> None:
    bits, labels, _ = paper_bits(400, 8)
    inputs, weights = 2.0 * bits - 1.0, 1 + np.arange(400) % 2
    held, own = held_out(400), np.repeat(np.arange(400), weights)
    once = fit_tree(inputs, labels.astype(np.int64), weights, held).tree
    twice = fit_tree(inputs[own], labels[own].astype(np.int64), np.ones(len(own)), held[own]).tree
    assert np.array_equal(once.decides(inputs), twice.decides(inputs))


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (np.zeros((20, 0)), np.arange(20) % 2),
        (np.zeros((20, 3)), np.arange(20) % 2),
        (np.arange(20.0)[:, None], np.ones(20, dtype=np.int64)),
        (np.arange(20.0)[:, None] - 9.5, (np.arange(20) > 9).astype(np.int64)),
        (np.array([[0.0], [1.0]]), np.array([0, 1])),
    ],
)
def test_little_is_enough(inputs: Floats, labels: Ints) -> None:
    n = len(labels)
    result = fit_tree(inputs, labels, np.ones(n), held_out(n))
    assert result.tree.size >= 1
    assert np.isfinite(result.tree.weights).all()
    assert result.tree.weights.shape[1] == inputs.shape[1]
    if labels.all() or (np.abs(inputs).any() and len(np.unique(labels)) == 2):
        assert np.mean(result.tree.decides(inputs) == labels) >= 0.9


def test_without_time_there_is_still_a_tree() -> None:
    bits, labels, _ = paper_bits(500, 10)
    inputs = 2.0 * bits - 1.0
    result = fit_tree(inputs, labels.astype(np.int64), np.ones(500), held_out(500), watch=Watch(until=0.0))
    assert not result.complete
    assert result.tree.size == 1


@pytest.mark.long_from("seed", 3)
@pytest.mark.parametrize("seed", range(8))
def test_few_rows_of_great_weight_are_held_out_in_part(seed: int) -> None:
    """Of 32 rows for 1,000 a quarter was held out, of which the others said nothing."""
    inputs = np.array([[float(number >> bit & 1) for bit in range(5)] for number in range(32)])
    sums = inputs.sum(axis=1)
    labels = ((sums <= 1) | (sums >= 4)).astype(np.int64)
    weights = 20 + np.random.default_rng(seed).integers(0, 20, 32)
    tree = fit_tree(2.0 * inputs - 1.0, labels, weights, held_out(32, seed), seed=seed).tree
    assert tree.size == 2
    assert np.array_equal(tree.decides(2.0 * inputs - 1.0), labels == 1)
