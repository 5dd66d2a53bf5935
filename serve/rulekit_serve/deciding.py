"""From rows to answers: one digest decides a call, its decisions are recorded, then it is answered."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select

from rulekit.errors import RulekitError
from rulekit_serve.access import Access, Caller
from rulekit_serve.bodies import Columns, cells_of
from rulekit_serve.failures import Refusal, Within
from rulekit_serve.jobs.supervisor import Supervisor
from rulekit_serve.metrics import Metrics
from rulekit_serve.registry import CHAMPION, Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.log import DecisionLog, RepeatedError, call_of
from rulekit_serve.store.tables import decisions
from rulekit_serve.words import AT_ONCE, Outcome, Words, dumped

_IN_THE_LOOP = 2_000
"""Rows that are decided in the thread of the calls; of more another thread takes care."""
_MOST_ID = 80
_PROCESS, _COUNT = os.urandom(12).hex(), itertools.count()
"""Of which the id of a call is made that brings none."""


@dataclass(frozen=True, slots=True)
class Service:
    """What endpoints need."""

    settings: Settings
    database: Database
    registry: Registry
    access: Access
    log: DecisionLog
    metrics: Metrics
    supervisor: Supervisor


@dataclass(frozen=True, slots=True)
class Answer:
    """The decisions of a call by row; id: of the call, of which row i has the id `ID.i`."""

    model: str
    words: Words
    id: str
    outcomes: Sequence[Outcome]

    @property
    def digest(self) -> str:
        return self.words.decider.digest

    @property
    def ids(self) -> str:
        """The ids of the decisions, as the elements of a JSON list."""
        own = dumped(self.id)[:-1]
        between = f'",{own}.'
        return f'{own}.{between.join(map(str, range(len(self.outcomes))))}"'

    def decisions(self, reasons: Sequence[Any] = ()) -> str:
        """All as a JSON list; reasons: of each row, or of none."""
        own = dumped(self.id)[:-1]
        found = [f'{{"id":{own}.{i}",{row.said}' for i, row in enumerate(self.outcomes)]
        if reasons:
            found = [f'{row[:-1]},"reasons":{dumped(own)}}}' for row, own in zip(found, reasons, strict=True)]
        return f"[{','.join(found)}]"


async def decide(
    service: Service, caller: Caller, name: str, version: str, columns: Columns, n: int, request: str | None = None
) -> Answer:
    """Decide rows and record them. request: an id that the client gives; repeated, the answer is the same.

    Raises Refusal where the model refuses the rows, as `rulekit predict` does, or where they cannot be recorded.
    """
    if request is not None:
        if not 0 < len(request) <= _MOST_ID or not request.isprintable():
            raise Refusal(422, f"the id of a request has 1 to {_MOST_ID} letters", "id")
        request = f"{caller.name}/{request}"
        if (old := await asyncio.to_thread(_recorded, service, name, request, columns, n)) is not None:
            return old
    digest = service.registry.digest(name, version)
    words = service.registry.words(name, digest)
    shadow = _shadow(service, name, digest) if version == CHAMPION else None
    work = partial(_decided, service, words, shadow, columns, n, caller, name, request or _new_id())
    try:
        with Within(service.settings.seconds):
            answer, call = work() if n <= _IN_THE_LOOP else await asyncio.to_thread(work)
            if call is not None:
                await service.log.record(call)
    except RepeatedError:
        old = await asyncio.to_thread(_recorded, service, name, str(request), columns, n)
        if old is None:
            raise Refusal(503, "the decisions could not be recorded", fix="ask again in a moment") from None
        return old
    except TimeoutError:
        what = f"the rows were not decided and recorded within {service.settings.seconds:g} seconds"
        raise Refusal(503, what, fix="ask again with the same id") from None
    service.metrics.decided(name, n)
    return answer


def _new_id() -> str:
    return f"{_PROCESS}{next(_COUNT):x}"


def _shadow(service: Service, name: str, digest: str) -> Words | None:
    other = service.registry.shadow(name)
    return None if other in (None, digest) else service.registry.words(name, str(other))


def outcomes(words: Words, columns: Columns, n: int) -> Sequence[Outcome]:
    """What a model decides of columns; raises Refusal of status 422 where it refuses them."""
    decider = words.decider
    cells = decider.cells(columns) if n <= AT_ONCE else None
    if cells is not None and (found := words.known(cells)) is not None:
        return found
    used = {name: columns[name] for name in decider.graph.used_features if name in columns}
    try:
        table = decider.table(used)
    except RulekitError as error:
        raise Refusal(422, error.what, error.where, error.fix) from None
    except (OverflowError, ValueError, TypeError) as error:
        raise Refusal(422, f"a cell cannot be read: {str(error)[:200]}") from None
    found = words.outcomes(decider.decide(table))
    if cells is not None:
        words.learn(cells, found)
    return found


def _decided(
    service: Service, words: Words, shadow: Words | None, columns: Columns, n: int, caller: Caller, name: str, own: str
) -> tuple[Answer, dict[str, Any] | None]:
    """The answer, and the row of the log; own: the id of the call."""
    graph = words.decider.graph
    answer = Answer(name, words, own, outcomes(words, columns, n))
    if not service.settings.recorded:
        return answer, None
    used: Sequence[str] = graph.used_features
    if shadow is not None:
        used = [*dict.fromkeys((*used, *shadow.decider.graph.used_features))]
    masked = [column for column in used if column in service.settings.masked]
    cells = cells_of(columns, [column for column in used if column not in masked])
    beside = None if shadow is None else _beside(shadow, columns, n)
    known = {"id": own, "time": time.time(), "model": name, "digest": answer.digest, "by": caller.name, "n": n}
    known["shadow"] = "" if shadow is None else shadow.decider.digest
    return answer, known | call_of(answer.outcomes, cells, masked, beside)


def _beside(shadow: Words, columns: Columns, n: int) -> Sequence[Outcome] | str:
    """The outcomes of the second model; where it refuses the rows, why."""
    try:
        return outcomes(shadow, columns, n)
    except Refusal as refusal:  # the first model has decided, and its answer stands
        return refusal.what[:200]


def _recorded(service: Service, name: str, request: str, columns: Columns, n: int) -> Answer | None:
    """The answer that a request of this id had, None where it is new; raises Refusal where it had other rows."""
    call = service.database.first(select(decisions).where(decisions.c.id == request))
    if call is None:
        return None
    body = json.loads(call["body"])
    sent = cells_of(columns, [column for column in columns if column in body["cells"]])
    if (call["model"], call["n"]) != (name, n) or json.loads(dumped(sent)) != body["cells"]:
        raise Refusal(409, "this id was given to a request of other rows", "id", "give each request an id of its own")
    words = service.registry.words(name, call["digest"])
    found = [words.outcome(words.labels.index(dumped(label)), *rest) for label, *rest in body["outcomes"]]
    return Answer(name, words, request, [found[k] for k in body["of"]])
