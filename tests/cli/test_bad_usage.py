"""Hostile input and rare uses: strange names, many levels, wild values, edits, a shell without arguments."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done

import rulekit


def test_strange_names_are_only_names(run: Run) -> None:
    names = ['__import__("os").system("touch hacked")', 'quo"te', "new\nline", "E", "lambda"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in [*names, "label"])
    body = "".join(f"{i},{i % 7},{i % 5},{i % 3},{i % 2},{'yes' if i > 20 else 'no'}\n" for i in range(60))
    Path("bad.csv").write_text(header + "\n" + body)
    done(run("train bad.csv --target label -o m.json"))
    for target, name in (("onnx", "m.onnx"), ("python", "m.py"), ("text", "m.txt")):
        done(run(f"export m.json --to {target} -o {name}"))
        done(run(f"verify m.json {name} --data bad.csv --rows 100"))
    done(run("show m.json"))
    assert not Path("hacked").exists()


def test_many_levels_gaps_and_infinities_are_learned(run: Run) -> None:
    lines = ["code,x,label"] + [f"id{i},{i % 10},{'yes' if i % 10 > 4 else 'no'}" for i in range(10_000)]
    Path("levels.csv").write_text("\n".join(lines))
    done(run("train levels.csv --target label -o m.json --param max_rules=2 --param stopping=none"))
    assert rulekit.load("m.json").used_features == ("x",)
    wild = ["empty,wild,label"] + [f",{('inf', '-inf', i, i)[i % 4]},{i % 2}" for i in range(80)]
    Path("wild.csv").write_text("\n".join(wild))
    done(run("train wild.csv --target label -o m.json"))


def test_a_gzipped_table_is_read(run: Run, model: Path, table: Path) -> None:
    Path("t.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    done(run("predict model.json t.csv.gz -o p.csv"))


def test_help_version_and_debug_answer(run: Run) -> None:
    assert "train" in run("--help").out
    assert run("--version").out.startswith("rulekit ")
    bare = run()
    assert (bare.status, bare.err) == (0, "")
    assert "Usage" in bare.out
    ran = run("train nowhere.csv --target y -o m.json --debug")
    assert ran.status == 2
    assert "Traceback" in ran.err


def test_a_threshold_does_not_drop_an_edit(run: Run, table: Path) -> None:
    done(run("train table.csv --target label --learner cnll --param n_units=3 -q -o soft.json"))
    done(run("export soft.json --to text -o rules.txt"))
    decided, _, _ = Path("rules.txt").read_text().partition("report")
    reported = "report yes with probability of (H fires with probability 0.9 when a > 0.2)"
    Path("edited.txt").write_text(decided + reported)
    assert "different ways" in done(run("import edited.txt -o edited.json")).err
    assert_refused(run("threshold edited.json table.csv --f1 -o moved.json"), "edited.json", "edited")
    assert not Path("moved.json").exists()


def test_a_number_of_threads_that_polars_would_panic_over(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "0")
    assert_refused(run("describe t.csv"), "POLARS_MAX_THREADS: '0' is no number of threads")
