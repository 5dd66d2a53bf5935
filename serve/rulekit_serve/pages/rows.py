"""Pages of rows: a form that decides one, and the decisions that were recorded."""

from __future__ import annotations

import asyncio
import json
import math
import re
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from rulekit.schema import Feature
from rulekit_serve.api.decisions import one_decision, page
from rulekit_serve.api.scoring import why
from rulekit_serve.deciding import Service, decide
from rulekit_serve.failures import Refusal
from rulekit_serve.pages.showing import form_of, html, require

_A_PAGE = 50
_FILTERS = ("model", "version", "label", "rule", "differs")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTH = {"yes": True, "no": False}


def add(service: Service, api: APIRouter) -> None:
    """Add the pages of rows."""

    def features(name: str, version: str) -> tuple[str, list[Feature]]:
        digest = service.registry.digest(name, version)
        graph = service.registry.decider(name, digest).graph
        return digest, [graph.schema[column] for column in graph.used_features]

    def shown(request: Request, name: str, version: str, **decided: Any) -> Response:
        digest, columns = features(name, version)
        said = getattr(getattr(request.state, "fault", None), "field", "")
        wrong = next((f"c{i}" for i, each in enumerate(columns) if said.endswith(f"column {each.name!r}")), "")
        known = {"name": name, "version": version, "digest": digest, "features": columns, "wrong": wrong}
        return html(request, "score.html", **{"decision": None, "reasons": None} | known | decided)

    @api.get("/pages/models/{name}/{version}/score")
    def empty(request: Request, name: str, version: str) -> Response:
        require(service, request, "score")
        return shown(request, name, version)

    @api.post("/pages/models/{name}/{version}/score")
    async def scored(request: Request, name: str, version: str) -> Response:
        require(service, request, "score")
        _, columns = await asyncio.to_thread(features, name, version)
        given = await form_of(service, request, partial(shown, request, name, version))
        cells = {each.name: [_cell(each, given.get(f"c{i}"))] for i, each in enumerate(columns)}
        answer = await decide(service, request.state.caller, name, version, cells, 1)
        try:
            reasons = (await asyncio.to_thread(why, service, name, answer.digest, cells))[0]
        except Refusal as refusal:  # the row is decided and recorded, so that this is no fault of the call
            reasons = {"sentences": [f"rulekit could not explain the decision: {refusal.what}."], "change": None}
        known = {"decision": json.loads(answer.decisions())[0], "reasons": reasons}
        return await asyncio.to_thread(shown, request, name, version, **known)

    @api.get("/pages/decisions")
    def listed(request: Request) -> Response:
        require(service, request, "audit")
        asked = {key: request.query_params.get(key, "") for key in _FILTERS}
        found, following = page(service, asked | {"cursor": request.query_params.get("cursor", "")}, _A_PAGE)
        names = service.registry.names
        return html(
            request,
            "decisions.html",
            decisions=found,
            asked=asked,
            cursor=following,
            names=[("", "all"), *((name, name) for name in names)],
        )

    @api.get("/pages/decision")
    def one(request: Request, id: str = "") -> Response:
        require(service, request, "audit")
        found = one_decision(service, id)
        text = {rule.id: rule.text for rule in service.registry.decider(found["model"], found["digest"]).rules}
        fired = [{"id": rule, "text": text.get(rule, "")} for rule in found["rules"]]
        return html(request, "decision.html", decision=found, fired=fired)


def _cell(feature: Feature, text: Any) -> Any:
    """A cell of a form as a value; levels come as numbers, so that no text is changed on its way."""
    if not isinstance(text, str) or not text.strip():
        return None
    if feature.kind == "categorical":
        return {str(i): level for i, level in enumerate(feature.levels)}.get(text, text)
    if feature.kind == "boolean":
        return _TRUTH.get(text, text)
    if feature.kind == "numeric" and not feature.form and _NUMBER.fullmatch(text.strip()):
        value = float(text)
        if math.isfinite(value):
            return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text
