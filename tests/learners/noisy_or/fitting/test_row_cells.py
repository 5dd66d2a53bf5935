"""Rows of cells are what a dense matrix says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rulekit.errors import InputError
from rulekit.learners.noisy_or.fitting.row_cells import RowCells


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 12), st.integers(1, 9))
def test_every_sum_and_choice_is_that_of_the_matrix(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    dense = (rng.random((n, k)) < 0.4) * rng.integers(1, 4, (n, k))
    rows = RowCells.of_sparse(csr_array(dense))
    held = dense > 0
    weights, values = rng.random(k), rng.random(n)
    np.testing.assert_allclose(rows.row_sums(weights), held @ weights)
    np.testing.assert_allclose(rows.cell_sums(values), values @ held)
    chosen, columns = rng.random(n) < 0.5, rng.random(k) < 0.5
    assert np.array_equal(as_dense(rows.take(chosen)), held[chosen])
    assert np.array_equal(as_dense(rows.columns(columns)), held[:, columns])
    assert np.array_equal(as_dense(rows.followed_by(rows)), np.concatenate([held, held]))
    starts, by_cell = rows.by_cell()
    for j in range(k):
        assert by_cell[starts[j] : starts[j + 1]].tolist() == np.flatnonzero(held[:, j]).tolist()


def as_dense(rows: RowCells) -> np.ndarray:
    found = np.zeros((len(rows), rows.n_cells), dtype=bool)
    found[rows.row_of_each(0, len(rows)), rows.indices] = True
    return found


def test_stored_zeros_and_repeated_entries_are_no_cells() -> None:
    matrix = csr_array((np.array([1.0, 0.0, 2.0, 1.0]), np.array([2, 0, 1, 2]), np.array([0, 4, 4])), shape=(2, 3))
    rows = RowCells.of_sparse(matrix)
    assert rows.indptr.tolist() == [0, 2, 2]
    assert rows.indices.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("indptr", "indices"), [([0, 2], [0, 5]), ([0, 2], [0, -1]), ([0, 3], [0, 1]), ([1, 2], [0, 1]), ([0, 2, 1], [0])]
)
def test_what_is_no_matrix_is_refused(indptr: list[int], indices: list[int]) -> None:
    class Matrix:
        data, shape = None, (len(indptr) - 1, 3)

    Matrix.indptr, Matrix.indices = np.array(indptr), np.array(indices)
    with pytest.raises(InputError, match="pass a CSR matrix"):
        RowCells.of_sparse(Matrix())


def test_sums_are_the_same_bits_with_and_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    rows = RowCells.of_sparse(csr_array(rng.random((3000, 60)) < 0.5))  # more than one part
    weights, values = rng.random(60), rng.random(3000)
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("RULEKIT_NO_NUMBA", switch)
        found.append((rows.row_sums(weights).tobytes(), rows.cell_sums(values).tobytes(), rows.by_cell()[1].tobytes()))
    assert found[0] == found[1]
