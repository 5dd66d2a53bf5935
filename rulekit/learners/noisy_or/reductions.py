"""Noisy-and, noisy-max and noisy-min as noisy-ors: which rows each of them is learned from, and what they say together.

Noisy-and: P(C = 1 | a) is a product, so that C = 0 is a noisy-or of the same cells. Noisy-max over classes 0 .. K - 1:
P(C <= c | a) is the product over c' > c of exp(-d_c'), where d_c' is the activation of cut c' (Vomlel 2003, section
2.1, with the state of each A' counted by its steps). The conditional log-likelihood then is the sum of those of K - 1
noisy-ors, and cut c is learned from the rows with C <= c, positive iff C = c. Noisy-min: the classes in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting.histograms import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A noisy-or of a noisy-max: the class it tells from those below, the rows [n] that it is learned from, labels."""

    threshold: int
    rows: Bools
    labels: Ints


def cuts_of_max(labels: npt.NDArray[Any], n_classes: int) -> Iterator[Cut]:
    """The K - 1 noisy-ors of a noisy-max over labels [n] 0 .. K - 1; the labels of a cut are of its rows only."""
    for c in range(1, n_classes):
        rows = np.asarray(labels) <= c
        yield Cut(c, rows, (np.asarray(labels)[rows] == c).astype(np.int64))


def reversed_classes(labels: npt.NDArray[Any], n_classes: int) -> Ints:
    """The labels [n] counted from the other end, by which a noisy-min is a noisy-max and a noisy-and a noisy-or."""
    return (n_classes - 1 - np.asarray(labels)).astype(np.int64)


def class_probabilities(activations: Floats) -> Floats:
    """P(C = c | a) [n, K] of a noisy-max from the activations [n, K - 1] of its cuts; small ones keep their digits."""
    above = np.cumsum(activations[:, ::-1], axis=1)[:, ::-1]  # of the cuts c' >= c: -log P(C < c)
    at_most = np.exp(-np.concatenate([above, np.zeros((len(activations), 1))], axis=1))
    own = -np.expm1(-np.concatenate([np.full((len(activations), 1), np.inf), activations], axis=1))
    return np.asarray(own * at_most)
