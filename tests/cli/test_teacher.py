"""Learning from a teacher by the command: what is printed, written, reported and measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, done
from foreign_models import TEACHER, table_text, write
from rulekit_exporters.onnx import foreign
from rulekit_exporters.onnx.running import runtime_session

import rulekit

TRAIN = "train t.csv --target label --teacher t.onnx --param max_rules=2"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "bounded_session", runtime_session)
    write(tmp_path, "t.csv", table_text())
    write(tmp_path, "later.csv", table_text(100, 4))
    write(tmp_path, "bare.csv", table_text(label=False))
    write(tmp_path, "t.onnx", TEACHER)


def test_a_model_says_in_each_command_how_far_it_agrees(run: Run) -> None:
    said = done(run(f"{TRAIN} --ask 40 --ask-out asked.csv --holdout 0.3 --role d=audit -o m.json")).out
    assert "agrees with the teacher on" in said
    assert "of 72 rows held out" in said
    assert "right by the true label: the rules" in said
    assert "of 2,000 rows beyond the table" in said
    assert len(Path("asked.csv").read_text().splitlines()) == 41
    kept = rulekit.load("m.json").provenance["fidelity"]
    assert (kept["teacher"], kept["asked"]) == ("t.onnx", 40)
    for line in kept["lines"]:
        assert " ".join(line.split()) in " ".join(said.split())
    done(run("report m.json -o r.md"))
    assert "The rules were learned from what t.onnx says" in Path("r.md").read_text()
    found = json.loads(done(run("evaluate m.json later.csv --teacher t.onnx --by d --json")).out)
    of = {part["of"]: part["rows"] for part in found["fidelity"][0]["parts"]}
    assert of[""] == found["rows"] == of["d true"] + of["d false"] == 100
    assert found["fidelity"][0]["right"][0] == 100
    assert found["fidelity"][1]["on"] == "rows beyond the table"
    assert "agrees with the teacher on" in done(run("evaluate m.json bare.csv --teacher t.onnx")).out
    trained = json.loads(done(run(f"{TRAIN} -o m.json --json")).out)
    assert [each["on"] for each in trained["fidelity"]] == ["training rows", "rows beyond the table"]


def test_a_teacher_needs_no_labels(run: Run) -> None:
    done(run("train bare.csv --teacher t.onnx --teacher-classes no,yes -o m.json"))
    assert {*rulekit.load("m.json").classes} == {"no", "yes"}
    ran = run("train bare.csv -o n.json")
    assert (ran.status, Path("n.json").exists()) == (2, False)
    assert "--target" in ran.err
    assert (
        "agrees with the teacher on 100.0 %" in done(run("train t.csv --teacher m.json --target label -o n.json")).out
    )
