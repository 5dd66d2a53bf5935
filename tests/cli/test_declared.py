"""Options that say something about the target, the weights and the way a file is written are heeded or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done


def test_a_test_file_is_read_as_the_training_file_was(run: Run, table: Path) -> None:
    lines = table.read_text().splitlines()
    Path("train.csv").write_text("\n".join([*lines[:200], "0.9,1,red,true,?"]) + "\n")
    Path("test.csv").write_text("\n".join([lines[0], *lines[200:], "0.9,1,red,true,?"]) + "\n")
    options = ("--missing", "label=?", "--missing-target", "drop", "--test", "test.csv", "--json", "-q")
    ran = done(run("train", "train.csv", "--target", "label", "-o", "m.json", *options))
    assert json.loads(ran.out)["rows"] == 101
    measured = run("evaluate", "m.json", "test.csv", "--missing", "?", "--missing-target", "drop", "--json")
    assert json.loads(measured.out)["rows"] == 101


def test_a_label_that_is_no_class_is_refused_with_a_way_that_works(run: Run, model: Path, table: Path) -> None:
    Path("test.csv").write_text(f"{table.read_text()}0.9,1,red,true,yes.\n")
    ran = run("evaluate", str(model), "test.csv")
    assert ran.status == 2
    assert "label 'yes.' is no class of the model; classes are 'no', 'yes'; 1 of 301 rows" in " ".join(ran.err.split())
    ran = run("evaluate", str(model), "test.csv", "--missing", "yes.", "--missing-target", "drop", "--json")
    assert json.loads(ran.out)["rows"] == 300


def test_evaluate_and_threshold_read_a_declared_dialect(run: Run, model: Path, table: Path) -> None:
    text = table.read_text().replace(",", "^").replace(".", ",")
    Path("odd.csv").write_bytes(text.replace("red", "röd").encode("utf-16"))
    dialect = ("--delimiter", "^", "--decimal", ",", "--encoding", "utf-16")
    measured = json.loads(run("evaluate", str(model), "odd.csv", *dialect, "--json").out)
    assert sum(map(sum, measured["confusion"])) == 300
    assert run("threshold", str(model), "odd.csv", *dialect, "--f1", "-o", "t.json").status == 0


def test_a_class_without_weight_has_no_area_and_no_warning(run: Run, model: Path, table: Path) -> None:
    lines = table.read_text().splitlines()
    weights = ["w", *("1234567" if line.endswith("yes") else "0" for line in lines[1:])]
    Path("w.csv").write_text("\n".join(f"{line},{w}" for line, w in zip(lines, weights, strict=True)))
    ran = run("evaluate", str(model), "w.csv", "--weight", "w", "--json")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["auc"] is None
    rows = str(1234567 * sum(line.endswith("yes") for line in lines))  # it was 1.49383e+08
    assert run("evaluate", str(model), "w.csv", "--weight", "w").out.splitlines()[2].split()[1] == rows


def test_a_label_with_a_line_break_stays_on_its_line(run: Run, table: Path) -> None:
    text = table.read_text().replace(",yes\n", ',"so\nso"\n')
    Path("broken.csv").write_text(text)
    done(run("train broken.csv --target label --ordered 'no, so\nso' -o m.json -q"))
    assert len(run("evaluate", "m.json", "broken.csv").out.splitlines()) == 5


@pytest.mark.parametrize("name", ["odd.parquet", "odd.jsonl"])
def test_a_column_that_no_table_can_hold_is_ignored_when_told(run: Run, name: str) -> None:
    import polars as pl

    labels = ["yes" if i % 7 > 3 else "no" for i in range(70)]
    frame = pl.DataFrame({"x": [i % 7 for i in range(70)], "tags": [[1, 2]] * 70, "label": labels})
    frame.write_parquet(name) if name.endswith("parquet") else frame.write_ndjson(name)
    assert_refused(run("train", name, "--target", "label", "-o", "m.json"), "tags", "ignore")
    assert run("train", name, "--target", "label", "-o", "m.json", "--ignore", "tags", "-q").status == 0
    assert run("predict", "m.json", name).status == 0


def test_integers_of_128_bits_are_refused_by_name(run: Run) -> None:
    lines = [json.dumps({"x": 2**70 + i, "label": "ab"[i % 2]}) for i in range(20)]
    Path("huge.jsonl").write_text("\n".join(lines))
    assert_refused(run("train", "huge.jsonl", "--target", "label", "-o", "m.json"), "'x'", "2^53")


def test_fractional_labels_are_classes_only_by_declaration(run: Run) -> None:
    lines = [f"{i % 10},{'1.50' if i % 10 > 5 else '0.25'}" for i in range(80)]
    Path("half.csv").write_text("\n".join(["a,label", *lines]))
    assert_refused(run("train", "half.csv", "--target", "label", "-o", "m.json"), "--type label=categorical")
    done(run("train", "half.csv", "--target", "label", "--type", "label=categorical", "-o", "m.json", "-q"))
    assert json.loads(run("evaluate", "m.json", "half.csv", "--json").out)["accuracy"] == 1.0


def test_labels_beyond_2_53_are_names_in_a_model_that_loads(run: Run) -> None:
    lines = [f"{i % 10},{2**60 + (i % 10 > 5)}" for i in range(80)]
    Path("long.csv").write_text("\n".join(["a,label", *lines]))
    assert run("train", "long.csv", "--target", "label", "-o", "m.json", "-q").status == 0
    assert json.loads(run("evaluate", "m.json", "long.csv", "--json").out)["accuracy"] == 1.0
