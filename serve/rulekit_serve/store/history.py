"""What happened to models, as a chain: each event holds the hash of the one before, so that a changed byte is found.

What cannot be found: somebody who may write the database and computes all later hashes anew; and the last events where
no model and no alias refers to them any more, since those were put back as well. Keep an export elsewhere against both.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, insert, select

from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import aliases, events, models

START = "0" * 64
"""What the first event holds in the place of a hash."""


def append(connection: Connection, model: str, kind: str, by: str, body: Mapping[str, Any]) -> int:
    """Add an event in a transaction that is alone; its number."""
    last = select(events.c.number, events.c.hash).order_by(events.c.number.desc()).limit(1)
    number, before = connection.execute(last).first() or (0, START)
    event = {"number": number + 1, "time": time.time(), "model": model, "kind": kind, "by": by}
    event |= {"body": json.dumps(body, sort_keys=True), "before": before}
    connection.execute(insert(events).values(**event, hash=hash_of(event)))
    return int(event["number"])


def hash_of(event: Mapping[str, Any]) -> str:
    """The hash of all that an event says; "" where its cells are what was never written."""
    fields = ("number", "time", "model", "kind", "by", "body", "before")
    try:
        said = json.dumps([event[name] if name != "time" else float(event[name]).hex() for name in fields])
    except (TypeError, ValueError):
        return ""
    return hashlib.sha256(said.encode()).hexdigest()


def broken_at(database: Database) -> int | None:
    """The number of the first event that was changed, is missing or is out of place; None where the chain is whole.

    Models and aliases must be those that the events tell of, and the other way round; else it is the number after the
    last event.
    """
    before, number = START, 0
    named, added = dict[tuple[str, str], tuple[str, int]](), set[tuple[str, str]]()
    with database.read(any_text=True) as connection:
        chosen = select(aliases.c.name, aliases.c.alias, aliases.c.digest, aliases.c.event)
        aliased = {(name, alias): (digest, event) for name, alias, digest, event in connection.execute(chosen)}
        kept = {(name, digest) for name, digest in connection.execute(select(models.c.name, models.c.digest))}
        for event in connection.execute(select(events).order_by(events.c.number)).mappings():
            number += 1
            own = hash_of({**event})
            if event["number"] != number or event["before"] != before or not own == event["hash"] != "":
                return number
            before, model, body = event["hash"], event["model"], json.loads(event["body"])
            if event["kind"] == "alias":
                named[model, body["alias"]] = (body["digest"], number)
            elif event["kind"] == "added":
                added.add((model, body["digest"]))
    return None if named == aliased and added == kept else number + 1


def of_model(database: Database, model: str) -> list[dict[str, Any]]:
    """The events of a model, the latest first."""
    with database.read(any_text=True) as connection:
        chosen = select(events).where(events.c.model == model).order_by(events.c.number.desc())
        found = connection.execute(chosen).mappings().all()
    return [_told({**event}) for event in found]


def _told(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event as JSON values; what it says as a text where somebody has changed it to what is no JSON."""
    found = {key: _shown(cell) for key, cell in event.items()}
    try:
        return found | {"body": json.loads(found["body"])}
    except (TypeError, ValueError):
        return found | {"body": repr(event["body"])}


def _shown(cell: Any) -> Any:
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell
