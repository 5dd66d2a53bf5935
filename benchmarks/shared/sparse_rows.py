"""Rows of words, as the fits of noisy-ors take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.learners.noisy_or.fitting.row_cells import RowCells


def rows_of_words(matrix: Any) -> RowCells:
    """The entries of a CSR matrix [n, n_words] that are not 0: one cell and one attribute for each column."""
    held = matrix != 0
    held.sum_duplicates()
    return RowCells(
        held.indptr.astype(np.int64), held.indices.astype(np.int32), np.arange(held.shape[1], dtype=np.int32)
    )
