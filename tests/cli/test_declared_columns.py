"""What `rulekit train` is told of columns, from the option to the printed rule and back."""

from __future__ import annotations

import datetime
import json
import logging
from pathlib import Path

import polars as pl
import pytest
from command_line import Run, assert_refused, done


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """400 rows: yes where signed up until 2018 or with an income above 24,950; `answer` gives it away."""
    lines = ["signed_up,seen,income,rate,city,answer,label"]
    for i in range(400):
        day = datetime.date(2017, 1, 5) + datetime.timedelta(days=i % 50 * 24)
        seen = datetime.datetime(2020, 1, 1, 6) + datetime.timedelta(seconds=(i * 7919) % 86400)
        income, rate = 15000 + i * 7 % 40 * 500, (i * 13) % 100 / 10
        label = "yes" if day < datetime.date(2019, 1, 1) or income > 24950 else "no"
        lines.append(f"{day},{seen},{income},{rate},{'ab'[i % 2]},{label},{label}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


DECLARED = ("--type", "signed_up=date", "--type", "seen=datetime", "--unit", "income=EUR", "--unit", "rate=%")
ROLES = ("--role", "answer=forbidden", "--role", "city=audit", "--unseen", "city=missing")


@pytest.fixture
def trained(run: Run, visits: Path, trained_once: dict[str, bytes]) -> Path:
    path = visits.parent / "m.json"
    if "visits" not in trained_once:
        words = ("--target", "label", "--positive", "yes", *DECLARED, *ROLES, "-o", "m.json", "-q")
        done(run("train", str(visits), *words, "--param", "max_rules=4"))
        trained_once["visits"] = path.read_bytes()
    path.write_bytes(trained_once["visits"])
    return path


def test_declared_columns_are_shown_so_everywhere(run: Run, trained: Path, visits: Path) -> None:
    for form in ("rules", "table", "csv", "c50"):
        shown = run("show", str(trained), "--format", form).out.replace("\\_", "_").replace("&lt;", "<")
        assert "signed_up <= 2018-12-31" in shown, form
        assert "income > 24,700 EUR" in shown, form
        assert "answer" not in shown

    language = run("show", str(trained), "--format", "language").out
    assert "column seen: numeric, float64, datetime\n" in language
    assert 'column income: numeric, money, unit "EUR"\n' in language
    assert "column city: categorical {a, b}, unseen missing, audit\n" in language
    assert "column answer: categorical {no, yes}, forbidden\n" in language
    assert "signed_up <= 2018-12-31" in language
    assert "income > 24700" in language


def test_every_artifact_carries_the_dates(run: Run, trained: Path, visits: Path) -> None:
    for to, name in (("text", "m.txt"), ("python", "m.py"), ("onnx", "m.onnx")):
        assert run("export", str(trained), "--to", to, "-o", name).status == 0
        done(run("verify", str(trained), name, "--data", str(visits), "--rows", "100"))
        assert run("import", name, "-o", "again.json").status == 0
        assert json.loads(Path("again.json").read_text())["digest"] == json.loads(trained.read_text())["digest"]
    assert "signed_up <= 2018-12-31" in Path("m.py").read_text().split("def decide")[1].split("def ")[0]


def test_a_rule_that_reads_a_forbidden_column_is_refused(run: Run, trained: Path) -> None:
    run("export", str(trained), "--to", "text", "-o", "m.txt")
    text = Path("m.txt").read_text()
    Path("m.txt").write_text(text.replace("signed_up <= 2018-12-31", "answer in {yes}"))

    assert_refused(run("import", "m.txt", "-o", "again.json"), "answer", "forbidden")


def test_verify_reads_a_declared_dialect(run: Run, model: Path, table: Path) -> None:
    text = table.read_text().replace(",", "^").replace(".", ",")
    Path("odd.csv").write_bytes(text.encode("utf-16"))
    assert run("export", str(model), "--to", "text", "-o", "m.txt").status == 0
    options = ("--delimiter", "^", "--decimal", ",", "--encoding", "utf-16")

    ran = run("verify", str(model), "m.txt", "--rows", "100", "--data", "odd.csv", *options)

    assert (ran.status, "and 300 given" in ran.out) == (0, True), ran.err


def test_labels_of_a_date_are_dates(run: Run) -> None:
    days = [datetime.date(2024, 5, 31) if i % 10 < 4 else datetime.date(2024, 6, 1) for i in range(80)]
    pl.DataFrame({"a": [i % 10 for i in range(80)], "due": days}).write_parquet("t.parquet")

    assert run("train", "t.parquet", "--target", "due", "-o", "m.json", "-q").status == 0
    assert json.loads(Path("m.json").read_text())["classes"] == ["2024-06-01", "2024-05-31"]
    assert json.loads(run("evaluate", "m.json", "t.parquet", "--json").out)["accuracy"] == 1.0


def test_quiet_hides_what_the_simplifier_says(run: Run, visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages about budgets came through --quiet."""

    def simplify(graph: object, *_: object, **__: object) -> object:
        logging.getLogger("rulekit.simplification.passes").warning("over budget")
        return graph

    monkeypatch.setattr("rulekit.learners.sizes.path.simplify", simplify)
    options = ("train", str(visits), "--target", "label", "-o", "m.json", "--param", "max_rules=2")

    assert "note: over budget" in run(*options).err
    assert run(*options, "-q").err == ""
    assert logging.getLogger("rulekit").level == logging.NOTSET


def test_dates_are_counted_apart_and_a_model_without_rules_says_so(run: Run) -> None:
    """Dates were listed as numbers; `0 units` was all that was said of a model that decides every row alike."""
    Path("flat.csv").write_text("day,y\n" + "".join(f"2024-01-0{i % 4 + 1},{'ab'[i // 4 % 2]}\n" for i in range(40)))
    ran = done(run("train", "flat.csv", "--target", "y", "--type", "day=date", "-o", "m.json"))
    assert "40 rows, 1 column: 1 date\n  date         day\n" in ran.err
    assert "note: no rule was found, every row is decided 'a'" in ran.err
