"""From rows to answers: one digest decides a call, its decisions are recorded, then it is answered."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select

from rulekit.errors import RulekitError
from rulekit.graph.rule_graph import class_array
from rulekit.work.deciding import Decided, Decider
from rulekit_serve.access import Access, Caller
from rulekit_serve.bodies import Columns, cells_of
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs.supervisor import Supervisor
from rulekit_serve.metrics import Metrics
from rulekit_serve.registry import CHAMPION, SHADOW, Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.log import DecisionLog, RepeatedError
from rulekit_serve.store.tables import decisions

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
    """Decisions by row: ids, labels, probabilities [K] and the ids of the rules that fired."""

    model: str
    digest: str
    decider: Decider
    ids: Sequence[str]
    labels: Sequence[Any]
    probabilities: Sequence[Sequence[float]]
    rules: Sequence[Sequence[str]]

    @property
    def classes(self) -> Sequence[Any]:
        """The classes, in the order of the probabilities."""
        return self.decider.graph.classes


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
        if (old := await _thread(_recorded, service, name, request, columns, n)) is not None:
            return old
    digest = service.registry.digest(name, version)
    decider = service.registry.decider(name, digest)
    shadow = _shadow(service, name, digest) if version == CHAMPION else None
    work = partial(_decided, service, decider, shadow, columns, n, caller, name, request or uuid.uuid4().hex)
    answer, rows = work() if n <= _AT_ONCE else await _thread(work)
    if service.settings.recorded:
        try:
            await asyncio.wait_for(service.log.record(rows), service.settings.seconds)
        except RepeatedError:
            old = await _thread(_recorded, service, name, str(request), columns, n)
            if old is None:
                raise Refusal(503, "the decisions could not be recorded", fix="ask again in a moment") from None
            return old
        except TimeoutError:
            raise Refusal(503, "the decisions were not recorded in time", fix="ask again with the same id") from None
    service.metrics.decided(name, n)
    return answer


async def _thread(work: Any, *given: Any) -> Any:
    return await asyncio.to_thread(work, *given)


def _shadow(service: Service, name: str, digest: str) -> Decider | None:
    other = service.registry.aliases_of(name).get(SHADOW)
    return None if other in (None, digest) else service.registry.decider(name, str(other))


def outcome(decider: Decider, columns: Columns, n: int) -> Decided:
    """What a model says of columns; raises Refusal of status 422 where it refuses them."""
    try:
        table = decider.table(columns)
    except RulekitError as error:
        raise Refusal(422, error.what, error.where, error.fix) from None
    except (OverflowError, ValueError, TypeError) as error:
        raise Refusal(422, f"a cell cannot be read: {str(error)[:200]}") from None
    if table.n_rows != n:
        raise Refusal(422, f"{table.n_rows} rows of cells for {n} rows")
    return decider.decide(table)


def _decided(
    service: Service,
    decider: Decider,
    shadow: Decider | None,
    columns: Columns,
    n: int,
    caller: Caller,
    name: str,
    request: str,
) -> tuple[Answer, list[dict[str, Any]]]:
    """The answer, and the rows of the log."""
    said = outcome(decider, columns, n)
    labels = class_array(decider.graph.classes)[said.labels].tolist()
    ids = [f"{request}.{i}" for i in range(n)]
    rules = [decider.fired_ids(said, i) for i in range(n)]
    answer = Answer(name, decider.digest, decider, ids, labels, said.probabilities.tolist(), rules)
    if not service.settings.recorded:
        return answer, []
    used = (
        decider.graph.used_features
        if shadow is None
        else (*dict.fromkeys((*decider.graph.used_features, *shadow.graph.used_features)),)
    )
    masked = [column for column in used if column in service.settings.masked]
    cells = cells_of(columns, [column for column in used if column not in masked])
    known = {"model": name, "digest": decider.digest, "by": caller.name, "time": time.time(), "masked": dumped(masked)}
    known["shadow"] = "" if shadow is None else shadow.digest
    rows = [
        {
            **known,
            "id": ids[i],
            "row": dumped({column: own[i] for column, own in cells.items()}),
            "label": dumped(labels[i]),
            "probabilities": dumped(answer.probabilities[i]),
            "rules": " ".join(("", *rules[i], "")),
            "shadow_label": "",
            "shadow_rules": "",
        }
        for i in range(n)
    ]
    if shadow is not None:
        try:
            beside = outcome(shadow, columns, n)
        except Refusal as refusal:  # the first model has decided; what the second one says is that it cannot
            for row in rows:
                row["shadow_rules"] = refusal.what[:200]
            return answer, rows
        other, fired = (
            class_array(shadow.graph.classes)[beside.labels].tolist(),
            [shadow.fired_ids(beside, i) for i in range(n)],
        )
        for row, label, own in zip(rows, other, fired, strict=True):
            row |= {"shadow_label": dumped(label), "shadow_rules": " ".join(("", *own, ""))}
    return answer, rows


def dumped(value: Any) -> str:
    """JSON without spaces; what is no JSON value as a text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def _recorded(service: Service, name: str, request: str, columns: Columns, n: int) -> Answer | None:
    """The answer that a request of this id had, None where it is new; raises Refusal where it had other rows."""
    with service.database.read() as connection:
        ids = [f"{request}.{i}" for i in range(n)]
        chosen = select(decisions).where(decisions.c.id.in_([*ids, f"{request}.{n}"]))
        found = {row["id"]: row for row in connection.execute(chosen).mappings()}
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
    decider = service.registry.decider(name, first["digest"])
    rows: list[Mapping[str, Any]] = [found[key] for key in ids]
    return Answer(
        name,
        first["digest"],
        decider,
        ids,
        [json.loads(row["label"]) for row in rows],
        [json.loads(row["probabilities"]) for row in rows],
        [row["rules"].split() for row in rows],
    )
