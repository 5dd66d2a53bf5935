"""Runs jobs that wait, each in a process of its own, and ends those that are late, cancelled or dead.

A job is never run twice: one server claims it in the database, and one whose process died is failed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import table
from rulekit_serve.jobs.uploads import sweep
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

DEAD, BEGINNING, CANCELLED = 10.0, 60.0, 5.0
"""Seconds without a heartbeat, and without a first one, after which a job is failed; of a cancel before the kill."""
GAP = 5.0
"""Seconds after which this thread does not say that it would have seen a heartbeat."""
_PAUSE = 0.5
_TAIL = 4096
_ERRORS = "stderr"


@dataclass(slots=True)
class _Process:
    """A process that this server started; until: the moment of its deadline; cancelled: when that was first seen."""

    popen: subprocess.Popen[bytes]
    folder: Path
    until: float
    cancelled: float | None = None

    def kill(self) -> None:
        """The process and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def last_words(self) -> str:
        """Why it ended, in one line."""
        code, said = self.popen.returncode, ""
        with suppress(OSError), (self.folder / _ERRORS).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            said = file.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        return f"its process {how}, without a result{said and ': '}{said}"


class Supervisor:
    """A thread of the server; several servers may share one database."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings, self._database = settings, database
        self._own: dict[str, _Process] = {}
        self._seen: dict[str, tuple[float, float]] = {}
        self._looked = time.monotonic()
        self.ended, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self.start, self.wake = self._thread.start, self._wake.set
        """To call once, and after each job that was added or cancelled."""

    def close(self) -> None:
        """End the processes; their jobs are failed."""
        self.ended.set()
        self._wake.set()
        self._thread.join(30.0)
        for job in list(self._own):
            with suppress(Refusal):
                self._finish(job, "failed", "the server was stopped")

    def _run(self) -> None:
        sweep(self._settings.uploads)
        while not self.ended.is_set():
            with suppress(Refusal):  # no database: the next round asks again
                self._watch()
                self._claim()
            self._wake.wait(_PAUSE)
            self._wake.clear()

    def _watch(self) -> None:
        found = {row["id"]: row for row in table.running(self._database)}
        now = time.monotonic()
        if now - self._looked > GAP:  # the database was away, for those that beat too
            self._seen = {}
        self._looked = now
        for job, own in list(self._own.items()):
            if own.cancelled is None and job in found and found[job]["cancel"]:
                own.cancelled = now
            if own.popen.poll() is not None:
                self._finish(job, "failed" if own.cancelled is None else "cancelled", own.last_words())
            elif own.cancelled is not None and now - own.cancelled > CANCELLED:
                self._finish(job, "cancelled", "it was cancelled")
            elif now > own.until:
                seconds = self._settings.job_seconds
                self._finish(job, "failed", f"it was ended after {seconds:g} seconds, the most that a job has")
        seen, self._seen = self._seen, {}
        for job, row in found.items():
            # by this server's own clock, as those of others may differ and be set back
            known, moment = seen.get(job, (None, now))
            self._seen[job] = (row["beat"], moment if known == row["beat"] else now)
            most = DEAD if row["beat"] != row["started"] else BEGINNING
            if now - self._seen[job][1] > most:
                self._finish(job, "failed", f"its process does not answer: no heartbeat for {most:g} seconds")

    def _finish(self, job: str, state: str, message: str) -> None:
        """End a job that has not ended by itself, its process and its folder."""
        own = self._own.get(job)
        if own is not None:
            own.kill()
        table.end(self._database, job, state, message)
        self._own.pop(job, None)
        shutil.rmtree(self._settings.work / job, ignore_errors=True)

    def _claim(self) -> None:
        while not self.ended.is_set() and (job := table.claim(self._database, self._settings.jobs)) is not None:
            try:
                self._own[job] = self._started(job)
            except OSError as error:
                self._finish(job, "failed", f"no process could be started: {error.strerror}")

    def _started(self, job: str) -> _Process:
        folder = (self._settings.work / job).resolve()
        folder.mkdir(parents=True)
        environment = {**os.environ, **self._settings.exported(), "TMPDIR": str(folder), "MALLOC_ARENA_MAX": "2"}
        with (folder / _ERRORS).open("wb") as errors:
            popen = subprocess.Popen(
                [sys.executable, "-P", "-m", "rulekit_serve.jobs.worker", job],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        return _Process(popen, folder, time.monotonic() + self._settings.job_seconds)
