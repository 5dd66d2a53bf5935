"""Promotion: an alias moves to a version, and champion only with proof, or by two people and a reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from rulekit_serve.access import Caller
from rulekit_serve.api.jobs import added
from rulekit_serve.api.protocol import json_response
from rulekit_serve.bodies import body_of, object_of, text_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.jobs import gates, uploads
from rulekit_serve.jobs.gates import Promotion
from rulekit_serve.jobs.requests import known
from rulekit_serve.registry import ALIASES, CHAMPION, VERSION, expected
from rulekit_serve.store.tables import aliases, events

_FIELDS = ("version", "reason", "expect", "upload", "target", "exception", "second")


def routes(service: Service) -> APIRouter:
    """POST /models/M/aliases/A."""
    api = APIRouter(tags=["Models"])

    @api.post("/models/{name}/aliases/{alias}")
    async def moved(request: Request, name: str, alias: str) -> Response:
        caller = service.access.require(request, "promote")
        given = object_of(await body_of(request, service.settings))
        status, answer = await asyncio.to_thread(promote, service, caller, name, alias, given)
        return json_response(answer, status)

    return api


def promote(
    service: Service, caller: Caller, name: str, alias: str, given: Mapping[str, Any]
) -> tuple[int, dict[str, Any]]:
    """Move an alias (status 200), or let a job prove what champion needs (202)."""
    if alias not in ALIASES:
        raise unknown(f"there is no alias {alias[:40]!r}; {', '.join(ALIASES)}")
    known(given, _FIELDS, "a promotion has no field")
    service.registry.refresh()
    digest = service.registry.digest(name, text_of(given, "version"))
    reason = text_of(given, "reason")
    expect = text_of(given, "expect", "") if "expect" in given else None
    if alias != CHAMPION:
        event = service.registry.move(name, alias, digest, caller.name, reason, expect)
        return 200, {"alias": alias, "digest": digest, "event": event}
    asked = promotion_of(service, name, digest, reason, given)
    expected(name, alias, asked.before, expect)
    if asked.before == digest:
        raise Refusal(409, f"{digest[:VERSION]} is {CHAMPION} already", "version")
    found = gates.known(service.database, service.settings, asked)
    said = {}
    if "exception" in given:
        said = {"exception": True, "second": _second(service, caller, given)}
    elif not all(gate["held"] for gate in found):
        if not asked.upload and asked.compares:
            fix = "send the rows to /uploads, and give upload and target"
            raise Refusal(422, f"a new {CHAMPION} is measured on rows with labels", "upload", fix)
        return 202, added(service, "promote", asdict(asked), caller.name)
    return 200, gates.move(service.registry, asked, caller.name, found, **said)


def promotion_of(service: Service, name: str, digest: str, reason: str, given: Mapping[str, Any]) -> Promotion:
    """What is asked of a champion to be; raises Refusal for an upload that there is not."""
    upload = target = ""
    if "upload" in given:
        upload = str(uploads.one(service.database, text_of(given, "upload"))["id"])
        target = text_of(given, "target")
    chosen = select(aliases.c.digest, events.c.body).outerjoin(events, events.c.number == aliases.c.event)
    now = service.database.first(chosen.where(aliases.c.name == name, aliases.c.alias == CHAMPION)) or {}
    last = json.loads(now.get("body") or "{}")
    rollback = last.get("before") == digest and not last.get("rollback")
    return Promotion(name, digest, now.get("digest", ""), reason, upload, target, rollback)


def _second(service: Service, caller: Caller, given: Mapping[str, Any]) -> str:
    """The name of the second person of an exception."""
    if given["exception"] is not True:
        raise Refusal(422, "exception is true, or left out", "exception")
    other = service.access.caller(text_of(given, "second"))
    if other is None or "promote" not in other.roles or other.name == caller.name:
        fix = "a second person with the role promote gives the token"
        raise Refusal(403, "an exception needs the token of somebody else who may promote", "second", fix)
    return other.name
