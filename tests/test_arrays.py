"""Distinct rows are those of np.unique, however they lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.arrays import distinct_rows


@pytest.mark.parametrize("k", [0, 3, 9, 70])
def test_one_row_of_each_kind_is_taken_however_they_lie_in_memory(k: int) -> None:
    drawn = np.random.default_rng(k).random((300, 2 * k)) < 0.5
    for rows in (drawn[:, ::2], np.asfortranarray(drawn[:, :k]), drawn[:, list(range(k))], drawn[:, :k].view(np.uint8)):
        first, kind = distinct_rows(rows)
        assert np.array_equal(rows[first], np.unique(rows, axis=0) if k else rows[:1])
        assert np.array_equal(rows[first][kind], rows)
