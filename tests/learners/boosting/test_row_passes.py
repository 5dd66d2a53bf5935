"""What a round does to each row: compiled and interpreted, on one thread and on two, to the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit.learners.boosting import stumps
from rulekit.learners.boosting.stumps import add_votes, multiply, parts_of, weigh
from rulekit.learners.sums_of_rows.histograms import lead_by_code

N = 2 * stumps._PART + 5


def _rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.random(N), rng.integers(0, 2, N).astype(np.uint8), rng.integers(0, 7, N).astype(np.uint8)


@pytest.fixture(params=["0", "1"])
def numba_off(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEKIT_NO_NUMBA", request.param)


@pytest.mark.usefixtures("numba_off")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_passes_are_what_whole_arrays_give(n_threads: int) -> None:
    factors, labels, codes = _rows()
    by, votes = np.random.default_rng(1).random((2, 7)), np.linspace(-1.0, 1.0, 7)
    expected = factors * np.where(labels == 1, by[1][codes], by[0][codes])
    multiply(factors, labels, codes, by, n_threads)
    assert np.array_equal(factors, expected)

    for rows in (codes.astype(np.int64), np.broadcast_to(np.ones(1, dtype=np.int64), (N,))):
        weights = np.empty(N, dtype=np.int64)
        weigh(rows, factors, 2.0**40, weights, n_threads)
        assert np.array_equal(weights, rows * np.rint(factors * 2.0**40).astype(np.int64))

    sums, rounded = factors - 0.5, np.arange(N, dtype=np.int32)
    steps = np.arange(7, dtype=np.int32)
    whole, whole_steps = sums + votes[codes], rounded + steps[codes]
    yes = add_votes(sums, rounded, codes, votes, steps, n_threads)
    assert np.array_equal(sums, whole)
    assert np.array_equal(rounded, whole_steps)
    assert np.array_equal(yes, whole > 0.0)


@pytest.mark.usefixtures("numba_off")
@pytest.mark.parametrize("k", [1, 3, 4, 6])
def test_leads_are_the_weights_for_less_those_against(k: int) -> None:
    rng = np.random.default_rng(2)
    matrix, labels = rng.integers(0, 5, (3000, k)).astype(np.uint8), rng.integers(0, 2, 3000)
    weights, leads = rng.integers(0, 1 << 30, 3000), np.zeros(5 * k, dtype=np.int64)

    lead_by_code(matrix, np.arange(k + 1) * 5, labels, weights, leads)

    signed = np.where(labels == 1, weights, -weights)
    assert leads.tolist() == [int(signed[matrix[:, j] == code].sum()) for j in range(k) for code in range(5)]


def test_parts_hold_every_row_once() -> None:
    assert [row for part in parts_of(N) for row in range(part.start, part.stop)] == list(range(N))
    assert parts_of(0) == []
