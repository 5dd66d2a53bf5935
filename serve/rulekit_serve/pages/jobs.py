"""Pages of work: training, proofs and promotions as jobs, with their progress."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import polars as pl
from fastapi import APIRouter, Request, Response
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse

from rulekit import synthetic
from rulekit.work.learning import learners
from rulekit_serve.api.jobs import READERS, submit
from rulekit_serve.api.promotion import promote, promotion_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.jobs import gates, table, uploads
from rulekit_serve.pages.showing import form_of, html, moment, require
from rulekit_serve.registry import ALIASES, CHAMPION, VERSION
from rulekit_serve.settings import MEGABYTE
from rulekit_serve.store.database import Database

_MOST = 100
_SAMPLE = {"kind": "train", "model": "loans", "target": "default", "options": {"positive": "yes", "holdout": 0.25}}


def add(service: Service, api: APIRouter) -> None:
    """Add the pages of work."""
    database = service.database

    @api.get("/pages/jobs")
    def listed(request: Request) -> Response:
        require(service, request, *READERS)
        choices = [(name, name) for name in learners() if not name.endswith("paper")]
        found, files = table.listed(database, _MOST), files_of(database)
        return html(request, "jobs.html", jobs=found, files=files, learners=choices)

    async def kept(name: str, file: UploadFile, by: str) -> Any:
        found = await uploads.kept(name, _chunks(file), service.settings, database, by)
        return found["id"]

    @api.post("/pages/jobs", max_body_size=service.settings.upload)
    async def trained(request: Request) -> Response:
        by = require(service, request, "train")
        given = await form_of(service, request, partial(listed, request), service.settings.job_seconds)
        sent = given.pop("file", None)
        if isinstance(sent, UploadFile) and sent.filename:
            given["upload"] = await kept(sent.filename, sent, by)
        return await begun(service, _training(given), by)

    @api.post("/pages/sample")
    async def sample(request: Request) -> Response:
        by, table_of = require(service, request, "train"), await asyncio.to_thread(_loans)
        upload = await kept("loans.csv", UploadFile(io.BytesIO(table_of)), by)
        return await begun(service, _SAMPLE | {"upload": upload}, by)

    @api.get("/pages/jobs/{job}")
    def one(request: Request, job: str) -> Response:
        require(service, request, *READERS)
        found = table.one(database, job)
        events = [json.loads(body) for _, body in table.events_after(database, job, 0)]
        notes = [line for event in events for line in event.get("notes", ())]
        at = next((event for event in reversed(events) if "share" in event), None)
        return html(request, "job.html", job=found, notes=notes, at=at, going=found["state"] in table.OPEN)

    @api.post("/pages/jobs/{job}/cancel")
    def cancelled(request: Request, job: str) -> Response:
        require(service, request, "train", "promote")
        table.cancel(database, job)
        service.supervisor.wake()
        return RedirectResponse(f"/pages/jobs/{job}", 303)


def add_promotions(service: Service, api: APIRouter) -> None:
    """Add the pages that let an alias mean a version."""

    @api.get("/pages/models/{name}/{version}/{alias}")
    def promoting(request: Request, name: str, version: str, alias: str) -> Response:
        require(service, request, "promote")
        if alias not in ALIASES:
            raise unknown(f"there is no alias {alias[:40]!r}")
        service.registry.refresh()
        digest = service.registry.digest(name, version)
        now = service.registry.aliases_of(name).get(alias, "")[:VERSION]
        known: dict[str, Any] = {"name": name, "version": digest[:VERSION], "alias": alias, "now": now}
        known |= {"files": files_of(service.database), "gates": []}
        if alias == CHAMPION:
            asked = promotion_of(service, name, digest, "", {})
            known["gates"] = gates.known(service.database, service.settings, asked)
        return html(request, "promote.html", **known)

    @api.post("/pages/models/{name}/{version}/{alias}")
    async def promoted(request: Request, name: str, version: str, alias: str) -> Response:
        require(service, request, "promote")
        given = await form_of(service, request, partial(promoting, request, name, version, alias))
        asked = {key: given[key] for key in ("upload", "target", "second") if given.get(key)}
        asked |= {"version": version, "reason": given.get("reason"), "expect": given.get("expect", "")}
        if given.get("exception"):
            asked["exception"] = True
        _, answer = await asyncio.to_thread(promote, service, request.state.caller, name, alias, asked)
        return RedirectResponse(f"/pages/jobs/{answer['id']}" if "id" in answer else f"/pages/models/{name}", 303)


async def begun(service: Service, asked: dict[str, Any], by: str) -> Response:
    """Let a job wait, and lead to its page."""
    job = await asyncio.to_thread(submit, service, asked, by)
    return RedirectResponse(f"/pages/jobs/{job['id']}", 303)


def files_of(database: Database) -> list[tuple[str, str]]:
    """The choices of an upload."""
    found = uploads.listed(database, _MOST)
    return [("", "none"), *((each["id"], f"{each['name']}, {moment(each['added'])}") for each in found)]


async def _chunks(file: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await file.read(MEGABYTE):
        yield chunk


def _training(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a form asks of a job that trains; raises Refusal for a number that is none."""
    asked = {key: given.get(key, "") for key in ("model", "upload", "target", "learner")}
    options: dict[str, Any] = {"positive": given["positive"]} if given.get("positive") else {}
    parameters: dict[str, Any] = {}
    for key, kind, found in (("holdout", float, options), ("max_rules", int, parameters)):
        if text := str(given.get(key, "")).strip():
            try:
                found[key] = kind(text[:40])
            except ValueError:
                raise Refusal(422, f"{text[:40]!r} is no number", key) from None
    return {"kind": "train", **asked, "options": options, "parameters": parameters}


def _loans() -> bytes:
    """The sample: 1,000 loans, the same on each machine."""
    return pl.DataFrame(synthetic.loans()).write_csv().encode()
