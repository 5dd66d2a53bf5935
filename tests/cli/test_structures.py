"""Structures through the commands: JSON lines in, sentences out, and what the zero-one law says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done
from small_structures import grounded, model_of

from rulekit.graph.language.sentences import sentence
from samples.make import write_networks

CHAIN = "exists x, y: exposed(x) and reaches(x, y) and unpatched(y)"


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.json"
    model_of(grounded(sentence("exists x: P0(x) and R0(x, a)"))).save(path)
    return str(path)


def test_a_sentence_stands_beside_the_id_of_its_rule(run: Run, model: str, tmp_path: Path) -> None:
    shown = run("show", model)
    assert "exists x: P0(x) and R0(x, a)" in shown.out
    assert '"R0(b, a)"' not in shown.out
    assert "tends to 1 as objects are added" in " ".join(shown.err.split())
    assert '"R0(b, a)"' in run("show", model, "--all").out
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"P0": ["b"], "R0": [["b", "a"], ["a", "c"]]}\n{"P0": []}\n')
    explained = run("explain", model, str(rows))
    assert "exists x: P0(x) and R0(x, a), since P0(b) is true" in " ".join(explained.out.split())
    assert [line.split(",")[0] for line in run("predict", model, str(rows)).out.split()] == ["label", "yes", "no"]
    run("report", model, "--output", str(tmp_path / "report.html"))
    assert "exists x: P0(x) and R0(x, a)" in (tmp_path / "report.html").read_text("utf-8")


def test_check_says_where_a_sentence_tends(run: Run, model: str) -> None:
    ran = run("check", model, "--json")
    found = [each for each in json.loads(ran.out)["findings"] if each["kind"] == "size"]
    assert len(found) == 1
    assert (
        "tends to 1 as objects are added: exists x: P0(x) and R0(x, a); random structures: true on" in found[0]["text"]
    )


def test_the_limit_of_a_sentence_needs_no_model(run: Run, model: str) -> None:
    triangle = "exists x, y, z: E(x, y) and E(y, z) and E(z, x)"
    ran = run("check", "--sentence", triangle, "--graph", "E")
    assert "tends to 1 as objects are added" in " ".join(ran.out.split())
    apart = json.loads(run("check", "--sentence", "exists x: E(x, x)", "--graph", "E", "--json").out)
    assert (apart["outcome"], apart["shares"]) == ("0", [0.0, 0.0, 0.0])


@pytest.mark.long
def test_what_is_learned_of_networks_is_said_in_one_sentence(run: Run, tmp_path: Path) -> None:
    data, model = tmp_path / "networks.jsonl", tmp_path / "model.json"
    write_networks(data)
    done(run("train", str(data), "--target", "incident", "--learner", "gramression", "--output", str(model)))
    assert CHAIN in " ".join(run("show", str(model)).out.split())
    for to, ending in (("onnx", "onnx"), ("python", "py"), ("sql", "sql"), ("text", "txt")):
        target = f"model.{ending}"
        assert run("export", str(model), "--to", to, "-o", str(tmp_path / target)).status == 0
        assert "proved" in run("verify", str(model), str(tmp_path / target)).out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"P0": ["a b"], "y": 1}', "'a b' is no name of objects"),
        ('{"P0": [1.5], "y": 1}', "P0"),
        ('{"P0": ["a"], "P0": ["b"], "y": 1}', "twice"),
    ],
)
def test_what_is_no_structure_is_refused(run: Run, tmp_path: Path, line: str, said: str) -> None:
    data = tmp_path / "odd.jsonl"
    data.write_text(line + "\n")
    assert_refused(run("describe", str(data)), said)


def test_an_atom_that_no_row_lists_is_no_column_and_false(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "few.jsonl"
    data.write_text(
        '{"P0": ["a"], "R0": [], "tags": null, "y": 1}\n{"P0": [], "R0": [["a", "b"]], "tags": ["t"], "y": 2}\n'
    )
    out = run("describe", str(data)).out
    assert [line.split("  ")[0] for line in out.splitlines()[2:]] == ["y", "P0(a)", "R0(a, b)", "tags(t)"]
    assert "false 1, true 1" in out
