"""The command that serves the sample page, with stand-ins for the packages of npm."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rulekit.conformance.models import NODES
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.files.fields import write_schema
from rulekit.graph.language.parsing import parse_condition
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
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


SCHEMA = Schema(
    (
        Feature("income"),
        Feature("debt ratio", precision="float64"),
        Feature("since", display="date"),
        Feature("owner", "boolean"),
        Feature("purpose", "categorical", ("car", "a, b", "home")),
    )
)
CONDITIONS = (
    "income <= 24900.1",
    "(income > 3 or missing)",
    "2 < income <= 24900.1",
    '"debt ratio" > 0.1',
    "since <= 2020-03-05",
    "owner",
    "not owner",
    "(not owner or missing)",
    "income is missing",
    'purpose in {car, "a, b"}',
    "purpose not in {car}",
    '(purpose in {"a, b"} or missing or unseen)',
)
ROWS = (
    {"income": "24900.1", "debt ratio": "0.1", "since": "2020-03-05", "owner": "true", "purpose": "car"},
    {"income": "24900.101", "debt ratio": "0.1000001", "since": "2020-03-06", "owner": "false", "purpose": "a, b"},
    {"income": "2", "debt ratio": "", "since": "", "owner": "", "purpose": ""},
    {"income": "", "debt ratio": "7", "since": "1999-01-01", "owner": "1", "purpose": "boat"},
)
SCRIPT = """
import { unmet } from "./rule-conditions.mjs";
const [model, conditions, rows] = JSON.parse(process.argv[1]);
const rule = { text: conditions.join(" and ") };
const listed = { text: ["all of (", ...conditions.map((text) => `  ${text},`), ")"].join(String.fromCharCode(10)) };
console.log(JSON.stringify(rows.map((row) => [unmet(rule, model, row), unmet(listed, model, row)])));
console.error(JSON.stringify(unmet({ text: "at least 2 of (owner, income > 3, since > 4)" }, model, rows[0])));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js here")
def test_the_page_names_the_conditions_that_a_row_does_not_meet() -> None:
    """It said `not met` beside a rule of several conditions, and not which of them."""
    model = {"features": write_schema(SCHEMA)["features"]}
    asked = json.dumps([model, CONDITIONS, ROWS])
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, asked],
        cwd=serve.HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    nodes = [parse_condition(text, SCHEMA) for text in CONDITIONS]
    truth = evaluate_nodes(nodes, encode(list(ROWS), SCHEMA))
    expected = [
        [text for text, node in zip(CONDITIONS, nodes, strict=True) if not truth[node][i]] for i in range(len(ROWS))
    ]
    assert json.loads(ran.stdout) == [[failing, failing] for failing in expected]
    assert json.loads(ran.stderr) is None
