"""rulekit sample: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, done

import rulekit
from rulekit.work.progress import Stage
from rulekit.work.sampling import sample

FEW = ("--steps", "1000", "-q")


def test_the_rules_of_the_data_are_probable_and_the_same_for_the_same_seed(run: Run, model: Path, table: Path) -> None:
    lines = done(run("sample model.json table.csv --steps 1000 -q")).out.splitlines()
    assert lines[0] == '4 random walks of 1,000 steps over rule sets for "yes"'
    one, other = (json.loads(run("sample model.json table.csv --json --steps 1000 -q").out) for _ in range(2))
    assert one == other
    assert (one["walks"], one["steps"]) == (4, 1000)
    assert any("a > 0.5" in each["text"][0] and each["probability"] > 0.3 for each in one["rules"])
    assert one["rule_sets"][0]["same"] == 1.0
    assert sum(each["probability"] for each in one["rule_sets"]) <= 1.0 + 1e-9
    for each in (*one["rules"], *one["conditions"], *one["rule_sets"]):
        assert min(each["by_walk"]) <= each["probability"] <= max(each["by_walk"])


@pytest.mark.parametrize("likelihood", ["bernoulli", "noisy-logical"])
def test_a_rule_set_that_is_taken_is_a_model_with_its_rules(
    run: Run, model: Path, table: Path, tmp_path: Path, likelihood: str
) -> None:
    how = ("--param", f"likelihood={likelihood}", *FEW)
    said = json.loads(run("sample", str(model), str(table), "--json", *how).out)
    done(run("sample", str(model), str(table), "--take", "1", "-o", "taken.json", "--picture", "walks.svg", *how))
    assert (tmp_path / "walks.svg").read_bytes().startswith(b"<?xml")
    taken = rulekit.load(tmp_path / "taken.json")
    assert taken.statistics["rows"] == 300
    evaluated = run("evaluate", "taken.json", str(table), "--json")
    assert json.loads(evaluated.out)["accuracy"] > 0.9
    assert said["rule_sets"][0]["same"] > 0.9


def test_of_several_classes_one_is_told_from_the_rest(run: Run, tmp_path: Path) -> None:
    rows = [f"{a},{b},{('low', 'middle', 'high')[(a > 3) + (b > 5)]}" for a in range(8) for b in range(10)]
    data = tmp_path / "three.csv"
    data.write_text("\n".join(["a,b,level", *rows]) + "\n")
    assert run("train", str(data), "--target", "level", "-o", "three.json", "-q").status == 0
    assert "--label takes another" in run("sample", "three.json", str(data), "--steps", "200").err
    ran = run("sample", "three.json", str(data), "--label", "low", "--take", "1", "-o", "low.json", *FEW)
    assert 'over rule sets for "low"' in ran.out
    assert rulekit.load(tmp_path / "low.json").classes == ("not low", "low")


def test_what_is_stopped_keeps_its_steps(model: Path, table: Path) -> None:
    """A progress callback that answers true ends the walks, as Ctrl-C and the end of the time do."""
    found = sample(model, table, steps=100_000, progress=lambda event: isinstance(event, Stage))
    assert 500 <= found.steps < 100_000


def test_json_has_no_infinity_where_walks_never_agree(run: Run, model: Path, table: Path) -> None:
    said = run("sample", str(model), str(table), "--json", "--steps", "100", "-q")
    found = json.loads(said.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert found["r_hat"] <= 999.0
