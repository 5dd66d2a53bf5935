"""`rulekit check`: what it prints, what it exits with, and a model that other commands refuse."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Run, assert_refused

RULES = """rulekit rules 1
column age: numeric, increasing
column sex: boolean
apart {age, sex}
label y: {no, yes}
require yes when age > 90
decide yes when any of (age > 50, age > 70, not sex)
"""


def test_promises_and_rules_are_checked(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text(RULES)

    ran = run("check", str(rules))

    assert ran.status == 0, ran.err
    lines = [line for line in ran.out.splitlines() if not line.startswith(" ")]
    assert [line.split()[0] for line in lines] == ["proved"] * 5 + ["found"]
    assert "changes no decision" in lines[-1]
    rules.write_text(RULES.replace("age > 70", "age > 20 and age <= 30"))
    ran = run("check", str(rules), "--json")
    assert ran.status == 1
    first = json.loads(ran.out)["promises"][0]
    assert (first["outcome"], first["rows"][1]["decision"]) == ("fails", "no")


def test_a_rule_over_columns_apart_is_read_by_check_alone(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text(RULES.replace("age > 70", "age > 70 and sex"))
    assert_refused(run("show", str(rules)), "the columns 'age', 'sex' may not stand in one rule")

    ran = run("check", str(rules))

    assert ran.status == 1
    assert "FAILS       age and sex never stand in one rule" in ran.out
    assert "broken by r" in ran.out
