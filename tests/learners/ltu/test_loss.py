"""The loss of trees is what paths say it is, its gradient is its own, and L-BFGS finds its way down."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from ltu_cases import shape_of

from rulekit.learners.ltu.loss import FitRows, TreeLoss, TreeTraining, minimise, refined, softened
from rulekit.learners.ltu.trees import LTUTree, Shape


def loss_of(rows: FitRows, shape: Shape, l2: float) -> TreeLoss:
    return TreeLoss(rows, shape, l2, np.array([False]))


def random_rows(rng: np.random.Generator, n: int, d: int) -> FitRows:
    targets = rng.integers(0, 2, n).astype(float)
    return FitRows(rng.integers(0, 2, (n, d)).astype(float), targets, rng.integers(1, 4, n).astype(float))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans())
def test_the_gradient_is_that_of_the_loss(seed: int, size: int, logistic: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, shape, d = random_rows(rng, 40, 3), shape_of(rng, size), 3
    mask = rng.random((size, d)) < 0.8
    loss = TreeLoss(rows, shape, 0.1, np.array([False, True]), mask, logistic)
    points, which = rng.normal(size=(2, size * (d + 1))), np.arange(2)
    _, gradient = loss(points, which)
    free = np.hstack([mask, np.ones((size, 1), dtype=bool)]).ravel()
    step = 1e-6
    for k in range(points.shape[1]):
        moved = np.zeros_like(points)
        moved[:, k] = step
        slope = (loss(points + moved, which)[0] - loss(points - moved, which)[0]) / (2 * step)
        assert np.allclose(gradient[:, k], slope if free[k] else np.where(free[k], slope, gradient[:, k]), atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_sure_units_lose_what_the_tree_errs(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 50, 4)
    tree = LTUTree(shape_of(rng, size), rng.normal(size=(size, 4)), rng.normal(size=size))
    sure = LTUTree(tree.shape, 1e6 * tree.weights, 1e6 * tree.biases)
    for flipped in (False, True):
        loss = TreeLoss(rows, tree.shape, 0.0, np.array([flipped]))
        wrong = rows.wrong(tree.decides(rows.inputs) != flipped) / rows.total
        assert np.isclose(loss(sure.units.ravel()[None], np.arange(1))[0][0], wrong, atol=1e-3)


def test_equal_rows_alone_are_merged_and_lose_the_same_as_one_of_their_weight() -> None:
    """Sums of factors in a pattern once took other rows for the same."""
    rng = np.random.default_rng(1)
    rows = random_rows(rng, 300, 4)
    merged = rows.merged()
    assert (len(merged.weights), merged.total) == (16, rows.total)
    shape, points = shape_of(rng, 3), rng.normal(size=(1, 15))
    gradients = [loss_of(own, shape, 0.1)(points, np.arange(1))[1] for own in (rows, merged)]
    assert np.allclose(*gradients)
    tree = LTUTree.of(shape, points[0])
    assert np.isclose(*(own.wrong(tree.decides(own.inputs)) for own in (rows, merged)))
    every = np.vstack([(np.arange(4096)[:, None] >> np.arange(12) & 1).astype(float)] * 3)
    for inputs in (every, every.astype(np.float32), 2.0 * every - 1.0):
        merged = FitRows(inputs, np.zeros(3 * 4096), np.ones(3 * 4096)).merged()
        assert len(np.unique(merged.inputs, axis=0)) == len(merged.weights) == 4096
        assert set(merged.weights) == {3.0}


def test_each_problem_finds_its_own_minimum() -> None:
    rng = np.random.default_rng(2)
    factors = rng.normal(size=(5, 4, 4))
    matrices = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(4)
    wanted = rng.normal(size=(5, 4))

    def function(points: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        off = points - wanted[which]
        slopes = np.einsum("bij,bj->bi", matrices[which], off)
        return 0.5 * np.einsum("bi,bi->b", off, slopes), slopes

    points, losses = minimise(function, np.zeros((5, 4)), 200, 1e-14)
    assert np.allclose(points, wanted, atol=1e-3)
    alone, _ = minimise(lambda p, w: function(p, w + 3), np.zeros((1, 4)), 200, 1e-14)
    assert np.allclose(points[3], alone[0])
    assert losses.max() < 1e-6


def test_refinement_keeps_the_mask_and_lowers_the_loss() -> None:
    rng = np.random.default_rng(13)
    mask = rng.random((3, 5)) < 0.5
    true = LTUTree(Shape.chain(3), np.where(mask, rng.normal(size=(3, 5)), 0.0), -rng.random(3))
    inputs = rng.integers(0, 2, (200, 5)).astype(float)
    rows = FitRows(inputs, (true.decides(inputs) ^ (rng.random(200) < 0.1)).astype(float), np.ones(200))
    tree = softened(true)
    better = refined(tree, rows, TreeTraining(1e-4), lambda: None, mask)
    assert better.size == tree.size  # no unit is idle
    assert not better.weights[~mask].any()
    loss = loss_of(rows, tree.shape, 1e-4)
    before, after = (loss(own.units.ravel()[None], np.arange(1))[0][0] for own in (tree, better))
    assert after < before
