"""Directions in which labels change: the first moment, and those of the quadratic part, which it cannot see.

With F the centred inputs and c the labels less their mean: F'c, and the eigenvectors of M = F' diag(c) F / n of the
largest absolute eigenvalues. Where both classes have the same mean, as in an exclusive or, F'c is nothing but noise.
"""

from __future__ import annotations

import numpy as np

from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.sums_of_rows.histograms import Floats, Ints

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


_PARTNERS = 12


def ranked(rows: Rows) -> Ints:
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
