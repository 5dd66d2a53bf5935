"""Pages for people: models, one row, comparison, decisions. They need no JavaScript, and no script or style in them."""

from __future__ import annotations

import asyncio
import math
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

from rulekit.errors import RulekitError
from rulekit.graph.rules import counts
from rulekit.limits import Deadline
from rulekit.schema import Feature
from rulekit.work.models import compare
from rulekit_serve.access import COOKIE, own_origin
from rulekit_serve.api.decisions import one_decision, page
from rulekit_serve.api.models import facts, summary
from rulekit_serve.api.scoring import by_row, why
from rulekit_serve.bodies import text_of
from rulekit_serve.deciding import Service, decide
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import ALIASES, CHAMPION, VERSION, read_model
from rulekit_serve.store import history

_A_PAGE = 50
_COMPARING = 5.0
"""Seconds that a comparison takes at most; what is not settled by then is said to be open."""
_FIELDS = 10_000
_LARGEST = 2**62
_STATIC = {"style.css": ("templates", "text/css"), "htmx.min.js": ("static", "text/javascript")}
_HERE = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path on this host: browsers take `//` and `/\\` for the beginning of another one, and drop control characters."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTH = {"yes": True, "no": False}


def _moment(seconds: float | None) -> str:
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _shown(value: Any) -> str:
    """A cell or label as people read it."""
    if value is None:
        return "missing"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


_TEMPLATES = Environment(
    loader=PackageLoader("rulekit_serve"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"moment": _moment, "shown": _shown}


def _html(request: Request, template: str, fault: Refusal | None = None, **values: Any) -> Response:
    """A page; a fault is shown in it, and its status is that of the page."""
    known = {"caller": getattr(request.state, "caller", None), "path": request.url.path, "given": {}}
    text = _TEMPLATES.get_template(template).render(known | values | {"fault": fault})
    return HTMLResponse(text, 200 if fault is None else fault.status)


class _Page(APIRoute):
    """A page on which refusals are shown to people; who has no token is asked for it."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        inner = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await inner(request)
            except Refusal as refusal:
                fault = refusal
            except RequestValidationError as error:
                first = error.errors()[0]
                fault = Refusal(422, str(first["msg"]), str(first["loc"][-1]))
            except HTTPException as error:
                fault = Refusal(error.status_code, str(error.detail))
            if fault.status == 401:
                asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                said = fault if COOKIE in request.cookies else Refusal(401, "")
                return _html(request, "login.html", said, then=asked if request.method == "GET" else "/")
            return _html(request, "fault.html", fault)

        return handled


def routes(service: Service) -> APIRouter:
    """The pages: `/` lists the models; the others are under /pages."""
    api = APIRouter(route_class=_Page, include_in_schema=False)
    for part in (_entry, _models, _rows, _decisions):
        part(service, api)
    return api


def _require(service: Service, request: Request, role: str) -> str:
    """The name of the caller; raises Refusal where the token is none or has not the role."""
    request.state.caller = service.access.require(request, role)
    return str(request.state.caller.name)


async def _form(service: Service, request: Request) -> dict[str, Any]:
    """The fields of a form, texts and at most one file; raises Refusal where they are too large or too slow."""
    reading = request.form(max_files=1, max_fields=_FIELDS, max_part_size=service.settings.body)
    try:
        return dict(await asyncio.wait_for(reading, service.settings.seconds))
    except TimeoutError:
        raise Refusal(408, "the form did not come in time") from None


def _entry(service: Service, api: APIRouter) -> None:
    @api.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise Refusal(404, "there is no such file")
        folder, kind = _STATIC[name]
        return Response(files("rulekit_serve").joinpath(folder, name).read_bytes(), media_type=kind)

    @api.get("/login")
    def asked(request: Request) -> Response:
        return _html(request, "login.html", then="/")

    @api.post("/login")
    async def login(request: Request) -> Response:
        if request.headers.get("origin", "") != own_origin(request):
            raise Refusal(403, "the call comes from another site")
        given = await _form(service, request)
        secret, then = str(given.get("token", "")).strip(), str(given.get("then", "/"))
        then = then if _HERE.fullmatch(then) else "/"
        if await asyncio.to_thread(service.access.caller, secret) is None:
            fault = Refusal(401, "This token is not known, or it was revoked.", "token")
            return _html(request, "login.html", fault, then=then)
        answer = RedirectResponse(then, 303)
        answer.set_cookie(COOKIE, secret, httponly=True, samesite="strict", secure=service.settings.secure)
        return answer

    @api.post("/logout")
    def logout(request: Request) -> Response:
        if request.headers.get("origin", "") != own_origin(request):
            raise Refusal(403, "the call comes from another site")
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=service.settings.secure)
        return answer


def _models(service: Service, api: APIRouter) -> None:
    def listed(request: Request, fault: Refusal | None = None, **values: Any) -> Response:
        found = []
        for name in service.registry.names:
            own = summary(service, name)
            latest = service.registry.aliases_of(name).get(CHAMPION) or own["versions"][0]["digest"]
            found.append(own | {"rules": len(service.registry.decider(name, latest).rules)})
        return _html(request, "models.html", fault, models=found, **values)

    @api.get("/")
    def start(request: Request) -> Response:
        _require(service, request, "audit")
        return listed(request)

    @api.post("/pages/models")
    async def came(request: Request) -> Response:
        by = _require(service, request, "train")
        given: dict[str, Any] = {}
        try:
            given = await _form(service, request)
            name, sent, text = text_of(given, "name", most=63).strip(), given.get("file"), given.get("text")
            if isinstance(sent, UploadFile) and sent.filename:
                data, ending = await sent.read(), Path(sent.filename).suffix
            elif isinstance(text, str) and text.strip():
                data, ending = text.encode(), ".rules"
            else:
                raise Refusal(422, "Neither a file nor a rule text was sent.", "file", "choose a file")
            graph = await asyncio.to_thread(read_model, data, ending)
            digest = await asyncio.to_thread(service.registry.add, name, graph, by, "sent")
        except Refusal as refusal:
            refusal.field = refusal.field or "file"
            return await asyncio.to_thread(listed, request, refusal, given=given)
        return RedirectResponse(f"/pages/models/{name}/{digest[:VERSION]}", 303)

    @api.get("/pages/models/{name}")
    def model(request: Request, name: str) -> Response:
        _require(service, request, "audit")
        found = summary(service, name)
        past, broken = history.of_model(service.database, name), history.broken_at(service.database)
        return _html(request, "model.html", model=found, events=past, broken=broken)

    @api.get("/pages/models/{name}/compare")
    def compared(request: Request, name: str, first: str = CHAMPION, second: str = "") -> Response:
        _require(service, request, "audit")
        found = summary(service, name)
        named = {"model": found, "first": first, "second": second, "choices": _choices(found)}
        try:
            both = [service.registry.digest(name, version) for version in (first, second) if version]
            result = _difference(service, name, *both) if len(both) == 2 else None
        except Refusal as refusal:
            return _html(request, "compare.html", refusal, result=None, **named)
        return _html(request, "compare.html", result=result, **named)

    @api.get("/pages/models/{name}/{version}")
    def version_of(request: Request, name: str, version: str) -> Response:
        _require(service, request, "audit")
        digest = service.registry.digest(name, version)
        size = counts(service.registry.decider(name, digest).graph)
        return _html(request, "version.html", model=facts(service, name, digest), size=size)


def _choices(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Versions and aliases of a model, each with what people read of it."""
    named = [(alias, f"{alias} ({found['aliases'][alias]})") for alias in ALIASES if alias in found["aliases"]]
    return named + [(each["version"], f"{each['version']} of {_moment(each['added'])}") for each in found["versions"]]


def _difference(service: Service, name: str, first: str, second: str) -> dict[str, Any]:
    """What differs between two versions."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{letter}.json" for letter in "AB"]
        for path, digest in zip(paths, (first, second), strict=True):
            path.write_bytes(service.registry.content(name, digest))
        try:
            found: dict[str, Any] = compare(*paths, deadline=Deadline(_COMPARING)).as_dict()
        except RulekitError as error:
            raise Refusal(422, error.what, error.where, error.fix) from None
    return found


def _rows(service: Service, api: APIRouter) -> None:
    def shown(
        request: Request, name: str, version: str, fault: Refusal | None = None, **values: Any
    ) -> Response:
        digest = service.registry.digest(name, version)
        graph = service.registry.decider(name, digest).graph
        features = [graph.schema[column] for column in graph.used_features]
        wrong = "" if fault is None else next(
            (f"c{i}" for i, each in enumerate(features) if fault.field.endswith(f"column {each.name!r}")), ""
        )
        known = {"name": name, "version": version, "digest": digest, "features": features, "wrong": wrong}
        return _html(request, "score.html", fault, **{"decision": None, "reasons": None} | known | values)

    @api.get("/pages/models/{name}/{version}/score")
    def empty(request: Request, name: str, version: str) -> Response:
        _require(service, request, "score")
        return shown(request, name, version)

    @api.post("/pages/models/{name}/{version}/score")
    async def scored(request: Request, name: str, version: str) -> Response:
        _require(service, request, "score")
        given: dict[str, Any] = {}
        digest = await asyncio.to_thread(service.registry.digest, name, version)
        graph = (await asyncio.to_thread(service.registry.decider, name, digest)).graph
        try:
            given = await _form(service, request)
            features = [graph.schema[column] for column in graph.used_features]
            cells = {each.name: [_cell(each, given.get(f"c{i}", ""))] for i, each in enumerate(features)}
            answer = await decide(service, request.state.caller, name, version, cells, 1)
        except Refusal as refusal:
            return await asyncio.to_thread(shown, request, name, version, refusal, given=given)
        try:
            reasons = (await asyncio.to_thread(why, service, name, answer.digest, cells))[0]
        except Refusal as refusal:  # the row is decided and recorded, so that this is no fault of the call
            reasons = {"sentences": [f"The decision could not be explained: {refusal.what}."], "change": None}
        decision = by_row(answer)["decisions"][0]
        known = {"given": given, "decision": decision, "reasons": reasons}
        return await asyncio.to_thread(shown, request, name, answer.digest[:VERSION], **known)


def _cell(feature: Feature, text: Any) -> Any:
    """A cell of a form as a value: levels and truth values are numbered, so that no text is changed on its way."""
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


def _decisions(service: Service, api: APIRouter) -> None:
    @api.get("/pages/decisions")
    def listed(request: Request, cursor: int | None = None) -> Response:
        _require(service, request, "audit")
        asked = {key: request.query_params.get(key, "") for key in ("model", "version", "label", "rule", "differs")}
        before = None if cursor is None else max(0, min(cursor, _LARGEST))
        found = page(service, asked, _A_PAGE, before)
        following = found[-1]["number"] if len(found) == _A_PAGE else None
        names = service.registry.names
        return _html(request, "decisions.html", decisions=found, asked=asked, cursor=following, names=names)

    @api.get("/pages/decision")
    def one(request: Request, id: str = "") -> Response:
        _require(service, request, "audit")
        found = one_decision(service, id)
        try:
            rules = service.registry.decider(found["model"], found["digest"]).rules
        except Refusal:  # the model is gone or broken; what it decided is still told
            rules = ()
        return _html(request, "decision.html", decision=found, texts={rule.id: rule.text for rule in rules})
