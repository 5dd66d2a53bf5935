"""A job while it runs: its heart, the events that it tells, and how it hears that it is cancelled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulekit.limits import Deadline
from rulekit.work.progress import Event, Learning, Noticed, RunProgress, Stage
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import table
from rulekit_serve.jobs.supervisor import CANCELLED
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

_BEAT = 1.0
_SHARE_OF_TIME = 0.9
"""The share of a job's time in which it proves; what is open then is said so."""


class EndedError(BaseException):
    """The job was cancelled; no handler of errors on the way may keep it."""


class Heart:
    """A thread that says that the job lives, and writes what it tells."""

    def __init__(self, database: Database, job: str) -> None:
        self._database, self._job, self._parent = database, job, os.getppid()
        self._lock, self._beating, self._number = threading.Lock(), threading.Lock(), 0
        self._notes: list[dict[str, Any]] = []
        self._latest: dict[str, Any] | None = None
        self._stopped, self.cancelled = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)
        self._thread.start()

    def tell(self, event: dict[str, Any]) -> None:
        """An event; of those that only say how far the work is the last one of a second is kept."""
        with self._lock:
            if "notes" in event:
                self._notes.append(event)
            else:
                self._latest = event

    def is_cancelled(self) -> bool:
        """Whether the job is cancelled at this moment; raises Refusal where the database does not say."""
        self._beat()
        return self.cancelled.is_set()

    def stop(self) -> None:
        """Write what is left."""
        self._stopped.set()
        self._thread.join()
        with suppress(Refusal):
            self._beat()

    def _run(self) -> None:
        since: float | None = None
        while True:
            with suppress(Refusal):  # the database is away: the next beat tries again
                self._beat()
            if self.cancelled.is_set():
                since = since or time.monotonic()
            late = since is not None and time.monotonic() - since > CANCELLED
            if late or os.getppid() != self._parent:  # nobody else would end this process
                os._exit(3)
            if self._stopped.wait(_BEAT):
                return

    def _beat(self) -> None:
        with self._beating:
            with self._lock:
                told = [*self._notes, *([] if self._latest is None else [self._latest])]
                kept, self._notes, self._latest = self._notes, [], None
            events = {self._number + 1 + i: event for i, event in enumerate(told)}
            try:
                cancel = table.beat(self._database, self._job, events)
            except BaseException:
                with self._lock:
                    self._notes = [*kept, *self._notes]
                raise
            self._number += len(told)
        if cancel is None:  # somebody else has ended it
            os._exit(3)
        if cancel:
            self.cancelled.set()


@dataclass(frozen=True, slots=True)
class Job:
    """What the work of a kind needs. folder: for files that go with the process."""

    id: str
    by: str
    asked: Mapping[str, Any]
    settings: Settings
    database: Database
    registry: Registry
    folder: Path
    heart: Heart
    run: RunProgress

    def progress(self, event: Event) -> bool:
        """Tell an event; whether the work is to end."""
        standing = self.run.take(event)
        if isinstance(event, Noticed):
            if lines := event.lines(120):
                self.heart.tell({"event": "noticed", "notes": lines})
        else:
            told: dict[str, Any] = {"event": type(event).__name__.lower(), "label": standing.label}
            told |= {"share": round(standing.share, 4), "seconds": standing.seconds}
            if isinstance(event, Learning):
                told["step"] = {key: value for key, value in event.step.items() if isinstance(value, int | float | str)}
            self.heart.tell(told)
        return self.heart.cancelled.is_set()

    def deadline(self) -> Deadline:
        """The time of proofs, whose searches tell how far they are."""
        return Deadline(_SHARE_OF_TIME * self.settings.job_seconds, self.stage)

    def stage(self, what: str, share: float) -> None:
        """Tell how far the work is; raises EndedError where the job is cancelled."""
        if self.progress(Stage(what, share)):
            raise EndedError

    def model(self, digest: str, name: str = "model.json") -> Path:
        """The file of a version of the model."""
        path = self.folder / name
        path.write_bytes(self.registry.content(self.asked["model"], digest))
        return path

    def upload(self, own: str) -> Path:
        """The file of an upload, whose id the database knows."""
        return self.settings.uploads / own
