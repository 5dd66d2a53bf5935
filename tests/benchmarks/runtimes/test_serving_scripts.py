"""Scoring in Node.js: the script and the module beside it decide as rulekit does, on files of every form of input."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rulekit
from benchmarks.proofs.runtimes.environments import PACKAGES, PLACES, ROOT
from rulekit.conformance.models import MODELS
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.reading import read_table
from rulekit.verification.rows import adversarial_rows
from samples.pages import prepare
from samples.serve.__main__ import RUNTIME, STATIC, main

LOANS = ROOT / "samples" / "exports" / "loans" / "model.json"

pytestmark = pytest.mark.skipif(bool(PLACES["node"].missing), reason=PLACES["node"].missing or "there")


def node(*words: str | Path, stdin: str = "", folder: Path = PACKAGES) -> subprocess.CompletedProcess[str]:
    command = ["node", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=folder, timeout=120, check=False)


def answers(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_script_scores_files_standard_input_and_a_row_as_json(tmp_path: Path) -> None:
    graph, model = rulekit.load(LOANS), LOANS.parent / "model.onnx"
    expected = [line["label"] for line in answers((LOANS.parent / "predictions.csv").read_text())]
    for form in ("columns", "codes"):
        rulekit.export(graph, tmp_path / "model.onnx", to="onnx", fired=True, input=form)
        ran = node("score.mjs", tmp_path / "model.onnx", ROOT / "samples" / "loans.csv")
        assert ran.stderr == ""
        assert [line["label"] for line in answers(ran.stdout)] == expected
        assert answers(ran.stdout)[1]["fired"] == "ra3b540"
    piped = node("score.mjs", model, stdin="purpose;income\ngambling;1\n;2\n")
    one = node("score.mjs", model, '{"income": 21000, "amount": 9000, "homeowner": true, "purpose": null}')
    assert [line["label"] for line in answers(piped.stdout)] == ["yes", "no"]
    assert json.loads(one.stdout)["label"] == "yes"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "usage: node score.mjs MODEL.onnx"),
        (("none.onnx", "{}"), "no such file"),
        (("score.mjs", "{}"), "this is no ONNX file"),
        ((str(LOANS.parent / "model.onnx"), '{"income": "much"}'), 'row 1, income: "much" is not a number'),
        ((str(LOANS.parent / "model.onnx"), '{"homeowner": "maybe"}'), 'row 1, homeowner: "maybe" is not true or'),
        ((str(LOANS.parent / "model.onnx"), '{"income": '), "JSON"),
    ],
)
def test_what_cannot_be_scored_is_said_in_one_line(words: tuple[str, ...], said: str) -> None:
    ran = node("score.mjs", *words)

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def as_csv(columns: dict[str, Any]) -> str:
    """Numbers as their shortest decimals, missing as empty cells; readers of CSV drop the blanks around a text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)

    def cell(value: Any) -> Any:
        if value is None or value != value:
            return ""
        return f"[{value}]" if isinstance(value, str) and value != value.strip() else value

    writer.writerows(zip(*([cell(v) for v in column.tolist()] for column in columns.values()), strict=True))
    return text.getvalue()


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("DNF", "columns"),
        ("look-alikes", "columns"),
        ("look-alikes", "codes"),
        ("extreme thresholds", "tensor"),
        ("hundreds of levels", "codes"),
        ("noisy truth values", "tensor"),
        ("boosted stumps", "tensor"),
        ("3 classes, numbers", "tensor"),
        ("below, missing true", "columns"),
    ],
)
def test_adversarial_rows_through_csv(name: str, form: str, tmp_path: Path) -> None:
    """Unseen and look-alike texts, a NUL within a text, doubles between two float32 values, infinities."""
    graph = MODELS[name]()
    rulekit.export(graph, tmp_path / "model.onnx", to="onnx", input=form)
    rows = adversarial_rows(graph, 1500, seed=3)
    (tmp_path / "rows.csv").write_text(as_csv(rows.columns), newline="")

    ran = node("score.mjs", tmp_path / "model.onnx", tmp_path / "rows.csv")

    assert ran.stderr == ""
    found = [line["label"] for line in answers(ran.stdout)]
    assert found == [text_of(label) for label in graph.predict(rows.table).tolist()]


def text_of(label: Any) -> str:
    if isinstance(label, bool):
        return str(label).lower()
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


@pytest.mark.parametrize("form", ["columns", "codes"])
def test_names_that_mean_something_to_javascript(form: str, tmp_path: Path) -> None:
    schema = Schema((Feature("constructor", "categorical", ("a", "__proto__")), Feature("toString")), target="y")
    formula = Or((Among("constructor", ("__proto__",)), Compare("toString", ">", 1.0)))
    graph = RuleGraph(schema, ("valueOf", "hasOwnProperty"), Fires(formula))
    rulekit.export(graph, tmp_path / "model.onnx", to="onnx", input=form, fired=True)
    texts = ["a", "__proto__", "constructor", "toString", "valueOf"]
    (tmp_path / "rows.csv").write_text("constructor\n" + "\n".join(texts) + "\n")

    ran = node("score.mjs", tmp_path / "model.onnx", tmp_path / "rows.csv")

    assert ran.stderr == ""
    no, yes = graph.classes
    assert [line["label"] for line in answers(ran.stdout)] == [no, yes, no, no, no]


def test_dates_are_read_as_rulekit_reads_them(tmp_path: Path) -> None:
    graph: RuleGraph = MODELS["dates and money"]()
    rulekit.export(graph, tmp_path / "model.onnx", to="onnx")
    lines = ["born,seen,paid,visits"]
    days = ["2018-12-31", "2019-01-01", "1999-12-31", "2000-01-01", ""]
    moments = ["2018-12-31T23:59:59", "2019-01-01T00:00:00", "2019-01-01 00:00:01", "2019-01-01T02:00:00+02:00",
               "2021-01-01T00:00:00Z", "2021-01-01T00:00:00.5", "2021-01-01T00:00:01", ""]  # fmt: skip
    lines += [f"{day},{moment},24850.26,4" for day in days for moment in moments]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")

    ran = node("score.mjs", tmp_path / "model.onnx", tmp_path / "rows.csv")

    table = read_table(tmp_path / "rows.csv", schema=graph.schema)
    expected = graph.predict(table).tolist()
    assert [line["label"] for line in answers(ran.stdout)] == expected
    assert len(set(expected)) == 2


def test_the_snippet_of_the_docs_prints_what_is_written_there(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "serving.md").read_text()
    snippet, printed = re.search(r"```js\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    prepare(tmp_path)
    shutil.copy(PACKAGES / "rulekit-model.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(PACKAGES / "node_modules")
    (tmp_path / "snippet.mjs").write_text(snippet)

    ran = node(tmp_path / "snippet.mjs", folder=tmp_path)

    assert ran.stdout == printed, ran.stderr


def test_the_page_is_a_folder_of_static_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a model that is not there is said in one line."""
    model = LOANS.parent / "model.onnx"

    status = main([str(model), str(ROOT / "samples" / "loans.csv"), "--folder", str(tmp_path), "--only-assemble"])

    assert status == 0
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")) == sorted(
        [*STATIC, "conditions.mjs", "model.onnx", "rows.csv", *(f"onnxruntime-web/{name}" for name in RUNTIME)]
    )
    assert (tmp_path / "model.onnx").read_bytes() == model.read_bytes()
    for name in ("none.json", "none.onnx"):
        assert main([str(tmp_path / name), "--folder", str(tmp_path / "page"), "--only-assemble"]) == 2
        assert name in capsys.readouterr().err


def test_a_damaged_file_is_an_error_and_no_endless_loop(tmp_path: Path) -> None:
    content = (LOANS.parent / "model.onnx").read_bytes()
    rng = np.random.default_rng(0)
    (tmp_path / "cut.onnx").write_bytes(content[: len(content) // 2])
    noise = bytes(rng.integers(0, 256, 2000, dtype=np.uint8))
    (tmp_path / "noise.onnx").write_bytes(noise)
    (tmp_path / "long.onnx").write_bytes(b"\xff" * 400)

    for name in ("cut", "noise", "long"):
        ran = node("score.mjs", tmp_path / f"{name}.onnx", "{}")
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
