"""Rows in order of time: the last are held out, folds are blocks in order, errors are shown by block."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, done

from rulekit.errors import InputError
from rulekit.learners.data.folds import InOrder
from rulekit.learners.rules.estimator import RulesClassifier
from rulekit.tables.equal_rows import held_out, lacking
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import ReadingOptions

N = 600


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A label that follows `a` early and `b` late; the rows are shuffled, some share a day."""
    rng = np.random.default_rng(0)
    day = rng.permutation(np.arange(N) // 2)
    a, b = rng.random((2, N)).round(3)
    label = np.where(day < 0.7 * day.max(), a > 0.5, b > 0.5)
    start = datetime.date(2024, 1, 1)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "day", "number", "name", "gap", "y"])
        for k in range(N):
            date = start + datetime.timedelta(int(day[k]))
            cells = [a[k], b[k], date, 1_700_000_000 + int(day[k]), f"n{k % 7}", "" if k == 4 else 1]
            rows.writerow([*cells, "yes" if label[k] else "no"])
    return tmp_path / "t.csv"


@pytest.mark.parametrize("column", ["day", "number", "rows"])
@pytest.mark.parametrize("memory", [False, True])
def test_the_last_rows_are_held_out_and_the_time_is_no_feature(table: Path, column: str, memory: bool) -> None:
    from rulekit.tables.table import Budget

    options = ReadingOptions(target="y", time=column)
    rows = read_labelled(table, options, Budget(2_000_000_000) if memory else None)
    assert rows.time is not None
    assert column not in rows.table.names
    chosen = held_out(rows.table, rows.y, 0.25, time=rows.time)
    assert chosen.mean() == pytest.approx(0.25, abs=2 / N)
    assert rows.time[~chosen].max() < rows.time[chosen].min()
    again = label_for_model(table, rows.schema, rows.classes, options)
    assert (again.time == rows.time).all()


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("name", "the time column is categorical; dates are read with --type name=date"),
        ("gap", "the time is missing in 1 of 600 rows (data row 5); fill it in"),
        ("y", "the target is the time column too"),
        ("days", "no time column 'days'; did you mean 'day'?"),
    ],
)
def test_what_is_no_time_is_one_line(table: Path, time: str, said: str) -> None:
    kinds = {"gap": "numeric"} if time == "gap" else {}
    with pytest.raises(InputError) as caught:
        read_labelled(table, ReadingOptions(target="y", time=time, types=kinds))
    assert said in str(caught.value)


def test_folds_are_blocks_in_order_and_a_weight_counts_as_rows() -> None:
    rng = np.random.default_rng(1)
    time, weights = rng.integers(0, 90, 500), rng.integers(1, 4, 500)
    fold = InOrder.of(time, 500).folds(weights, 5)
    assert sorted(set(fold.tolist())) == [0, 1, 2, 3, 4]
    assert all(time[fold == k].max() < time[fold == k + 1].min() for k in range(4))
    mass = np.bincount(fold, weights)
    assert mass.max() - mass.min() < 0.1 * weights.sum()
    repeated = InOrder.of(np.repeat(time, weights), weights.sum()).folds(np.ones(weights.sum()), 5)
    assert (repeated == np.repeat(fold, weights)).all()


@pytest.mark.parametrize("kind", ["days", "moments", "texts", "numbers"])
def test_the_estimator_takes_a_time(kind: str) -> None:
    rng = np.random.default_rng(2)
    order = rng.permutation(300)
    days = np.datetime64("2024-01-01") + order
    time = {"days": days, "moments": days.astype("datetime64[ns]"), "texts": days.astype(str), "numbers": order}[kind]
    X = rng.random((300, 3))
    model = RulesClassifier(3).fit(X, X[:, 0] > 0.5, time=time)
    fold = np.asarray(model.folds_)
    assert (np.diff(fold[np.argsort(order)].astype(int)) >= 0).all()
    assert fold.max() == 9
    with pytest.raises(InputError, match="without groups"):
        RulesClassifier(3).fit(X, X[:, 0] > 0.5, groups=order, time=time)
    with pytest.raises(InputError, match="time"):
        RulesClassifier(3).fit(X, X[:, 0] > 0.5, time=["no time"] * 300)


def test_a_class_that_comes_late_or_early_is_learned_without_failing(table: Path) -> None:
    """A block may hold all rows of a class, so that a fold is learned without it."""
    rng = np.random.default_rng(3)
    X = rng.random((400, 2))
    y = np.where(np.arange(400) < 300, np.where(X[:, 0] > 0.5, 1, 0), 2)
    assert RulesClassifier(3).fit(X, y, time=np.arange(400)).score(X, y) > 0.7
    with pytest.raises(InputError, match="the training rows would lack a class"):
        held_out(rows_of(X, y).table, y, 0.3, time=np.arange(400.0))
    early = held_out(rows_of(X, y[::-1]).table, y[::-1], 0.3, time=np.arange(400.0))
    assert lacking(early, y[::-1]) == [2]


def rows_of(X: np.ndarray, y: np.ndarray) -> LabelledTable:
    from rulekit.tables.kinds.inference import infer

    return LabelledTable(infer(X), y.astype(np.int64), tuple(range(int(y.max()) + 1)))


def test_the_command_measures_on_the_last_rows_and_by_block(run: Run, table: Path) -> None:
    words = ("--target", "y", "--ignore", "number", "--ignore", "gap", "-o", "m.json", "--holdout", "0.25")
    words = (*words, "--param", "max_rules=3")
    mixed, late = (run("train", "t.csv", *words, *more, "--json") for more in ((), ("--time", "day")))
    assert (mixed.status, late.status) == (0, 0), late.err
    assert json.loads(late.out)["accuracy"] < json.loads(mixed.out)["accuracy"] - 0.05
    shown = done(run("evaluate", "m.json", "t.csv", "--time", "day"))
    assert "2024-01-01" in shown.out
    blocks = json.loads(run("evaluate", "m.json", "t.csv", "--time", "day", "--json").out)["time"]
    assert len(blocks) == 5
    assert sum(block["rows"] for block in blocks) == N
    assert blocks[-1]["error"] > blocks[0]["error"] + 0.1
