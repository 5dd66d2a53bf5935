"""rulekit try: what it prints at any width, JSON, the command that takes a line, and what it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from command_line import Run, done

import rulekit

TWO = ("--learners", "noisy-or,adaboost", "--folds", "2", "--time-limit", "600")


def test_it_shows_a_table_and_the_command_that_takes_a_line(
    run: Run, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command reads the table as it was read here, so it runs as it stands."""
    text = table.read_text().replace("green", "n a").replace("a,b,c,d,label", "a,b,the colour,d,label")
    table.write_text(text)
    reading = ("--missing", "the colour=n a", "--type", "the colour=categorical", "--ignore", "b", "--ignore", "d")
    monkeypatch.setenv("COLUMNS", "80")
    ran = done(run("try", str(table), "--target", "label", "--positive", "yes", *reading, *TWO))
    lines = ran.out.splitlines()
    assert " ".join(lines[0].split()) == "error % log loss AUC rules columns stability seconds"
    assert {line.split()[0] for line in lines[1:5]} == {"noisy-or", "adaboost", "one", "most"}
    assert max(map(len, lines)) <= 80
    errors = [float(line.split("±")[0].split()[-1]) for line in lines[1:5]]
    assert errors == sorted(errors)
    *_, said, command = ran.err.splitlines()
    assert said == f"to take a line, train its learner on all rows; for {lines[1].split()[0]}:"
    words = shlex.split(command)
    assert words[:6] == ["rulekit", "train", str(table), "--target", "label", "--positive"]
    assert [word for word in words if word in reading] == [*reading[4:], *reading[2:4], *reading[:2]]
    done(run(*words[1:]))
    assert set(rulekit.load("model.json").schema.names) == {"a", "the colour"}


def test_json_says_the_same_for_the_same_seed(run: Run, table: Path) -> None:
    given = ("try", str(table), "--target", "label", "--json", "-q", "--seed", "7", "--learners", "noisy-or", *TWO[2:])
    one, other = (json.loads(run(*given).out) for _ in range(2))
    for line in (*one["lines"], *other["lines"]):
        assert line["figures"].pop("seconds") >= 0.0
    assert one == other
    assert one["rows"] == 300
    assert one["folds"] == 2
    assert one["train"][-6:] == ["--seed", "7", "--learner", one["lines"][0]["name"], "-o", "model.json"]
    for line in one["lines"]:
        assert len(line["errors"]) == line["folds"] == 2


def test_of_several_classes_it_shows_macro_f1(run: Run, tmp_path: Path) -> None:
    rows = [f"{a},{b},{('low', 'middle', 'high')[(a > 3) + (b > 5)]}" for a in range(8) for b in range(10)]
    data = tmp_path / "three.csv"
    data.write_text("\n".join(["a,b,level", *rows]) + "\n")
    ran = done(run("try", str(data), "--target", "level", "--learners", "noisy-or", "--folds", "2", "-q"))
    assert ran.err == ""
    assert ran.out.splitlines()[0].split()[2:5] == ["log", "loss", "macro"]
