"""Ctrl-C, SIGTERM and --time-limit: the best model so far is kept and marked, or nothing is written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, done
from rulekit_cli.console import guarded

from rulekit.errors import Interrupted


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A table of noise, in which there is always one more unit to find."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.round(rng.normal(size=(8000, 12)), 3), rng.integers(0, 2, 8000)])
    path = tmp_path / "large.csv"
    header = ",".join([*(f"f{j}" for j in range(12)), "y"])
    np.savetxt(path, rows, fmt=["%.3f"] * 12 + ["%d"], delimiter=",", header=header, comments="")
    return path


def test_who_stops_what_is_written_hears_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    def stopped() -> None:
        raise Interrupted("stopped while it was measured; the model is in m.json")

    assert guarded(stopped, debug=False) == 130
    assert capsys.readouterr().err == "rulekit: stopped while it was measured; the model is in m.json\n"


def test_a_time_limit_keeps_the_best_model_and_says_so(run: Run, large: Path) -> None:
    run(
        "train", str(large), "--target", "y", "-o", "m.json", "--learner", "cnll", "--param", "n_units=1"
    )  # compiles for this machine
    started = time.monotonic()
    long = ("--learner", "cnll", "--param", "n_units=400", "--param", "refit=5", "--param", "n_folds=5")
    ran = done(run("train", str(large), "--target", "y", "-o", "m.json", *long, "--time-limit", "3"))
    assert "stopped early (time limit)" in ran.err
    assert json.loads(Path("m.json").read_text())["provenance"]["stopped"] == "time limit"
    assert time.monotonic() - started < 25
    assert "time limit" in run("show", "m.json").err


@pytest.mark.parametrize("sent", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
def test_a_signal_keeps_the_best_model_and_says_so(large: Path, sent: signal.Signals) -> None:
    """SIGTERM, which batch systems send at the end of their time, lost what was learned."""
    words = ["train", large.name, "--target", "y", "-o", "m.json", "--no-baselines", "--learner", "cnll"]
    words += ["--param", "n_units=400", "--param", "refit=5"]
    learning = subprocess.Popen(
        [sys.executable, "-u", "-c", "from rulekit_cli.entry import main; main()", *words],
        cwd=large.parent,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert learning.stderr is not None
    while "columns" not in learning.stderr.readline():
        pass
    time.sleep(1)
    learning.send_signal(sent)
    try:
        _, errors = learning.communicate(timeout=60)
    finally:
        learning.kill()
    assert "Traceback" not in errors
    if learning.returncode == 128 + sent:  # a slow machine had no unit yet
        assert not (large.parent / "m.json").exists()
    else:
        assert learning.returncode == 0, errors
        assert json.loads((large.parent / "m.json").read_text())["provenance"]["stopped"] == "interrupted"


def test_ctrl_c_before_anything_was_learned_is_one_line(run: Run, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The status was 130, but nothing was said."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rulekit.work.training.read_labelled", interrupted)
    ran = run("train", str(large), "--target", "y", "-o", "m.json")
    assert (ran.status, ran.out, ran.err.strip()) == (130, "", "rulekit: stopped before anything was written")
    assert not Path("m.json").exists()


STOPPED_AT = """
import os, signal, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), int(sys.argv[2]))
sys.meta_path.insert(0, Stop())
from rulekit_cli.entry import main
main()
"""


@pytest.mark.parametrize("module", ["rulekit_cli.main", "typer", "rulekit_cli.learn", "rulekit_cli.console"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_command_is_being_read_is_one_line(tmp_path: Path, module: str, sent: int) -> None:
    """In its first moments the command was stopped with a traceback."""
    ran = subprocess.run(
        [sys.executable, "-c", STOPPED_AT, module, str(int(sent))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (128 + sent, "rulekit: stopped before anything was written\n")


def test_the_console_script_is_the_one_that_listens_at_once() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["rulekit"] == "rulekit_cli.entry:main"
