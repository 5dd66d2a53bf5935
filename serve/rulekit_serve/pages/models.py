"""Pages of models: the list, a model with its history, a version, and what differs between two versions."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse

from rulekit.audit.differences.compared import compare
from rulekit.graph.rules import counts
from rulekit.limits import Deadline
from rulekit_serve.api.models import facts, sent
from rulekit_serve.bodies import text_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal, refused
from rulekit_serve.pages.jobs import begun, files_of
from rulekit_serve.pages.showing import form_of, html, moment, require
from rulekit_serve.registry import ALIASES, CHAMPION, VERSION
from rulekit_serve.store import history

_COMPARING = 5.0
"""Seconds that a comparison takes at most; what is not settled by then is said to be open."""


def add(service: Service, api: APIRouter) -> None:
    """Add the pages of models."""

    @api.get("/")
    def listed(request: Request) -> Response:
        require(service, request, "audit")
        found = []
        for name in service.registry.names:
            own = service.registry.summary(name)
            shown = service.registry.aliases_of(name).get(CHAMPION) or own["versions"][0]["digest"]
            found.append(own | {"rules": len(service.registry.decider(name, shown).rules), "shown": shown[:VERSION]})
        return html(request, "models.html", models=found)

    @api.post("/pages/models")
    async def came(request: Request) -> Response:
        by = require(service, request, "train")
        given = await form_of(service, request, partial(listed, request))
        name, file, text = text_of(given, "name", most=63).strip(), given.get("file"), given.get("text")
        if isinstance(file, UploadFile) and file.filename:
            data, ending = await file.read(), Path(file.filename).suffix
        elif isinstance(text, str) and text.strip():
            data, ending = text.encode(), ".rules"
        else:
            raise Refusal(422, "neither a file nor a rule text was sent", "file", "choose a file")
        try:
            digest = await asyncio.to_thread(sent, service, name, data, ending, by)
        except Refusal as refusal:
            refusal.field = refusal.field or ("text" if ending == ".rules" else "file")
            raise
        return RedirectResponse(f"/pages/models/{name}/{digest[:VERSION]}", 303)


def add_versions(service: Service, api: APIRouter) -> None:
    """Add the pages of one model, of a version, and of two versions."""

    @api.get("/pages/models/{name}")
    def model(request: Request, name: str) -> Response:
        require(service, request, "audit")
        found = service.registry.summary(name)
        past, broken = history.of_model(service.database, name), history.broken_at(service.database)
        return html(request, "model.html", model=found, events=past, broken=broken)

    @api.get("/pages/models/{name}/compare")
    def compared(request: Request, name: str, first: str = CHAMPION, second: str = "") -> Response:
        require(service, request, "audit")
        found, result = service.registry.summary(name), None
        try:
            if second:
                digests = [service.registry.digest(name, version) for version in (first, second)]
                old, new = (service.registry.decider(name, digest).graph for digest in digests)
                with refused():
                    result = compare(old, new, deadline=Deadline(_COMPARING)).as_dict()
        except Refusal as refusal:
            request.state.fault = refusal
        known = {"model": found, "first": first, "second": second, "choices": _choices(found)}
        return html(request, "compare.html", result=result, **known)

    @api.get("/pages/models/{name}/{version}")
    def shown(request: Request, name: str, version: str) -> Response:
        require(service, request, "audit")
        known = facts(service, name, service.registry.digest(name, version))
        known["size"] = counts(service.registry.decider(name, known["digest"]).graph)
        proofs = [{**each, "name": each["gate"], "said": each["body"]["said"]} for each in known["proofs"]]
        files = files_of(service.database)
        return html(request, "version.html", model=known, proofs=proofs, aliases=ALIASES, files=files)

    @api.post("/pages/models/{name}/{version}/jobs")
    async def asked(request: Request, name: str, version: str) -> Response:
        by = require(service, request, "train")
        given = await form_of(service, request, partial(shown, request, name, version))
        rows = ("upload", "target") if given.get("kind") == "report" else ()
        job = {key: given[key] for key in ("kind", *rows) if given.get(key)}
        return await begun(service, job | {"model": name, "version": version}, by)


def _choices(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Aliases and versions of a model, each with what people read of it."""
    named = [(alias, f"{alias} ({found['aliases'][alias]})") for alias in ALIASES if alias in found["aliases"]]
    return named + [(each["version"], f"{each['version']}, {moment(each['added'])}") for each in found["versions"]]
