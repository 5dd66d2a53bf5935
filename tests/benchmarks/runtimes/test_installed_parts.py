"""The wheel with a part of what rulekit depends on, with the oldest versions, and on other interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rulekit
from benchmarks.proofs.runtimes.environments import PARTS, PLACES, ROOT

LOANS = ROOT / "samples" / "loans.csv"
SCORE = """
import rulekit
graph = rulekit.load("model.json")
row = {"income": 20000, "amount": 9000, "late_payments": 0, "age": 41, "homeowner": True, "purpose": "car"}
print(graph.predict([{**row, "employment": ""}])[0], rulekit.explain(graph, [{**row, "employment": ""}])[0]["label"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model that this environment learns of the sample loans."""
    folder = tmp_path_factory.mktemp("trained")
    subprocess.run(_train(Path(sys.executable).with_name("rulekit")), cwd=folder, check=True, capture_output=True)
    return folder


def _train(command: Path) -> list[str]:
    options = ["--target", "default", "--no-simplify", "--no-baselines", "-q", "-o", "model.json"]
    return [str(command), "train", str(LOANS), *options]


@pytest.mark.parametrize(
    "name",
    # one that is not there asks for no wheel either
    [
        pytest.param(name, marks=pytest.mark.skipif(bool(PLACES[name].missing), reason=str(PLACES[name].missing)))
        for name in PARTS
    ],
)
def test_a_part_of_the_packages_is_enough(name: str, wheel: Path, trained: Path, tmp_path: Path) -> None:
    """A model has the same digest everywhere, and what is not installed is named in one line."""
    place = PLACES[name]
    pip = [sys.executable, "-m", "pip", "--python", str(place.python), "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--force-reinstall", str(wheel)], check=True, capture_output=True)
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*words: str, status: int = 0) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=plain, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    (tmp_path / "model.json").write_bytes((trained / "model.json").read_bytes())
    assert run(str(place.python), "-c", SCORE) == "yes yes\n"
    if name == "scoring":
        return
    command = place.python.with_name("rulekit")
    run(*_train(command))
    assert rulekit.load(tmp_path / "model.json").digest == rulekit.load(trained / "model.json").digest
    for target, ending in (("python", "py"), ("sql", "sql"), ("text", "txt")):
        run(str(command), "export", "model.json", "--to", target, "-o", f"model.{ending}")
        assert "proved" in run(str(command), "verify", "model.json", f"model.{ending}", "--rows", "200")
    for words in (("show", "model.json"), ("check", "model.json"), ("report", "model.json", "-o", "r.html")):
        run(str(command), *words)
    as_onnx = (str(command), "export", "model.json", "--to", "onnx", "-o", "model.onnx")
    if name == "training":
        assert "this needs the package onnx, which is not installed; pip install onnx" in run(*as_onnx, status=2)
    else:
        run(*as_onnx)
        assert "proved" in run(str(command), "verify", "model.json", "model.onnx", "--rows", "200")
