"""The main job: train, show, export, predict, evaluate, verify, import."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_line import Run, done

import rulekit


def test_train_reports_one_screen_and_saves_the_model_that_was_measured(run: Run, table: Path) -> None:
    words = "train table.csv --target label --holdout 0.25 --param max_rules=3 -o"
    ran = done(run(f"{words} m.json"))
    assert "300 rows, 4 columns: 2 numeric, 1 categorical, 1 boolean (b has missing values)" in ran.err
    assert "measured on 75 rows held out" in ran.out
    assert "majority class" in ran.out
    again = json.loads(done(run(f"{words} n.json --json")).out)
    graph = rulekit.load("m.json")
    assert (graph.digest, graph.classes) == (again["digest"], ("no", "yes"))
    assert "held_out" in graph.statistics


@pytest.mark.parametrize(("target", "name"), [("onnx", "m.onnx"), ("python", "m.py"), ("text", "rules.txt")])
def test_export_verify_import_give_back_the_same_model(
    run: Run, model: Path, table: Path, target: str, name: str
) -> None:
    done(run(f"export model.json --to {target} -o {name}"))
    checked = done(run(f"verify model.json {name} --data table.csv --rows 2000 --report parity.json"))
    assert "0 different decisions" in checked.out
    assert json.loads(Path("parity.json").read_text())["ok"] is True
    done(run(f"import {name} -o again.json"))
    assert rulekit.load("again.json").digest == rulekit.load(model).digest


def test_predict_by_model_and_by_onnx_agree_and_say_which_rules_fired(run: Run, model: Path, table: Path) -> None:
    done(run("export model.json --to onnx -o m.onnx"))
    ran = done(run("predict model.json table.csv -o one.csv --keep a --explain"))
    done(run("predict m.onnx table.csv -o two.csv"))
    one, two, given = (_records(name) for name in ("one.csv", "two.csv", "table.csv"))
    assert [row["label"] for row in one] == [row["label"] for row in two]
    assert sum(row["label"] == truth["label"] for row, truth in zip(one, given, strict=True)) >= 295
    assert [row["a"] for row in one] == [row["a"] for row in given]
    ids = {name for row in one for name in row["rules"].split()}
    assert ids
    assert all(name in ran.err for name in ids)
    assert all(bool(row["rules"]) == (row["label"] == "yes") for row in one)


def test_evaluate_prints_per_class_figures_and_a_threshold_moves_them(run: Run, model: Path, table: Path) -> None:
    shown = done(run("evaluate model.json table.csv")).out
    assert "precision" in shown
    assert "AUC" in shown
    measured = json.loads(run("evaluate model.json table.csv --json").out)
    assert measured["accuracy"] > 0.98
    assert sum(map(sum, measured["confusion"])) == 300
    done(run("threshold model.json table.csv --recall 0.99 -o wide.json"))
    assert json.loads(run("evaluate wide.json table.csv --json").out)["per_class"][1]["recall"] >= 0.99


def test_simplify_keeps_the_decisions(run: Run, model: Path, table: Path) -> None:
    done(run("simplify model.json -o s.json --explain"))
    rows = rulekit.read_table(table)
    assert (rulekit.load("s.json").decide(rows) == rulekit.load(model).decide(rows)).all()


def test_verify_of_another_model_shows_a_row_and_exits_1(run: Run, model: Path) -> None:
    done(run("export model.json --to text -o other.txt"))
    Path("other.txt").write_text(Path("other.txt").read_text().replace("a > 0.5", "a > 0.7"))
    ran = run("verify model.json other.txt --rows 2000")
    assert ran.status == 1
    assert "expected" in ran.out
    assert "another" in ran.out


def test_costs_move_the_decision(run: Run, table: Path) -> None:
    def recall(cost: str) -> float:
        done(run(f"train table.csv --target label --cost {cost} --param max_rules=1 --ignore c -q -o c.json"))
        return float(json.loads(run("evaluate c.json table.csv --json").out)["per_class"][1]["recall"])

    assert recall("1:20") > recall("20:1")


@pytest.mark.parametrize("ordered", ["", "--ordered low,mid,high"])
def test_train_on_several_classes_and_on_ranks(run: Run, tmp_path: Path, ordered: str) -> None:
    rows = ["x,y,risk"] + [f"{i % 10},{i % 7},{['low', 'mid', 'high'][(i % 10) // 4]}" for i in range(200)]
    (tmp_path / "three.csv").write_text("\n".join(rows))
    ran = done(run(f"train three.csv --target risk {ordered} -o three.json --json"))
    assert json.loads(ran.out)["accuracy"] > 0.99
    graph = rulekit.load("three.json")
    assert graph.schema.ordered_classes == bool(ordered)
    assert graph.classes == ("low", "mid", "high") or not ordered
    shown = done(run("show three.json")).out
    assert ordered or all(label in shown for label in graph.classes)


def _records(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_the_demo_runs_the_whole_chain(run: Run) -> None:
    ran = done(run("demo --folder kept"))
    assert ran.out.count("0 different decisions") == 3
    assert Path("kept/model.py").exists()
