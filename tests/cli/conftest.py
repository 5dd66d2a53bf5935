"""The command, run in this process: status, standard output and standard error."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from command_line import Ran, Run
from rulekit_cli import main as command


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """A function that runs the command with the given words, or a line of them, in an empty folder.

    Baselines are measured where asked, and a training of the default learner that names no number of folds has two.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, baselines: bool = False) -> Ran:
        if len(arguments) == 1:
            arguments = tuple(shlex.split(arguments[0]))
        if arguments[:1] == ("train",) and "--help" not in arguments:
            few_folds = not any("--learner" in word or "n_folds" in word for word in arguments)
            quickly = (*(() if baselines else ("--no-baselines",)), *(("--param", "n_folds=2") if few_folds else ()))
            arguments = (*arguments, *quickly)
        monkeypatch.setattr("sys.argv", ["rulekit", *arguments])
        with pytest.raises(SystemExit) as stopped:
            command.main()
        captured = capsys.readouterr()
        return Ran(int(stopped.value.code or 0), captured.out, captured.err)

    return call


@cache
def _rows() -> str:
    rng = np.random.default_rng(3)
    lines = ["a,b,c,d,label"]
    for _ in range(300):
        a, b = round(rng.random(), 2), round(rng.normal(), 3)
        c, d = rng.choice(["red", "green", "blue"]), rng.choice(["true", "false"])
        label = "yes" if a > 0.5 and c != "green" else "no"
        shown = "" if rng.random() < 0.05 else str(b)
        lines.append(f"{a},{shown},{c},{d},{label}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """300 rows: two numbers, a category, a Boolean, gaps; the label is yes where a > 0.5 and c is red or blue."""
    path = tmp_path / "table.csv"
    path.write_text(_rows())
    return path


@pytest.fixture(scope="session")
def trained_once() -> dict[str, bytes]:
    """The model file of `model`, once it was trained: the same for every test."""
    return {}


@pytest.fixture
def model(run: Run, table: Path, tmp_path: Path, trained_once: dict[str, bytes]) -> Path:
    """A model trained on `table`."""
    path = tmp_path / "model.json"
    if "model" not in trained_once:
        ran = run("train", str(table), "--target", "label", "-o", "model.json", "--param", "max_rules=3", "-q")
        assert ran.status == 0, ran.err
        trained_once["model"] = path.read_bytes()
    path.write_bytes(trained_once["model"])
    return path
