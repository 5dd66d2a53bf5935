"""Counts kept from step to step: the same integers as counting all rows anew, whatever was split."""

from __future__ import annotations

import numpy as np
import pytest
from cnll_cases import with_numba
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.cnll import split_search
from rulekit.learners.cnll.estimator import CNLLClassifier
from rulekit.learners.cnll.split_search import CellCounts, FixedPoint
from rulekit.learners.data.binning import MemoryCodes
from rulekit.learners.sums_of_rows.histograms import RowCells, count_cells

N_CODES = [3, 5, 2]

pytestmark = with_numba  # the counts are kept by compiled code only


@pytest.fixture(autouse=True)
def _small_tables_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_search, "_WORTH_KEEPING", 0)


def rows_of(cell: np.ndarray, labels: np.ndarray, n_cells: int) -> RowCells:
    weights, holds = np.broadcast_to(np.int64(3), cell.shape), np.zeros((n_cells, 0), dtype=bool)
    cell = cell.astype(np.int32)
    return RowCells(labels, weights, cell, holds, count_cells(cell, labels, weights, n_cells))


def table_of(rng: np.random.Generator, n: int) -> tuple[MemoryCodes, np.ndarray]:
    matrix = np.stack([rng.integers(0, k, n) for k in N_CODES], axis=1).astype(np.uint8)
    return MemoryCodes.of_matrix(matrix), rng.integers(0, 2, n)


def check_sums(kept: CellCounts, codes: MemoryCodes, rows: RowCells, rng: np.random.Generator) -> None:
    """Sums of random lines from the counts equal those row by row."""
    fixed = FixedPoint.of(rows.weights, 1.0)
    assert codes.matrix is not None
    u, v = rng.random((2, len(rows.counts), 2))
    columns, table = np.array([0, 2]), fixed.lines(u, v)
    expected, actual = np.zeros((2, 2, max(N_CODES), table.shape[1]), dtype=np.int64)
    fixed.add_sums(expected, codes.matrix, columns, rows, table, 0)
    kept.add_sums(rows, columns, table, 0, actual)
    np.testing.assert_array_equal(actual, expected)


@given(st.integers(0, 10**6), st.integers(1, 2), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_splits_keep_the_sums(seed: int, threads: int, times: int) -> None:
    rng = np.random.default_rng(seed)
    codes, labels = table_of(rng, 300)
    cell = np.zeros(300, dtype=np.int64)
    kept = CellCounts.of(codes, N_CODES, rows_of(cell, labels, 1), threads)
    assert kept is not None
    for _ in range(times):
        halves = 2 * cell + (rng.random(300) < rng.random())
        occur, cell = np.unique(halves, return_inverse=True)
        rows = rows_of(cell, labels, len(occur))
        kept.split(rows, occur // 2)
        check_sums(kept, codes, rows, rng)
        assert np.array_equal(kept.slot >= 0, rows.sizes() >= kept.least)


def test_unequal_weights_are_not_kept() -> None:
    codes, labels = table_of(np.random.default_rng(2), 50)
    rows = RowCells.of_all(labels, np.arange(1, 51))
    assert CellCounts.of(codes, N_CODES, rows, 1) is None


def test_the_model_is_that_of_counting_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 6)).astype(np.float32)
    y = ((X[:, 0] > 0.3) & (X[:, 1] < 0.5)) | (X[:, 2] > 1.0) ^ (rng.random(1500) < 0.1)
    learner = CNLLClassifier(9, stopping="none")
    with_counts = str(learner.fit(X, y).rule_graph_)
    monkeypatch.setattr(split_search, "_WORTH_KEEPING", 1 << 40)
    assert str(learner.fit(X, y).rule_graph_) == with_counts
