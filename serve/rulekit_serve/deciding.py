"""From rows to answers: one digest decides a call, its decisions are recorded, then it is answered."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select

from rulekit.errors import RulekitError
from rulekit.work.deciding import Decided, Decider
from rulekit_serve.access import Access, Caller
from rulekit_serve.bodies import Columns, cells_of
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs.supervisor import Supervisor
from rulekit_serve.metrics import Metrics
from rulekit_serve.registry import CHAMPION, Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.log import DecisionLog, RepeatedError
from rulekit_serve.store.tables import decisions
from rulekit_serve.words import Fired, Words, dumped

_AT_ONCE = 64
"""Rows that are decided in the thread of the calls; of more another thread takes care."""
_MOST_ID = 80


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
    """Decisions by row: ids, labels as indices into the classes, probabilities [K], and the rules that fired."""

    model: str
    digest: str
    words: Words
    ids: Sequence[str]
    labels: Sequence[int]
    probabilities: Sequence[Sequence[float]]
    fired: Sequence[Fired]

    def decisions(self, reasons: Sequence[Any] = ()) -> str:
        """All as a JSON list; reasons: of each row, or of none."""
        rows = zip(map(dumped, self.ids), self.labels, self.probabilities, self.fired, strict=True)
        found = [self.words.decision(*row) for row in rows]
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
    work = partial(_decided, service, words, shadow, columns, n, caller, name, request or uuid.uuid4().hex)
    answer, rows = work() if n <= _AT_ONCE else await asyncio.to_thread(work)
    if service.settings.recorded:
        try:
            async with asyncio.timeout(service.settings.seconds):
                await service.log.record(rows)
        except RepeatedError:
            old = await asyncio.to_thread(_recorded, service, name, str(request), columns, n)
            if old is None:
                raise Refusal(503, "the decisions could not be recorded", fix="ask again in a moment") from None
            return old
        except TimeoutError:
            raise Refusal(503, "the decisions were not recorded in time", fix="ask again with the same id") from None
    service.metrics.decided(name, n)
    return answer


def _shadow(service: Service, name: str, digest: str) -> Words | None:
    other = service.registry.shadow(name)
    return None if other in (None, digest) else service.registry.words(name, str(other))


def outcome(decider: Decider, columns: Columns, n: int) -> Decided:
    """What a model says of columns; raises Refusal of status 422 where it refuses them."""
    used = {name: columns[name] for name in decider.graph.used_features if name in columns}
    try:
        table = decider.table(used)
    except RulekitError as error:
        raise Refusal(422, error.what, error.where, error.fix) from None
    except (OverflowError, ValueError, TypeError) as error:
        raise Refusal(422, f"a cell cannot be read: {str(error)[:200]}") from None
    return decider.decide(table)


def _decided(
    service: Service, words: Words, shadow: Words | None, columns: Columns, n: int, caller: Caller, name: str, own: str
) -> tuple[Answer, list[dict[str, Any]]]:
    """The answer, and the rows of the log; own: the id of the request."""
    graph, digest = words.decider.graph, words.decider.digest
    said = outcome(words.decider, columns, n)
    ids = [f"{own}.{i}" for i in range(n)]
    labels = said.labels.tolist()
    answer = Answer(name, digest, words, ids, labels, said.probabilities.tolist(), words.fired(said.fired))
    if not service.settings.recorded:
        return answer, []
    used: Sequence[str] = graph.used_features
    if shadow is not None:
        used = [*dict.fromkeys((*used, *shadow.decider.graph.used_features))]
    masked = [column for column in used if column in service.settings.masked]
    cells = cells_of(columns, [column for column in used if column not in masked])
    beside = [("", "")] * n if shadow is None else _beside(shadow, columns, n)
    known = {"model": name, "digest": digest, "by": caller.name, "time": time.time(), "masked": dumped(masked)}
    known["shadow"] = "" if shadow is None else shadow.decider.digest
    names, rows = tuple(cells), zip(*cells.values(), strict=True) if cells else iter([()] * n)
    kept = [
        {
            **known,
            "id": ids[i],
            "row": dumped(dict(zip(names, row, strict=True))),
            "label": words.labels[labels[i]],
            "probabilities": dumped(answer.probabilities[i]),
            "rules": answer.fired[i].kept,
            "shadow_label": beside[i][0],
            "shadow_rules": beside[i][1],
        }
        for i, row in enumerate(rows)
    ]
    return answer, kept


def _beside(shadow: Words, columns: Columns, n: int) -> list[tuple[str, str]]:
    """Label and rules of the second model by row; where it refuses the rows, why."""
    try:
        said = outcome(shadow.decider, columns, n)
    except Refusal as refusal:  # the first model has decided, and its answer stands
        return [("", refusal.what[:200])] * n
    rules = shadow.fired(said.fired)
    return [(shadow.labels[k], own.kept) for k, own in zip(said.labels.tolist(), rules, strict=True)]


def _recorded(service: Service, name: str, request: str, columns: Columns, n: int) -> Answer | None:
    """The answer that a request of this id had, None where it is new; raises Refusal where it had other rows."""
    with service.database.read() as connection:
        ids = [f"{request}.{i}" for i in range(n)]
        chosen = select(decisions).where(decisions.c.id.in_([*ids, f"{request}.{n}"]))
        found = {row["id"]: dict(row) for row in connection.execute(chosen).mappings()}
    if not found:
        return None
    first = next(iter(found.values()))
    cells = cells_of(columns, list(columns))
    same = sorted(found) == sorted(ids) and first["model"] == name
    for i, key in enumerate(ids if same else ()):
        kept = json.loads(found[key]["row"])
        sent = {column: own[i] for column, own in cells.items() if column in kept}
        same = same and json.loads(dumped(sent)) == kept
    if not same:
        raise Refusal(409, "this id was given to a request of other rows", "id", "give each request an id of its own")
    words = service.registry.words(name, first["digest"])
    rows = [found[key] for key in ids]
    labels = [words.labels.index(row["label"]) for row in rows]
    chances = [json.loads(row["probabilities"]) for row in rows]
    return Answer(name, first["digest"], words, ids, labels, chances, [words.of_ids(r["rules"].split()) for r in rows])
