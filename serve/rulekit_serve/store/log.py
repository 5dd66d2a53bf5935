"""The log of decisions: nothing is answered before it is committed. A call is one row, whatever rows it decided.

One thread writes. While it writes calls gather, and some milliseconds more where several come together; then they are
one transaction, so that many clients share the price of a commit.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, insert, or_, select
from sqlalchemy.exc import IntegrityError

from rulekit_serve.failures import Refusal, unavailable
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import decisions
from rulekit_serve.words import Outcome, dumped

_MOST, _MOST_SECONDS, _QUIET = 500, 0.005, 0.0015
"""Decisions and seconds after which calls that gather are written, and seconds in which no other call comes."""
_MOST_WAITING = 10_000
"""Calls that may wait; the next one is refused, and nothing is dropped."""
_ROWS = 8_192
"""Decisions that are read at once; a call is read whole."""
_SAID = ("label", "probabilities", "rules")


class RepeatedError(Exception):
    """A call of that id is recorded already."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    row: Mapping[str, Any]
    done: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop


class DecisionLog:
    """Writes decisions in groups; `close` writes what waits."""

    def __init__(self, database: Database) -> None:
        self._database, self.waiting = database, 0
        known = [column.name for column in decisions.columns if column.name != "number"]
        compiled = insert(decisions).compile(dialect=database.engine.dialect, column_keys=known)
        self._statement, self._names = str(compiled), getattr(compiled, "positiontup", None)
        self._changed, self._gathered = threading.Condition(), list[_Waiting]()
        self._ended, self._peak, self._enough = False, 0, 1
        self._thread = threading.Thread(target=self._run, name="decisions", daemon=True)
        self._thread.start()

    async def record(self, row: Mapping[str, Any]) -> None:
        """Return once the row of a call is committed; raises RepeatedError, or a Refusal where it could not be."""
        loop = asyncio.get_running_loop()
        own = _Waiting(row, loop.create_future(), loop)
        with self._changed:
            if self.waiting >= _MOST_WAITING:
                raise unavailable("too many decisions wait for the database")
            self.waiting += 1
            self._peak = max(self._peak, self.waiting)
            self._gathered.append(own)
            if len(self._gathered) >= self._enough:
                self._changed.notify()
        await own.done

    def close(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(30.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._gathered or self._ended)
                # as many calls as waited together a moment ago, while others come
                self._enough, self._peak, before, until = self._peak, 0, 0, time.monotonic() + _MOST_SECONDS
                while before < (now := len(self._gathered)) < self._enough and time.monotonic() < until:
                    if sum(each.row["n"] for each in self._gathered) >= _MOST:
                        break
                    before = now
                    self._changed.wait(_QUIET)
                group, self._gathered, self._enough = self._gathered, [], 1
            if not group:
                return
            self._write(group)

    def _write(self, group: Sequence[_Waiting]) -> None:
        try:
            rows: list[Any] = [each.row for each in group]
            if self._names:  # the driver takes values by their places
                rows = [tuple([row[name] for name in self._names]) for row in rows]
            with self._database.write() as connection:
                connection.exec_driver_sql(self._statement, rows)
        except IntegrityError:
            if len(group) == 1:
                return self._answer(group, RepeatedError())
            for each in group:  # one of them is repeated, and the others are not
                self._write([each])
            return None
        except Refusal as refusal:
            return self._answer(group, refusal)
        except Exception as error:  # whatever it is, nobody may wait for ever
            return self._answer(group, unavailable(f"decisions could not be recorded: {type(error).__name__}"))
        return self._answer(group, None)

    def _answer(self, group: Iterable[_Waiting], error: Exception | None) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for each in group:
            by_loop.setdefault(each.loop, []).append(each.done)
        with self._changed:
            self.waiting -= sum(map(len, by_loop.values()))
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


# A call as a row, and its decisions -----------------------------------------------------------------------------------


def call_of(
    outcomes: Sequence[Outcome],
    cells: Mapping[str, Sequence[Any]],
    masked: Sequence[str],
    beside: Sequence[Outcome] | str | None,
) -> dict[str, Any]:
    """What the row of a call says of its decisions; beside: the outcomes of a second model, or why it has none.

    The body holds the cells by column, the different outcomes, and the number of the outcome of each row.
    """
    different, said = _numbered(outcomes)
    body, differs = f'{{"cells":{dumped(cells)},"masked":{dumped(masked)},{said}', False
    if beside is not None:
        said = f'"refused":{dumped(beside)}' if isinstance(beside, str) else _numbered(beside)[1]
        body = f'{body},"beside":{{{said}}}'
        differs = not isinstance(beside, str) and any(a.label != b.label for a, b in zip(outcomes, beside, strict=True))
    labels, rules = (own.label for own in different), (rule for own in different for rule in own.rules)
    return {"labels": _listed(labels), "rules": _listed(rules), "differs": differs, "body": f"{body}}}"}


def _numbered(outcomes: Sequence[Outcome]) -> tuple[Sequence[Outcome], str]:
    """The different outcomes, and as fields of JSON each of them and its number by row."""
    places = {own: k for k, own in enumerate(dict.fromkeys(outcomes))}
    numbers = list(map(places.__getitem__, outcomes))
    return [*places], f'"outcomes":[{",".join([own.kept for own in places])}],"of":{dumped(numbers)}'


def _listed(texts: Iterable[str]) -> str:
    """Different texts between line breaks, which none of them holds, so that one is found with both of its own."""
    return "\n".join(["", *dict.fromkeys(texts), ""])


def holds(column: Column[str], *texts: str) -> ColumnElement[bool]:
    """Whether a column of `_listed` texts holds one of some."""
    return or_(*(column.contains(f"\n{text}\n", autoescape=True) for text in texts))


def calls(
    database: Database, *chosen: ColumnElement[bool], newest: bool = False, at_once: int = _ROWS
) -> Iterator[list[dict[str, Any]]]:
    """The decisions of each call that is chosen, from the first or the newest.

    at_once: about how many decisions are read at first, then twice as many each time, up to a bound.
    """
    at, last = decisions.c, None
    order = at.number.desc() if newest else at.number
    while True:
        rest = chosen if last is None else (*chosen, at.number < last if newest else at.number > last)
        with database.read() as connection:
            numbers, n = list[int](), 0
            for number, size in connection.execute(select(at.number, at.n).where(*rest).order_by(order).limit(at_once)):
                if n + size > at_once and numbers:
                    break
                numbers.append(number)
                n += size
            if not numbers:
                return
            between = at.number.between(min(numbers), max(numbers))
            found = connection.execute(select(decisions).where(*rest, between).order_by(order)).mappings().all()
        yield from (decisions_of(call) for call in found)
        last, at_once = numbers[-1], min(2 * at_once, _ROWS)


def decisions_of(call: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """The decisions of a row of the table, as JSON values."""
    body = json.loads(call["body"])
    known = {key: call[key] for key in ("number", "time", "model", "digest", "by")} | {"masked": body["masked"]}
    found = []
    for i, k in enumerate(body["of"]):
        row = {name: values[i] for name, values in body["cells"].items()}
        own = {"id": f"{call['id']}.{i}", **known, "row": row, **dict(zip(_SAID, body["outcomes"][k], strict=True))}
        if call["shadow"]:
            beside = body["beside"]
            label, _, rules = beside["outcomes"][beside["of"][i]] if "of" in beside else (None, (), beside["refused"])
            own["shadow"] = {"digest": call["shadow"], "label": label, "rules": rules}
        found.append(own)
    return found
