"""`rulekit verify ARTIFACT --against REPORT`: the same verification again, without the model."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, Run, done

import rulekit
from rulekit.conformance.models import NODES
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.verification.parity import verify

GRAPH = NODES["threshold"]()  # x0 > 0.1
SUFFIXES = {"onnx": ".onnx", "python": ".py", "text": ".txt"}


@pytest.fixture(params=sorted(SUFFIXES))
def exported(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An artifact and parity.json beside it."""
    return export(str(request.param), tmp_path)


def export(target: str, folder: Path) -> Path:
    path = folder / f"model{SUFFIXES[target]}"
    content, parity = verified_once(target)
    path.write_bytes(content)
    (folder / "parity.json").write_text(parity)
    return path


@functools.cache
def verified_once(target: str) -> tuple[bytes, str]:
    """An artifact and its report, which are the same for every test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{SUFFIXES[target]}"
        rulekit.export(GRAPH, path, target)
        return path.read_bytes(), verify(GRAPH, path, rows=400).to_json()


def report(folder: Path, **changes: Any) -> str:
    """The report with other values."""
    content = json.loads((folder / "parity.json").read_text()) | changes
    (folder / "parity.json").write_text(json.dumps({k: v for k, v in content.items() if v is not ...}))
    return "parity.json"


def assert_one_line(ran: Ran, what: str) -> None:
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert what in ran.err


@pytest.mark.full
def test_the_given_rows_of_a_report_are_not_needed_to_repeat_it(run: Run, model: Path) -> None:
    done(run("export model.json --to onnx -o model.onnx"))
    done(run("verify model.json model.onnx --data table.csv --report parity.json"))
    model.unlink()
    assert "the 300 given rows of the report are not in it" in done(run("verify model.onnx --against parity.json")).out


def test_a_verification_is_repeated_without_the_model(exported: Path, run: Run) -> None:
    ran = done(run(f"verify {exported.name} --against parity.json"))
    first, second = " ".join(ran.out.split()).split(" proved ")
    assert ran.err == ""
    assert first == "repeated 400 rows: 0 different decisions; all that the report states was found again"
    assert second in ("(all 2 cells)", "(the same formula)")
    found = json.loads(run(f"verify {exported.name} --against parity.json --json").out)
    assert (found["repeated"], found["differences"]) == (True, [])
    assert found["here"] == json.loads(Path("parity.json").read_text())


def test_a_repetition_that_has_no_time_says_so(exported: Path, run: Run) -> None:
    """It said that other rows were made from the same seed."""
    ran = run("verify", exported.name, "--against", "parity.json", "--time-limit", "0")
    assert ran.status == 1
    assert "there was time for 200 of the 400 rows of the report; give more by" in " ".join(ran.out.split())


@pytest.mark.full
@pytest.mark.parametrize(
    "exported", ["text", *(pytest.param(name, marks=pytest.mark.long) for name in ("onnx", "python"))], indirect=True
)
def test_the_digests_are_the_same_in_another_process(exported: Path) -> None:
    """Rows are drawn and leaves are sets: neither may hang on the order of hashes."""
    code = "from rulekit_cli.main import main; main()"
    command = [sys.executable, "-c", code, "verify", exported.name, "--against", "parity.json"]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONHASHSEED": seed}, cwd=exported.parent
    )
    assert (done.returncode, done.stdout[:8]) == (0, "repeated"), done.stdout + done.stderr


def _evil(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\nopen('ran', 'w')\n")


def _of_another_model(path: Path) -> None:
    rulekit.export(RuleGraph(GRAPH.schema, GRAPH.classes, Fires(Compare("x1", ">", 0.1))), path, "onnx")


CHANGES = [
    ("text", lambda path: path.write_bytes(path.read_bytes() + b"\n# a remark\n")),
    ("python", _evil),
    ("onnx", _of_another_model),
    ("onnx", lambda path: path.write_bytes(path.read_bytes()[:100])),
]


@pytest.mark.parametrize(("target", "change"), CHANGES)
def test_a_changed_file_is_refused_before_anything_runs(target, change, run: Run, tmp_path: Path) -> None:
    """A module was run although its SHA-256 was not that of the report; DIFFERENT stood before 0 differences."""
    path = export(target, tmp_path)
    change(path)
    ran = run("verify", path.name, "--against", "parity.json", "--run-untrusted")
    assert (ran.status, ran.err) == (1, "")
    assert ran.out.startswith("CHANGED    not the file of the report: SHA-256 ")
    assert "it was not run" in ran.out
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"decisions_sha256": "0" * 64}, "decisions_sha256: the report says"),
        ({"rows_sha256": "0" * 64, "version": "0.0.9"}, "other rows were made from the same seed: rulekit 0.0.9 there"),
        ({"version": "0.0.9"}, "other versions, which are stated and not checked: rulekit 0.0.9 there"),
        ({"digest": "0" * 64}, "the report is about the graph 000000000000, and the file carries"),
        ({"ok": False}, "the report itself says that not all is well"),
        ({"proof_method": "solver"}, "proof_method: the report says 'solver', here it is"),
        ({"proof_cells": 7}, "proof_cells: the report says 7, here it is 2"),
        ({"proof_probabilities": False}, "proof_probabilities: the report says False"),
        ({"basis": "grid sum"}, "basis: the report says 'grid sum'"),
        ({"largest_gap": 1e-6}, "largest_gap: the report says"),
        ({"carried": "none"}, "carried: the report says 'none'"),
        ({"counter_example": {"row": {}}}, "counter_example: the report says"),
    ],
)
def test_what_differs_from_the_report_is_said(changes: dict[str, Any], what: str, run: Run, tmp_path: Path) -> None:
    """Half of the fields of a report could be edited unseen."""
    path = export("text", tmp_path)
    ran = run("verify", path.name, "--against", report(tmp_path, **changes))
    assert ran.status == (list(changes) != ["version"])
    assert ran.out.startswith("OTHER REPORT") == bool(ran.status)
    assert what in " ".join(ran.out.split())


def test_a_signed_report_is_that_of_its_key(run: Run, tmp_path: Path) -> None:
    path = export("text", tmp_path)
    (tmp_path / "key").write_bytes(b"k" * 32)
    (tmp_path / "other").write_bytes(b"o" * 32)
    (tmp_path / "short").write_bytes(b"k")
    GRAPH.save(tmp_path / "model.json")
    words = ("verify", "model.json", path.name, "--rows", "400", "--report", "parity.json", "--key")
    assert run(*words, "key").status == 0
    again = ("verify", path.name, "--against", "parity.json", "--key")
    assert run(*again, "key").status == 0
    assert run(*again, "short").status == 2
    ran = run(*again, "other")
    assert ran.status == 1
    assert "not have the signature of this key" in ran.out
    report(tmp_path, version="9.9.9")  # stated, and found again by nobody
    assert run(*again, "key").status == 1


def test_a_proof_can_be_demanded(run: Run, tmp_path: Path) -> None:
    """`tested` ended with status 0, and no option demanded more."""
    graph = NODES["LTU, not rounded"]()
    graph.save(tmp_path / "model.json")
    rulekit.export(graph, tmp_path / "model.onnx", "onnx")
    words = ("verify", "model.json", "model.onnx", "--rows", "50")
    assert run(*words).status == 0
    ran = run(*words, "--require", "proof")
    assert ran.status == 1
    assert ran.out.startswith("NOT PROVED")
    export("onnx", tmp_path)
    GRAPH.save(tmp_path / "model.json")
    for requirement in ("proof", "proof-of-probabilities"):
        assert run(*words, "--require", requirement).status == 0


@pytest.mark.parametrize("command", ["verify", "predict"])
def test_a_module_with_other_code_is_not_run(command: str, run: Run, tmp_path: Path) -> None:
    """It was run with all rights of the user, and verified."""
    path = export("python", tmp_path)
    _evil(path)
    GRAPH.save(tmp_path / "model.json")
    (tmp_path / "table.csv").write_text("x0,x1,x2,x3\n" + "1,1,1,1\n" * 3)
    words = ("model.json", path.name, "--rows", "50") if command == "verify" else (path.name, "table.csv")
    ran = run(command, *words)
    assert ran.status == {"verify": 1, "predict": 2}[command], ran.err
    assert (ran.out + ran.err).lower().find("not run") >= 0
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"report_version": ...}, "a report of rulekit 0.1.0, which could not be repeated yet; verify again"),
        ({"report_version": 99}, "report version 99, and this rulekit reads 1"),
        ({"adversarial_rows": 10**15}, "adversarial_rows is 1000000000000000, not a number of rows up to 10,000,000"),
        ({"adversarial_rows": True}, "adversarial_rows is True"),
        ({"adversarial_rows": 0}, "the report is about given rows alone"),
        ({"seed": -1}, "seed is -1, not a seed"),
        ({"sha256": "../../etc/passwd"}, "sha256 is '../../etc/passwd', not a digest"),
        ({"digest": ...}, "'digest' is missing, or no part of a report"),
        ({"author": "x"}, "'author' is missing, or no part of a report"),
        ({"different_decisions": 3}, "the report says that all is well and counts differences"),
        ({"versions": []}, "versions is [], not versions by name"),
    ],
)
def test_a_report_that_cannot_be_repeated_is_one_line(
    changes: dict[str, Any], what: str, run: Run, tmp_path: Path
) -> None:
    path = export("text", tmp_path)
    ran = run("verify", path.name, "--against", report(tmp_path, **changes))
    assert_one_line(ran, f"parity.json: {what}")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "this is no JSON"),
        (b"\xff\xfe", "this is no UTF-8 text"),
        (b"[]", "this is no report of a verification"),
        (b"{}", "this is no report of a verification"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands twice"),
        (b'{"largest_gap": NaN}', "NaN is not a JSON number"),
        (b"[" * 200_000, "the JSON is nested too deeply"),
        (b" " * (1 << 24) + b"{}", "the file is larger than 16 MB"),
    ],
)
def test_a_hostile_report_is_one_line(content: bytes, what: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("rulekit rules 1\n")
    (tmp_path / "parity.json").write_bytes(content)
    assert_one_line(run("verify model.txt --against parity.json"), f"parity.json: {what}")


def test_an_artifact_is_read_up_to_a_bound(exported: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    GRAPH.save("model.json")
    monkeypatch.setattr("rulekit.verification.parity.MAX_BYTES", 99, raising=False)
    Path("rows.csv").write_text("x0\n1\n")
    for words in (("verify", "model.json", exported.name), ("predict", exported.name, "rows.csv")):
        ran = run(*words)
        assert_one_line(ran, f"{exported.name}: the file is larger than")


def test_the_help_shows_both_forms(run: Run) -> None:
    shown = run("verify", "--help").out
    assert "[MODEL] ARTIFACT" in shown
    assert "rulekit verify model.json model.onnx --data loans.csv --report parity.json" in shown
    assert "rulekit verify model.onnx --against parity.json" in shown
