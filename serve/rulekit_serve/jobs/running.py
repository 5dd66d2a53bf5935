"""A job while it runs: its heart, the events that it tells, and how it hears that it is cancelled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
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
_PROVING = 0.9
"""The share of a job's time in which it proves; what is open then is said so."""


class EndedError(BaseException):
    """The job was cancelled; no handler of errors on the way may keep it."""


class Heart:
    """A thread that says that the job lives, and writes what it tells."""

    def __init__(self, database: Database, job: str) -> None:
        self._database, self._job, self._parent = database, job, os.getppid()
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._beating, self._number = threading.Lock(), 0
        self._stopped, self.cancelled = threading.Event(), threading.Event()
        self.tell = self._told.put
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)
        self._thread.start()

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
        while not self._stopped.is_set():
            with suppress(Refusal):  # the database is away: the next beat tries again
                self._beat()
            if self.cancelled.is_set():
                since = since or time.monotonic()
            late = since is not None and time.monotonic() - since > CANCELLED
            if late or os.getppid() != self._parent:  # nobody else would end this process
                os._exit(3)
            self._stopped.wait(_BEAT)

    def _beat(self) -> None:
        """Of events that only say how far the work is the last one is kept."""
        with self._beating:
            told = [self._told.get() for _ in range(self._told.qsize())]
            kept = [event for event in told if "notes" in event or event is told[-1]]
            cancel = table.beat(self._database, self._job, dict(enumerate(kept, self._number + 1)))
            self._number += len(kept)
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
            self.heart.tell({"event": "noticed", "notes": event.lines(120)})
        else:
            step = event.step if isinstance(event, Learning) else {}
            said = {key: value for key, value in step.items() if isinstance(value, int | float | str)}
            told = {"event": type(event).__name__.lower(), "label": standing.label, "share": standing.share}
            self.heart.tell({**told, "seconds": standing.seconds, "step": said})
        return self.heart.cancelled.is_set()

    def deadline(self) -> Deadline:
        """The time of proofs, whose searches tell how far they are."""
        return Deadline(_PROVING * self.settings.job_seconds, self.stage)

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
