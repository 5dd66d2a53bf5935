"""Scoring and explaining rows as JSON objects, CSV or Arrow, and MLflow's forms of the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from rulekit.audit.explaining.explanations import ExplainOptions, explain
from rulekit.audit.reason_codes.reasons import adverse_classes, parse_catalogue, required
from rulekit.errors import RulekitError
from rulekit.limits import Deadline
from rulekit_serve.api.protocol import NAMED, columns_of_tensors, json_response, named
from rulekit_serve.bodies import Columns, body_of, columns_of, columns_of_rows, object_of, sized
from rulekit_serve.deciding import Answer, Service, decide
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import CHAMPION, VERSION
from rulekit_serve.words import dumped

_REQUEST = "x-request-id"


def routes(service: Service) -> APIRouter:
    """POST /score/M, /explain/M and /invocations."""
    api = APIRouter(tags=["Scoring"])

    @api.post("/score/{name}", openapi_extra=NAMED)
    async def score(request: Request) -> Response:
        caller, name = service.access.require(request, "score"), request.path_params["name"]
        version = request.query_params.get("version", CHAMPION) if request.scope["query_string"] else CHAMPION
        data = await body_of(request, service.settings)
        columns, n = columns_of(data, request.headers.get("content-type", ""), service.settings.rows)
        answer = await decide(service, caller, name, version, columns, n, request.headers.get(_REQUEST))
        catalogue = service.registry.catalogue(name)
        reasons = () if catalogue is None else await asyncio.to_thread(because, service, answer, columns, catalogue)
        return by_row(answer, "decisions", reasons)

    @api.post("/explain/{name}")
    async def explained(request: Request, name: str, version: str = CHAMPION) -> Response:
        service.access.require(request, "score")
        data = await body_of(request, service.settings)
        columns, _ = columns_of(data, request.headers.get("content-type", ""), service.settings.explained)
        digest = service.registry.digest(name, version)
        found = await asyncio.to_thread(why, service, name, digest, columns)
        return json_response({"model": name, "digest": digest, "rows": found})

    @api.post("/invocations")
    async def invocations(request: Request, model: str = "") -> Response:
        caller = service.access.require(request, "score")
        names = service.registry.names
        if not model and len(names) != 1:
            raise Refusal(422, "several models are served, or none", "model", "name one: /invocations?model=NAME")
        name = model or names[0]
        data = await body_of(request, service.settings)
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind == "text/csv":
            columns, n = columns_of(data, kind, service.settings.rows)
        else:
            columns, n = columns_of_mlflow(object_of(data), service.settings.rows)
        graph = service.registry.decider(name, service.registry.digest(name)).graph
        columns = named(columns, graph.schema.names, graph.used_features)
        known = request.headers.get(_REQUEST)
        return by_row(await decide(service, caller, name, CHAMPION, columns, n, known), "predictions")

    return api


def why(service: Service, name: str, digest: str, columns: Columns) -> list[dict[str, Any]]:
    """What decided rows, in sentences, and the nearest change of each."""
    decider = service.registry.decider(name, digest)
    limit = Deadline(service.settings.seconds)
    try:
        found = explain(decider.graph, decider.table(columns), ExplainOptions(deadline=limit))
    except RulekitError as error:
        raise Refusal(422, error.what, error.where, error.fix) from None
    plain: list[dict[str, Any]] = json.loads(dumped(found))
    return plain


def because(service: Service, answer: Answer, columns: Columns, text: str) -> list[Any]:
    """By row the reasons of a catalogue for an adverse decision, none where it is not adverse.

    None of any row where the catalogue does not fit this version.
    """
    decider, catalogue = answer.words.decider, parse_catalogue(text.encode(), "the catalogue")
    try:
        known, adverse = required(catalogue, decider.graph), adverse_classes(decider.graph, catalogue)
    except RulekitError:
        return []
    limit = Deadline(service.settings.seconds)
    asked = ExplainOptions(changes=False, sentences=False, reasons=known, adverse=adverse, deadline=limit)
    return [row.get("reasons", []) for row in explain(decider.graph, decider.table(columns), asked)]


def by_row(answer: Answer, key: str, reasons: Sequence[Any] = ()) -> Response:
    """The decisions of an answer, a row an object; reasons: of each row, where a catalogue is set."""
    digest = answer.digest
    head = f'{{"model":{dumped(answer.model)},"version":"{digest[:VERSION]}","digest":"{digest}"'
    return Response(f'{head},"{key}":{answer.decisions(reasons)}}}', media_type="application/json")


def columns_of_mlflow(given: Mapping[str, Any], most: int) -> tuple[Columns, int]:
    """The columns of one of MLflow's four JSON forms."""
    forms = [form for form in ("dataframe_split", "dataframe_records", "instances", "inputs") if form in given]
    if len(forms) != 1:
        raise Refusal(400, "one of dataframe_split, dataframe_records, instances and inputs is given")
    value = given[forms[0]]
    if forms[0] == "dataframe_split":
        names, rows = (value.get("columns"), value.get("data")) if isinstance(value, dict) else (None, None)
        if not isinstance(names, list) or not isinstance(rows, list):
            raise Refusal(400, "dataframe_split has columns and data", forms[0])
        if len({*map(str, names)}) != len(names) or not all(
            isinstance(row, list) and len(row) == len(names) for row in rows
        ):
            raise Refusal(400, "each row has a cell for each column, and each column a name of its own", forms[0])
        return sized({str(name): [row[j] for row in rows] for j, name in enumerate(names)}, len(rows), most)
    if isinstance(value, dict):
        lists = {name: own if isinstance(own, list) else [own] for name, own in value.items()}
        sizes = {*map(len, lists.values())}
        if len(sizes) != 1:
            raise Refusal(400, "the columns have different lengths", forms[0])
        flat = {name: [c[0] if isinstance(c, list) and len(c) == 1 else c for c in own] for name, own in lists.items()}
        return sized(flat, sizes.pop(), most)
    if isinstance(value, list) and value and isinstance(value[0], list):
        width = len(value[0])
        tensor = {"name": "x", "datatype": "FP64", "shape": [len(value), width], "data": value}
        return columns_of_tensors([tensor], most)
    return columns_of_rows(value, most)
