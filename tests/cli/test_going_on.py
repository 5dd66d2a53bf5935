"""rulekit train --start: rules of an expert or of another model, with some of them frozen."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run, done

import rulekit
from rulekit.graph.rules import rules_of

RULES = """rulekit rules 1
column a: numeric, float64, missing {"-9"}
column b: numeric
column c: categorical {violet, red}
label "label": {no, yes}
default no
decide yes when any of (
  c in {violet},
  b > 1.755 and a <= 0.125,
)
"""


@pytest.fixture
def rules() -> Path:
    path = Path("rules.txt")
    path.write_text(RULES)
    return path


def test_rules_of_an_expert_are_gone_on_from(run: Run, table: Path, rules: Path) -> None:
    train = ("train", str(table), "--target", "label", "--param", "stopping=none", "--param", "max_rules=3")
    done(run(*train, "--start", str(rules), "-o", "all.json"))
    start, model = rulekit.load(rules), rulekit.load("all.json")
    assert {rule.node for rule in rules_of(start)} < {rule.node for rule in rules_of(model)}
    assert model.classes == ("no", "yes")
    assert model.schema["a"].precision == "float64"
    assert model.schema["a"].missing_tokens == ("-9",)
    assert model.schema["c"].levels == ("violet", "red", "blue", "green")
    second = rules_of(start)[1].id
    done(run(*train, "--start", str(rules), "--freeze", second, "--json", "-o", "one.json"))
    assert second in {rule.id for rule in rules_of(rulekit.load("one.json"))}
    done(run(*train, "--start", "all.json", "--freeze", "none", "--param", "max_rules=9", "-o", "free.json"))


def test_a_sum_goes_on_from_rules_and_from_its_own_text(run: Run, table: Path, rules: Path) -> None:
    train = ("train", str(table), "--target", "label", "--learner", "additive", "--param", "max_rules=4")
    start = rulekit.load(rules)

    ran = run(*train, "--start", str(rules), "-o", "all.json")
    assert f"{rules_of(start)[0].id} of --start has weight 0 on these rows" in ran.err  # no row is violet
    assert run("export", "all.json", "--to", "text", "-o", "all.rules").status == 0
    assert run(*train, "--start", "all.rules", "--freeze", "none", "-o", "free.json").status == 0

    assert rules_of(start)[1].node in {rule.node for rule in rules_of(rulekit.load("all.json"))}


def test_a_frozen_rule_that_others_cover_is_named(run: Run, table: Path, rules: Path) -> None:
    """It left the model without a word."""
    text = RULES.replace("c in {violet},", "a > 0.7 and c in {red},\n  c in {red},")
    rules.write_text(text)
    train = ("train", str(table), "--target", "label", "--param", "stopping=none", "--param", "max_rules=1")
    covered, stays, _ = (rule.id for rule in rules_of(rulekit.load(rules)))
    ran = done(run(*train, "--start", str(rules), "-o", "all.json"))
    assert f"note: {covered} of --start is covered by other rules and left out" in ran.err
    assert stays not in ran.err
    ran = run(*train, "--start", str(rules), "--no-simplify", "-o", "whole.json")
    assert "covered" not in ran.err
    assert covered in {rule.id for rule in rules_of(rulekit.load("whole.json"))}
