"""Models that go out and come in: what an export holds, and what of a zip is taken."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from serving import OTHER, ROW, Running, loans, running

from rulekit.graph.files.writing import to_json
from rulekit.mlflow import save_model


def _imported(served: Running, data: bytes) -> Any:
    return served.client.post("/import?model=copy", content=data, headers=served.as_["train"])


def test_an_export_can_be_imported(served: Running) -> None:
    data = served.client.get("/models/loans/export", headers=served.as_["audit"]).content
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["history.json", "model.json", "model.onnx", "model.rules", "proofs.json"]
        past = archive.read("history.json")
    assert [event["kind"] for event in json.loads(past)] == ["alias", "added"]
    answer = _imported(served, data)
    digest = served.service.registry.digest("loans")
    assert (answer.status_code, answer.json()["digest"]) == (201, digest)
    (event,) = served.client.get("/models/copy/history", headers=served.as_["audit"]).json()["events"]
    assert event["body"] == {"digest": digest, "how": "imported", "history": hashlib.sha256(past).hexdigest()}


def test_a_folder_of_mlflow_goes_out_and_comes_in(
    served: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the service writes without MLflow is what MLflow loads, and what MLflow writes is what the service takes."""
    sent = served.client.get("/models/loans/export?form=mlflow", headers=served.as_["audit"])
    assert served.client.get("/models/loans/export?form=x", headers=served.as_["audit"]).status_code == 422
    with zipfile.ZipFile(io.BytesIO(sent.content)) as archive:
        assert archive.namelist() == ["MLmodel", "model.json"]
        archive.extractall(tmp_path / "out")
    assert _imported(served, sent.content).json()["digest"] == served.service.registry.digest("loans")
    monkeypatch.setenv("DO_NOT_TRACK", "true")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install rulekit-portable[mlflow]")
    frame = pytest.importorskip("pandas").DataFrame(
        [{**ROW, "age": 25.0, "amount": amount} for amount in (1500.0, 1.0)]
    )
    assert mlflow.pyfunc.load_model(str(tmp_path / "out")).predict(frame)["label"].tolist() == ["yes", "no"]
    signature = mlflow.models.infer_signature(frame)
    save_model(loans(OTHER), tmp_path / "in", signature=signature, metadata={"rulekit": {"data": "model.json"}})
    files = {path.name: path.read_bytes() for path in (tmp_path / "in").iterdir()}
    own = files["MLmodel"]
    for top, mlmodel in (("", own), ("loans/", own), ("a b/", own.replace(b"\n", b"\r\n"))):
        zipped = _zip((f"{top}MLmodel", mlmodel), (f"{top}model.json", files["model.json"]), (f"{top}conda.yaml", b"{"))
        assert _imported(served, zipped).json()["digest"] == loans(OTHER).digest
    with zipfile.ZipFile(tmp_path / "folders.zip", "w") as archive:
        archive.mkdir("loans")
        for name, content in files.items():
            archive.writestr(f"loans/{name}", content)
    assert _imported(served, (tmp_path / "folders.zip").read_bytes()).status_code == 201
    model, good = files["model.json"], {"MLmodel": own, "model.json": files["model.json"]}
    for wrong in (
        good | {"model.json": to_json(loans()).encode()},
        good | {"MLmodel": own.replace(b"  data: model.json", b"  data: /etc/passwd")},
        good | {"MLmodel": b"flavors: !!python/object/apply:os.system [id]"},
        good | {"MLmodel": own + own},
        good | {"python_model.pkl": b""},
        {"MLmodel": own},
        {"MLmodel": own, "data/model.json": model},
        {"a/MLmodel": own, "b/model.json": model},
        *({f"{top}/MLmodel": own, f"{top}/model.json": model} for top in ("a/b", "..", "/", "")),
    ):
        answer = _imported(served, _zip(*wrong.items()))
        assert (answer.status_code, {*answer.json()}) == (422, {"error", "fix"}), [*wrong]


def _zip(*files: tuple[str, bytes], packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packed) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_zip_that_is_no_export_is_refused(tmp_path: Path) -> None:
    for served in running(tmp_path, body=1 << 20):
        model = served.service.registry.content("loans", served.service.registry.digest("loans"))
        whole = _zip(("model.json", model))
        assert _imported(served, whole).status_code == 201
        lying = whole.replace(len(model).to_bytes(4, "little"), (len(model) - 9).to_bytes(4, "little"))
        crushed = _zip(("model.json", model), packed=zipfile.ZIP_LZMA)
        for wrong in (
            crushed,
            crushed[:40] + b"\xff\xff\xff\xff" + crushed[44:],
            _zip(("../model.json", model)),
            _zip(("model.json", model), ("/etc/passwd", b"")),
            _zip(("history.json", b"")),
            _zip(("model.json", b"0" * (2 << 20))),
            _zip(("model.json", b"{}")),
            lying,
            whole[:-30],
            b"PK\x03\x04",
            b"\xff",
            b"",
        ):
            assert _imported(served, wrong).status_code in (413, 422), wrong[:60]
        assert served.service.registry.versions("copy") == (served.service.registry.digest("loans"),)
