"""What the runner does with limits, failures and finished rows, and what a fit in its own process reports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.learning.peers import serving
from benchmarks.learning.peers.columns import write_split
from benchmarks.learning.peers.data import BinaryTable
from benchmarks.learning.peers.definitions import Peer, Size
from benchmarks.learning.peers.environment import Environment, environments, requirements
from benchmarks.learning.peers.measuring import area_under_curve
from benchmarks.learning.peers.ranking import Cell, cells, ranks
from benchmarks.learning.peers.results import Results, Row
from benchmarks.learning.peers.runner import Limits, Servers, Task, Wanted, arrays, run
from benchmarks.learning.peers.serving import Job
from benchmarks.learning.peers.splits import stratified_folds

LABELS = np.array([0, 1] * 10, dtype=np.int8)
TABLE = BinaryTable("toy", pl.DataFrame({"x": np.arange(20.0)}), LABELS)


class Answers(Servers):
    """Servers whose answers are scripted by the peer's name."""

    def __init__(self, script: Mapping[str, Callable[[int], Row]]) -> None:
        super().__init__(None)
        self.script = script
        self.asked: list[str] = []

    def ask(self, environment: str, job: dict[str, Any]) -> Row:
        self.asked.append(job["peer"])
        return self.script[job["peer"]](self.asked.count(job["peer"]))


def _ok(_: int) -> Row:
    return {"status": "ok", "accuracy": 0.9, "auc": 0.9, "rules": 2, "literals": 4, "seconds": 0.1}


def _tasks() -> list[Task]:
    return [Task(TABLE, split) for split in stratified_folds(LABELS, 5, 0)]


def test_a_peer_that_hits_the_limit_is_listed_and_its_other_folds_are_skipped_and_counted(tmp_path: Path) -> None:
    def slow(count: int) -> Row:
        return _ok(count) if count == 1 else {"status": "limit", "why": "30 CPU seconds"}

    servers = Answers({"fast": _ok, "slow": slow})
    results = Results(tmp_path / "r.jsonl")

    run(_tasks(), [Wanted("fast", "ours"), Wanted("slow", "ours")], results, servers, Limits())

    assert servers.asked.count("slow") == 2
    statuses = [row["status"] for row in results.rows.values() if row["peer"] == "slow"]
    assert statuses == ["ok", "limit", "skipped", "skipped", "skipped"]
    cell = cells(results)["toy", "slow"]
    assert (cell.finished, cell.skipped, cell.why) == (1, 4, "limit: 30 CPU seconds")


def test_learners_take_turns_to_be_first_and_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Rows can be done anew."""
    wanted, path = [Wanted("a", "ours"), Wanted("b", "ours")], tmp_path / "r.jsonl"
    servers = Answers({"a": _ok, "b": _ok})
    run(_tasks(), wanted, Results(path), servers, Limits())
    assert servers.asked == ["a", "b", "b", "a", "a", "b", "b", "a", "a", "b"]

    again = Results(path)
    again.forget(lambda row: row["peer"] == "a")
    servers = Answers({"a": _ok, "b": _ok})
    run(_tasks(), wanted, again, servers, Limits())

    assert servers.asked == ["a"] * 5
    assert len(path.read_text().splitlines()) == 10


def test_what_failed_or_was_not_installed_is_tried_again_and_a_limit_is_not(tmp_path: Path) -> None:
    outcomes = {"failed": "failed", "absent": "absent", "skipped": "absent", "limit": "limit", "ok": "ok"}
    results = Results(tmp_path / "r.jsonl")
    for status, peer in outcomes.items():
        results.add({"table": "toy", "split": status, "peer": peer, "status": status})
    results.retry()
    assert [row["status"] for row in Results(results.path).rows.values()] == ["limit", "ok"]


def test_a_peer_without_an_environment_is_listed_not_dropped(tmp_path: Path) -> None:
    results = Results(tmp_path / "r.jsonl")
    with Servers(None) as servers:
        run(_tasks()[:1], [Wanted("FIGS", "peers")], results, servers, Limits())
    (row,) = results.rows.values()
    assert row["status"] == "absent"


def test_requirements_that_cannot_be_installed_are_kept_with_the_reason(tmp_path: Path) -> None:
    """A folder that was filled before is asked again only for what is missing."""
    folder = tmp_path / "peers"
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *imodels*) echo "ERROR: no matching" >&2; exit 1;; esac\n')
    python.chmod(0o755)
    (folder / "peers.json").write_text(json.dumps({"requirements": [], "missing": {}}))

    (folder / "fasterrisk" / "bin").mkdir(parents=True)
    (folder / "fasterrisk" / "bin" / "python").touch()  # of the user's own: taken as it is

    found = environments(folder)

    (line,) = [line for line in requirements() if line.startswith("imodels")]
    assert found.of["peers"] == Environment(folder.absolute(), {line: "ERROR: no matching"})
    assert found.of["fasterrisk"] == Environment((folder / "fasterrisk").absolute())
    assert list(found.missing) == [line]


# One fit in its own process ----------------------------------------------------------------------------------------


class Threshold:
    """Decides by x > 9; `seconds` of work first."""

    def __init__(self, work: str = "") -> None:
        self.work = work

    def fit(self, inputs: Any, labels: Any) -> Threshold:
        while self.work == "endless":
            pass
        if self.work == "error":
            raise ValueError("no such\nthing")
        return self

    def predict(self, inputs: Any) -> Any:
        return (inputs[:, 0] > 9).astype(int)

    def predict_proba(self, inputs: Any) -> Any:
        return np.column_stack([-inputs[:, 0], inputs[:, 0]])


def _two(_: Any) -> Size:
    """Counts as numpy makes them: a run once lost every fit of a peer to them."""
    return Size(np.int64(1), np.int64(2))  # type: ignore[arg-type]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Row]:
    path = tmp_path / "split.npz"
    labels = (np.arange(20) > 9).astype(np.int8)
    write_split(path, arrays(TABLE.frame), labels, np.arange(0, 20, 2), np.arange(1, 20, 2))

    def serve(limit: float = 5.0, wall: float = 20.0, modules: tuple[str, ...] = (), **parameters: Any) -> Row:
        monkeypatch.setattr(
            serving, "ENTRIES", {"t": Peer("t", lambda given: Threshold(**given), _two, parameters, modules)}
        )
        return serving.run(Job("t", str(path), limit, wall))

    return serve


@pytest.mark.parametrize(
    ("given", "status", "why"),
    [
        ({}, "ok", None),
        ({"limit": 0.2, "work": "endless"}, "limit", r"^0\.2 CPU seconds$"),
        ({"limit": 60, "wall": 0.3, "work": "endless"}, "limit", r"0\.3 seconds of wall time"),
        ({"work": "error"}, "failed", "^ValueError: no such$"),
        ({"modules": ("no_such_library",)}, "absent", "no_such_library"),
    ],
)
def test_a_fit_reports_accuracy_area_size_and_time_or_why_not(
    serve: Callable[..., Row], given: dict[str, Any], status: str, why: str | None
) -> None:
    found = serve(**given)
    assert found["status"] == status
    if why is not None:
        assert found.keys() == {"status", "why"}
        assert re.search(why, found["why"])
        return
    assert (found["accuracy"], found["auc"], found["rules"], found["literals"]) == (1.0, 1.0, 1, 2)
    assert 0 <= found["seconds"] < 1
    assert found["n_test"] == 10


def test_areas_count_ties_half_and_ranks_put_unfinished_and_large_models_last() -> None:
    assert area_under_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) == 0.75
    assert area_under_curve([0, 1], [0.5, 0.5]) == 0.5
    found = {
        ("t", "a"): Cell(5, 0, accuracy=0.9, rules=20),
        ("t", "b"): Cell(5, 0, accuracy=0.9, rules=3),
        ("t", "c"): Cell(4, 1, accuracy=0.99, rules=3),
        ("t", "d"): Cell(5, 0, accuracy=0.95, rules=20.5),
        ("t", "e"): Cell(5, 0, accuracy=0.2, rules=3),
    }
    assert ranks(found, ["t"], list("abcde"), 20) == {"a": [1.5], "b": [1.5], "c": [4.5], "d": [4.5], "e": [3.0]}
