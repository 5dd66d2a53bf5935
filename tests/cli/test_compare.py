"""`rulekit compare`: files and artifacts of any kind, exit status, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused

RULES = """rulekit rules 1
column age: numeric, integer
column job: categorical {cook, clerk}
label y: {no, yes}
default no
decide yes when any of (age > 50, job in {cook})
"""
TABLE = "age,job,region\n60,clerk,north\n45,clerk,south\n20,cook,south\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.txt"
    path.write_text(RULES)
    return path


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    path = tmp_path / "edited.txt"
    path.write_text(RULES.replace("age > 50", "age > 40"))
    return path


def test_a_moved_cut_is_told_with_rows_and_groups(run: Run, tmp_path: Path, rules: Path, edited: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text(TABLE)
    ran = run("compare", str(rules), str(edited), "--data", str(table), "--by", "region")
    assert ran.status == 1
    assert "decisions differ on 1 of 3 rows of rows.csv (33.3 %)" in " ".join(ran.out.split())
    assert "age > 40, which was age > 50" in ran.out
    assert "row 2: age = 45, job = clerk" in ran.out
    assert "south: 1 of 2 rows" in ran.out
    found = json.loads(run("compare", str(rules), str(edited), "--json").out)
    assert found["flips"][0]["witness"]["after"] == "yes"


@pytest.mark.parametrize(
    ("target", "ending"),
    [("onnx", "onnx"), pytest.param("python", "py", marks=pytest.mark.long), ("sql", "sql"), ("text", "txt")],
)
def test_an_export_is_proved_equal_to_its_model(
    run: Run, tmp_path: Path, rules: Path, edited: Path, target: str, ending: str
) -> None:
    artifact = tmp_path / f"export.{ending}"
    assert run("export", str(rules), "--to", target, "-o", str(artifact)).status == 0
    ran = run("compare", str(rules), str(artifact))
    assert (ran.status, "PROVED EQUAL" in ran.out) == (0, True), ran.out
    assert run("compare", str(artifact), str(edited)).status == 1


def test_an_artifact_that_does_not_decide_as_its_rules_is_a_fault(run: Run, tmp_path: Path, rules: Path) -> None:
    """The graph inside would be proved equal, and the file decides otherwise."""
    artifact = tmp_path / "export.sql"
    run("export", str(rules), "--to", "sql", "-o", str(artifact))
    text = artifact.read_text()
    changed = "\n".join(line.replace("50", "55") if not line.startswith("--") else line for line in text.split("\n"))
    assert changed != text
    artifact.write_text(changed)
    ran = run("compare", str(rules), str(artifact))
    assert ran.status == 1
    assert "FAULT" in ran.out
    assert "PROVED EQUAL" not in ran.out


def test_files_that_cannot_be_compared_are_refused(run: Run, tmp_path: Path, rules: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(
        RULES.replace("{no, yes}", "{a, b}").replace("default no", "default a").replace("decide yes", "decide b")
    )
    assert_refused(run("compare", str(rules), str(other)), "other classes")
    other.write_text("rulekit rules 1\n")
    assert_refused(run("compare", str(rules), str(other)), "other.txt")
