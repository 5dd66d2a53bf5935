"""Names, labels, levels and notes that others wrote: none of them moves a terminal, forges a line or breaks a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, assert_refused

FORGED = "x\nrulekit: all is well\x1b[31m"


def write_table() -> None:
    cell = FORGED.replace('"', '""')
    lines = [f'"{cell}","c\x1b[2J",label']
    for i in range(60):
        lines.append(f'{i},"{cell if i % 2 else "plain"}","{cell if i > 20 else "no"}"')
    Path("t.csv").write_text("\n".join(lines) + "\n")


def test_no_foreign_text_reaches_the_terminal_as_it_is(run: Run) -> None:
    """Column names, labels and file names were printed raw in summaries, explanations and counter-examples."""
    write_table()
    model = "m\x1b[31m.json"
    said = [run("train", "t.csv", "--target", "label", "-o", model, "--positive", FORGED)]
    assert said[0].status == 0, said[0].err
    edited = json.loads(Path(model).read_text())
    edited["provenance"]["stopped"] = FORGED
    Path(model).write_text(json.dumps(edited))
    said += [run("show", model), run("show", model, "--all"), run("evaluate", model, "t.csv")]
    said += [run("evaluate", model, "t.csv", "--json"), run("predict", model, "t.csv", "--explain", "-o", "p.csv")]
    assert run("export", model, "--to", "text", "-o", "r.txt").status == 0
    changed = Path("r.txt").read_text().replace("> 20", "> 30")
    Path("other.txt").write_text(changed)
    said.append(run("verify", model, "other.txt", "--rows", "200"))
    assert said[-1].status == 1, said[-1]
    for ran in said:
        assert "\x1b" not in ran.out + ran.err
        assert not [line for line in (ran.out + ran.err).split("\n") if line.startswith("rulekit: all is well")]


@pytest.mark.parametrize(
    ("part", "value", "where"),
    [
        ("provenance", {"threshold": "half"}, "provenance, threshold"),
        ("provenance", {"stopped": ["a"]}, "provenance, stopped"),
        ("provenance", {"units": {"a": 1}}, "provenance, units"),
        ("provenance", {"parameters": 3}, "provenance, parameters"),
        ("statistics", {"rules": [{"id": ["r1"]}]}, "statistics, rules, entry 1, id"),
        ("statistics", {"rules": {"id": "r1"}}, "statistics, rules"),
        ("statistics", {"held_out": {"rules": [{"id": "r1", "coverage": 7}]}}, "statistics, held_out, rules, entry 1"),
    ],
)
def test_values_beside_the_digest_are_checked_when_they_are_read(
    run: Run, model: Path, part: str, value: dict[str, Any], where: str
) -> None:
    """`threshold: "half"` made import replace its output and then fail; a list as a rule id broke exports."""
    edited = json.loads(model.read_text())
    edited[part] = value
    Path("edited.json").write_text(json.dumps(edited))
    Path("old.json").write_text("keep")
    assert_refused(run("import", "edited.json", "-o", "old.json"), "edited.json", where)
    assert Path("old.json").read_text() == "keep"
    assert_refused(run("show", "edited.json"), where)


def test_a_closed_standard_output_is_one_line(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was an internal error."""
    monkeypatch.setattr(sys, "stdout", None)
    assert_refused(run("show", str(model)), "standard output is closed")
    assert run("export", str(model), "--to", "text", "-o", "r.txt").status == 0


def test_formulas_are_disarmed_where_that_is_asked_for(run: Run, model: Path) -> None:
    """A cell `=cmd|...` went into the predictions without a way to disarm it."""
    Path("new.csv").write_text("a,b,c,d,=id\n0.9,-1,red,true,=cmd|' /C calc'!A0\n0.1,2,red,true,plain\n")
    assert run("predict", str(model), "new.csv", "--keep", "=id", "-o", "raw.csv").status == 0
    assert "\n=cmd|" in Path("raw.csv").read_text()
    assert run("predict", str(model), "new.csv", "--keep", "=id", "--escape-formulas", "-o", "safe.csv").status == 0
    first, *rows = Path("safe.csv").read_text().splitlines()
    assert first.startswith("'=id,label,")
    assert rows[0].startswith("'=cmd|")
    assert rows[1].startswith("plain,")
