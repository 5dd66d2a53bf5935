"""Held-out rows: shares, equal rows, groups."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.tables.kinds.inference import infer
from rulekit.tables.splitting import held_out


def test_the_share_holds_in_every_class() -> None:
    rng = np.random.default_rng(0)
    table, y = infer(rng.normal(size=(1000, 3))), (rng.random(1000) < 0.2).astype(np.int64)
    chosen = held_out(table, y, 0.25, seed=1)
    for k in (0, 1):
        assert chosen[y == k].mean() == pytest.approx(0.25, abs=0.01)
    assert (chosen == held_out(table, y, 0.25, seed=1)).all()
    assert (chosen != held_out(table, y, 0.25, seed=2)).any()


def test_equal_rows_stay_together() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (500, 2)).astype(float)
    values[rng.random((500, 2)) < 0.1] = np.nan
    y = (rng.random(500) < 0.5).astype(np.int64)
    chosen = held_out(infer(values), y, 0.3)
    sides: dict[bytes, set[bool]] = {}
    for row, side in zip(values, chosen.tolist(), strict=True):
        sides.setdefault(row.tobytes(), set()).add(side)
    assert all(len(side) == 1 for side in sides.values())
    assert 0.1 < chosen.mean() < 0.5


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 50, 500)
    y = (rng.random(500) < 0.5).astype(np.int64)
    chosen = held_out(infer(rng.normal(size=(500, 2))), y, 0.3, group=group)
    assert set(group[chosen]) & set(group[~chosen]) == set()


def test_a_side_without_a_class_is_refused() -> None:
    with pytest.raises(InputError, match="lack a class"):
        held_out(infer(np.arange(6.0).reshape(-1, 1)), np.array([0, 0, 0, 0, 0, 1]), 0.3)
