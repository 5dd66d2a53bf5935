"""`rulekit monitor`, and the one line that predict and evaluate print where rows are not like those of training."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done

Row = dict[str, str]


def _changed(table: Path, change: Callable[[Row], Mapping[str, str]], name: str = "today.csv") -> Path:
    """The rows of a table, each changed."""
    rows = [{**row, **change(row)} for row in csv.DictReader(table.open())]
    path = table.parent / name
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _bad(row: Row) -> Row:
    return {"a": str(float(row["a"]) * 100), "c": f"x{row['c']}"}


def test_rows_of_training_are_alike_and_nothing_is_said(run: Run, model: Path, table: Path) -> None:
    for words in (("predict", "-o", "p.csv"), ("evaluate",)):
        ran = done(run(words[0], str(model), str(table), *words[1:]))
        assert "not like" not in ran.err
    ran = done(run("monitor", str(model), str(table), "--fail-on", "any"))
    assert ran.out.startswith("alike ")
    assert ran.err == ""


def test_what_is_odd_is_said_by_predict_and_evaluate_and_named_by_monitor(run: Run, model: Path, table: Path) -> None:
    """A table with new levels and one column times 100 was scored without a word; docs/drift.md has what is printed."""
    _changed(table, _bad)
    said = " ".join(done(run("predict model.json today.csv")).err.split())
    assert said.startswith("note: these rows are not like those of training: a: 100 times the values of training; ")
    assert said.endswith("rulekit monitor model.json today.csv shows all")
    assert "new levels in every row" in " ".join(done(run("evaluate model.json today.csv")).err.split())
    found = json.loads(run("evaluate model.json today.csv --json").out)["drift"]
    assert {column["name"] for column in found["columns"] if column["changes"]} == {"a", "c"}
    assert json.loads(run("predict model.json today.csv --json").out)[0]["label"] in ("no", "yes")
    for condition, status in (("any", 1), ("columns", 1), ("rules", 1), ("psi=0.25", 1), ("psi>1000", 0)):
        assert run(f"monitor model.json today.csv --fail-on '{condition}'").status == status, condition
    ran = run("monitor model.json today.csv --fail-on 'psi=1000, columns' --json -o found.json")
    assert ran.status == 1
    found = json.loads(ran.out)
    assert found["failed"] == ["columns"]
    assert json.loads(Path("found.json").read_text()) == found
    kinds = {column["name"]: [change["kind"] for change in column["changes"]] for column in found["columns"]}
    assert (kinds["a"], kinds["c"]) == (["times"], ["new levels"])


def test_rows_need_no_label(run: Run, model: Path, table: Path) -> None:
    rows = [line.rsplit(",", 1)[0] for line in table.read_text().splitlines()]
    Path("rows.csv").write_text("\n".join(rows) + "\n")
    ran = done(run("monitor", str(model), "rows.csv"))
    assert "actual" not in ran.out
    strange = _changed(table, lambda row: {"label": "perhaps"})
    ran = done(run("monitor", str(model), str(strange)))
    assert "the classes of the rows are not compared" in " ".join(ran.err.split())


def test_weights_of_rows_count(run: Run, model: Path, table: Path) -> None:
    heavy = _changed(table, lambda row: {"w": "9" if row["c"] == "green" else "1"})
    ran = done(run("monitor", str(model), str(heavy), "--weight", "w", "--json"))
    changes = {column["name"]: column["changes"] for column in json.loads(ran.out)["columns"]}
    assert changes["c"][0]["text"].startswith('"green" in ')


def test_a_fault_of_the_comparison_keeps_the_predictions(
    run: Run, model: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`predict` and `evaluate` ended without a result where the rows could not be compared with those of training."""

    def compare(*_: object, **__: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr("rulekit.work.monitoring.compare", compare)
    for words in (("predict", str(model), str(table), "-o", "p.csv"), ("evaluate", str(model), str(table))):
        ran = done(run(*words))
        assert "note: rulekit could not compare these rows with those of training: IndexError" in ran.err
    assert Path("p.csv").read_text().count("\n") == 301


@pytest.mark.parametrize("target", ["python", "sql"])
def test_counts_of_an_export_stand_for_the_rows(run: Run, model: Path, table: Path, target: str) -> None:
    bad = _changed(table, lambda row: {"c": "green"})
    artifact = f"model.{'py' if target == 'python' else 'sql'}"
    assert run("export", str(model), "--to", target, "--counts", "-o", artifact).status == 0
    if target == "python":
        space: dict = {"__name__": "artifact"}
        exec(compile(Path(artifact).read_text(), artifact, "exec"), space)
        counts = json.dumps(space["count_rules"](csv.DictReader(bad.open())))
    else:
        counts = _in_sqlite(Path(artifact).read_text(), bad)
    Path("counts.txt").write_text(counts)
    ran = run("monitor", str(model), "counts.txt", "--counts", "--json", "--fail-on", "rules")
    assert ran.status == 1, ran.err
    own = json.loads(run("monitor", str(model), str(bad), "--json").out)
    assert [rule["now"] for rule in json.loads(ran.out)["rules"]] == [rule["now"] for rule in own["rules"]]


def _in_sqlite(query: str, table: Path) -> str:
    """What a query gives on the rows of a table, as CSV."""
    import sqlite3

    rows = list(csv.reader(table.open()))
    database = sqlite3.connect(":memory:")
    database.execute(f'CREATE TABLE "rows" ({", ".join(rows[0])})')
    database.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * len(rows[0]))})', rows[1:])
    found = database.execute(query).fetchall()
    return "what,name,count\n" + "".join(f"{what},{name},{count}\n" for what, name, count in found)


def test_bad_usage_is_one_line(run: Run, model: Path, table: Path) -> None:
    stripped = json.loads(model.read_text())
    stripped["statistics"] = {}
    stripped.pop("ladder", None)
    Path("bare.json").write_text(json.dumps(stripped))
    assert_refused(run("monitor", "bare.json", str(table)), "does not say what trained it", "rulekit refit")
    bad = _changed(table, _bad)
    assert "not like" not in run("predict", "bare.json", str(bad), "-o", "p.csv").err
