"""Chains: the or of some units or its contrary, all units trained together from many starts at once.

Starts that fall behind are given up: half after the first steps, all but two after some more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.ltu.candidates import RIDGES
from rulekit.learners.ltu.lbfgs import Numbers, minimise
from rulekit.learners.ltu.loss import FitRows, TreeLoss, TreeTraining, tree_of
from rulekit.learners.ltu.moments import directions
from rulekit.learners.ltu.trees import LTUTree, Shape

_HEATS = ((20, 0.5, 3), (40, 0.0, 2))
"""So many steps, after which this share of the starts of each kind is kept, and at least so many."""
_HEAT_ROWS = 3_000


def chain(points: Numbers, flipped: bool, size: int) -> LTUTree:
    """The or of the units, or its contrary, which is the and of the contrary units."""
    if not flipped:
        return tree_of(points, Shape.chain(size))
    return tree_of(-points, Shape.chain(size, by_left=False))


def chains_of(
    rows: FitRows, size: int, n_starts: int, rng: np.random.Generator, check: Callable[[], None]
) -> Iterator[tuple[LTUTree, TreeTraining]]:
    """The best chains of so many units, for each ridge the two best of each kind."""
    kinds = (False,) if size == 1 else (False, True)
    flipped = np.repeat(kinds, n_starts)
    points = _starts(rows, size, flipped, rng)
    few = rows.sampled(_HEAT_ROWS, rng)
    for steps, share, least in _HEATS:
        points, losses = _trained(few, size, points, flipped, TreeTraining(RIDGES[0], steps=steps), check)
        kept = _best(losses, flipped, max(least, int(np.ceil(share * n_starts))))
        points, flipped = points[kept], flipped[kept]
    for l2 in RIDGES:  # the next one goes on where this one came to
        training = TreeTraining(l2, steps=200, tolerance=1e-5)
        points, _ = _trained(rows, size, points, flipped, training, check)
        for point, contrary in zip(points, flipped, strict=True):
            yield chain(point, bool(contrary), size), replace(training, tolerance=1e-6)


def _trained(
    rows: FitRows, size: int, points: Numbers, flipped: Bools, training: TreeTraining, check: Callable[[], None]
) -> tuple[Numbers, Floats]:
    loss = TreeLoss(rows, Shape.chain(size), np.full(len(points), training.l2), flipped)
    return minimise(loss, points, training.steps, max(training.tolerance, 1e-5), check)


def _best(losses: Floats, flipped: Bools, count: int) -> Bools:
    """The so many of the least loss of each kind."""
    kept = np.zeros(len(losses), dtype=bool)
    for kind in np.unique(flipped):
        own = np.flatnonzero(flipped == kind)
        kept[own[np.argsort(losses[own], kind="stable")[:count]]] = True
    return kept


_DEVIATION = 1.5


def _starts(rows: FitRows, size: int, flipped: Bools, rng: np.random.Generator) -> Numbers:
    """Points: the weights of half of them at random, of the others along the directions of the moments.

    The margins have a deviation of 1.5, and each unit fires so often that their or is true as often as it should be.
    """
    b, d = len(flipped), rows.inputs.shape[1]
    along = directions(rows, min(2 * size, 6))
    weights = rng.standard_normal((b, size, d)) / np.sqrt(max(d, 1))
    if len(along):
        mixed = rng.standard_normal((b, size, len(along))) / np.sqrt(len(along)) @ along
        informed = np.arange(b) % 2 == 0
        weights[informed] = mixed[informed] + 0.3 * weights[informed]
    weights *= _DEVIATION
    shares = np.clip(np.where(flipped, 1.0 - rows.share, rows.share), 0.02, 0.98)
    each = 1.0 - (1.0 - shares) ** (1.0 / size)
    biases = np.broadcast_to(np.log(each / (1.0 - each))[:, None], (b, size))
    return np.concatenate([weights, biases[:, :, None]], axis=2).reshape(b, -1).astype(rows.inputs.dtype)
