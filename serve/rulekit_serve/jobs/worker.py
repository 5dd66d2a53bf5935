"""The process of one job: `python -m rulekit_serve.jobs.worker JOB`, which a supervisor starts."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rulekit.errors import Cancelled, RulekitError
from rulekit.work.progress import RunProgress
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import table
from rulekit_serve.jobs.kinds import WORK, FailedError
from rulekit_serve.jobs.running import EndedError, Heart, Job
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

_NICE = 10


def main(own: str) -> None:
    """Do the job and keep its result; whatever is not foreseen goes to stderr, where the supervisor reads it."""
    settings = Settings.of_environment()
    _bound(settings)
    database = Database(settings.url)
    kept = table.one(database, own)
    folder = Path(tempfile.gettempdir())
    heart = Heart(database, own)
    registry = Registry(database)
    job = Job(own, kept["by"], kept["request"], settings, database, registry, folder, heart, RunProgress())
    state, message = "done", ""
    result: Mapping[str, Any] | None = None
    try:
        result = WORK[kept["kind"]](job)
    except (EndedError, Cancelled):
        state = "cancelled"
    except FailedError as failed:
        state, message, result = "failed", str(failed), failed.result
    except Refusal as refusal:
        state, message = "failed", refusal.what
    except RulekitError as error:
        state, message = "failed", str(error)
    if heart.cancelled.is_set() and state != "done":
        state, message = "cancelled", "it was cancelled"
    heart.stop()
    message = message.replace(f"{folder}{os.sep}", "").replace(f"{settings.uploads}{os.sep}", "")
    table.end(database, own, state, message, result)
    registry.close()


def _bound(settings: Settings) -> None:
    """Limit this process and all that it starts."""
    os.nice(_NICE)
    seconds = int(settings.job_seconds) * (os.cpu_count() or 1) + 60
    for what, most in ((resource.RLIMIT_AS, settings.job_memory), (resource.RLIMIT_CPU, seconds)):
        with suppress(ValueError):  # the limit of the server is lower already
            resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(sys.argv[1])
