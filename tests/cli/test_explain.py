"""The commands that explain rows and lint reasons: what they print, and with which exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run

RULES = """rulekit rules 1
column income: numeric, money
column late: numeric, integer
label "default": {no, yes}
default no
decide yes when income <= 24900 and late > 2
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "rules.txt").write_text(RULES)
    (tmp_path / "data.csv").write_text("income,late\n21000,3\n30000,3\n")
    return tmp_path


def test_a_row_is_explained_in_sentences(run: Run, files: Path) -> None:
    ran = run("explain", "rules.txt", "data.csv", "--row", "1,2", "--immutable", "late", "--direction", "income=up")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "Row 1"
    assert '  The decision is "yes".' in lines
    assert "holds: income is 21,000, which is at most 24,900;" in " ".join(ran.out.split())
    assert "No allowed change of values turns the decision" in " ".join(ran.out.split())
    ran = run("explain", "rules.txt", "data.csv", "--json")
    assert [row["row"] for row in json.loads(ran.out)] == [1, 2]
    ran = run("explain", "rules.txt", "data.csv", "-o", "said.txt")
    assert (ran.out, ran.err) == ("", "wrote said.txt: 2 rows\n")


def test_what_the_lint_finds_is_an_exit_status(run: Run, files: Path) -> None:
    text = 'adverse = "yes"\n[[reason]]\ncode = "A"\ntext = "Income"\ncolumns = ["incom"]\n'
    (files / "reasons.toml").write_text(text)
    ran = run("reasons", "rules.txt", "--catalogue", "reasons.toml", "--json")
    assert ran.status == 1
    found = json.loads(ran.out)
    assert [finding["kind"] for finding in found["findings"]] == ["unknown column", "no reason", "no reason"]
    assert found["findings"][1]["rows"][0]["decision"] == "yes"
