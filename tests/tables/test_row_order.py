"""The note on the order of rows: dependence that is there is named, and chance is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import order_note
from rulekit.tables.labels import LabelledTable


def rows_of(columns: dict[str, object], y: np.ndarray) -> LabelledTable:
    return LabelledTable(infer(columns), y.astype(np.int64), tuple(range(int(y.max()) + 1)), target="y")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([100, 300, 2000]), rare=st.sampled_from([0.5, 0.1, 0.02, 0.005]))
def test_rows_in_random_order_are_never_noted(seed: int, n: int, rare: float) -> None:
    """Rare labels and levels, gaps and ties among them; none of 5,000 seeds was noted."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rare
    y[:2], y[2:4] = True, False
    columns = {
        "number": rng.lognormal(size=n),
        "tied": rng.poisson(0.3, n).astype(float),
        "gaps": np.where(rng.random(n) < 0.7, np.nan, rng.normal(size=n)),
        "level": rng.choice(["a", "b", "c"], n, p=[1 - rare, rare / 2, rare / 2]),
        "id": np.arange(n, dtype=float),
    }
    rng.shuffle(y)
    assert order_note(rows_of(columns, y)) is None


@pytest.mark.parametrize("n", [400, 3000])
def test_what_depends_on_the_row_before_is_named(n: int) -> None:
    rng = np.random.default_rng(0)
    walk = np.zeros(n)
    for k in range(1, n):
        walk[k] = 0.9 * walk[k - 1] + rng.normal()
    free = rng.random(n)
    note = order_note(rows_of({"a": free, "b": walk}, rng.random(n) < 0.5))
    assert note is not None
    assert "alike in b, " in note
    assert "--time rows" in note
    note = order_note(rows_of({"a": free, "day": np.arange(n) // 3}, walk > 0))
    assert note is not None
    assert "alike in y, " in note
    assert note.endswith("in the order of day; if that is time, give --time day")
    note = order_note(rows_of({"a": free, "b": walk}, np.arange(n) > n / 2))
    assert note == "the rows are sorted by y: their order is no order of time"
