"""Rows of words are the entries of a matrix that are not 0."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from benchmarks.shared.sparse_rows import rows_of_words


def test_stored_zeros_and_repeated_entries_are_no_cells() -> None:
    matrix = csr_array((np.array([1.0, 0.0, 2.0, 1.0]), np.array([2, 0, 1, 2]), np.array([0, 4, 4])), shape=(2, 3))
    rows = rows_of_words(matrix)
    assert rows.indptr.tolist() == [0, 2, 2]
    assert rows.indices.tolist() == [1, 2]
