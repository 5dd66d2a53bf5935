"""The main job: train, show, export, predict, evaluate, verify, import."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_line import Run

import rulekit


def test_train_reports_one_screen_and_writes_a_model(run: Run, table: Path) -> None:
    ran = run("train", str(table), "--target", "label", "--holdout", "0.25", "-o", "m.json")
    assert ran.status == 0, ran.err
    assert "300 rows, 4 columns: 2 numeric, 1 categorical, 1 boolean (b has missing values)" in ran.err
    assert "measured on 75 rows held out" in ran.out
    assert "majority class" in ran.out
    assert rulekit.load("m.json").classes == ("no", "yes")


def test_the_saved_model_is_the_one_that_was_measured(run: Run, table: Path) -> None:
    words = ("--target", "label", "--holdout", "0.25", "--param", "max_rules=3", "--json", "-o")
    first, again = (run("train", str(table), *words, name) for name in ("m.json", "n.json"))
    report = json.loads(first.out)
    assert report["digest"] == rulekit.load("m.json").digest == json.loads(again.out)["digest"]
    assert "held_out" in rulekit.load("m.json").statistics


def test_show_names_the_columns_and_levels(run: Run, model: Path) -> None:
    ran = run("show", str(model))
    assert ran.status == 0
    assert "a > 0.5" in ran.out
    assert "c not in {green}" in ran.out
    assert "no" in ran.out


@pytest.mark.parametrize("view", ["table", "csv", "c50", "language", "json"])
def test_every_view_shows_something(run: Run, model: Path, view: str) -> None:
    ran = run("show", str(model), "--format", view)
    assert ran.status == 0, ran.err
    assert len(ran.out.splitlines()) > 1


@pytest.mark.parametrize(("target", "name"), [("onnx", "m.onnx"), ("python", "m.py"), ("text", "rules.txt")])
def test_export_verify_import_give_back_the_same_model(
    run: Run, model: Path, table: Path, target: str, name: str
) -> None:
    assert run("export", str(model), "--to", target, "-o", name).status == 0
    checked = run("verify", str(model), name, "--data", str(table), "--rows", "2000", "--report", "parity.json")
    assert checked.status == 0, checked.out + checked.err
    assert "0 different decisions" in checked.out
    assert json.loads(Path("parity.json").read_text())["ok"] is True
    assert run("import", name, "-o", "again.json").status == 0
    assert rulekit.load("again.json").digest == rulekit.load(model).digest


def test_predict_by_model_and_by_onnx_agree(run: Run, model: Path, table: Path) -> None:
    assert run("export", str(model), "--to", "onnx", "-o", "m.onnx").status == 0
    assert run("predict", str(model), str(table), "-o", "one.csv", "--keep", "a").status == 0
    assert run("predict", "m.onnx", str(table), "-o", "two.csv").status == 0
    one, two = (_records(name) for name in ("one.csv", "two.csv"))
    given = _records(table)
    assert [row["label"] for row in one] == [row["label"] for row in two]
    assert sum(row["label"] == truth["label"] for row, truth in zip(one, given, strict=True)) >= 295
    assert [row["a"] for row in one] == [row["a"] for row in given]


def test_explain_says_which_rules_fired(run: Run, model: Path, table: Path) -> None:
    ran = run("predict", str(model), str(table), "-o", "p.csv", "--explain")
    rows = _records("p.csv")
    ids = {name for row in rows for name in row["rules"].split()}
    assert ids
    assert all(name in ran.err for name in ids)
    assert all(bool(row["rules"]) == (row["label"] == "yes") for row in rows)


def test_evaluate_prints_per_class_figures(run: Run, model: Path, table: Path) -> None:
    ran = run("evaluate", str(model), str(table))
    assert ran.status == 0
    assert "precision" in ran.out
    assert "AUC" in ran.out
    measured = json.loads(run("evaluate", str(model), str(table), "--json").out)
    assert measured["accuracy"] > 0.98
    assert sum(map(sum, measured["confusion"])) == 300


def test_threshold_reaches_the_recall_it_was_asked_for(run: Run, model: Path, table: Path) -> None:
    ran = run("threshold", str(model), str(table), "--recall", "0.99", "-o", "wide.json")
    assert ran.status == 0, ran.err
    measured = json.loads(run("evaluate", "wide.json", str(table), "--json").out)
    assert measured["per_class"][1]["recall"] >= 0.99


def test_threshold_asked_for_two_purposes_is_refused(run: Run, model: Path, table: Path) -> None:
    ran = run("threshold", str(model), str(table), "--recall", "0.9", "--f1", "-o", "wide.json")
    assert ran.status == 2
    assert not Path("wide.json").exists()


def test_simplify_keeps_the_decisions(run: Run, model: Path, table: Path) -> None:
    assert run("simplify", str(model), "-o", "s.json", "--explain").status == 0
    assert (rulekit.load("s.json").decide(_features(table)) == rulekit.load(model).decide(_features(table))).all()


def test_verify_of_another_model_shows_a_row_and_exits_1(run: Run, model: Path, table: Path) -> None:
    rows = [line.split(",") for line in table.read_text().splitlines()]
    turned = [[*row[:-1], "yes" if float(row[0]) > 0.7 and row[2] != "red" else "no"] for row in rows[1:]]
    Path("turned.csv").write_text("\n".join(map(",".join, [rows[0], *turned])))
    run("train", "turned.csv", "--target", "label", "-o", "other.json", "-q")
    run("export", "other.json", "--to", "text", "-o", "other.txt")
    ran = run("verify", str(model), "other.txt", "--rows", "2000")
    assert ran.status == 1
    assert "expected" in ran.out
    assert "another" in ran.out


def test_costs_move_the_decision(run: Run, table: Path) -> None:
    def recall(cost: str) -> float:
        arguments = ("--target", "label", "--cost", cost, "--param", "max_rules=1", "--ignore", "c", "-q")
        run("train", str(table), *arguments, "-o", "c.json")
        return float(json.loads(run("evaluate", "c.json", str(table), "--json").out)["per_class"][1]["recall"])

    assert recall("1:20") > recall("20:1")


def test_train_on_several_classes(run: Run, tmp_path: Path) -> None:
    rows = ["x,y,kind"] + [f"{i % 10},{i % 7},{'abc'[(i % 10) // 4]}" for i in range(200)]
    (tmp_path / "three.csv").write_text("\n".join(rows))
    ran = run("train", "three.csv", "--target", "kind", "-o", "three.json", "--json")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["accuracy"] > 0.99
    shown = run("show", "three.json").out
    assert all(label in shown for label in "abc")


def test_train_on_ordered_classes(run: Run, tmp_path: Path) -> None:
    rows = ["x,y,risk"] + [f"{i % 10},{i % 7},{['low', 'mid', 'high'][(i % 10) // 4]}" for i in range(200)]
    (tmp_path / "ranks.csv").write_text("\n".join(rows))
    ran = run("train", "ranks.csv", "--target", "risk", "--ordered", "low,mid,high", "-o", "ranks.json", "--json")
    assert ran.status == 0, ran.err
    graph = rulekit.load("ranks.json")
    assert graph.classes == ("low", "mid", "high")
    assert graph.schema.ordered_classes
    assert json.loads(ran.out)["accuracy"] > 0.99


def _features(table: Path) -> object:
    return rulekit.read_table(table)


def _records(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_the_demo_runs_the_whole_chain(run: Run) -> None:
    ran = run("demo", "--folder", "kept")
    assert ran.status == 0, ran.err
    assert ran.out.count("0 different decisions") == 3
    assert Path("kept/model.py").exists()
