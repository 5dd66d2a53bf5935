"""The Open Inference Protocol, version 2, over HTTP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from fastapi import APIRouter, Request, Response

import rulekit
from rulekit_serve.api.binary import EXTENSION, as_binary, packed, unpacked
from rulekit_serve.bodies import Columns, body_of, bounded, text_of
from rulekit_serve.deciding import Answer, Service, decide
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import CHAMPION, VERSION
from rulekit_serve.words import dumped

_FLOATS = ("FP16", "FP32", "FP64", "BF16")
_RANGES = {
    f"{'U' * (low == 0)}INT{bits}": (low, 2 ** (bits - (low < 0)) - 1)
    for bits in (8, 16, 32, 64)
    for low in (0, -(2 ** (bits - 1)))
}
_TYPES: dict[str, set[type]] = {"BOOL": {bool, NoneType}, "BYTES": {str, NoneType}}
_TYPES |= {kind: {int, NoneType} for kind in _RANGES} | {kind: {int, float, NoneType} for kind in _FLOATS}
"""The types of cells by datatype; null is missing."""
_ENCODED = ("base64", "pd_json")
"""Kinds of content by which clients of MLServer write a cell as another text."""
NAMED = {"parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}]}
"""What the description says of a call that reads its request itself."""
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
        return _answered(await decide(service, caller, name, version, columns, n, known or None), known, asked)

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
        name = each.get("name")
        if not isinstance(name, str):
            raise Refusal(400, "each tensor has a name", "name")
        shape, kind, data = each.get("shape"), each.get("datatype"), each.get("data")
        whole = isinstance(shape, list) and {*map(type, shape)} <= {int} and min(shape, default=0) >= 0
        if not whole or not 1 <= len(shape) <= 2:
            raise Refusal(400, f"the shape of {name[:60]!r} is [rows] or [rows, columns]", name[:60])
        if not isinstance(kind, str) or kind not in _TYPES:
            raise Refusal(400, f"the datatype of {name[:60]!r} is none of {', '.join(_TYPES)}", name[:60])
        said = each.get("parameters")
        if isinstance(said, dict) and said.get("content_type") in _ENCODED:
            raise Refusal(400, f"{name[:60]!r} holds texts in texts", name[:60], "send the cells as they are")
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
    bounded(len(columns), n, most)
    return columns, n


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
    types = {*map(type, cells)}
    if not types <= _TYPES[kind]:
        raise Refusal(400, f"a cell of {name[:60]!r} is not of its type {kind}", name[:60])
    given, fits = ([cell for cell in cells if cell is not None] if NoneType in types else cells), True
    try:
        if kind in _FLOATS:  # a finite sum has no infinite part
            fits = math.isfinite(sum(given)) or all(map(math.isfinite, given))
        elif kind in _RANGES and given:
            low, high = _RANGES[kind]
            fits = low <= min(given) and max(given) <= high
    except OverflowError:  # an integer that no double holds
        fits = False
    if not fits:
        raise Refusal(400, f"a cell of {name[:60]!r} is out of the range of {kind}", name[:60])


def _asked(given: Mapping[str, Any]) -> dict[str, bool]:
    """The outputs that a call asks for, and whether each is to come as bytes."""
    outputs, every = given.get("outputs"), as_binary(given.get("parameters"), "binary_data_output", False)
    if outputs is None:
        return dict.fromkeys(_OUTPUTS, every)
    known = [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
    asked = {str(each.get("name")): as_binary(each.get("parameters"), "binary_data", every) for each in known}
    if not asked or not {*asked} <= {*_OUTPUTS}:
        raise Refusal(400, f"outputs are some of {', '.join(_OUTPUTS)}", "outputs")
    return asked


def _answered(answer: Answer, known: str, asked: Mapping[str, bool]) -> Response:
    """The answer, whose outputs are joined from texts that were made once."""
    n, rules = len(answer.outcomes), [rule.id for rule in answer.words.decider.rules]
    kinds = {
        "label": ("BYTES", [n], [own.text for own in answer.outcomes]),
        "probabilities": ("FP64", [n, len(answer.words.labels)], [own.shares for own in answer.outcomes]),
        "fired": ("BOOL", [n, len(rules)], [own.fired for own in answer.outcomes]),
    }
    outputs, parts = [], []
    for name, binary in asked.items():
        kind, shape, texts = kinds[name]
        data = f"[{','.join(texts)}]" if shape[-1] else "[]"
        head = f'{{"name":"{name}","datatype":"{kind}","shape":{shape}'
        if binary:
            parts.append(packed(kind, data))
            outputs.append(f'{head},"parameters":{{"binary_data_size":{len(parts[-1])}}}}}')
        else:
            outputs.append(f'{head},"data":{data}}}')
    said = {"model_name": answer.model, "model_version": answer.digest[:VERSION]} | ({"id": known} if known else {})
    told = f'{{"digest":"{answer.digest}","decisions":[{answer.ids}],"rules":{dumped(rules)}}}'
    text = f'{dumped(said)[:-1]},"outputs":[{",".join(outputs)}],"parameters":{told}}}'.encode()
    if not parts:
        return Response(text, media_type="application/json")
    headers = {"Inference-Header-Content-Length": str(len(text))}
    return Response(b"".join([text, *parts]), media_type="application/octet-stream", headers=headers)
