"""Trying learners: the same folds for all, figures as by hand, shares of the time, what fails, what is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rulekit.audit.figures.metrics import measured
from rulekit.errors import Cancelled, InputError
from rulekit.graph.rules import counts
from rulekit.learners.contract import learner_names
from rulekit.limits import OutOfTime
from rulekit.synthetic import loans, write_csv
from rulekit.tables.labelling import read_labelled
from rulekit.tables.options import ReadingOptions
from rulekit.work import learning, resampling
from rulekit.work.progress import Event, Progress, Resample, unseen
from rulekit.work.resampling import BASELINES, Trial, trial
from rulekit.work.training import TrainingRequest

READING = ReadingOptions(target="default", positive="yes")
QUICK = {"n_units": 2, "stopping": "none"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    write_csv(loans(240, 1), path)
    return path


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, float | None]]:
    """Each training by learner, rows and limit; all learners are CNLL of one rule, but for two.

    `broken` fails, `slow` has no model unless it has nine seconds, `unable` refuses.
    """
    done: list[tuple[str, int, float | None]] = []
    fitted = learning.fitted

    def quickly(name: str, parameters: Any, rows: Any, **how: Any) -> Any:
        done.append((name, len(rows), how["time_limit"]))
        if name == "broken":
            raise ZeroDivisionError("by zero")
        if name == "unable":
            raise InputError("unable takes no categories", where="column 'purpose'", fix="leave the column out")
        if name == "slow" and how["time_limit"] < 9.0:
            raise OutOfTime("the time is over")
        return fitted("cnll", {**QUICK, **parameters}, rows, **how)

    monkeypatch.setattr(learning, "fitted", quickly)
    monkeypatch.setattr(resampling, "find_learner", lambda name: type(name, (), {}))
    monkeypatch.setattr(resampling, "learner_names", lambda: ["broken", "cnll", "other", "slow", "unable"])
    return done


def tried(table: Path, *learners: str, reading: ReadingOptions = READING, **how: Any) -> Trial:
    return trial(TrainingRequest(table, reading, learner="cnll", **how), learners, folds=3)


def lines_of(found: Trial) -> dict[str, Any]:
    return {line.name: line for line in found.lines}


@pytest.mark.usefixtures("trained")
def test_figures_are_those_of_the_same_trainings_by_hand(table: Path) -> None:
    found = tried(table, "cnll", seed=3)
    rows = read_labelled(table, READING)
    fold, _ = resampling._dealt(rows, TrainingRequest(table, READING, seed=3), 3)
    by_hand, sizes = [], []
    for k in range(3):
        how: dict[str, Any] = {"seed": 3, "time_limit": None, "memory": None, "start": None}
        learner = learning.fitted("cnll", QUICK, rows.take(fold != k), progress=unseen, **how)
        model = learner.path_.simplified(learner.rule_graph_)
        by_hand.append(measured(model, rows.take(fold == k)))
        sizes.append((counts(model).rules, counts(model).literals, len(model.used_features)))
    line, errors = lines_of(found)["cnll"], [1.0 - each.accuracy for each in by_hand]
    assert line.errors == pytest.approx(errors)
    weights = np.bincount(fold)
    assert line.figures["error"] == pytest.approx(np.average(errors, weights=weights))
    assert line.figures["standard_error"] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))
    assert line.figures["log_loss"] == pytest.approx(np.average([e.log_loss for e in by_hand], weights=weights))
    assert line.figures["auc"] == pytest.approx(np.mean([e.auc for e in by_hand]))
    assert [line.figures[name] for name in ("rules", "literals", "columns")] == pytest.approx(np.mean(sizes, axis=0))
    assert 0.0 <= line.figures["stability"] <= 1.0
    assert line.default
    most = lines_of(found)["most frequent"]
    assert most.figures["error"] == pytest.approx(np.mean(rows.y == 1), abs=1e-9)
    assert most.figures["auc"] == 0.5
    assert found.lines[-1].name == "most frequent"


def test_learners_take_turns_and_one_that_fails_stops_no_other(table: Path, trained: list[Any]) -> None:
    found = tried(table, "broken", "cnll", "unable", "other")
    assert [name for name, *_ in trained] == ["cnll", "broken", "unable", "other", *["cnll", "other"] * 2]
    by_name = {name: [rows for of, rows, _ in trained if of == name] for name in ("cnll", "other")}
    assert by_name["cnll"] == by_name["other"]
    lines = lines_of(found)
    assert lines["cnll"].errors == lines["other"].errors
    assert lines["broken"].why.startswith("failed: ZeroDivisionError: by zero")
    assert lines["unable"].why == "left out: unable takes no categories (column 'purpose')"
    with pytest.raises(InputError, match=r"broken: failed: .*by zero"):
        tried(table, "broken")


def test_a_slow_learner_has_its_share_and_then_what_is_left(table: Path, trained: list[Any]) -> None:
    """Nine trainings in 60 seconds: the first of the slow one is too short, and is done again when there is time."""
    found = tried(table, "cnll", "other", "slow", time_limit=60.0)
    limits = [limit for name, _, limit in trained if name == "slow"]
    assert len(limits) == 4
    assert limits[0] < 9.0 < 2.0 * limits[0] < limits[3]
    assert [line.folds for line in found.lines] == [3] * 5
    assert not any(line.why or line.cut for line in found.lines)


@pytest.mark.usefixtures("trained")
def test_what_is_done_stays_when_the_work_is_stopped(table: Path) -> None:
    request = TrainingRequest(table, READING, learner="cnll")
    both = ("cnll", "other")

    def interrupts_at(number: int) -> Progress:
        def progress(event: Event) -> None:
            if isinstance(event, Resample) and event.number == number:
                raise KeyboardInterrupt

        return progress

    found = trial(request, both, 3, interrupts_at(4))
    assert found.stopped == "interrupted"
    assert [(line.name, line.folds) for line in found.lines if line.name not in BASELINES] == [
        ("cnll", 2),
        ("other", 1),
    ]
    assert trial(request, both, 3, lambda event: event == Resample(2, 6)).stopped == "cancelled"
    with pytest.raises(KeyboardInterrupt):
        trial(request, both, 3, interrupts_at(1))
    with pytest.raises(Cancelled):
        trial(request, both, 3, lambda event: event == Resample(1, 6))

    @contextmanager
    def alarmed(seconds: float | None, progress: Progress) -> Iterator[Progress]:
        raise OutOfTime("the time is over")
        yield progress

    for limit in (60.0, None):
        with pytest.raises(InputError, match="no learner made a model in the time"):
            trial(TrainingRequest(table, READING, time_limit=limit), ["cnll"], 2, bounded=alarmed)


@pytest.mark.usefixtures("trained")
def test_weights_groups_costs_several_and_ranked_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(round(a, 2), int(10 * a), int(3 * a) if a < 0.98 else 9) for a in rng.random(160)]
    table = tmp_path / "rows.csv"
    table.write_text("\n".join(["a,g,k", *(f"{a},{g},{k}" for a, g, k in rows), "0.5,0,7"]) + "\n")
    found = tried(table, "cnll", reading=ReadingOptions(target="k", group="g", weight=None))
    cnll, most = lines_of(found)["cnll"], lines_of(found)["most frequent"]
    assert "auc" not in cnll.figures
    assert cnll.figures["macro_f1"] > most.figures["macro_f1"]
    assert found.notes == ("all rows of 7, 9 are for training, since one fold has them all; no error counts them",)
    ranked = tried(table, "cnll", reading=ReadingOptions(target="k", ordered=("0", "1", "2", "7", "9"), ignore=["g"]))
    assert lines_of(ranked)["cnll"].figures["error"] < lines_of(ranked)["most frequent"].figures["error"]

    two = tmp_path / "two.csv"
    two.write_text("\n".join(["a,w,k", *(f"{a},{g % 3},{'yes' if k else 'no'}" for a, g, k in rows)]) + "\n")
    costly = tried(two, "cnll", reading=ReadingOptions(target="k", weight="w", cost="1:4", positive="yes"))
    weights = np.array([g % 3 for _, g, _ in rows])
    no = sum(weights[[k == 0 for *_, k in rows]]) / sum(weights)
    assert lines_of(costly)["most frequent"].figures["error"] == pytest.approx(min(no, 1.0 - no), abs=1e-9)


def test_what_makes_no_sense_is_refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no learner 'cnl'"):
        tried(table, "cnl")
    few = tmp_path / "few.csv"
    few.write_text("a,k\n1,x\n2,y\n")
    with pytest.raises(InputError, match="no two folds"):
        tried(few, "cnll", reading=ReadingOptions(target="k"))


def test_every_installed_learner_is_tried_where_none_is_named(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def refused(name: str, *_: Any, **__: Any) -> Any:
        seen.append(name)
        raise InputError("no")

    monkeypatch.setattr(learning, "fitted", refused)
    with pytest.raises(InputError, match="left out: no"):
        tried(table)
    assert sorted(seen) == learner_names()
    assert seen[0] == "cnll"
