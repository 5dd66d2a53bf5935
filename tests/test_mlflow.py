"""Inside MLflow: what is stored is the model's own file, and what is loaded decides as the model."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rulekit
from rulekit.errors import FormatError, InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.work.scoring import score

ROOT = Path(__file__).parents[1]
LOANS = ROOT / "samples" / "exports" / "loans" / "model.json"
TABLE = ROOT / "samples" / "loans.csv"
MAILS = 'rulekit rules 1\ncolumn m: text\nlabel y: {0, 1}\ndefault 0\ndecide 1 when m contains "prize"\n'

pandas = pytest.importorskip("pandas", reason="pandas is not installed")


def test_the_module_is_light_without_mlflow():
    """What imports it without MLflow gets no error before a function is called."""
    code = "import sys, rulekit.mlflow; sys.exit('mlflow' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    for name, value in {
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "DO_NOT_TRACK": "true",
        "GIT_PYTHON_REFRESH": "quiet",
    }.items():
        monkeypatch.setenv(name, value)
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install rulekit-portable[mlflow]")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    return mlflow


@pytest.fixture
def flavor():
    import rulekit.mlflow as flavor

    return flavor


def test_a_logged_model_scores_a_frame_as_predict_does(mlflow, flavor, tmp_path):
    graph = rulekit.load(LOANS)
    with mlflow.start_run():
        logged = flavor.log_model(graph, name="loans", metadata={"of": "tests"})
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=logged.model_uri))
    stored = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert [name for name in stored if not name.startswith("registered_model_meta")] == ["MLmodel", "model.json"]
    assert flavor.load_model(logged.model_uri) == graph
    frame = pandas.read_csv(TABLE, keep_default_na=False, na_values=[""]).set_index("age", drop=False)
    found = mlflow.pyfunc.load_model(logged.model_uri).predict(frame)
    assert found.index.equals(frame.index)
    expected = score(LOANS, TABLE, explain=True).columns
    assert list(found) == ["label", "probability(no)", "probability(yes)", "rules"]
    assert found["label"].tolist() == list(expected["label"])
    assert np.abs(found["probability(yes)"] - expected["probability(yes)"]).max() < 1e-6
    rules = [set(ids.split()) if isinstance(ids, str) else set() for ids in found["rules"]]
    assert rules == [set((ids or "").split()) for ids in expected["rules"]]
    assert sum(map(bool, rules)) > 100


def test_texts_classes_and_missing_cells(mlflow, flavor, tmp_path):
    graph = parse_graph(MAILS)
    flavor.save_model(graph, tmp_path / "mails")
    scorer = mlflow.pyfunc.load_model(str(tmp_path / "mails"))
    found = scorer.predict(pandas.DataFrame({"m": ["a prize", None, "hello"], "more": [1, 2, 3]}))
    assert found["label"].tolist() == [1, 0, 0]
    assert found["rules"].isna().tolist() == [False, True, True]
    with pytest.raises(InputError, match="no column 'm'"):
        scorer.predict(pandas.DataFrame({"n": ["a prize"]}))


def test_a_fitted_learner_is_saved_and_anything_else_refused(mlflow, flavor, tmp_path):
    rows = {"a": [0, 1] * 40, "b": [1, 2, 3, 4] * 20}
    learner = rulekit.RulesClassifier(stopping="none").fit(rows, ["no", "yes"] * 40)
    flavor.save_model(learner, tmp_path / "fitted")
    assert flavor.load_model(str(tmp_path / "fitted")) == learner.rule_graph_
    with pytest.raises(InputError, match="dict is no rule model"):
        flavor.save_model({}, tmp_path / "other")
    with pytest.raises(InputError, match="the folder is not empty"):
        flavor.save_model(learner, tmp_path / "fitted")


def test_a_signature_holds_frames_to_their_columns(mlflow, flavor, tmp_path):
    schema = mlflow.types.Schema([mlflow.types.ColSpec("string", "m")])
    flavor.save_model(parse_graph(MAILS), tmp_path / "m", signature=mlflow.models.ModelSignature(schema))
    scorer = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert scorer.predict(pandas.DataFrame({"m": ["prize"]}, dtype=object))["label"].tolist() == [1]
    with pytest.raises(mlflow.exceptions.MlflowException):
        scorer.predict(pandas.DataFrame({"n": ["prize"]}))


def test_the_page_shows_it(mlflow, tmp_path):
    page = (ROOT / "docs" / "serving.md").read_text()
    code, printed = re.search(r"```mlflow-flavor\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    shutil.copy(LOANS, "model.json")
    shutil.copy(TABLE, "loans.csv")
    environment = {**os.environ, "MLFLOW_TRACKING_URI": (tmp_path / "runs").as_uri()}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == printed


def test_a_changed_model_file_is_refused(mlflow, flavor, tmp_path):
    flavor.save_model(parse_graph(MAILS), tmp_path / "m")
    parse_graph(MAILS.replace("prize", "money")).save(tmp_path / "m" / "model.json")
    with pytest.raises(FormatError, match="the model file is another one than MLmodel names"):
        mlflow.pyfunc.load_model(str(tmp_path / "m"))
    (tmp_path / "m" / "MLmodel").write_text(json.dumps({"flavors": {"sklearn": {}}}))
    with pytest.raises(FormatError, match="this is no model of rulekit; it has sklearn"):
        flavor.load_model(str(tmp_path / "m"))
