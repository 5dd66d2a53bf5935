"""Directions in which labels change: the first moment, and those of the quadratic part, which it cannot see.

With F the centred inputs and c the labels less their mean: F'c, and the eigenvectors of M = F' diag(c) F / n of the
largest absolute eigenvalues. Where both classes have the same mean, as in an exclusive or, F'c is nothing but noise.
"""

from __future__ import annotations

import numpy as np

from rulekit.learners.counting.histograms import Floats, Ints
from rulekit.learners.ltu.fitting.rows import Rows

_BLOCK = 1 << 16


def moments(rows: Rows) -> tuple[Floats, Floats]:
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


def directions(rows: Rows, count: int) -> Floats:
    """Unit vectors [k, d]: the first moment, and so many of the second, at most all."""
    first, second = moments(rows)
    values, vectors = np.linalg.eigh(second)
    chosen = np.argsort(-np.abs(values), kind="stable")[:count]
    found = np.vstack([first, vectors[:, chosen].T])
    lengths = np.linalg.norm(found, axis=1)
    return np.asarray(found[lengths > _NOTHING] / lengths[lengths > _NOTHING, None])


_NOTHING = 1e-12


def ranked(rows: Rows) -> Ints:
    """The inputs [d] by how much they tell, most first.

    The figure of an input is the larger of its first moment and its largest second one with another input, each in
    standard errors.
    """
    first, second = moments(rows)
    np.fill_diagonal(second, 0.0)
    tells = np.maximum(np.abs(first), np.abs(second).max(axis=1, initial=0.0))
    return np.argsort(-tells, kind="stable")
