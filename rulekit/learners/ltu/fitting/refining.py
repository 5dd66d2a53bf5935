"""Units of a tree fitted together: its points for the loss, and one way of training for every use of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.learners.ltu.fitting.lbfgs import Numbers, minimise
from rulekit.learners.ltu.fitting.loss import TreeLoss
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.shape import Shape
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.sums_of_rows.histograms import Bools, Floats


@dataclass(frozen=True, slots=True)
class Training:
    """How a tree is trained: the ridge, squares or log loss, the most steps, and when a step gains too little."""

    l2: float
    logistic: bool = False
    steps: int = 200
    tolerance: float = 1e-6


def point_of(tree: LTUTree) -> Floats:
    """The numbers [m * (d + 1)] of a tree."""
    return np.hstack([tree.weights, tree.biases[:, None]]).ravel()


def tree_of(point: Numbers, shape: Shape) -> LTUTree:
    """The tree of a shape with these numbers."""
    units = np.asarray(point, dtype=np.float64).reshape(shape.size, -1)
    return LTUTree(shape, units[:, :-1].copy(), units[:, -1].copy())


def softened(tree: LTUTree, length: float = 4.0) -> LTUTree:
    """The same tree with the weights of each unit scaled to a length, so that it is neither too sure nor too unsure."""
    lengths = np.linalg.norm(tree.weights, axis=1)
    scale = np.where(lengths > 0.0, length / np.maximum(lengths, 1e-300), 1.0)
    return LTUTree(tree.shape, tree.weights * scale[:, None], tree.biases * scale)


def refined(
    tree: LTUTree, rows: Rows, training: Training, check: Callable[[], None], mask: Bools | None = None
) -> LTUTree:
    """A tree with its units fitted together, from where they are; mask [m, d]: the weights that may differ from 0."""
    live = np.arange(rows.inputs.shape[1]) if mask is None else np.flatnonzero(mask.any(axis=0))
    seen = rows if mask is None else rows.of(live).merged()
    start = LTUTree(tree.shape, tree.weights[:, live], tree.biases)
    loss = TreeLoss.of_one(seen, tree.shape, training.l2, None if mask is None else mask[:, live], training.logistic)
    point = point_of(start).astype(rows.inputs.dtype)[None]
    points, _ = minimise(loss, point, training.steps, training.tolerance, check)
    return tree_of(points[0], tree.shape).over(live, rows.inputs.shape[1])
