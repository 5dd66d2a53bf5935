"""Rows that are held out are written as they were read, and a model knows the rows that trained it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rulekit.audit.threshold import Purpose
from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions
from rulekit.work.evaluating import evaluate, move_threshold
from rulekit.work.training import TrainingRequest, train

N = 600


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=N).round(3), rng.integers(0, 5, N)
    y = np.where((x > 0.3) & (z < 3) | (rng.random(N) < 0.1), "yes", "no")
    labels = [None if i % 50 == 0 else label for i, label in enumerate(y.tolist())]
    days = pl.Series(np.datetime64("2020-01-01") + rng.integers(0, 400, N))
    names = [None if k == 4 else f'ship"s, {k}\nmate' for k in z.tolist()]
    code = [f"00{k}" for k in rng.integers(0, 30, N)]
    return pl.DataFrame({"x": x, "z": names, "day": days, "code": code, "group": rng.integers(0, 200, N), "y": labels})


@pytest.mark.parametrize(
    ("name", "memory", "group"),
    [("rows.csv", None, None), ("rows.csv", "500MB", "group"), ("rows.parquet", None, None), ("rows.jsonl", None, None),
     ("rows.parquet", "500MB", None)],
)  # fmt: skip
def test_the_rows_held_out_give_the_figures_that_training_printed(
    tmp_path: Path, name: str, memory: str | None, group: str | None
) -> None:
    data, held = tmp_path / name, (tmp_path / f"held_{name}")
    table = frame()
    if name.endswith("csv"):  # semicolons and decimal commas, which only the file itself tells
        text = table.with_columns(pl.col("x").cast(pl.String).str.replace(".", ",", literal=True))
        data.write_text(text.write_csv(separator=";"), encoding="utf-8")
    elif name.endswith("parquet"):
        table.write_parquet(data)
    else:
        table.write_ndjson(data)
    reading = ReadingOptions(target="y", group=group, missing_target="drop", types={"code": "categorical"})
    model = tmp_path / "model.json"
    request = TrainingRequest(
        data, reading, parameters={"max_rules": 2}, holdout=0.25, held_rows=held, output=model, memory=memory
    )
    trained = train(request)
    found = evaluate(model, held)
    assert found.figures.log_loss == pytest.approx(trained.figures.log_loss)  # blocks are added up in another order
    assert replace(found.figures, log_loss=trained.figures.log_loss) == trained.figures
    n_held = int(sum(c.support for c in found.figures.classes))
    assert abs(n_held - 0.25 * (N - N // 50)) < (1 if group is None else 4)
    assert found.overlap is not None
    assert found.overlap.rows == 0
    # the whole table holds the training rows, those held out alone do not
    whole = evaluate(model, data, ReadingOptions(missing_target="drop"))
    assert whole.overlap is not None
    assert whole.overlap.rows == N - N // 50 - n_held
    assert any("training row" in note for note in whole.notes)
    moved = move_threshold(model, held, Purpose(f1=True), tmp_path / "moved.json")
    assert any(note.startswith("none of these") for note in moved.notes)
    # without a column that the model does not use nothing is said, but the reason
    used = trained.model.used_features
    dropped = next(c for c in ("code", "day", "z") if c not in used)
    if name.endswith("parquet"):
        pl.read_parquet(held).drop(dropped).write_parquet(tmp_path / "less.parquet")
        less = evaluate(model, tmp_path / "less.parquet")
        assert (less.overlap, less.figures) == (None, found.figures)
        assert f"no column {dropped!r}" in less.notes[-1]
    assert json.loads(model.read_text())["provenance"]["row_hashes"]["bits"] == 64


def test_what_makes_no_sense_is_refused_before_anything_is_learned(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    frame().write_csv(data)
    for held, share, words in (("held.csv", None, "no rows are held out"), ("held.parquet", 0.2, "held.csv")):
        reading = ReadingOptions(target="y", missing_target="drop")
        with pytest.raises(InputError, match=words):
            train(TrainingRequest(data, reading, holdout=share, held_rows=tmp_path / held))
        assert not (tmp_path / held).exists()
