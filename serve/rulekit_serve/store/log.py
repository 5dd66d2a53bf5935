"""The log of decisions: nothing is answered before its row is committed.

One thread writes. It takes all decisions that wait, at most MOST, in one transaction, and then lets all their calls
answer. While it writes, others gather, so that many clients share the price of a commit.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from rulekit_serve.failures import Refusal, unavailable
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import decisions

MOST = 500
_MOST_WAITING = 10_000
"""Calls that may wait; the next one is refused, and nothing is dropped."""


class RepeatedError(Exception):
    """A decision of that id is recorded already."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    rows: Sequence[Mapping[str, Any]]
    done: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop


class DecisionLog:
    """Writes decisions in groups; `close` writes what waits."""

    def __init__(self, database: Database) -> None:
        self._database = database
        known = [column.name for column in decisions.columns if column.name != "number"]
        compiled = insert(decisions).compile(dialect=database.engine.dialect, column_keys=known)
        self._statement, self._names = str(compiled), getattr(compiled, "positiontup", None)
        self._waiting: queue.Queue[_Waiting | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="decisions", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Calls whose decisions are not written yet."""
        return self._waiting.qsize()

    async def record(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Return once the rows are committed; raises RepeatedError, or a Refusal where they could not be."""
        loop = asyncio.get_running_loop()
        own = _Waiting(rows, loop.create_future(), loop)
        try:
            self._waiting.put_nowait(own)
        except queue.Full:
            raise unavailable("too many decisions wait for the database") from None
        await own.done

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join(30.0)

    def _run(self) -> None:
        ended = False
        while not ended:
            group: list[_Waiting] = []
            n = 0
            item = self._waiting.get()
            while item is not None:
                group.append(item)
                n += len(item.rows)
                if n >= MOST:
                    break
                try:
                    item = self._waiting.get_nowait()
                except queue.Empty:
                    break
            ended = item is None
            if group:
                self._write(group)

    def _write(self, group: Sequence[_Waiting]) -> None:
        try:
            with self._database.write() as connection:
                rows: list[Any] = [row for each in group for row in each.rows]
                if self._names:  # the driver takes values by their places
                    rows = [tuple([row[name] for name in self._names]) for row in rows]
                connection.exec_driver_sql(self._statement, rows)
        except IntegrityError:
            if len(group) == 1:
                return _answer(group, RepeatedError())
            for each in group:  # one of them is repeated, and the others are not
                self._write([each])
            return None
        except Refusal as refusal:
            return _answer(group, refusal)
        except Exception as error:  # whatever it is, nobody may wait for ever
            return _answer(group, unavailable(f"decisions could not be recorded: {type(error).__name__}"))
        return _answer(group, None)


def _answer(group: Iterable[_Waiting], error: Exception | None) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for each in group:
        by_loop.setdefault(each.loop, []).append(each.done)
    for loop, futures in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set_all, futures, error)


def _set_all(futures: Iterable[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if future.done():  # its call was given up
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
