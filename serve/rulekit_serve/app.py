"""The application: endpoints, limits and how a refusal is answered."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import rulekit
from rulekit_serve.access import Access
from rulekit_serve.api import decisions, exchange, jobs, models, promotion, protocol, scoring
from rulekit_serve.api.protocol import NAMED, json_response
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs.supervisor import Supervisor
from rulekit_serve.metrics import Metrics
from rulekit_serve.pages import entry
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.log import DecisionLog

_SAFE = {
    b"content-security-policy": b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",  # with no-referrer a browser sends a form without its origin
    b"cache-control": b"no-store",
}


Endpoint = Callable[[Request], Awaitable[Response]]


def application(settings: Settings) -> FastAPI:
    """The service with these settings; its database must have its tables."""
    database = Database(settings.url)
    settings.uploads.mkdir(parents=True, exist_ok=True)
    metrics = Metrics()
    access, supervisor = Access(database, settings.rate), Supervisor(settings, database)
    service = Service(settings, database, Registry(database), access, DecisionLog(database), metrics, supervisor)
    metrics.watch(lambda: float(service.log.waiting))

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        supervisor.start()
        gc.freeze()  # what is loaded by now stays, and a collection need not walk it
        yield
        supervisor.close()
        service.log.close()
        service.registry.close()
        database.engine.dispose()

    app = FastAPI(
        title="rulekit", version=rulekit.__version__, lifespan=living, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.state.service = service
    routers = [own.routes(service) for own in (scoring, protocol, jobs, promotion, exchange, models, decisions, entry)]
    for router in routers:
        app.include_router(router)

    @app.get("/openapi.json")
    async def openapi(request: Request) -> dict[str, Any]:
        service.access.require(request, "score")
        return app.openapi()

    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)
    every = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    own_reading = [route for route in every if route.openapi_extra == NAMED]
    plain = [Route(each.path, _answering(each.endpoint), methods=["POST"]) for each in own_reading]
    app.add_middleware(_Watched, metrics=metrics, plain=plain)
    return app


def _answering(endpoint: Endpoint) -> Endpoint:
    """An endpoint that answers with its refusals, as there is no FastAPI around it."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refusal as refusal:
            return await _refused(request, refusal)

    return answered


async def _refused(_: Request, error: Any) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    answer = json_response(error.as_dict(), error.status)
    answer.headers.update(headers)
    return answer


async def _invalid(_: Request, error: Any) -> Response:
    first = error.errors()[0]
    field = str(first.get("loc", ("",))[-1])
    return json_response({"error": str(first.get("msg", "a parameter is wrong")), "field": field}, 422)


async def _http(_: Request, error: Any) -> Response:
    return json_response({"error": str(error.detail)}, error.status_code)


async def _broken(_: Request, error: Exception) -> Response:
    return json_response({"error": f"the service failed: {type(error).__name__}"}, 500)


class _Watched:
    """Counts calls by route and status, and adds the headers that browsers keep to.

    plain: routes that FastAPI describes and does not carry out, since it takes as long as all that a decision needs.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, plain: Sequence[Route]) -> None:
        self._app, self._metrics = app, metrics
        self._plain = Router(plain, redirect_slashes=False, default=app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = list(message.get("headers", ()))
                own = {name for name, _ in given}
                message["headers"] = [*given, *(each for each in _SAFE.items() if each[0] not in own)]
            await send(message)

        try:
            await self._plain(scope, receive, told)
        finally:
            route = scope.get("route")
            path = getattr(route, "path", "unknown")
            self._metrics.called(path, status, time.perf_counter() - begun)


def of_environment() -> FastAPI:
    """The service of a process that another one started."""
    return application(Settings.of_environment())
