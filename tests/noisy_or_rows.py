"""Rows of words for the tests of the noisy-or, drawn from known models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.noisy_or.search.fits import cells_of as cells_held

Array = npt.NDArray[Any]


def drawn(seed: int, n: int = 200, k: int = 8, share: float = 0.4) -> tuple[Array, Array]:
    """Words [n, k] and labels [n] of a noisy-or of which some strengths are 0; both labels occur."""
    rng = np.random.default_rng(seed)
    words = rng.random((n, k)) < share
    strengths = np.where(rng.random(k) < 0.5, rng.exponential(1.0, k), 0.0)
    labels = (rng.random(n) < -np.expm1(-0.1 - words @ strengths)).astype(np.int64)
    labels[:2] = 0, 1
    return words, labels


def cells_of(words: Array) -> RowCells:
    """The rows as cells: a word that is there."""
    return cells_held(list(words.T > 0), len(words))
