"""Models on their way to another service and back: a zip of a version with history and proofs, or MLflow's folder."""

from __future__ import annotations

import asyncio
import hashlib
import io
import platform
import re
import zipfile
import zlib
from typing import Literal

from fastapi import APIRouter, Request, Response

from rulekit.graph.rule_graph import RuleGraph
from rulekit.mlflow import FLAVOR, MODEL, save_model
from rulekit.version import __version__
from rulekit_serve.api.models import artifact, facts
from rulekit_serve.api.protocol import json_response
from rulekit_serve.bodies import body_of
from rulekit_serve.deciding import Service
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import CHAMPION, VERSION, read_model
from rulekit_serve.store import history
from rulekit_serve.words import dumped

_HISTORY, _PROOFS, _MLMODEL = "history.json", "proofs.json", "MLmodel"
_NAMES = (MODEL, "model.rules", "model.onnx", _HISTORY, _PROOFS)
_BESIDE = ("registered_model_meta", "requirements.txt", "conda.yaml", "python_env.yaml", "input_example.json")
_OF_MLFLOW = (MODEL, _MLMODEL, *_BESIDE, "serving_input_example.json")
# as MLflow writes it, with sorted keys: no reader of YAML is needed
_NAMED = re.compile(rf"^  {FLAVOR}:\s+data: '?{re.escape(MODEL)}'?\s+digest: '?([0-9a-f]{{64}})'?\s*$".encode(), re.M)
_READ = (MODEL, _MLMODEL, _HISTORY)
_TOP = re.compile(r"([^/.][^/]*/)?")
_WHEN = (1980, 1, 1, 0, 0, 0)


def routes(service: Service) -> APIRouter:
    """GET /models/M/export and POST /import."""
    api = APIRouter(tags=["Models"])

    @api.get("/models/{name}/export")
    def sent(
        request: Request, name: str, version: str = CHAMPION, form: Literal["rulekit", "mlflow"] = "rulekit"
    ) -> Response:
        service.access.require(request, "audit")
        digest = service.registry.digest(name, version)
        files = _folder(service, name, digest) if form == "mlflow" else _files(service, name, digest)
        told = {"Content-Disposition": f'attachment; filename="{name}-{digest[:VERSION]}.zip"'}
        return Response(_packed(files), media_type="application/zip", headers=told)

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


def _files(service: Service, name: str, digest: str) -> dict[str, bytes]:
    """A version as its model file and what it can be exported to, with its history and proofs."""
    files = {
        _HISTORY: dumped(history.of_model(service.database, name)).encode(),
        _PROOFS: dumped(facts(service, name, digest)["proofs"]).encode(),
    }
    for ending in ("json", "rules", "onnx"):
        try:
            files[f"model.{ending}"] = artifact(service, name, digest, ending)
        except Refusal:  # ONNX cannot express every model
            continue
    return files


def _folder(service: Service, name: str, digest: str) -> dict[str, bytes]:
    """The folder of a version that `rulekit.mlflow.save_model` writes, without MLflow."""
    text = f"""flavors:
  python_function:
    data: {MODEL}
    loader_module: {save_model.__module__}
    python_version: '{platform.python_version()}'
  {FLAVOR}:
    data: {MODEL}
    digest: '{digest}'
    rulekit_version: '{__version__}'
"""
    return {_MLMODEL: text.encode(), MODEL: service.registry.content(name, digest)}


def _packed(files: dict[str, bytes]) -> bytes:
    """A zip: the same bytes for the same files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(each, _WHEN), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _unpacked(data: bytes, most: int) -> tuple[RuleGraph, bytes]:
    """The model of such a zip, and the bytes of its history; raises Refusal for any other."""
    fix = "send a zip that /models/M/export gave, one of a folder of rulekit.mlflow, or a model file"
    wrong = Refusal(422, "this is no export of a model", fix=fix)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [each for each in archive.infolist() if not each.is_dir()]
            names = {each.filename.rpartition("/")[2]: each for each in found}
            (top,) = {each.filename[: each.filename.rfind("/") + 1] for each in found}
            known = _OF_MLFLOW if _MLMODEL in names else _NAMES
            packed = {each.compress_type for each in found} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
            once = _TOP.fullmatch(top) and len(names) == len(found)
            if not (packed and once and {MODEL} <= {*names} <= {*known}):
                raise wrong
            if sum(each.file_size for each in found) > most:
                raise Refusal(413, f"the files are more than {most:,} bytes")
            # never more than `most` at once: what a file says of its size may be less than it holds
            read = {name: archive.open(each).read(most) for name, each in names.items() if name in _READ}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError):
        raise wrong from None
    graph = read_model(read[MODEL], ".json")
    if _MLMODEL in read and _NAMED.findall(read[_MLMODEL]) != [graph.digest.encode()]:
        raise Refusal(422, "MLmodel does not name this model file", fix="save the model again with rulekit.mlflow")
    return graph, read.get(_HISTORY, b"")
