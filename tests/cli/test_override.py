"""`rulekit override`: what it prints, what it refuses, what it lists."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Run, done

SIGNED = ("--author", "A. Jones", "--date", "2026-11-25", "--reason", "policy 7")


def test_rules_of_a_line_and_of_a_file_are_put_on_and_listed_as_json(run: Run, model: Path, tmp_path: Path) -> None:
    """What is printed, and how one is taken off, stands in docs/overrides.md."""
    done(run("override", "model.json", "a > 0.9 -> no", *SIGNED, "-o", "two.json"))
    text = '[[override]]\nid = "x7"\nrule = "b > 2 -> yes"\nauthor = "B"\ndate = 2026-11-25\nreason = "c"\n'
    (tmp_path / "more.toml").write_text(text)
    ran = done(run("override two.json --from more.toml -o three.json --json"))
    assert json.loads(ran.out)["added"] == ["x7"]
    listed = json.loads(run("override three.json --list --json").out)
    found = [(each["id"], each["condition"], each["class"]) for each in listed]
    assert found == [("o1", "a > 0.9", "no"), ("x7", "b > 2", "yes")]
    assert run("override model.json --list").out == "the model has no override\n"
