"""A job while it runs: how it says that it lives, what it tells, and how it hears that it is cancelled."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rulekit.limits import Deadline
from rulekit.work.progress import Event, Learning, Noticed, RunProgress, Stage
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import table
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

_BEAT = 1.0
_PROVING = 0.9
"""The share of a job's time in which it proves; what is open then is said so."""


class EndedError(BaseException):
    """The job was cancelled; no handler of errors on the way may keep it."""


class Job:
    """A job in its own process; a thread says each second that it lives, and writes what it tells.

    asked: its request. folder: for files that go with the process.
    """

    def __init__(self, settings: Settings, job: str) -> None:
        self.settings, self.database, self.id = settings, Database(settings.url), job
        self.registry, self.folder = Registry(self.database), Path(tempfile.gettempdir())
        kept = table.one(self.database, job)
        self.kind, self.by = str(kept["kind"]), str(kept["by"])
        self.asked: Mapping[str, Any] = kept["request"]
        self._run, self._parent, self._number = RunProgress(), os.getppid(), 0
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._beating, self._stopped, self.cancelled = threading.Lock(), threading.Event(), threading.Event()
        self._heart = threading.Thread(target=self._live, name="heart", daemon=True)
        self._heart.start()

    def stop(self) -> None:
        """Write what is left."""
        self._stopped.set()
        self._heart.join()
        with suppress(Refusal):
            self._beat()

    def _live(self) -> None:
        while not self._stopped.is_set():
            with suppress(Refusal):  # the database is away: the next beat tries again
                self._beat()
            if os.getppid() != self._parent:  # nobody else would end this process
                os._exit(3)
            self._stopped.wait(_BEAT)

    def _beat(self) -> None:
        """Of events that only say how far the work is the last one is kept."""
        with self._beating:
            told = [self._told.get() for _ in range(self._told.qsize())]
            kept = [event for event in told if "notes" in event or event is told[-1]]
            cancel = table.beat(self.database, self.id, dict(enumerate(kept, self._number + 1)))
            self._number += len(kept)
        if cancel is None:  # somebody else has ended it
            os._exit(3)
        if cancel:
            self.cancelled.set()

    def check(self) -> None:
        """Raises EndedError where the job is cancelled at this moment, and Refusal where the database does not say."""
        self._beat()
        if self.cancelled.is_set():
            raise EndedError

    def progress(self, event: Event) -> bool:
        """Tell an event; whether the work is to end."""
        standing = self._run.take(event)
        if isinstance(event, Noticed):
            self._told.put({"event": "noticed", "notes": event.lines(120)})
        else:
            step = event.step if isinstance(event, Learning) else {}
            said = {key: value for key, value in step.items() if isinstance(value, int | float | str)}
            told = {"event": type(event).__name__.lower(), "label": standing.label, "share": standing.share}
            self._told.put({**told, "seconds": standing.seconds, "step": said})
        return self.cancelled.is_set()

    def stage(self, what: str, share: float) -> None:
        """Tell how far the work is; raises EndedError where the job is cancelled."""
        if self.progress(Stage(what, share)):
            raise EndedError

    def deadline(self) -> Deadline:
        """The time of proofs, whose searches tell how far they are."""
        return Deadline(_PROVING * self.settings.job_seconds, self.stage)

    def model(self, digest: str, name: str = "model.json") -> Path:
        """The file of a version of the model."""
        path = self.folder / name
        path.write_bytes(self.registry.content(self.asked["model"], digest))
        return path
