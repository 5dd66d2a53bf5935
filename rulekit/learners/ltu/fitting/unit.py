"""One unit: starts from the moments, each cut by entropy and polished, and the one whose split tells most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rulekit.learners.counting.histograms import Floats
from rulekit.learners.ltu.fitting.cuts import best_cuts, split_entropy
from rulekit.learners.ltu.fitting.lbfgs import minimise
from rulekit.learners.ltu.fitting.loss import TreeLoss
from rulekit.learners.ltu.fitting.moments import directions
from rulekit.learners.ltu.fitting.refining import Training
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.shape import Shape

_DEVIATION = 3.0


def starts(rows: Rows, count: int) -> Floats:
    """Units [k, d + 1], biases last: along the first moment and so many of the second, cut where entropy is least."""
    along = directions(rows, count)
    if not len(along):
        return np.zeros((0, rows.inputs.shape[1] + 1))
    projections = along @ rows.inputs.T
    cuts, signs = best_cuts(rows, projections)
    means = projections @ rows.weights / rows.total
    deviations = np.sqrt(np.maximum((projections - means[:, None]) ** 2 @ rows.weights / rows.total, 1e-12))
    scale = signs * _DEVIATION / deviations
    return np.hstack([along * scale[:, None], -(cuts * scale)[:, None]])


def polished(rows: Rows, units: Floats, training: Training, check: Callable[[], None]) -> Floats:
    """Units [k, d + 1] fitted by the bounded loss, each from where it is."""
    k = len(units)
    loss = TreeLoss(rows, Shape.chain(1), np.full(k, training.l2), np.zeros(k, dtype=bool))
    points, _ = minimise(loss, units.astype(rows.inputs.dtype), training.steps, training.tolerance, check)
    return np.asarray(points, dtype=np.float64)


def best_unit(rows: Rows, count: int, training: Training, check: Callable[[], None]) -> Floats | None:
    """The unit [d + 1] that splits the rows best, of polished starts; None where none splits them.

    Chosen by the entropy of the split, not by the loss: that of a unit which says the same of all rows can be lower
    than that of one that parts the rows well but is right on one side only.
    """
    begun = starts(rows, count)
    if not len(begun):
        return None
    units = np.vstack([begun, polished(rows, begun, training, check)])
    fires = rows.fires(units[:, :-1], units[:, -1]).T
    entropy = split_entropy(rows, fires)
    entropy[fires.all(axis=1) | ~fires.any(axis=1)] = np.inf
    chosen = int(entropy.argmin())
    return None if np.isinf(entropy[chosen]) else units[chosen]
