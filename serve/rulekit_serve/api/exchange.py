"""Models on their way to another service and back: a version with its files, history and proofs in one zip."""

from __future__ import annotations

import asyncio
import hashlib
import io
import zipfile
import zlib

from fastapi import APIRouter, Request, Response

from rulekit.graph.rule_graph import RuleGraph
from rulekit_serve.api.models import artifact, facts
from rulekit_serve.api.protocol import json_response
from rulekit_serve.bodies import body_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import CHAMPION, VERSION, read_model
from rulekit_serve.store import history
from rulekit_serve.words import dumped

_MODEL, _HISTORY, _PROOFS = "model.json", "history.json", "proofs.json"
_NAMES = (_MODEL, "model.rules", "model.onnx", _HISTORY, _PROOFS)
_WHEN = (1980, 1, 1, 0, 0, 0)


def routes(service: Service) -> APIRouter:
    """GET /models/M/export and POST /import."""
    api = APIRouter(tags=["Models"])

    @api.get("/models/{name}/export")
    def sent(request: Request, name: str, version: str = CHAMPION) -> Response:
        service.access.require(request, "audit")
        digest = service.registry.digest(name, version)
        told = {"Content-Disposition": f'attachment; filename="{name}-{digest[:VERSION]}.zip"'}
        return Response(_packed(service, name, digest), media_type="application/zip", headers=told)

    @api.post("/import")
    async def came(request: Request, model: str) -> Response:
        caller = service.access.require(request, "train")
        data = await body_of(request, service.settings)

        def work() -> str:
            zipped = data[:4] == b"PK\x03\x04"
            graph, past = _unpacked(data, service.settings.body) if zipped else (read_model(data, ".json"), b"")
            said = {"history": hashlib.sha256(past).hexdigest()} if past else {}
            return service.registry.add(model, graph, caller.name, "imported", **said)

        digest = await asyncio.to_thread(work)
        return json_response({"model": model, "version": digest[:VERSION], "digest": digest}, 201)

    return api


def _packed(service: Service, name: str, digest: str) -> bytes:
    """The zip of a version: the same bytes for the same model, history and proofs."""
    files = {
        _HISTORY: dumped(history.of_model(service.database, name)).encode(),
        _PROOFS: dumped(facts(service, name, digest)["proofs"]).encode(),
    }
    for ending in ("json", "rules", "onnx"):
        try:
            files[f"model.{ending}"] = artifact(service, name, digest, ending)
        except Refusal:  # ONNX cannot express every model
            continue
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(each, _WHEN), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _unpacked(data: bytes, most: int) -> tuple[RuleGraph, bytes]:
    """The model of such a zip, and the bytes of its history; raises Refusal for any other."""
    wrong = Refusal(422, "this is no export of a model", fix="send a zip that /models/M/export gave, or a model file")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = archive.infolist()
            names = [each.filename for each in found]
            if len({*names}) != len(names) or not {_MODEL} <= {*names} <= {*_NAMES}:
                raise wrong
            if sum(each.file_size for each in found) > most:
                raise Refusal(413, f"the files are more than {most:,} bytes")
            # never more than `most` at once: what a file says of its size may be less than it holds
            model, past = (archive.open(each).read(most) if each in names else b"" for each in (_MODEL, _HISTORY))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError):
        raise wrong from None
    return read_model(model, ".json"), past
