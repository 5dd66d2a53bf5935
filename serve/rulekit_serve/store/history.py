"""What happened to models, as a chain: each event holds the hash of the one before, so that a changed byte is found."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, insert, select

from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import aliases, events

START = "0" * 64
"""What the first event holds in the place of a hash."""


def append(database: Database, connection: Connection, model: str, kind: str, by: str, body: Mapping[str, Any]) -> int:
    """Add an event in a transaction that writes; its number."""
    database.alone(connection)
    last = connection.execute(select(events.c.number, events.c.hash).order_by(events.c.number.desc()).limit(1)).first()
    number, before = (0, START) if last is None else last
    event = {"number": number + 1, "time": time.time(), "model": model, "kind": kind, "by": by}
    event |= {"body": json.dumps(body, sort_keys=True), "before": before}
    connection.execute(insert(events).values(**event, hash=hash_of(event)))
    return int(event["number"])


def hash_of(event: Mapping[str, Any]) -> str:
    """The hash of all that an event says."""
    fields = ("number", "time", "model", "kind", "by", "body", "before")
    said = json.dumps([event[name] if name != "time" else float(event[name]).hex() for name in fields])
    return hashlib.sha256(said.encode()).hexdigest()


def broken_at(database: Database) -> int | None:
    """The number of the first event that was changed, is missing or is out of place; None where the chain is whole."""
    before, number = START, 0
    with database.read() as connection:
        last = connection.execute(select(func.max(aliases.c.event))).scalar() or 0
        for event in connection.execute(select(events).order_by(events.c.number)).mappings():
            number += 1
            if event["number"] != number or event["before"] != before or event["hash"] != hash_of(dict(event)):
                return number
            before = event["hash"]
    return None if last <= number else number + 1


def of_model(database: Database, model: str) -> list[dict[str, Any]]:
    """The events of a model, the latest first."""
    with database.read() as connection:
        chosen = select(events).where(events.c.model == model).order_by(events.c.number.desc())
        found = connection.execute(chosen).mappings().all()
    return [{**event, "body": json.loads(event["body"])} for event in found]
