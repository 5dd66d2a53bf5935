"""The history: whatever is changed in it is found, and where."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations

import pytest
from rulekit_serve.store import history
from serving import OTHER, Running, loans

EVENTS = 4
TEXTS = ("model", "kind", "by", "body", "before", "hash")


@pytest.fixture
def chain(served: Running) -> Running:
    """Two versions of a model, and two moves of champion."""
    registry = served.service.registry
    first = registry.digest("loans")
    other = registry.add("loans", loans(OTHER), "somebody", "sent")
    registry.move("loans", "champion", other, "somebody", "better", first)
    assert _broken(served) is None
    return served


@pytest.fixture
def raw(chain: Running) -> Iterator[sqlite3.Connection]:
    """The database, as somebody with the file has it."""
    with closing(sqlite3.connect(chain.service.settings.folder / "rulekit.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        yield connection


def _broken(served: Running) -> int | None:
    return history.broken_at(served.service.database)


@pytest.mark.parametrize("column", TEXTS)
def test_any_changed_byte_of_any_text_is_found(chain: Running, raw: sqlite3.Connection, column: str) -> None:
    """Also where the bytes are no text any more; the page of the history says so, and does not fail."""
    for number in range(1, EVENTS + 1):
        (cell,) = raw.execute(f"SELECT CAST({column} AS BLOB) FROM events WHERE number = {number}").fetchone()
        changes = [cell[:i] + bytes([cell[i] ^ (1 << i % 8)]) + cell[i + 1 :] for i in range(len(cell))]
        for changed in (*changes, cell[:-1], cell + b" ", b"\xff", b""):
            raw.execute(f"UPDATE events SET {column} = CAST(? AS TEXT) WHERE number = {number}", (changed,))
            assert _broken(chain) == number, (number, changed)
        raw.execute(f"UPDATE events SET {column} = CAST(? AS TEXT) WHERE number = {number}", (b"\xff",))
        answer = chain.client.get("/models/loans/history", headers=chain.as_["audit"])
        assert (answer.status_code, answer.json()["broken_at"]) == (200, number)
        raw.execute(f"UPDATE events SET {column} = CAST(? AS TEXT) WHERE number = {number}", (cell,))
    assert _broken(chain) is None


def test_a_changed_time_is_found(chain: Running, raw: sqlite3.Connection) -> None:
    for number in range(1, EVENTS + 1):
        (time,) = raw.execute(f"SELECT time FROM events WHERE number = {number}").fetchone()
        for changed in (math.nextafter(time, 0), time + 1, -time, 0, "then", b"then"):
            raw.execute(f"UPDATE events SET time = ? WHERE number = {number}", (changed,))
            assert _broken(chain) == number, changed
        raw.execute(f"UPDATE events SET time = ? WHERE number = {number}", (time,))
    assert _broken(chain) is None
    raw.execute(f"UPDATE events SET time = 'then', hash = '' WHERE number = {EVENTS}")
    assert _broken(chain) == EVENTS


@pytest.mark.parametrize("gone", range(1, EVENTS + 1))
def test_a_deleted_event_is_found_where_it_was(chain: Running, raw: sqlite3.Connection, gone: int) -> None:
    """The last one too, since champion refers to it."""
    raw.execute(f"DELETE FROM events WHERE number = {gone}")
    assert _broken(chain) == gone
    raw.execute(f"UPDATE events SET number = number - 1 WHERE number > {gone}")
    assert _broken(chain) == gone


@pytest.mark.parametrize(("one", "other"), [*combinations(range(1, EVENTS + 1), 2)])
def test_swapped_events_are_found(chain: Running, raw: sqlite3.Connection, one: int, other: int) -> None:
    for old, new in ((one, -1), (other, one), (-1, other)):
        raw.execute(f"UPDATE events SET number = {new} WHERE number = {old}")
    assert _broken(chain) == one


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM events WHERE number > 2",
        "DELETE FROM events WHERE number > 2; UPDATE aliases SET event = 2",
        "UPDATE aliases SET digest = (SELECT digest FROM models ORDER BY added LIMIT 1)",
        "DELETE FROM aliases",
        "DELETE FROM models WHERE added = (SELECT max(added) FROM models)",
        "INSERT INTO models SELECT 'another', digest, added, by, content FROM models LIMIT 1",
    ],
)
def test_a_tail_that_models_or_aliases_contradict_is_found(
    chain: Running, raw: sqlite3.Connection, change: str
) -> None:
    raw.executescript(change)
    (last,) = raw.execute("SELECT max(number) FROM events").fetchone()
    assert _broken(chain) == last + 1
