"""Sizes from the command: the curve as numbers and drawn, the smallest model, limits of the saved model."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from command_line import Run, done

import rulekit
import rulekit.audit.figures.curves as curves
from rulekit.graph.rules import counts

TRAIN = ("--target", "label", "-o", "m.json", "-q", "--param", "max_rules=4")


def test_the_curve_is_written_and_drawn_and_a_size_is_a_row_of_the_ladder(run: Run, table: Path) -> None:
    pytest.importorskip("matplotlib")
    done(run("train", str(table), *TRAIN, "--curve", "curve.csv", "--curve", "curve.png", "--smallest"))
    with open("curve.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["units"] for row in rows] == [str(n + 1) for n in range(len(rows))]
    assert {row["class"] for row in rows} == {"yes"}
    (chosen,) = (row for row in rows if row["chosen"] == "1")
    graph = rulekit.load("m.json")
    assert [int(chosen["units"])] == graph.provenance["units"] <= [4]
    assert graph.provenance["parameters"]["parsimony"] == 1
    assert all(0 <= float(row["held_out_error"]) <= 1 and float(row["standard_error"]) >= 0 for row in rows)
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    assert graph.ladder is not None
    small = graph.ladder.sizes[0]
    done(run("train", str(table), *TRAIN, "--size", str(small)))
    assert rulekit.load("m.json") == graph.ladder.at(small).model


def test_the_missing_extra_is_named(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    ran = run("train", str(table), *TRAIN, "--curve", "curve.png")
    assert ran.status == 2
    assert "pip install 'rulekit-portable[plot]'" in ran.err
    assert not Path("m.json").exists()


@pytest.mark.parametrize("limit", ["max_features", "max_clauses", "max_literals"])
def test_the_saved_model_keeps_the_limits(run: Run, table: Path, limit: str) -> None:
    done(run("train", str(table), *TRAIN, "--param", f"{limit}=1", "--param", "stopping=none"))
    graph = rulekit.load("m.json")
    size = counts(graph)
    found = {"max_features": len(graph.used_features), "max_clauses": size.rules, "max_literals": size.literals}
    assert found[limit] <= 1


def test_simplifying_does_not_break_a_limit(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the simplified model were beyond it, the one that was learned is saved."""
    from rulekit.graph.decisions import Fires
    from rulekit.graph.nodes import Compare, Or

    larger = Or((Compare("a", ">", 0.5), Compare("b", ">", 0.5)))
    asked: list[object] = []

    def simplify(graph: rulekit.RuleGraph, *_: object, **__: object) -> rulekit.RuleGraph:
        asked.append(graph)
        return graph.with_(decision=Fires(larger))

    monkeypatch.setattr("rulekit.learners.sizes.path.simplify", simplify)
    assert run("train", str(table), *TRAIN, "--param", "max_clauses=1").status == 0
    assert asked
    assert counts(rulekit.load("m.json")).rules == 1


def test_the_ladder_is_printed_and_another_row_needs_no_data(run: Run, table: Path) -> None:
    line = [word for word in TRAIN if word != "-q"]
    ran = done(run("train", str(table), *line, "--holdout", "0.2", baselines=True))
    assert max(map(len, ran.out.splitlines()[3:])) <= 80
    for words in ("most frequent class", "best single condition", "tree of depth 4", "* taken: ", "adds"):
        assert words in ran.out
    graph = rulekit.load("m.json")
    assert graph.ladder is not None
    table.unlink()
    for rung in graph.ladder.rungs:
        assert run("resize", "m.json", "--size", str(rung.size), "-o", "other.json").status == 0
        other = rulekit.load("other.json")
        assert (other, counts(other).rules, other.statistics) == (rung.model, rung.rules, rung.model.statistics)
        assert len(other.statistics["held_out"]["rules"]) == rung.rules
    smallest = run("resize", "m.json", "--smallest", "-o", "other.json")
    assert (smallest.status, rulekit.load("other.json")) == (0, graph.ladder.at(graph.ladder.smallest or 0).model)
    assert run("resize", "m.json", "--rules", "1", "-o", "other.json").status == 0
    assert counts(rulekit.load("other.json")).rules <= 1
