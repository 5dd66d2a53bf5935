"""The process that holds an environment's libraries and forks one process for each fit.

    python -m benchmarks.learning.peers.serving

Reads one job a line (JSON) and answers one line each; it imports a peer's modules once, before it forks.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import select
import signal
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.learning.peers.catalogue import ENTRIES, sized
from benchmarks.learning.peers.definitions import Peer
from benchmarks.learning.peers.measuring import measure

DISTRIBUTIONS = (
    "rulekit-portable",
    "numpy",
    "numba",
    "scikit-learn",
    "imodels",
    "interpret-core",
    "wittgenstein",
    "fasterrisk",
)


@dataclass(frozen=True, slots=True)
class Job:
    """One fit: the entry's name (or a family and its size, for a curve), the saved split, the limits in seconds."""

    peer: str
    path: str
    limit: float
    wall: float
    with_rows: bool = False
    size: int = 0

    def entry(self) -> Peer:
        """The peer that is meant."""
        return sized(self.peer, self.size) if self.size else ENTRIES[self.peer]


def versions() -> dict[str, str]:
    """The libraries of this environment that matter here."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def run(job: Job) -> dict[str, Any]:
    """`status` ok with the measurements, or limit, failed (an exception, a crash) or absent (no import), with `why`."""
    peer = job.entry()
    try:
        for module in peer.modules:
            importlib.import_module(module)
    except ImportError as error:
        return {"status": "absent", "why": f"{type(error).__name__}: {error}"[:200]}
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _work(peer, job, write)
    os.close(write)
    answer = _answer(read, child, job.wall)
    _, state, _ = os.wait4(child, 0)
    if answer:
        found: dict[str, Any] = json.loads(answer)
        return found
    stopped = os.WTERMSIG(state) if os.WIFSIGNALED(state) else 0
    if stopped == signal.SIGXCPU:
        return {"status": "limit", "why": f"{job.limit:g} CPU seconds"}
    if stopped == signal.SIGKILL:
        return {"status": "limit", "why": f"{job.wall:g} seconds of wall time, or out of memory"}
    return {"status": "failed", "why": f"the process ended with signal {stopped}"}


def _answer(read: int, child: int, seconds: float) -> bytes:
    """All that the child writes; nothing, and the child is killed, where it takes too long."""
    end = time.monotonic() + seconds
    parts: list[bytes] = []
    with os.fdopen(read, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                return b""
            part = pipe.read(1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)


def _work(peer: Peer, job: Job, write: int) -> None:
    """In the child: measure, write the answer, and leave without the parent's clean-up."""
    try:
        warnings.simplefilter("ignore")
        answer = json.dumps({"status": "ok", **measure(peer, Path(job.path), job.limit, job.with_rows, job.size > 0)})
    except BaseException as error:
        answer = json.dumps({"status": "failed", "why": f"{type(error).__name__}: {error}".splitlines()[0][:200]})
    try:
        with os.fdopen(write, "wb") as pipe:
            pipe.write(answer.encode())
    finally:
        os._exit(0)


def main() -> None:
    """Answer jobs until the input ends."""
    # What libraries print goes to standard error: standard output carries answers only.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    answers.write(json.dumps(versions()) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(run(Job(**json.loads(line)))) + "\n")


if __name__ == "__main__":
    main()
