"""A learner of another package, the one that docs/learners.md shows: one module and one entry point, nothing else.

The package is made of the page's own blocks, so that what a contributor copies is what is tested;
tests/docs runs the suite of every learner on it, as the page does.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run, assert_refused, done

import rulekit
from rulekit.errors import InputError
from rulekit.learners.contract import GROUP, learner_names
from samples.pages import ROOT, command_options, fences

PAGE = fences((ROOT / "docs" / "learners.md").read_text("utf-8"))
MODULE = next(fence.body for fence in PAGE if fence.kind == "python" and "class CoveringClassifier" in fence.body)
PROJECT = next(fence.body for fence in PAGE if fence.kind == "toml")


@pytest.fixture(autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package as it lies where packages are installed."""
    folder = tmp_path_factory.mktemp("installed")
    about = folder / "covering-1.0.dist-info"
    about.mkdir()
    (folder / "covering.py").write_text(MODULE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: covering\nVersion: 1.0\n")
    points = tomllib.loads(PROJECT)["project"]["entry-points"][GROUP]
    lines = [f"[{GROUP}]", *(f"{name} = {place}" for name, place in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("covering", None)


def train(run: Run, table: Path, *options: str) -> rulekit.RuleGraph:
    given = ("--target", "label", "--learner", "covering", "--param", "n_folds=2", "-q", "-o", "m.json")
    done(run("train", str(table), *given, *options))
    return rulekit.load("m.json")


def test_its_own_faults_are_reported_as_its_own(
    run: Run, table: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of its own was said to be rulekit's internal error, and to import what is not there likewise."""
    covering = importlib.import_module("covering")
    exec('def failing(*_):\n    raise ValueError("a condition\\nthat is none")', vars(covering))
    given = ("train", str(table), "--target", "label", "-o", "n.json", "--no-baselines", "--param", "n_folds=2")
    for hook in ("best_clause", "CoveringClassifier.ranks", "CoveringClassifier.seeks_few_errors"):
        with monkeypatch.context() as patch:
            owner, _, name = hook.rpartition(".")
            patch.setattr(getattr(covering, owner) if owner else covering, name, covering.failing)
            place = "failing" if owner else "CoveringClassifier.learn"
            fault = f"ValueError: a condition that is none, raised in {place};"
            said = (f"rulekit: learner covering (package covering 1.0): {fault}",)
            assert_refused(run(*given, "--learner", "covering"), *said)
    with monkeypatch.context() as patch:  # of a learner that works for another one
        patch.setattr(covering, "best_clause", covering.failing)
        fault = "learner covering (package covering 1.0): ValueError: a condition that is none, raised in "
        assert_refused(run(*given, "--learner", "boosted", "--param", "base=covering"), fault)
    (package / "covering.py").write_text("import nowhere\n")
    sys.modules.pop("covering")
    said = ("learner covering (package covering 1.0)", "cannot be loaded", "No module named 'nowhere'")
    assert_refused(run(*given, "--learner", "covering"), *said)
    assert_refused(run("train", "--learner", "covering", "--help"), *said)
    assert run(*given, "--learner", "cnll", "--param", "n_units=1").status == 0  # others work


def test_a_cell_of_the_user_is_no_fault_of_the_learner() -> None:
    covering = importlib.import_module("covering")
    with pytest.raises(InputError, match="argument must be a string or a number, not 'dict'"):
        covering.CoveringClassifier().fit(np.array([[{}, 1], [2, 3]], dtype=object), [0, 1])


def test_it_is_short() -> None:
    assert len(MODULE.splitlines()) + len(PROJECT.splitlines()) <= 130


def test_it_is_found_trained_shown_exported_and_proved(run: Run, table: Path) -> None:
    assert "covering" in learner_names()
    said = run("train", "--learner", "covering", "--help").out
    assert "max_conditions=" in said
    assert "most conditions of a rule" in said
    ran = done(run("train table.csv --target label --learner covering -o m.json --param n_folds=2"))
    assert "chosen by 2-fold cross-validation" in ran.err
    graph = rulekit.load("m.json")
    assert graph.provenance["learner"] == "CoveringClassifier"
    assert "a >" in run("show", "m.json").out
    for target, ending in (("onnx", "onnx"), ("python", "py"), ("sql", "sql")):
        assert run("export", "m.json", "--to", target, "-o", f"m.{ending}").status == 0
        ran = done(run("verify", "m.json", f"m.{ending}", "--require", "proof"))
        assert "0 different decisions" in ran.out
        assert "proved" in ran.out
    done(run("predict", "m.json", str(table), "--explain", "-o", "p.csv"))
    answers = pl.read_csv("p.csv")["label"].to_list()
    assert answers.count("yes") > 50
    assert sum(a == b for a, b in zip(answers, pl.read_csv(table)["label"].to_list(), strict=True)) > 270


def test_it_is_tried_with_the_others(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    covering = importlib.import_module("covering")
    given = ("try", str(table), "--target", "label", "--folds", "2", "--json", "-q", "--learners")
    lines = {line["name"]: line for line in json.loads(run(*given, "covering").out)["lines"]}
    assert lines["covering"]["figures"]["error"] < lines["most frequent"]["figures"]["error"]
    monkeypatch.setattr(covering, "best_clause", lambda *_: 1 / 0)
    lines = {line["name"]: line for line in json.loads(run(*given, "covering,noisy-or").out)["lines"]}
    assert lines["covering"]["why"].startswith("failed: ZeroDivisionError: division by zero, raised in ")
    assert lines["noisy-or"]["folds"] == 2


WORKS = (  # options that may stand together
    "--positive no --param max_conditions=2 --smallest --no-baselines --curve curve.csv --ignore d --unit a=EUR "
    "--weight w --group g --test more.csv --missing-target drop --seed 1 --encoding utf-8 --no-simplify --header 1 "
    "--comment '#' --trim",
    "--size 1 --type d=categorical --unseen c=missing --missing c=green --cost 1:5 --holdout-out held.csv "
    "--holdout 0.3 --width a=float64 --delimiter , --decimal . --time-limit 60 --json --quote '\"' "
    "--names a,b,c,d,label,w,g",
    "--time rows --holdout 0.3 --types types.toml --ordered no,yes --memory 2GB",
    "--role d=audit --overrides mine.toml --date 2026-12-01",
    "--label-separator ; --positive yes",
    "--teacher model.json --ask 20 --ask-out asked.csv",
    "--teacher-column a --teacher-cut 0.5 --teacher-classes no,yes",
)
FAILS = ("--start model.json", "--freeze all", "--report rates", "--monotone a=increasing", "--forbid 'a, b'")
FAILS += ("--require 'a > 0.9 -> yes'", "--missing-never-helps", "--engine dask")
ALWAYS = "--target --output --learner --quiet"


def test_every_option_of_train_is_tried() -> None:
    every = {next(name for name in option.names if name.startswith("--")) for option in options_of_train()}
    assert every == {word for line in (*WORKS, *FAILS, ALWAYS) for word in shlex.split(line) if word.startswith("--")}


def test_every_option_of_train_works_or_is_refused_by_name(run: Run, table: Path, model: Path) -> None:
    frame = pl.read_csv(table)
    frame.with_columns(w=pl.Series([1, 2] * 150), g=pl.Series([1, 1, 2, 2, 3, 3] * 50)).write_csv("more.csv")
    more, refused = Path("more.csv"), "covering does not go on from given rules"
    Path("types.toml").write_text('[columns]\nd = { role = "audit" }\n')
    signed = 'author = "A"\ndate = 2026-11-25\nreason = "b"\n'
    Path("mine.toml").write_text(f'[[override]]\nrule = "a > 0.9 -> no"\n{signed}')
    for line in WORKS:
        assert train(run, more, *shlex.split(line)).provenance["units"][0] > 0, line
    for line in FAILS:
        option = line.split()[0]
        # what constrains a model is named by what it asks for, and not by the option
        names = (option, refused) if option in ("--start", "--freeze") else ("covering",)
        given = ("--target", "label", "--learner", "covering", "-o", "n.json", *shlex.split(line))
        assert_refused(run("train", str(more), *given), *names)
    assert not Path("n.json").exists()
    ran = run("train", str(more), "--target", "label", "--learner", "covering", "-o", "n.json", "--param", "max_cond=2")
    assert_refused(ran, "max_cond", "did you mean max_conditions?")
    # What the options ask for is in the model, and not only accepted.
    assert train(run, more, "--positive", "no").classes == ("yes", "no")
    assert train(run, more, "--no-simplify", "--param", "n_units=1").provenance["units"] == [1]
    assert "c" not in train(run, more, "--role", "c=forbidden").used_features
    assert train(run, more, "--ordered", "yes,no").schema.ordered_classes
    assert train(run, more, "--memory", "2GB") == train(run, more)
    assert "stopped" not in train(run, more, "--time-limit", "60").provenance
    assert json.loads(Path("m.json").read_text())


def options_of_train() -> list:
    """The options, without the table."""
    return [option for option in command_options()["train"] if any(name.startswith("--") for name in option.names)]
