"""Jobs as rows of the database: added, claimed by one server, ended once. Every change of a state compares the old one.

A job waits, then runs, then is done, failed or cancelled.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, insert, select, update

from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import job_events, jobs

OPEN = ("waiting", "running")
_ID = re.compile(r"[0-9a-f]{32}")
_MOST_WAITING = 1_000
_MOST_MESSAGE = 1_000


def add(database: Database, kind: str, request: Mapping[str, Any], by: str) -> str:
    """Let a job wait; its id. Raises Refusal where too many wait."""
    job = uuid.uuid4().hex
    values = {"id": job, "kind": kind, "request": json.dumps(request), "state": "waiting", "by": by}
    with database.write() as connection:
        waiting = connection.execute(select(func.count()).select_from(jobs).where(jobs.c.state == "waiting")).scalar()
        if (waiting or 0) >= _MOST_WAITING:
            raise Refusal(429, f"{_MOST_WAITING:,} jobs wait already", fix="ask again later")
        connection.execute(insert(jobs).values(**values, added=time.time()))
    return job


def one(database: Database, job: str) -> dict[str, Any]:
    """A job as JSON values; raises Refusal where there is none of this id."""
    found = None
    if _ID.fullmatch(job):
        with database.read() as connection:
            found = connection.execute(select(jobs).where(jobs.c.id == job)).mappings().first()
    if found is None:
        raise unknown("there is no job of this id")
    return {**found, "request": json.loads(found["request"]), "result": json.loads(found["result"])}


def listed(database: Database, most: int) -> list[dict[str, Any]]:
    """The latest jobs, without their results."""
    columns = [column for column in jobs.c if column.name != "result"]
    with database.read() as connection:
        found = connection.execute(select(*columns).order_by(jobs.c.added.desc()).limit(most)).mappings().all()
    return [{**row, "request": json.loads(row["request"])} for row in found]


def claim(database: Database, most: int) -> str | None:
    """The job that waits longest, which runs from now on; None where none waits, or so many run already."""
    chosen = select(jobs.c.id).where(jobs.c.state == "waiting").order_by(jobs.c.added).limit(1)
    with database.read() as connection:
        if connection.execute(chosen).first() is None:
            return None
    with database.alone() as connection:
        running = connection.execute(select(func.count()).select_from(jobs).where(jobs.c.state == "running")).scalar()
        job: str | None = connection.execute(chosen).scalar()
        if job is None or (running or 0) >= most:
            return None
        now = time.time()
        changed = update(jobs).where(jobs.c.id == job, jobs.c.state == "waiting")
        done = connection.execute(changed.values(state="running", started=now, beat=now))
        return job if done.rowcount == 1 else None


def running(database: Database) -> list[tuple[str, float, bool, bool]]:
    """Id, last heartbeat, whether its process has beaten yet, and whether it is to be cancelled, of each that runs."""
    with database.read() as connection:
        chosen = select(jobs.c.id, jobs.c.beat, jobs.c.beat != jobs.c.started, jobs.c.cancel)
        return [tuple(row) for row in connection.execute(chosen.where(jobs.c.state == "running"))]


def beat(database: Database, job: str, events: Mapping[int, Mapping[str, Any]]) -> bool | None:
    """Say that a job lives, with its new events by number; whether it is to be cancelled, None where it has ended."""
    with database.write() as connection:
        mine = (jobs.c.id == job) & (jobs.c.state == "running")
        connection.execute(update(jobs).where(mine).values(beat=time.time()))
        cancel: bool | None = connection.execute(select(jobs.c.cancel).where(mine)).scalar()
        if cancel is not None and events:
            rows = [{"job": job, "number": n, "body": json.dumps(body)} for n, body in events.items()]
            connection.execute(insert(job_events), rows)
    return cancel


def end(database: Database, job: str, state: str, message: str = "", result: Mapping[str, Any] | None = None) -> bool:
    """Let a running job end; whether it ran until now."""
    values: dict[str, Any] = {"state": state, "message": plain(message)[:_MOST_MESSAGE], "ended": time.time()}
    if result is not None:
        values["result"] = json.dumps(result, default=str)
    with database.write() as connection:
        mine = update(jobs).where(jobs.c.id == job, jobs.c.state == "running")
        return connection.execute(mine.values(**values)).rowcount == 1


def cancel(database: Database, job: str) -> str:
    """Ask that a job ends: one that waits is cancelled at once. Its state; raises Refusal where it has ended."""
    state = str(one(database, job)["state"])
    if state in OPEN:
        with database.write() as connection:
            own = update(jobs).where(jobs.c.id == job)
            waiting = own.where(jobs.c.state == "waiting").values(state="cancelled", ended=time.time())
            if connection.execute(waiting).rowcount == 1:
                return "cancelled"
            if connection.execute(own.where(jobs.c.state == "running").values(cancel=True)).rowcount == 1:
                return "running"
        state = str(one(database, job)["state"])
    raise Refusal(409, f"the job is {state} already")


def events_after(database: Database, job: str, number: int) -> list[tuple[int, str]]:
    """Number and JSON text of each event after a number."""
    with database.read() as connection:
        chosen = select(job_events.c.number, job_events.c.body)
        later = chosen.where(job_events.c.job == job, job_events.c.number > number).order_by(job_events.c.number)
        return [(found, body) for found, body in connection.execute(later)]


def plain(text: str) -> str:
    """One line that any database takes."""
    text = text.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
