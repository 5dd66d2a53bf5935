"""The Open Inference Protocol, version 2, over HTTP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

import rulekit
from rulekit_serve.api.binary import EXTENSION, packed, unpacked
from rulekit_serve.bodies import Columns, body_of, sized, text_of
from rulekit_serve.deciding import Answer, Service, decide
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import CHAMPION, VERSION
from rulekit_serve.words import dumped

_WHOLE = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
_FLOATS = ("FP16", "FP32", "FP64", "BF16")
_TYPES = ("BOOL", "BYTES", *_WHOLE, *_FLOATS)
NAMED = {"parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}]}
"""What the description says of a call that reads its name itself: FastAPI takes as long for it as for all else."""
_OUTPUTS = ("label", "probabilities", "fired")
_OF_KIND = {"numeric": "FP64", "boolean": "BOOL"}


def json_response(value: Any, status: int = 200) -> Response:
    """An answer that is encoded once."""
    return Response(dumped(value).encode("utf-8", "replace"), status, media_type="application/json")


def routes(service: Service) -> APIRouter:
    """The endpoints under /v2; health alone needs no token."""
    api = APIRouter(prefix="/v2", tags=["Open Inference Protocol V2"])
    both = ("/models/{name}", "/models/{name}/versions/{version}")

    @api.get("/health/live")
    async def live() -> dict[str, bool]:
        return {"live": True}

    @api.get("/health/ready")
    def ready() -> dict[str, bool]:
        service.registry.refresh()
        return {"ready": True}

    @api.get("")
    async def server(request: Request) -> dict[str, Any]:
        service.access.require(request, "score")
        return {"name": "rulekit", "version": rulekit.__version__, "extensions": [EXTENSION]}

    def model(request: Request, name: str, version: str = CHAMPION) -> Response:
        service.access.require(request, "score")
        return json_response(described(service, name, service.registry.digest(name, version)))

    def model_ready(request: Request, name: str, version: str = CHAMPION) -> dict[str, Any]:
        service.access.require(request, "score")
        service.registry.decider(name, service.registry.digest(name, version))
        return {"name": name, "ready": True}

    async def infer(request: Request) -> Response:
        caller, name = service.access.require(request, "score"), request.path_params["name"]
        version = request.path_params.get("version", CHAMPION)
        given = unpacked(request, await body_of(request, service.settings))
        columns, n = columns_of_tensors(given.get("inputs"), service.settings.rows)
        graph = service.registry.decider(name, service.registry.digest(name, version)).graph
        columns = named(columns, graph.schema.names, graph.used_features)
        known, asked = text_of(given, "id", ""), _asked(given)
        answer = await decide(service, caller, name, version, columns, n, known or None)
        return packed(given, _answered(answer, known, asked))

    for path in both:
        api.get(path)(model)
        api.get(f"{path}/ready")(model_ready)
        api.post(f"{path}/infer", openapi_extra=NAMED)(infer)
    return api


def described(service: Service, name: str, digest: str) -> dict[str, Any]:
    """The metadata of a version: the columns that it reads, and what it answers."""
    decider = service.registry.decider(name, digest)
    graph = decider.graph
    inputs = [
        {"name": column, "datatype": _OF_KIND.get(graph.schema[column].kind, "BYTES"), "shape": [-1]}
        for column in graph.used_features
    ]
    outputs = zip(_OUTPUTS, ("BYTES", "FP64", "BOOL"), ([], [len(graph.classes)], [len(decider.rules)]), strict=True)
    return {
        "name": name,
        "versions": [each[:VERSION] for each in service.registry.versions(name)],
        "platform": "rulekit",
        "inputs": inputs,
        "outputs": [{"name": own, "datatype": kind, "shape": [-1, *more]} for own, kind, more in outputs],
        "parameters": {"digest": digest, "classes": list(graph.classes)},
    }


def columns_of_tensors(inputs: Any, most: int) -> tuple[Columns, int]:
    """The columns of input tensors, each of shape [n], [n, 1] or, of a single one, [n, columns]; null is missing."""
    if not isinstance(inputs, list) or not inputs or not all(isinstance(each, dict) for each in inputs):
        raise Refusal(400, "inputs is a list of tensors", "inputs")
    columns: dict[str, list[Any]] = {}
    n = 0
    for each in inputs:
        name = text_of(each, "name")
        shape, kind, data = each.get("shape"), each.get("datatype"), each.get("data")
        whole = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
        if not whole or not 1 <= len(shape) <= 2:
            raise Refusal(400, f"the shape of {name[:60]!r} is [rows] or [rows, columns]", name[:60])
        if kind not in _TYPES:
            raise Refusal(400, f"the datatype of {name[:60]!r} is none of {', '.join(_TYPES)}", name[:60])
        width = shape[1] if len(shape) == 2 else 1
        cells = _flat(data)
        if len(cells) != shape[0] * width:
            what = f"{name[:60]!r} has {len(cells)} numbers, and its shape says {shape[0] * width}"
            raise Refusal(400, what, name[:60])
        if (columns and shape[0] != n) or name in columns:
            raise Refusal(400, f"{name[:60]!r} stands twice, or has other rows than the tensors before it", name[:60])
        n = shape[0]
        _check(name, kind, cells)
        if width == 1:
            columns[name] = cells
        elif len(inputs) > 1:
            raise Refusal(400, "a tensor of several columns stands alone", name[:60])
        else:
            columns = {f"{name}.{j}": cells[j::width] for j in range(width)}
    return sized(columns, n, most)


def named(columns: Columns, schema: Sequence[str], used: Sequence[str]) -> Columns:
    """The columns of a single tensor get the names of the model's columns, or of those that it reads, in order."""
    if any(name in columns for name in used):
        return columns
    for names in (schema, used):
        if len(names) == len(columns) and len({name.rpartition(".")[0] for name in columns}) == 1:
            return dict(zip(names, columns.values(), strict=True))
    return columns


def _flat(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise Refusal(400, "data is a list", "data")
    if data and isinstance(data[0], list):
        return [cell for row in data for cell in (row if isinstance(row, list) else [row])]
    return data


def _check(name: str, kind: str, cells: Sequence[Any]) -> None:
    allowed: tuple[type, ...] = (bool,) if kind == "BOOL" else (str,) if kind == "BYTES" else (int, float)
    if kind in _WHOLE:
        allowed = (int,)
    found = {*map(type, cells)} - {type(None)}
    if not found <= {*allowed}:
        raise Refusal(400, f"a cell of {name[:60]!r} is not of its type {kind}", name[:60])
    if kind in _WHOLE:
        bits, signed = int(kind.lstrip("UINT")), not kind.startswith("U")
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        if not all(cell is None or least <= cell <= most for cell in cells):
            raise Refusal(400, f"a cell of {name[:60]!r} is out of the range of {kind}", name[:60])
    elif kind in _FLOATS and not all(cell is None or _finite(cell) for cell in cells):
        raise Refusal(400, f"a cell of {name[:60]!r} is out of the range of {kind}", name[:60])


def _finite(cell: float) -> bool:
    try:
        return math.isfinite(cell)
    except OverflowError:
        return False


def _asked(given: Mapping[str, Any]) -> Sequence[str]:
    outputs = given.get("outputs")
    if outputs is None:
        return _OUTPUTS
    names = [str(each.get("name")) for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
    if not names or not {*names} <= {*_OUTPUTS}:
        raise Refusal(400, f"outputs are some of {', '.join(_OUTPUTS)}", "outputs")
    return names


def _answered(answer: Answer, known: str, asked: Sequence[str]) -> dict[str, Any]:
    n, ids = len(answer.ids), [rule.id for rule in answer.words.decider.rules]
    found = []
    for name in asked:
        if name == "label":
            texts = [label if isinstance(label, str) else dumped(label) for label in answer.words.classes]
            labels = [texts[k] for k in answer.labels]
            found.append({"name": name, "shape": [n], "datatype": "BYTES", "data": labels})
        elif name == "probabilities":
            flat = [p for row in answer.probabilities for p in row]
            found.append({"name": name, "shape": [n, len(answer.words.classes)], "datatype": "FP64", "data": flat})
        else:
            fired = [rule in row.ids for row in answer.fired for rule in ids]
            found.append({"name": name, "shape": [n, len(ids)], "datatype": "BOOL", "data": fired})
    said = {"digest": answer.digest, "decisions": list(answer.ids), "rules": ids}
    body = {"model_name": answer.model, "model_version": answer.digest[:VERSION], "outputs": found, "parameters": said}
    return {"id": known, **body} if known else body
