"""Rows of words, as the fits of noisy-ors take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack


def rows_of_words(matrix: Any) -> csr_array:
    """1 where an entry of a sparse matrix [n, n_words] is not 0: a cell for each word."""
    held = csr_array(matrix != 0)
    held.sum_duplicates()
    return held.astype(np.float64)


def with_absent_words(rows: csr_array) -> csr_array:
    """The rows [n, 2 n_words] with a further cell for each word, that it is absent: what the general noisy-or takes."""
    return csr_array(hstack([rows, csr_array(1.0 - rows.toarray())]))
