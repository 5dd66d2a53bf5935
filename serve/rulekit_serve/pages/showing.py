"""How a page is made of a template, how a form is read, and how a refusal is shown to people."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from rulekit_serve.access import COOKIE
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal

_FIELDS = 10_000


def moment(seconds: Any) -> str:
    """A time as people read it; the cell itself where somebody has changed it to what is no time."""
    try:
        return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (TypeError, ValueError, OverflowError, OSError):
        return str(seconds)


def _shown(value: Any) -> str:
    """A cell or a label as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return "missing" if value is None else str(value)


def _sentence(text: str) -> str:
    """A line of a refusal with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


_TEMPLATES = Environment(
    loader=PackageLoader("rulekit_serve"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"moment": moment, "shown": _shown, "sentence": _sentence}


def html(request: Request, template: str, **values: Any) -> Response:
    """A page; where the request has a fault it is shown beside what was written, and its status is that of the page."""
    known = {key: getattr(request.state, key, None) for key in ("caller", "fault", "given")}
    roles = known["caller"].roles if known["caller"] else ()
    known |= {"given": known["given"] or {}, "roles": roles, "path": request.url.path}
    text = _TEMPLATES.get_template(template).render(known | values)
    return HTMLResponse(text, known["fault"].status if known["fault"] else 200)


class PageRoute(APIRoute):
    """A page on which refusals are shown to people; who has no token is asked for it."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        inner = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                try:
                    return await inner(request)
                except Refusal as refusal:
                    request.state.fault = refusal
                    if (again := getattr(request.state, "again", None)) is None:
                        raise
                    return await asyncio.to_thread(again)
            except Refusal as refusal:
                fault = refusal
            except HTTPException as error:
                fault = Refusal(error.status_code, str(error.detail))
            request.state.fault = fault
            if fault.status == 401:
                fault.what = "this token is not known, or it was revoked" if COOKIE in request.cookies else ""
                asked = f"{request.url.path}?{request.url.query}".removesuffix("?")
                return html(request, "login.html", then=asked if request.method == "GET" else "/")
            return html(request, "fault.html")

        return handled


def require(service: Service, request: Request, *roles: str) -> str:
    """The name of the caller; raises Refusal where the token is none or has not one of the roles."""
    request.state.caller = service.access.require(request, *roles)
    return str(request.state.caller.name)


async def form_of(
    service: Service, request: Request, again: Callable[[], Response] | None = None, seconds: float = 0.0
) -> dict[str, Any]:
    """The fields of a form, texts and at most one file; raises Refusal where they are too large or too slow.

    again: the page of the form, which is shown with what was written where that is refused.
    """
    request.state.again, request.state.given = again, dict[str, Any]()
    reading = request.form(max_files=1, max_fields=_FIELDS, max_part_size=service.settings.body)
    try:
        request.state.given |= await asyncio.wait_for(reading, seconds or service.settings.seconds)
    except TimeoutError:
        raise Refusal(408, "the form did not come in time") from None
    given: dict[str, Any] = request.state.given
    return given
