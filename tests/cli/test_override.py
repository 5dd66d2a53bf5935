"""`rulekit override`: what it prints, what it refuses, what it lists."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Run, done

SIGNED = ("--author", "A. Jones", "--date", "2026-11-25", "--reason", "policy 7")


def test_a_rule_is_put_on_listed_and_taken_off(run: Run, model: Path, table: Path) -> None:
    ran = done(run("override", "model.json", "a > 0.9 -> no", *SIGNED, "--data", str(table), "-o", "two.json"))
    assert "added    o1  a > 0.9 -> no" in ran.out
    assert "by A. Jones on 2026-11-25: policy 7" in ran.out
    assert "of 300 rows change" in ran.out
    assert 'proved: override o1 wins: where a > 0.9, the decision is "no"' in ran.out
    assert "proved: every row on which no changed rule holds is decided as before" in ran.out
    listed = json.loads(run("override", "two.json", "--list", "--json").out)
    assert [(each["id"], each["condition"], each["class"]) for each in listed] == [("o1", "a > 0.9", "no")]
    assert "o1  a > 0.9 -> no" in run("override", "two.json", "--list").out
    ran = run("override", "two.json", "--remove", "o1", *SIGNED, "-o", "three.json")
    assert "removed  o1" in ran.out
    assert run("override", "three.json", "--list").out == "the model has no override\n"


def test_overrides_of_a_file_are_put_on(run: Run, model: Path, tmp_path: Path) -> None:
    text = '[[override]]\nid = "x7"\nrule = "b > 2 -> yes"\nauthor = "B"\ndate = 2026-11-25\nreason = "c"\n'
    (tmp_path / "more.toml").write_text(text)
    ran = run("override", "model.json", "--from", "more.toml", "-o", "two.json", "--json")
    assert json.loads(ran.out)["added"] == ["x7"]
    assert "x7  b > 2 -> yes" in run("override", "two.json", "--list").out
