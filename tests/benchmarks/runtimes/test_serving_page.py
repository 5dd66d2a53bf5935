"""The sample page in headless Chromium: it scores the sample rows and what is typed as rulekit does."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rulekit
from benchmarks.proofs.runtimes.browser import chromium, serving
from benchmarks.proofs.runtimes.environments import PLACES, ROOT
from rulekit.graph.language.parsing import parse_condition
from rulekit.graph.rules import fired, rules_of
from rulekit.tables.reading import read_table
from samples.pages import fences
from samples.serve.__main__ import assemble

LIMIT = 90.0
PAGES = Path(__file__).parent / "pages"
EXPORTS = ROOT / "samples" / "exports"

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(bool(PLACES["browser"].missing), reason=PLACES["browser"].missing or "there"),
]


def visited(folder: Path, page: str, typed: list[dict[str, str]], rows: bool = True) -> dict[str, Any]:
    """What a visitor of the page sees, who types the given values one after the other."""
    plan = folder.parent / "plan"
    plan.mkdir()
    (plan / "plan.json").write_text(json.dumps({"page": page, "typed": typed, "rows": rows}))
    answer = posted({"/page": folder, "/plan": plan, "/check": PAGES}, "/check/check.html", folder)
    found: dict[str, Any] = json.loads(answer)
    return found


def posted(served: dict[str, Path], page: str, folder: Path) -> bytes:
    """What a page posts to /done."""
    with serving(served, folder) as server, chromium(f"{server.address}{page}"):
        begun = time.monotonic()
        while not server.done.wait(0.1):
            assert time.monotonic() - begun < LIMIT, "the page posted nothing"
        return server.posted["/done"]


def test_the_page_scores_the_sample_rows_and_what_is_typed(tmp_path: Path) -> None:
    assemble(tmp_path / "page")
    graph = rulekit.load(EXPORTS / "loans" / "model.json")
    table = read_table(ROOT / "samples" / "loans.csv", schema=graph.schema)
    typed = [
        {"income": "24900", "amount": "7900"},
        {"amount": "7900.001"},
        {"income": "24900.01"},
        {"late_payments": "3", "homeowner": "false"},
        {"homeowner": ""},
        {"homeowner": "true", "purpose": "gambling"},
        {"purpose": "another", "income": "many"},
        {"income": ""},
    ]

    found = visited(tmp_path / "page", "/page/index.html?row=2", typed)

    assert (found["state"], found["said"]) == ("ready", "")
    rules = np.array([rule.id for rule in rules_of(graph)])
    expected_fired = [rules[row].tolist() for row in fired(graph, table)]
    lines = list(csv.DictReader(io.StringIO(found["predictions"])))
    assert [line["label"] for line in lines] == graph.predict(table).tolist()
    assert [line["fired"].split() for line in lines] == expected_fired
    shares = np.array([[float(line[f"probability({name})"]) for name in graph.classes] for line in lines])
    assert np.abs(shares - graph.predict_proba(table)).max() <= 1e-6
    assert found["shown"] == 12
    assert found["first"] == {"label": "yes", "fired": ["ra3b540"], "wrong": []}

    with (ROOT / "samples" / "loans.csv").open() as lines_of_rows:
        row = list(islice(csv.DictReader(lines_of_rows), 2))[1]
    for values, seen in zip(typed, found["typed"], strict=True):
        row |= values
        if row["income"] == "many":  # what stood there before stays on the page
            assert seen["wrong"] == ['"many" is not a number']
            continue
        cells = {name: [None if row[name] == "" else row[name]] for name in graph.schema.names}
        cells = {
            n: [c[0] if graph.schema[n].kind != "numeric" or c[0] is None else float(c[0])] for n, c in cells.items()
        }
        one = graph.table(cells)
        expected = {"label": graph.predict(one)[0], "fired": rules[fired(graph, one)[0]].tolist(), "wrong": []}
        assert seen == expected, row


def test_the_form_has_a_labelled_field_for_each_column_that_is_used(tmp_path: Path) -> None:
    assemble(tmp_path / "page")

    found = visited(tmp_path / "page", "/page/index.html", [])

    graph = rulekit.load(EXPORTS / "loans" / "model.json")
    offered = {"numeric": [], "boolean": ["", "true", "false"]}
    columns = [graph.schema[name] for name in graph.used_features]
    assert {field["name"]: field["options"] for field in found["fields"]} == {
        column.name: offered.get(column.kind, ["", *column.levels, "another"]) for column in columns
    }
    assert all(field["label"] == field["name"] for field in found["fields"])
    assert [parse_condition(text, graph.schema) for text in found["rules"]] == [rule.node for rule in rules_of(graph)]


def test_another_model_with_a_tensor_input(tmp_path: Path) -> None:
    assemble(tmp_path / "page", EXPORTS / "breast_cancer" / "model.json", ROOT / "samples" / "breast_cancer.csv")
    graph = rulekit.load(EXPORTS / "breast_cancer" / "model.json")
    table = read_table(ROOT / "samples" / "breast_cancer.csv", schema=graph.schema)

    found = visited(tmp_path / "page", "/page/index.html", [{graph.used_features[0]: "107.2"}])

    lines = list(csv.DictReader(io.StringIO(found["predictions"])))
    assert [line["label"] for line in lines] == graph.predict(table).tolist()
    assert found["title"] == "diagnosis: benign or malignant"
    assert [parse_condition(text, graph.schema) for text in found["rules"]] == [rule.node for rule in rules_of(graph)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no model", "this is no ONNX file"),
        (b"", "this ONNX file carries no rulekit model"),
        (None, "model.onnx is not there (404)"),
    ],
)
def test_a_file_that_is_no_model_is_said_in_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    assemble(tmp_path / "page")
    (tmp_path / "page" / "model.onnx").unlink()
    if content is not None:
        (tmp_path / "page" / "model.onnx").write_bytes(content)

    found = visited(tmp_path / "page", "/page/index.html", [])

    assert (found["state"], found["said"]) == ("wrong", said)


def test_the_page_of_the_docs_shows_what_is_written_there(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "serving.md").read_text()
    page, printed = re.search(r"```html\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    assert [fence.kind for fence in fences(text)].count("html") == 1
    watch = (
        "<script>new MutationObserver(() => fetch('/done', {method: 'POST', "
        "body: document.getElementById('answer').textContent}))"
        ".observe(document.getElementById('answer'), {childList: true});</script>"
    )
    assemble(tmp_path / "page")
    (tmp_path / "page" / "index.html").write_text(page + watch)

    found = posted({"/page": tmp_path / "page"}, "/page/index.html", tmp_path)

    assert found.decode() == printed.strip()
