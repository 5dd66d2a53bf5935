"""Decisions that were recorded: one by its id, or pages of those that match."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import ColumnElement, select

from rulekit_serve.api.protocol import json_response
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.registry import VERSION
from rulekit_serve.store.log import calls, decisions_of, holds
from rulekit_serve.store.tables import decisions
from rulekit_serve.words import dumped

_PAGE = 1_000
_LARGEST = 2**63 - 1
"""Of the numbers that a database compares."""
_PLACE = re.compile(r"[0-9]{1,40}", re.ASCII)


def routes(service: Service) -> APIRouter:
    """GET /decisions and /decisions/ID, and the figures."""
    api = APIRouter(tags=["Decisions"])

    @api.get("/decisions")
    def listed(request: Request, limit: int = 100) -> Response:
        service.access.require(request, "audit")
        if not 1 <= limit <= _PAGE:
            raise Refusal(422, f"limit is 1 to {_PAGE}", "limit")
        found, following = page(service, request.query_params, limit)
        return json_response({"decisions": found, "cursor": following})

    @api.get("/decisions/{own:path}")
    def one(request: Request, own: str) -> Response:
        service.access.require(request, "audit")
        return json_response(one_decision(service, own))

    @api.get("/metrics")
    def figures(request: Request) -> Response:
        service.access.require(request, "audit")
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")

    return api


def one_decision(service: Service, own: str) -> dict[str, Any]:
    """The decision of an id; raises Refusal where there is none."""
    call, _, place = own.rpartition(".")
    row = service.database.first(select(decisions).where(decisions.c.id == call))
    if row is None or not _PLACE.fullmatch(place) or int(place) >= row["n"]:
        raise unknown("there is no decision of this id")
    return _told(decisions_of(row)[int(place)])


def page(service: Service, asked: Mapping[str, str], limit: int) -> tuple[list[dict[str, Any]], str | None]:
    """The newest decisions that match, and where the next page begins; asked: the fields of the query."""
    if any("\0" in text for text in asked.values()):  # which PostgreSQL keeps in no text
        return [], None
    at, chosen = decisions.c, list[ColumnElement[bool]]()
    if model := asked.get("model"):
        chosen.append(at.model == model)
    if version := asked.get("version"):
        chosen.append(at.digest.startswith(version, autoescape=True))
    label, rule, differs = (asked.get(key, "") for key in ("label", "rule", "differs"))
    labels = (dumped(label), label)
    if label:
        chosen.append(holds(at.labels, *labels))
    if rule:
        chosen.append(holds(at.rules, rule))
    if differs:
        chosen.append(at.differs)
    for key, bound in (("from", at.time.__ge__), ("to", at.time.__lt__)):
        if text := asked.get(key):
            try:
                chosen.append(bound(float(text)))
            except ValueError:
                raise Refusal(422, f"{key} is a time in seconds since 1970", key) from None
    number, place = _cursor(asked.get("cursor", ""))
    found = list[dict[str, Any]]()
    for call in calls(service.database, *chosen, at.number <= number, newest=True, at_once=limit + 1):
        for i in range(len(call) - 1, -1, -1):
            one = call[i]
            if one["number"] == number and i >= place:
                continue
            if (label and dumped(one["label"]) not in labels) or (rule and rule not in one["rules"]):
                continue
            if differs and one["shadow"]["label"] in (None, one["label"]):
                continue
            if len(found) == limit:
                last = found[-1]
                return [*map(_told, found)], f"{last['number']}.{last['id'].rpartition('.')[2]}"
            found.append(one)
    return [*map(_told, found)], None


def _cursor(text: str) -> tuple[int, int]:
    """Where a page begins: below this row of this call."""
    number, _, place = text.partition(".")
    if not text:
        return _LARGEST, 0
    if not _PLACE.fullmatch(number) or (place and not _PLACE.fullmatch(place)):
        raise Refusal(422, "cursor is what the page before gave", "cursor")
    return min(int(number), _LARGEST), int(place or 0)


def _told(one: Mapping[str, Any]) -> dict[str, Any]:
    """A decision as JSON values, with its version."""
    return {key: one[key] for key in one if key != "number"} | {"version": one["digest"][:VERSION]}
