"""Which rows train and which test: the same for every learner, from a named seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Split:
    """Row numbers of one training and one test part, and what they are called in tables and results."""

    name: str
    train: Rows
    test: Rows


def stratified_folds(labels: npt.NDArray[np.int8], n_folds: int, seed: int) -> list[Split]:
    """Each row is tested once; every fold has each class in its share, give or take a row.

    The rows of each class are shuffled by one generator, class 0 first, and dealt out in turn.
    """
    random = np.random.RandomState(seed)
    fold = np.empty(len(labels), dtype=np.int64)
    dealt = 0
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        rows = rows[random.permutation(len(rows))]
        fold[rows] = (dealt + np.arange(len(rows))) % n_folds
        dealt += len(rows)
    return [Split(f"fold {k}", np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def held_out(labels: npt.NDArray[np.int8], seed: int) -> Split:
    """30 % of each class for testing: the first round(.3 n) rows of RandomState(seed).permutation, class 0 first."""
    random = np.random.RandomState(seed)
    test = []
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        test.append(rows[random.permutation(len(rows))][: round(0.3 * len(rows))])
    tested = np.sort(np.concatenate(test))
    return Split(f"seed {seed}", np.setdiff1d(np.arange(len(labels)), tested), tested)


def two_files(n_train: int, n_test: int) -> Split:
    """The first rows train, the others, of a file of their own, test."""
    return Split("official", np.arange(n_train), np.arange(n_train, n_train + n_test))
