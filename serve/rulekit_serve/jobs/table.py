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

from sqlalchemy import Connection, func, insert, select, update

from rulekit.names import printable
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
        if _count(connection, "waiting") >= _MOST_WAITING:
            raise Refusal(429, f"{_MOST_WAITING:,} jobs wait already", fix="ask again later")
        connection.execute(insert(jobs).values(**values, added=time.time()))
    return job


def _count(connection: Connection, state: str) -> int:
    return connection.execute(select(func.count()).select_from(jobs).where(jobs.c.state == state)).scalar_one()


def one(database: Database, job: str) -> dict[str, Any]:
    """A job as JSON values; raises Refusal where there is none of this id."""
    found = database.first(select(jobs).where(jobs.c.id == job)) if _ID.fullmatch(job) else None
    if found is None:
        raise unknown("there is no job of this id")
    return found | {key: json.loads(found[key]) for key in ("request", "result")}


def listed(database: Database, most: int) -> list[dict[str, Any]]:
    """The latest jobs, without their results."""
    columns = [column for column in jobs.c if column.name != "result"]
    found = database.rows(select(*columns).order_by(jobs.c.added.desc()).limit(most))
    return [row | {"request": json.loads(row["request"])} for row in found]


def claim(database: Database, most: int) -> str | None:
    """The job that waits longest, which runs from now on; None where none waits, or so many run already."""
    chosen = select(jobs.c.id).where(jobs.c.state == "waiting").order_by(jobs.c.added).limit(1)
    if database.first(chosen) is None:
        return None
    with database.alone() as connection:
        job: str | None = connection.execute(chosen).scalar()
        if job is None or _count(connection, "running") >= most:
            return None
        now = time.time()
        changed = update(jobs).where(jobs.c.id == job, jobs.c.state == "waiting")
        done = connection.execute(changed.values(state="running", started=now, beat=now))
        return job if done.rowcount == 1 else None


def running(database: Database) -> list[dict[str, Any]]:
    """What is known of each job that runs, without what it was asked."""
    chosen = select(jobs.c.id, jobs.c.started, jobs.c.beat, jobs.c.cancel)
    return database.rows(chosen.where(jobs.c.state == "running"))


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
    values = {"state": state, "message": printable(message)[:_MOST_MESSAGE], "ended": time.time()}
    mine = update(jobs).where(jobs.c.id == job, jobs.c.state == "running")
    return database.change(mine.values(**values, result=json.dumps(result or {}, default=str))) == 1


def cancel(database: Database, job: str) -> str:
    """Ask that a job ends: one that waits is cancelled at once. Its state; raises Refusal where it has ended."""
    own = update(jobs).where(jobs.c.id == one(database, job)["id"])
    if database.change(own.where(jobs.c.state == "waiting").values(state="cancelled", ended=time.time())):
        return "cancelled"
    if database.change(own.where(jobs.c.state == "running").values(cancel=True)):
        return "running"
    raise Refusal(409, f"the job is {one(database, job)['state']} already")


def events_after(database: Database, job: str, number: int) -> list[tuple[int, str]]:
    """Number and JSON text of each event after a number."""
    later = select(job_events).where(job_events.c.job == job, job_events.c.number > number)
    return [(row["number"], row["body"]) for row in database.rows(later.order_by(job_events.c.number))]
