"""Rows of cells are what a dense matrix says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import cells_of

from rulekit.learners.noisy_or.fitting.row_cells import RowCells


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 12), st.integers(1, 9))
def test_every_sum_and_choice_is_that_of_the_matrix(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    dense = (rng.random((n, k)) < 0.4) * rng.integers(1, 4, (n, k))
    rows = cells_of(dense)
    held = dense > 0
    weights, values = rng.random(k), rng.random(n)
    np.testing.assert_allclose(rows.row_sums(weights), held @ weights)
    np.testing.assert_allclose(rows.cell_sums(values), values @ held)
    chosen = rng.random(n) < 0.5
    assert np.array_equal(as_dense(rows.take(chosen)), held[chosen])
    assert np.array_equal(as_dense(rows.followed_by(rows)), np.concatenate([held, held]))
    starts, by_cell = rows.by_cell()
    for j in range(k):
        assert by_cell[starts[j] : starts[j + 1]].tolist() == np.flatnonzero(held[:, j]).tolist()


def as_dense(rows: RowCells) -> np.ndarray:
    found = np.zeros((len(rows), rows.n_cells), dtype=bool)
    found[np.repeat(np.arange(len(rows)), rows.lengths), rows.indices] = True
    return found


def test_sums_are_the_same_bits_with_and_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    rows = cells_of(rng.random((3000, 60)) < 0.5)  # more than one part
    weights, values = rng.random(60), rng.random(3000)
    found = []
    for switch in ("0", "1"):
        monkeypatch.setenv("RULEKIT_NO_NUMBA", switch)
        found.append((rows.row_sums(weights).tobytes(), rows.cell_sums(values).tobytes(), rows.by_cell()[1].tobytes()))
    assert found[0] == found[1]
