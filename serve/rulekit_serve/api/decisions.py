"""Decisions that were recorded: one by its id, or pages of those that match."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from rulekit_serve.api.protocol import json_response
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.registry import VERSION
from rulekit_serve.store.tables import decisions
from rulekit_serve.words import dumped

_PAGE = 1_000
_LARGEST = 2**63 - 1
"""Of the numbers that a database compares."""


def routes(service: Service) -> APIRouter:
    """GET /decisions and /decisions/ID, and the figures."""
    api = APIRouter(tags=["Decisions"])

    @api.get("/decisions")
    def listed(request: Request, limit: int = 100, cursor: int | None = None) -> Response:
        service.access.require(request, "audit")
        if not 1 <= limit <= _PAGE:
            raise Refusal(422, f"limit is 1 to {_PAGE}", "limit")
        found = page(service, request.query_params, limit, cursor)
        following = found[-1]["number"] if len(found) == limit else None
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
    with service.database.read() as connection:
        row = connection.execute(select(decisions).where(decisions.c.id == own)).mappings().first()
    if row is None:
        raise unknown("there is no decision of this id")
    return said(dict(row))


def page(service: Service, asked: Mapping[str, str], limit: int, cursor: int | None = None) -> list[dict[str, Any]]:
    """The latest decisions that match, before a number; asked: model, version, label, rule, differs, from and to."""
    chosen = select(decisions).order_by(decisions.c.number.desc()).limit(limit)
    if cursor is not None:
        chosen = chosen.where(decisions.c.number < max(0, min(cursor, _LARGEST)))
    if model := asked.get("model"):
        chosen = chosen.where(decisions.c.model == model)
    if version := asked.get("version"):
        chosen = chosen.where(decisions.c.digest.startswith(version, autoescape=True))
    if label := asked.get("label"):
        chosen = chosen.where(decisions.c.label.in_([dumped(label), label]))
    if rule := asked.get("rule"):
        chosen = chosen.where(decisions.c.rules.contains(f" {rule} ", autoescape=True))
    if asked.get("differs"):
        chosen = chosen.where(decisions.c.shadow_label != "", decisions.c.shadow_label != decisions.c.label)
    for key, bound in (("from", decisions.c.time.__ge__), ("to", decisions.c.time.__lt__)):
        if (text := asked.get(key)) is not None and text:
            try:
                chosen = chosen.where(bound(float(text)))
            except ValueError:
                raise Refusal(422, f"{key} is a time in seconds since 1970", key) from None
    with service.database.read() as connection:
        return [said(dict(row)) for row in connection.execute(chosen).mappings()]


def said(row: Mapping[str, Any]) -> dict[str, Any]:
    """A decision as JSON values."""
    found = {key: row[key] for key in ("number", "id", "time", "model", "digest", "by")}
    found |= {"version": row["digest"][:VERSION], "rules": row["rules"].split()}
    found |= {key: json.loads(row[key]) for key in ("row", "masked", "label", "probabilities")}
    if row["shadow"]:
        label = json.loads(row["shadow_label"]) if row["shadow_label"] else None
        rules = row["shadow_rules"].split() if row["shadow_label"] else row["shadow_rules"]
        found["shadow"] = {"digest": row["shadow"], "label": label, "rules": rules}
    return found
