"""Leads by code, compiled and interpreted, and parts of rows."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.learners.boosting.stumps import parts_of
from rulekit.learners.sums_of_rows.histograms import lead_by_code

N = 131_077


@pytest.fixture(params=["0", "1"])
def numba_off(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEKIT_NO_NUMBA", request.param)


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
