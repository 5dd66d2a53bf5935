"""Uploads and jobs: files come in, work is asked for, watched and cancelled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from rulekit_serve.api.protocol import json_response
from rulekit_serve.bodies import body_of, object_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.jobs import requests, table, uploads

READERS = ("audit", "train", "promote")
Limit = Annotated[int, Query(ge=1, le=1_000)]
Name = Annotated[str, Header()]
Last = Annotated[int, Header(ge=0, le=10**15)]
_PAUSE = 0.5
_SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""Of a report: the file itself allows one script, by its digest, and no request."""
_REPORTS = {".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8"}


def routes(service: Service) -> APIRouter:
    """The endpoints under /uploads and /jobs."""
    api = APIRouter(tags=["Jobs"])
    database = service.database

    @api.post("/uploads", max_body_size=service.settings.upload)
    async def sent(request: Request, x_file_name: Name = "") -> Response:
        by = service.access.require(request, "train").name
        return json_response(await uploads.kept(x_file_name, request.stream(), service.settings, database, by), 201)

    @api.get("/uploads")
    def files(request: Request, limit: Limit = 100) -> Response:
        service.access.require(request, "audit", "train")
        return json_response({"uploads": uploads.listed(database, limit)})

    @api.delete("/uploads/{upload}")
    def removed(request: Request, upload: str) -> Response:
        service.access.require(request, "train")
        uploads.remove(database, service.settings, upload)
        return Response(status_code=204)

    @api.post("/jobs")
    async def asked(request: Request) -> Response:
        caller = service.access.require(request, "train")
        given = object_of(await body_of(request, service.settings))
        return json_response(await asyncio.to_thread(submit, service, given, caller.name), 202)

    @api.get("/jobs")
    def listed(request: Request, limit: Limit = 100) -> Response:
        service.access.require(request, *READERS)
        return json_response({"jobs": table.listed(database, limit)})

    @api.get("/jobs/{job}")
    def one(request: Request, job: str) -> Response:
        service.access.require(request, *READERS)
        return json_response(table.one(database, job))

    @api.get("/jobs/{job}/events")
    async def events(request: Request, job: str, last_event_id: Last = 0) -> Response:
        service.access.require(request, *READERS)
        await asyncio.to_thread(table.one, database, job)
        return StreamingResponse(_told(service, job, last_event_id), media_type="text/event-stream")

    @api.get("/jobs/{job}/report")
    def report(request: Request, job: str) -> Response:
        service.access.require(request, "audit")
        path = next(service.settings.reports.glob(f"{table.one(database, job)['id']}.*"), None)
        if path is None:
            raise unknown("the job has no report")
        return FileResponse(path, media_type=_REPORTS[path.suffix], headers={"content-security-policy": _SANDBOX})

    @api.delete("/jobs/{job}")
    def cancelled(request: Request, job: str) -> Response:
        service.access.require(request, "train", "promote")
        state = table.cancel(database, job)
        service.supervisor.wake()
        return json_response({"id": job, "state": state, "cancel": True}, 202)

    return api


def submit(service: Service, given: dict[str, Any], by: str) -> dict[str, Any]:
    """Let a job wait that a client asks for; raises Refusal that names the field that is wrong."""
    return added(service, *requests.checked(given, service.database, service.registry), by)


def added(service: Service, kind: str, request: dict[str, Any], by: str) -> dict[str, Any]:
    """Let a job wait; what its asker is told."""
    job = table.add(service.database, kind, request, by)
    service.supervisor.wake()
    return {"id": job, "kind": kind, "state": "waiting", "events": f"/jobs/{job}/events"}


async def _told(service: Service, job: str, last: int) -> AsyncIterator[str]:
    """The events after a number, as they come, and at the end the state; a comment while nothing comes."""
    while not service.supervisor.ended.is_set():
        try:
            now = await asyncio.to_thread(table.one, service.database, job)
            found = await asyncio.to_thread(table.events_after, service.database, job, last)
        except Refusal:  # the client asks again, with the number of the last event
            return
        for last, body in found:
            yield f"id: {last}\nevent: progress\ndata: {body}\n\n"
        if now["state"] not in table.OPEN:
            said = json.dumps({key: now[key] for key in ("state", "message", "result")})
            yield f"event: end\ndata: {said}\n\n"
            return
        if not found:
            yield f": {now['state']}\n\n"
        await asyncio.sleep(_PAUSE)
