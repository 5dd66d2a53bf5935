"""The command that serves the sample page, with stand-ins for the packages of npm."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import pytest

from rulekit.conformance.models import NODES
from samples.serve import __main__ as serve


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two model files; the page's packages are empty files."""
    here = tmp_path / "serve"
    packages = here / "node_modules" / "onnxruntime-web" / "dist"
    packages.mkdir(parents=True)
    for name in serve.STATIC:
        shutil.copyfile(serve.HERE / name, here / name)
    for name in serve.RUNTIME:
        (packages / name).touch()
    monkeypatch.setattr(serve, "HERE", here)
    for name in ("threshold", "noisy-or"):
        NODES[name]().save(tmp_path / f"{name}.json")
    return tmp_path / "threshold.json", tmp_path / "noisy-or.json"


def test_a_second_server_leaves_what_the_first_serves(
    models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both once served build/serve: the page of the first scored with the model of the second."""
    served: list[tuple[Path, bytes]] = []

    def until_stopped(server: serve.ThreadingHTTPServer) -> None:
        handler = server.RequestHandlerClass
        assert isinstance(handler, functools.partial)
        model = Path(handler.keywords["directory"], "model.onnx")
        served.append((model, model.read_bytes()))
        if len(served) == 1:
            assert serve.main([str(models[1]), "--port", "0"]) == 0
            assert model.read_bytes() == served[0][1] != served[1][1]

    monkeypatch.setattr(serve.ThreadingHTTPServer, "serve_forever", until_stopped)
    assert serve.main([str(models[0]), "--port", "0"]) == 0
    assert len(served) == 2
    assert not any(model.parent.exists() for model, _ in served)


def test_a_folder_that_is_named_stays(models: tuple[Path, Path], tmp_path: Path) -> None:
    assert serve.main([str(models[0]), "--only-assemble", "--folder", str(tmp_path / "page")]) == 0
    assert {path.name for path in (tmp_path / "page").iterdir()} == {*serve.STATIC, "onnxruntime-web", "model.onnx"}
