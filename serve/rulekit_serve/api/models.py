"""Models: what there is, facts and proofs of each, files to take away, what came in and how it moved."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from rulekit.audit.reason_codes.reasons import parse_catalogue, required
from rulekit.targets import find_target
from rulekit_serve.api.protocol import json_response
from rulekit_serve.bodies import body_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import refused, unknown
from rulekit_serve.registry import REASONS, VERSION, read_model
from rulekit_serve.store import history
from rulekit_serve.store.tables import proofs

_FILES = {"json": ("", "application/json"), "rules": ("text", "text/plain"), "sql": ("sql", "text/plain")}
_FILES |= {"onnx": ("onnx", "application/octet-stream"), "py": ("python", "text/x-python")}
_FILES |= {"js": ("javascript", "text/javascript")}
"""By ending the target of an export, and what a browser is told."""
_CONTENT = {"application/json": ".json", "text/plain": ".rules", "application/octet-stream": ".onnx"}


def routes(service: Service) -> APIRouter:
    """The endpoints under /models."""
    api = APIRouter(prefix="/models", tags=["Models"])

    @api.get("")
    def listed(request: Request) -> Response:
        service.access.require(request, "audit")
        return json_response({"models": [service.registry.summary(name) for name in service.registry.names]})

    @api.get("/{name}")
    def one(request: Request, name: str) -> Response:
        service.access.require(request, "audit")
        return json_response(service.registry.summary(name))

    @api.get("/{name}/history")
    def past(request: Request, name: str) -> Response:
        service.access.require(request, "audit")
        service.registry.versions(name)
        broken = history.broken_at(service.database)
        found = history.of_model(service.database, name)
        return json_response({"whole": broken is None, "broken_at": broken, "events": found})

    @api.get("/{name}/{version}")
    def version_of(request: Request, name: str, version: str) -> Response:
        service.access.require(request, "audit")
        return json_response(facts(service, name, service.registry.digest(name, version)))

    @api.get("/{name}/{version}/file.{ending}")
    def file(request: Request, name: str, version: str, ending: str) -> Response:
        service.access.require(request, "audit")
        digest = service.registry.digest(name, version)
        data = artifact(service, name, digest, ending)
        told = {"Content-Disposition": f'attachment; filename="{name}-{digest[:VERSION]}.{ending}"'}
        return Response(data, media_type=_FILES[ending][1], headers=told)

    @api.post("/{name}")
    async def came(request: Request, name: str) -> Response:
        caller = service.access.require(request, "train")
        data = await body_of(request, service.settings)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        digest = await asyncio.to_thread(sent, service, name, data, _CONTENT.get(kind, kind), caller.name)
        return json_response({"model": name, "version": digest[:VERSION], "digest": digest}, 201)

    @api.put("/{name}/reasons")
    async def reasons(request: Request, name: str) -> Response:
        caller = service.access.require(request, "promote")
        data = await body_of(request, service.settings)
        number = await asyncio.to_thread(_with_reasons, service, name, data, caller.name)
        return json_response({"model": name, "event": number})

    return api


def sent(service: Service, name: str, data: bytes, ending: str, by: str) -> str:
    """Keep the model of a file that came in; its digest. Raises Refusal where it holds none."""
    return service.registry.add(name, read_model(data, ending), by, "sent")


def _with_reasons(service: Service, name: str, data: bytes, by: str) -> int:
    """Set the catalogue of reasons of a model, which must fit its champion; the number of the event."""
    graph = service.registry.decider(name, service.registry.digest(name)).graph
    with refused():
        required(parse_catalogue(data, "the catalogue"), graph)
    with service.database.alone() as connection:
        number = history.append(connection, name, REASONS, by, {"catalogue": data.decode()})
    service.registry.refresh()
    return number


def facts(service: Service, name: str, digest: str) -> dict[str, Any]:
    """The rules of a version, what is known of them, and its proofs."""
    decider = service.registry.decider(name, digest)
    graph = decider.graph
    kept = service.database.rows(select(proofs).where(proofs.c.digest == digest).order_by(proofs.c.time))
    return {
        "name": name,
        "version": digest[:VERSION],
        "digest": digest,
        "aliases": sorted(alias for alias, own in service.registry.aliases_of(name).items() if own == digest),
        "classes": list(graph.classes),
        "columns": [{"name": each, "kind": graph.schema[each].kind} for each in graph.used_features],
        "rules": [{"id": rule.id, "text": rule.text} for rule in decider.rules],
        "text": find_target("text").emit(graph, {"format": "show"}).main.decode(),
        "proofs": [row | {"body": json.loads(row["body"])} for row in kept],
        "files": sorted(_FILES),
    }


def artifact(service: Service, name: str, digest: str, ending: str) -> bytes:
    """A file of a version; raises Refusal where this model cannot be exported so."""
    if ending not in _FILES:
        raise unknown(f"there is no file of this kind; {', '.join(_FILES)}")
    if ending == "json":
        return service.registry.content(name, digest)
    with refused():
        return find_target(_FILES[ending][0]).emit(service.registry.decider(name, digest).graph).main
