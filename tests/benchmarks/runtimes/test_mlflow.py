"""MLflow itself logs, loads and scores an export for data frames, as docs/serving.md shows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import rulekit
from benchmarks.proofs.runtimes.environments import PLACES, ROOT
from rulekit.tables.reading import read_table
from rulekit.verification.parity import verify

LOANS = ROOT / "samples" / "exports" / "loans" / "model.json"
REST = """
frame = prepared(pandas.read_csv("loans.csv"))
scorer.predict(frame).to_csv("found.csv", index=False)
mlflow.onnx.save_model(model, "bare", save_as_external_data=False)
doubles = {name: frame[name].astype("float64") for name, (kind, _) in inputs.items() if kind == "float"}
without = mlflow.pyfunc.load_model("bare").predict(frame.assign(**doubles))
assert without.equals(scorer.predict(frame))
"""

pytestmark = pytest.mark.skipif(bool(PLACES["mlflow"].missing), reason=PLACES["mlflow"].missing or "there")


@pytest.mark.parametrize("form", ["columns", "codes"])
def test_mlflow_scores_a_frame_as_the_model_does(form: str, tmp_path: Path) -> None:
    """No form of export worked: inputs of rank 2, and a matrix of probabilities beside the labels."""
    graph = rulekit.load(LOANS)
    rulekit.export(graph, tmp_path / "frame.onnx", to="onnx", frame=True, input=form)
    (tmp_path / "loans.csv").write_bytes((ROOT / "samples" / "loans.csv").read_bytes())
    page = (ROOT / "docs" / "serving.md").read_text()
    code, printed = re.search(r"```mlflow\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()  # type: ignore[union-attr]
    if form == "codes":
        codes = {name: graph.schema[name].codes_of_texts for name in ("purpose", "employment")}
        begin = "def prepared(frame):\n"
        coded = f"    coded = {{n: frame[n].fillna('').map(c).fillna(1) for n, c in {codes}.items()}}\n"
        code = code.replace(begin, f"{begin}{coded}    frame = frame.assign(**coded)\n")
    settings = {"MLFLOW_ALLOW_FILE_STORE": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}
    ran = subprocess.run(
        [str(PLACES["mlflow"].python), "-W", "ignore", "-c", f'{code}\nprint("---")\n{REST}'],
        cwd=tmp_path,
        env={**os.environ, **settings, "MLFLOW_TRACKING_URI": (tmp_path / "runs").as_uri()},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.partition("---")[0] == printed
    found = (tmp_path / "found.csv").read_text().splitlines()
    expected = graph.predict(read_table(ROOT / "samples" / "loans.csv", schema=graph.schema)).tolist()
    assert [line.partition(",")[0] for line in found[1:]] == expected
    report = verify(graph, tmp_path / "bare" / "model.onnx", rows=200)
    assert (report.ok, report.proof) == (True, "proved")
