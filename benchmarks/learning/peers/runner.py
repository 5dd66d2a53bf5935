"""All learners on all splits, one fit after the other, with the limits kept and every outcome recorded."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.learning.peers.columns import write_split
from benchmarks.learning.peers.data import BinaryTable
from benchmarks.learning.peers.definitions import OURS, Peer
from benchmarks.learning.peers.environment import Environments
from benchmarks.learning.peers.results import Results, Row
from benchmarks.learning.peers.splits import Split

ROOT = Path(__file__).parents[3]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True, slots=True)
class Limits:
    """CPU seconds for a fit, and wall seconds for the whole process that does it."""

    cpu: float = 30.0
    wall: float = 900.0


@dataclass(frozen=True, slots=True)
class Task:
    """One table and one of its splits; `with_rows` keeps which test rows were right."""

    table: BinaryTable
    split: Split
    with_rows: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A learner, by its entry's name, or by its family and a size for curves."""

    name: str
    environment: str
    size: int = 0

    @property
    def label(self) -> str:
        """The name in results."""
        return f"{self.name} {self.size}" if self.size else self.name

    @classmethod
    def of(cls, peer: Peer) -> Self:
        """The entry itself."""
        return cls(peer.name, peer.environment)


class Servers(AbstractContextManager["Servers"]):
    """One serving process for each environment, started when first asked."""

    def __init__(self, peers: Environments | None) -> None:
        others = {} if peers is None else {name: one.python for name, one in peers.of.items()}
        self.python = {OURS: Path(sys.executable), **others}
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.versions: dict[str, dict[str, str]] = {}

    def ask(self, environment: str, job: dict[str, Any]) -> Row:
        """The answer to one job."""
        if environment not in self.python:
            return {"status": "absent", "why": "no environment for peers"}
        try:
            server = self._server(environment)
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(json.dumps(job) + "\n")
            server.stdin.flush()
            answer = server.stdout.readline()
        except OSError as error:
            return {"status": "absent", "why": str(error)[:200]}
        if not answer:
            self.running.pop(environment).wait()
            return {"status": "failed", "why": "the serving process ended"}
        found: Row = json.loads(answer)
        return found

    def greet(self) -> None:
        """Start what is not running, so that the versions of all environments are known."""
        for environment in self.python:
            with suppress(OSError):
                self._server(environment)

    def _server(self, environment: str) -> subprocess.Popen[str]:
        if environment not in self.running:
            server = subprocess.Popen(
                [str(self.python[environment]), "-m", "benchmarks.learning.peers.serving"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=ROOT,
                env={**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"},
            )
            assert server.stdout is not None
            first = server.stdout.readline()
            if not first:
                raise OSError(f"{self.python[environment]} does not serve (status {server.wait()})")
            self.running[environment] = server
            self.versions[environment] = json.loads(first)
        return self.running[environment]

    def __exit__(self, *_: object) -> None:
        for server in self.running.values():
            assert server.stdin is not None
            server.stdin.close()
            server.wait()


def arrays(frame: pl.DataFrame) -> dict[str, npt.NDArray[Any]]:
    """Columns as plain arrays: text with "" where missing, numbers with NaN (whole ones stay whole without gaps)."""
    columns = {}
    for column in frame:
        if column.dtype == pl.String:
            columns[column.name] = column.fill_null("").to_numpy().astype(np.str_)
        else:
            columns[column.name] = column.to_numpy() if not column.null_count() else column.cast(pl.Float64).to_numpy()
    return columns


def run(tasks: Iterable[Task], wanted: Sequence[Wanted], results: Results, servers: Servers, limits: Limits) -> None:
    """Fit every wanted learner on every task that has no result yet; a line is printed for each.

    The order of the learners turns by one from task to task. After one hit of the limit on a table the learner's other
    splits of that table are skipped, and counted.
    """
    for turn, task in enumerate(tasks):
        order = [*wanted[turn % len(wanted) :], *wanted[: turn % len(wanted)]]
        left = [one for one in order if (task.table.name, task.split.name, one.label) not in results.rows]
        for row in _fits(task, left, results, servers, limits):
            results.add(row)
            print(line_of(row), flush=True)


def _fits(task: Task, wanted: Sequence[Wanted], results: Results, servers: Servers, limits: Limits) -> Iterator[Row]:
    stopped = {
        row["peer"]
        for row in results.rows.values()
        if row["table"] == task.table.name and row["status"] in ("limit", "absent")
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        if any(one.label not in stopped for one in wanted):
            split = task.split
            write_split(path, arrays(task.table.frame), task.table.labels, split.train, split.test)
        for one in wanted:
            begun = time.time()
            if one.label in stopped:
                found: Row = {"status": "skipped", "why": "an earlier split of this table was stopped"}
            else:
                job = {
                    "peer": one.name,
                    "size": one.size,
                    "path": str(path),
                    "limit": limits.cpu,
                    "wall": limits.wall,
                    "with_rows": task.with_rows,
                }
                found = servers.ask(one.environment, job)
            stamp = {"started": round(begun, 1), "limit": limits.cpu}
            yield {"table": task.table.name, "split": task.split.name, "peer": one.label, **found, **stamp}


def line_of(row: Row) -> str:
    """One result for the terminal."""
    start = f"{row['table']:24s} {row['split']:9s} {row['peer']:26s}"
    if row["status"] != "ok":
        return f"{start} {row['status']}: {row.get('why', '')}"
    return (
        f"{start} accuracy {row['accuracy']:.4f}  AUC {row['auc']:.4f}  {row['rules']:5d} rules "
        f"{row['literals']:5d} literals  {row['seconds']:8.3f} s"
    )


def machine() -> str:
    """Processor, cores and system."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [text.split(":", 1)[1].strip() for text in info.read_text().splitlines() if "model name" in text]
        name = models[0] if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
