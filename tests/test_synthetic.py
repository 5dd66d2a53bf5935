"""The made-up data are what the paper describes, and the same for a seed."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from rulekit.synthetic import exclusive_or, five_bits, loans, noisy_logical, threshold_blocks, write_csv


def test_exclusive_or() -> None:
    X, y = exclusive_or(3)
    assert X.shape == (3000, 2)
    upper = X >= 1
    assert [int((upper == side).all(axis=1).sum()) for side in ([0, 0], [1, 1], [1, 0], [0, 1])] == [
        1000,
        500,
        400,
        1100,
    ]
    assert np.array_equal(y == 1, upper[:, 0] == upper[:, 1])
    assert np.array_equal(X, exclusive_or(3)[0])
    assert not np.array_equal(X, exclusive_or(4)[0])


def test_five_bits() -> None:
    X, y = five_bits(2000, 8, seed=3)
    assert X.shape == (2000, 8)
    assert set(np.unique(X)) == {0.0, 1.0}
    counts = X[:, :5].sum(axis=1)
    assert np.array_equal(y == 1, (counts <= 1) | (counts >= 4))
    noisy, labels = five_bits(2000, 8, seed=3, noise=0.2)
    assert np.array_equal(noisy, X)
    assert 0.17 < np.mean(labels != y) < 0.23


def test_threshold_blocks() -> None:
    X, y = threshold_blocks(3000, 12, seed=1, blocks=2, least=5, of=6)
    assert X.shape == (3000, 12)
    assert np.array_equal(y == 1, (X[:, :6].sum(axis=1) >= 5) | (X[:, 6:].sum(axis=1) >= 5))
    X, y = threshold_blocks(3000, 8, seed=1, blocks=3, least=1, of=1, together="xor", noise=0.1)
    assert np.mean(y != X[:, :3].sum(axis=1) % 2) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(("case", "wrong"), [("I", 0.068), ("II", 0.0)])
def test_noisy_logical(case: str, wrong: float) -> None:
    X, y = noisy_logical(case, 20_000, 0)  # type: ignore[arg-type]
    assert X.shape == (40_000, 50)
    rule = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]) > 0
    assert (rule != y).mean() == pytest.approx(wrong, abs=0.004)
    assert X[:, 4:].mean() == pytest.approx(0.5, abs=0.01)
    if case == "II":
        one = X[y == 1][:, :2].all(axis=1)
        two = X[y == 1][:, 2:4].all(axis=1)
        assert [(one & ~two).mean(), (two & ~one).mean(), (one & two).mean()] == pytest.approx(
            [0.3, 0.3, 0.4], abs=0.01
        )
        off = X[y == 0]
        assert [(off[:, 0] > off[:, 1]).mean(), (off[:, 3] > off[:, 2]).mean()] == pytest.approx([0.4, 0.4], abs=0.01)


def test_loans_follow_their_rule(tmp_path: Path) -> None:
    columns = loans(4000, 2)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    known = [r for r in rows if r["income"] is not None]
    bad = [
        (r["income"] < 25000 and r["amount"] > 8000)
        or (r["late_payments"] >= 3 and not r["homeowner"])
        or r["purpose"] == "gambling"
        for r in known
    ]
    assert np.mean([(r["default"] == "yes") != b for r, b in zip(known, bad, strict=True)]) == pytest.approx(
        0.05, abs=0.01
    )
    assert 0 < sum(r["employment"] is None for r in rows) < 400
    write_csv(columns, tmp_path / "loans.csv")
    read = list(csv.DictReader((tmp_path / "loans.csv").open()))
    assert len(read) == 4000
    assert {row["homeowner"] for row in read} == {"true", "false"}
    assert read[0]["income"] == ("" if rows[0]["income"] is None else str(int(rows[0]["income"])))
