"""The process of one job: `python -m rulekit_serve.jobs.worker JOB`, which a supervisor starts."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from typing import Any

from rulekit.errors import Cancelled, RulekitError
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import table
from rulekit_serve.jobs.kinds import WORK
from rulekit_serve.jobs.running import EndedError, Job
from rulekit_serve.settings import Settings

_NICE = 10


def main(own: str) -> None:
    """Do the job and keep its result; whatever is not foreseen goes to stderr, where the supervisor reads it."""
    settings = Settings.of_environment()
    _bound(settings)
    job, result = Job(settings, own), dict[str, Any]()
    try:
        result = WORK[job.kind](job)
        message = result.get("failed", "")
        state = "failed" if message else "done"
    except (EndedError, Cancelled, Refusal, RulekitError) as error:
        state, message = "failed", str(error)
        if job.cancelled.is_set() or isinstance(error, EndedError | Cancelled):
            state, message = "cancelled", "it was cancelled"
    job.stop()
    message = message.replace(f"{job.folder}{os.sep}", "").replace(f"{settings.uploads}{os.sep}", "")
    table.end(job.database, own, state, message, result)
    job.registry.close()


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
