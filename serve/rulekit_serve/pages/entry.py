"""Logging in and out, the files of the pages, and all pages together: `/` and what is under /pages."""

from __future__ import annotations

import asyncio
import re
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from rulekit_serve.access import COOKIE, own_origin
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal
from rulekit_serve.pages import jobs, models, rows
from rulekit_serve.pages.showing import PageRoute, form_of, html
from rulekit_serve.settings import MEGABYTE

_STATIC = {
    "style.css": ("templates", "text/css"),
    "htmx.min.js": ("static", "text/javascript"),
    "icon.svg": ("static", "image/svg+xml"),
}
_HERE = re.compile(r"/(?![/\\])[!-\[\]-~]*")
r"""A path on this host: browsers take `//` and `/\` for the beginning of another one, and drop control characters."""


def routes(service: Service) -> APIRouter:
    """All pages; no token is needed for the form that takes one, and for the style."""
    most = service.settings.body + MEGABYTE
    api = APIRouter(route_class=PageRoute, include_in_schema=False, max_body_size=most)
    for add in (models.add, models.add_versions, rows.add, jobs.add, jobs.add_promotions):
        add(service, api)

    @api.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise Refusal(404, "there is no such file")
        folder, kind = _STATIC[name]
        return Response(files("rulekit_serve").joinpath(folder, name).read_bytes(), media_type=kind)

    @api.get("/login")
    def asked(request: Request) -> Response:
        return html(request, "login.html", then="/")

    @api.post("/login")
    async def login(request: Request) -> Response:
        _of_this_site(request)
        given = await form_of(service, request)
        secret, then = str(given.get("token", "")).strip(), str(given.get("then", "/"))
        then = then if _HERE.fullmatch(then) else "/"
        if await asyncio.to_thread(service.access.caller, secret) is None:
            request.state.fault = Refusal(401, "this token is not known, or it was revoked", "token")
            return html(request, "login.html", then=then)
        answer = RedirectResponse(then, 303)
        answer.set_cookie(COOKIE, secret, httponly=True, samesite="strict", secure=service.settings.secure)
        return answer

    @api.post("/logout")
    def logout(request: Request) -> Response:
        _of_this_site(request)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=service.settings.secure)
        return answer

    return api


def _of_this_site(request: Request) -> None:
    if request.headers.get("origin", "") != own_origin(request):
        raise Refusal(403, "the call comes from another site")
