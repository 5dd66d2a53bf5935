"""Markov chains on finite, strongly connected graphs, and their stationary vector in the source's three ways.

J. Kun, Markov Chain Monte Carlo Without all the Bullshit, 2015. Column i of a matrix [n, n] says where a step from i
goes; each column's sum is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.arrays import Floats
from rulekit.sampling.walks import acceptance

_DOUBLINGS = 60


def metropolis_matrix(log_probabilities: Floats, neighbours: Sequence[Sequence[int]], most: int) -> Floats:
    """The matrix of the walk that draws each neighbour with probability 1 / most, and else stays."""
    matrix = np.zeros((len(neighbours), len(neighbours)))
    for i, around in enumerate(neighbours):
        for j in around:
            matrix[j, i] = acceptance(float(log_probabilities[i]), float(log_probabilities[j])) / most
    return np.asarray(matrix + np.diag(1.0 - matrix.sum(axis=0)))


def by_eigenvector(matrix: Floats) -> Floats:
    """The eigenvector of eigenvalue 1."""
    values, vectors = np.linalg.eig(matrix)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    return np.asarray(vector / vector.sum())


def by_inverse(matrix: Floats) -> Floats:
    """The last column of the inverse of A - I without its first row, above a row of ones."""
    rows = [(matrix - np.eye(len(matrix)))[1:], np.ones((1, len(matrix)))]
    return np.asarray(np.linalg.inv(np.concatenate(rows))[:, -1])


def by_average(matrix: Floats) -> Floats:
    """The long-term average from the first state, which an even cycle has, too.

    The mean of 2 t steps is that of t steps and of the t after them, so that 60 products make 2^60 steps.
    """
    mean, power = np.eye(len(matrix))[0], matrix
    for _ in range(_DOUBLINGS):
        mean = (mean + power @ mean) / 2.0
        power = power @ power
        power /= power.sum(axis=0)  # else roundings grow with the steps
    return np.asarray(mean)
