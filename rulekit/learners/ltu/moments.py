"""One unit: starts from the moments, each cut where the labels have least entropy, polished, and the best split.

With F the centred inputs and c the labels less their mean, labels change along F'c, and along the eigenvectors of the
largest absolute eigenvalues of M = F' diag(c) F / n, the quadratic part, which F'c cannot see. Where both classes have
the same mean, as in an exclusive or, F'c is nothing but noise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.ltu.lbfgs import minimise
from rulekit.learners.ltu.loss import FitRows, TreeLoss, TreeTraining
from rulekit.learners.ltu.trees import Shape

_BLOCK = 1 << 16


def moments(rows: FitRows) -> tuple[Floats, Floats]:
    """F'c / n [d] and M [d, d]."""
    total = rows.total
    means = rows.weights @ rows.inputs / total
    c = rows.weights * (rows.targets - rows.share) / total
    n, d = rows.inputs.shape
    first, second = np.zeros(d), np.zeros((d, d))
    for start in range(0, n, _BLOCK):
        centred = rows.inputs[start : start + _BLOCK] - means
        own = c[start : start + _BLOCK]
        first += own @ centred
        second += (centred.T * own) @ centred
    return first, second


def directions(rows: FitRows, count: int) -> Floats:
    """Unit vectors [k, d]: the first moment, and so many of the second, at most all."""
    first, second = moments(rows)
    values, vectors = np.linalg.eigh(second)
    chosen = np.argsort(-np.abs(values), kind="stable")[:count]
    found = np.vstack([first, vectors[:, chosen].T])
    lengths = np.linalg.norm(found, axis=1)
    return np.asarray(found[lengths > _NOTHING] / lengths[lengths > _NOTHING, None])


_NOTHING = 1e-12


_PARTNERS = 12


def ranked(rows: FitRows) -> Ints:
    """The inputs [d] by how much they tell, most first.

    What an input tells is about minus the logarithm of the chance that one which means nothing would have as large a
    first moment, or as large a second moment with another input, of which there are many to try, or as large second
    moments with those that tell most: the inputs of one unit have them with each other.
    """
    first, second = moments(rows)
    d = len(first)
    deviation = np.sqrt(max(rows.share * (1.0 - rows.share), _NOTHING) / max(rows.total, 1.0))
    first, second = first / deviation, second / deviation
    np.fill_diagonal(second, 0.0)
    squares = second**2
    tells = np.maximum(first**2 / 2.0, squares.max(axis=1, initial=0.0) / 2.0 - np.log(max(d, 1)))
    chosen = np.argsort(-tells, kind="stable")[:_PARTNERS]
    weights = np.maximum(tells[chosen], _NOTHING)
    shared = squares[:, chosen] @ weights / weights.sum()
    usual = max(float(np.median(shared)), _NOTHING) if d else 1.0
    spread = np.sqrt(2.0 * (weights**2).sum()) / weights.sum()
    tells = np.maximum(tells, np.maximum((shared / usual - 1.0) / spread, 0.0) ** 2 / 2.0)
    return np.argsort(-tells, kind="stable")


_DEVIATION = 3.0
_DIRECTIONS = 5


def starts(rows: FitRows) -> Floats:
    """Units [k, d + 1], biases last: along the first moment and five of the second, cut where entropy is least."""
    along = directions(rows, _DIRECTIONS)
    if not len(along):
        return np.zeros((0, rows.inputs.shape[1] + 1))
    projections = along @ rows.inputs.T
    cuts, signs = best_cuts(rows, projections)
    means = projections @ rows.weights / rows.total
    deviations = np.sqrt(np.maximum((projections - means[:, None]) ** 2 @ rows.weights / rows.total, 1e-12))
    scale = signs * _DEVIATION / deviations
    return np.hstack([along * scale[:, None], -(cuts * scale)[:, None]])


def polished(rows: FitRows, units: Floats, training: TreeTraining, check: Callable[[], None]) -> Floats:
    """Units [k, d + 1] fitted by the bounded loss, each from where it is."""
    k = len(units)
    loss = TreeLoss(rows, Shape.chain(1), np.full(k, training.l2), np.zeros(k, dtype=bool))
    points, _ = minimise(loss, units.astype(rows.inputs.dtype), training.steps, training.tolerance, check)
    return np.asarray(points, dtype=np.float64)


def best_unit(rows: FitRows, training: TreeTraining, check: Callable[[], None]) -> Floats | None:
    """The unit [d + 1] that splits the rows best, of polished starts; None where none splits them.

    Chosen by the entropy of the split, not by the loss: that of a unit which says the same of all rows can be lower
    than that of one that parts the rows well but is right on one side only.
    """
    begun = starts(rows)
    if not len(begun):
        return None
    units = np.vstack([begun, polished(rows, begun, training, check)])
    fires = rows.fires(units[:, :-1], units[:, -1]).T
    entropy = split_entropy(rows, fires)
    entropy[fires.all(axis=1) | ~fires.any(axis=1)] = np.inf
    chosen = int(entropy.argmin())
    return None if np.isinf(entropy[chosen]) else units[chosen]


_BINS = 512


def entropies(yes: Floats, no: Floats) -> Floats:
    """The entropy of the labels of groups with so many rows of either label, times their rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.where(count > 0.0, count * np.log(count / (yes + no)), 0.0) for count in (yes, no)]
    return np.asarray(-logs[0] - logs[1])


def split_entropy(rows: FitRows, fires: Bools) -> Floats:
    """The entropy [k] of the labels on both sides of units; fires [k, n]."""
    of_all = np.array([rows.weights * rows.targets, rows.weights * (1.0 - rows.targets)])
    right = of_all @ fires.T
    left = of_all.sum(axis=1)[:, None] - right
    return entropies(right[0], right[1]) + entropies(left[0], left[1])


def best_cuts(rows: FitRows, projections: Floats) -> tuple[Floats, Floats]:
    """The best cut [k] of each projection [k, n], and by which sign [k] rows above it (1) or below it (-1) are yes.

    A cut lies midway between bins of a histogram of 512 bins.
    """
    k, n = projections.shape
    low = projections.min(axis=1, keepdims=True)
    width = (projections.max(axis=1, keepdims=True) - low) / _BINS
    width[width <= 0.0] = 1.0
    bins = np.minimum(((projections - low) / width).astype(np.int64), _BINS - 1)
    flat = (bins + np.arange(k)[:, None] * _BINS).ravel()
    yes, no = (
        np.bincount(flat, np.broadcast_to(own, (k, n)).ravel(), k * _BINS).reshape(k, _BINS)
        for own in (rows.weights * rows.targets, rows.weights * (1.0 - rows.targets))
    )
    below_yes, below_no = yes.cumsum(axis=1)[:, :-1], no.cumsum(axis=1)[:, :-1]
    all_yes, all_no = yes.sum(axis=1, keepdims=True), no.sum(axis=1, keepdims=True)
    above_yes, above_no = all_yes - below_yes, all_no - below_no
    entropy = entropies(below_yes, below_no) + entropies(above_yes, above_no)
    at, every = _middle_of_least(entropy), np.arange(k)
    # The side that has more of label 1, in shares, is that of yes.
    more = above_yes[every, at] * all_no[:, 0] >= above_no[every, at] * all_yes[:, 0]
    return low[:, 0] + width[:, 0] * (at + 1), np.where(more, 1.0, -1.0)


def _middle_of_least(entropy: Floats) -> Ints:
    """The place [k] of the least of each row; the middle of the first run of equal ones, where bins are empty."""
    first = entropy.argmin(axis=1)
    same = entropy <= entropy[np.arange(len(entropy)), first][:, None] + 1e-9
    run = (same & (np.cumsum(~same & (np.arange(same.shape[1]) > first[:, None]), axis=1) == 0)).sum(axis=1)
    return np.asarray(first + (run - 1) // 2)
