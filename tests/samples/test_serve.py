"""The command that serves the sample page, with stand-ins for the packages of npm."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rulekit.conformance.models import NODES
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.parsing import parse_condition
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import conjuncts, rules_of
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
    files = {*serve.STATIC, "onnxruntime-web", "model.onnx", "conditions.mjs"}
    assert {path.name for path in (tmp_path / "page").iterdir()} == files
    # A model without rules that hold or not has no list of conditions.
    assert "export const MODEL" in serve.conditions_module(NODES["noisy-or"]())


SCHEMA = Schema(
    (
        Feature("income"),
        Feature("debt ratio", precision="float64"),
        Feature("since", display="date"),
        Feature("owner", "boolean"),
        Feature("purpose", "categorical", ("car", "a, b", "home")),
    )
)
RULES = (
    "income <= 24900.1 and 2 < income <= 30000.5 and (income > 3 or missing)",
    '"debt ratio" > 0.1 and since <= 2020-03-05',
    "not owner and (not owner or missing)",
    "income is missing",
    """purpose in {car, "a, b"} and purpose not in {car} and (purpose in {"a, b"} or missing or unseen)""",
    "at least 2 of (owner, income > 3, since > 2010-01-01)",
)
ROWS = (
    {"income": "24900.1", "debt ratio": "0.1", "since": "2020-03-05", "owner": "true", "purpose": "car"},
    {"income": "24900.101", "debt ratio": "0.1000001", "since": "2020-03-06", "owner": "false", "purpose": "a, b"},
    {"income": "2", "debt ratio": "", "since": "", "owner": "", "purpose": ""},
    {"income": "", "debt ratio": "7", "since": "1999-01-01", "owner": "1", "purpose": "boat"},
)
SCRIPT = """
import { CONDITIONS, MODEL, score } from "./conditions.mjs";
const failing = (row) => (([, place]) => !score(row).holds[place]);
const unmet = (row) => Object.values(CONDITIONS).map((listed) => listed.filter(failing(row)).map(([text]) => text));
console.log(JSON.stringify([MODEL, JSON.parse(process.argv[1]).map(unmet)]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js here")
def test_the_page_names_the_conditions_that_a_row_does_not_meet(tmp_path: Path) -> None:
    """It said `not met` beside a rule of several conditions, and not which of them."""
    graph = RuleGraph(
        SCHEMA, ("no", "yes"), Fires(Or(tuple(parse_condition(text, SCHEMA) for text in RULES))), provenance={}
    )
    (tmp_path / "conditions.mjs").write_text(serve.conditions_module(graph))
    command = ["node", "--input-type=module", "-e", SCRIPT, json.dumps(ROWS)]
    digest, found = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)
    assert digest == graph.digest
    rules = [conjuncts(rule.node) for rule in rules_of(graph)]
    truth = evaluate_nodes([node for nodes in rules for node in nodes], encode(list(ROWS), SCHEMA))
    assert found == [
        [[print_node(node, SCHEMA) for node in nodes if not truth[node][i]] for nodes in rules]
        for i in range(len(ROWS))
    ]
