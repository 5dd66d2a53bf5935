"""Bad usage and hostile input: one clear line, exit status 2, no traceback, nothing lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from command_line import Run, assert_refused

import rulekit


def write(text: str | bytes, name: str = "bad.csv") -> str:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return name


def rows(header: str, count: int = 40) -> str:
    return header + "\n" + "".join(f"{i},{i % 3},{'yes' if i % 2 else 'no'}\n" for i in range(count))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["bad.csv"]),
        ("a,b,label\n", ["bad.csv"]),
        (rows("a,b,label") + "1,2\n", ["bad.csv", "row"]),
        (rows("a,b,label") + "1,2,yes,4\n", ["bad.csv", "row"]),
        (bytes(range(256)) * 40, ["bad.csv"]),
        (rows("a,a,label"), ["'a'"]),
        ("a,b,label\n" + "1,2,yes\n" * 30, ["yes"]),
        (rows("a,b,label") + "1,2,\n", ["label"]),
    ],
    ids=["empty", "header only", "short row", "long row", "noise", "duplicate columns", "one class", "no label"],
)
def test_tables_that_cannot_be_learned_from(run: Run, content: str | bytes, words: list[str]) -> None:
    ran = run("train", write(content), "--target", "label", "-o", "m.json")
    assert_refused(ran, *words)
    assert not Path("m.json").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere.csv --target y", ["nowhere.csv"]),
        ("table.csv --target labell", ["labell", "label"]),
        ("table.csv", ["--target"]),
        ("table.csv --target label --param max_rule=3", ["max_rule", "max_rules"]),
        ("table.csv --target label --param stoping=none", ["stoping", "did you mean stopping?"]),
        ("table.csv --target label --param max_rules=many", ["max_rules"]),
        ("table.csv --target label --seed -1", ["--seed"]),
        ("table.csv --target label --time-limit -1", ["--time-limit"]),
        ("table.csv --target label --memory much", ["'much' is no amount of memory"]),
        ("table.csv --target label --memory 100MB", ["MB of memory, 100 MB are allowed; allow"]),
        # Before the table is read.
        ("nowhere.csv --target y --learner magic", ["magic", "rules"]),
        ("nowhere.csv --target y --param x=1", ["'x'", "max_rules"]),
        ("nowhere.csv --target y --param max_rules=-3", ["--param: max_rules is -3", "from 1"]),
        # By the name that was typed, not by that of the parameter behind it.
        ("nowhere.csv --target y --report maybe", ["rulekit: --report is 'maybe'; one of 'rules', 'all', 'rates'"]),
        ("nowhere.csv --target y --learner cnll --report all", ["rulekit: --report: cnll predicts", "leave it out"]),
        ("nowhere.csv --target y --param report=all", ["report is no --param; use --report"]),
        ("nowhere.csv --target y --param groups=a", ["groups is no --param; use --group"]),
        ("table.csv --target label --missing-target no", ["rulekit: --missing-target: 'no'; error or drop"]),
        ("table.csv --target label --monotone x=increasing", ["rulekit: --monotone: no column 'x'"]),
        ("table.csv --target label --forbid a", ["rulekit: --forbid: 'a' is not two columns"]),
        ("table.csv --target label --require a", ["rulekit: --require: 'a' names no class"]),
    ],
)
def test_what_training_cannot_do_is_named(run: Run, table: Path, given: str, words: list[str]) -> None:
    assert_refused(run("train", *given.split(), "-o", "m.json"), *words)
    assert not Path("m.json").exists()


@pytest.mark.parametrize("output", ["/proc/rulekit/m.json", "nowhere/m.json", "/dev/full"])
def test_an_output_that_cannot_be_written(run: Run, table: Path, output: str) -> None:
    assert_refused(run("train", str(table), "--target", "label", "-o", output), output)


def test_a_failed_run_leaves_the_old_model(run: Run, model: Path) -> None:
    before = model.read_bytes()
    assert_refused(run("train", "nowhere.csv", "--target", "label", "-o", str(model)))
    assert model.read_bytes() == before


def test_strange_names_are_only_names(run: Run) -> None:
    names = ['__import__("os").system("touch hacked")', 'quo"te', "new\nline", "E", "lambda"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in [*names, "label"])
    body = "".join(f"{i},{i % 7},{i % 5},{i % 3},{i % 2},{'yes' if i > 20 else 'no'}\n" for i in range(60))
    write(header + "\n" + body)
    assert run("train", "bad.csv", "--target", "label", "-o", "m.json").status == 0
    for target, name in (("onnx", "m.onnx"), ("python", "m.py"), ("text", "m.txt")):
        assert run("export", "m.json", "--to", target, "-o", name).status == 0
        checked = run("verify", "m.json", name, "--data", "bad.csv", "--rows", "100")
        assert checked.status == 0, checked.out + checked.err
    assert run("show", "m.json").status == 0
    assert not Path("hacked").exists()


def test_a_category_of_many_levels_is_learned(run: Run) -> None:
    lines = ["code,x,label"] + [f"id{i},{i % 10},{'yes' if i % 10 > 4 else 'no'}" for i in range(30_000)]
    write("\n".join(lines))
    ran = run(
        "train", *["bad.csv", "--target", "label", "-o", "m.json", "--param", "max_rules=2", "--param", "stopping=none"]
    )
    assert ran.status == 0, ran.err
    assert rulekit.load("m.json").used_features == ("x",)


def test_missing_and_infinite_values_are_learned(run: Run) -> None:
    lines = ["empty,wild,label"] + [
        f",{'inf' if i % 4 == 0 else '-inf' if i % 4 == 1 else i},{i % 2}" for i in range(80)
    ]
    write("\n".join(lines))
    ran = run("train", "bad.csv", "--target", "label", "-o", "m.json")
    assert ran.status == 0, ran.err


@pytest.mark.parametrize("command", ["show", "export", "predict", "evaluate", "simplify", "verify", "import"])
def test_damaged_models_are_refused_everywhere(run: Run, model: Path, table: Path, command: str) -> None:
    model.write_bytes(model.read_bytes()[:-200])
    arguments = {
        "export": ["--to", "text", "-o", "x.txt"],
        "predict": [str(table)],
        "evaluate": [str(table)],
        "simplify": ["-o", "x.json"],
        "verify": [str(table)],
        "import": ["-o", "x.json"],
    }.get(command, [])
    assert_refused(run(command, str(model), *arguments), "model.json")
    assert not Path("x.json").exists()


def test_prediction_names_what_is_wrong_with_the_table(run: Run, model: Path) -> None:
    assert_refused(run("predict", str(model), write("b,c,d\n1,red,true\n")), "'a'")
    assert_refused(run("predict", str(model), write("a,b,c,d\nmany,1,red,true\n")), "'a'", "many")


def test_a_gzipped_table_is_read(run: Run, model: Path, table: Path) -> None:
    Path("t.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    assert run("predict", str(model), "t.csv.gz", "-o", "p.csv").status == 0


def test_debug_prints_the_traceback(run: Run) -> None:
    ran = run("train", "nowhere.csv", "--target", "y", "-o", "m.json", "--debug")
    assert ran.status == 2
    assert "Traceback" in ran.err


def test_help_and_version_answer(run: Run) -> None:
    assert "train" in run("--help").out
    assert run("--version").out.startswith("rulekit ")


def test_a_missing_column_lists_what_the_file_has(run: Run, model: Path) -> None:
    assert_refused(run("predict", str(model), write("foo,bar\n1,2\n")), "'foo', 'bar'")
    assert_refused(run("evaluate", str(model), write("foo,bar\n1,2\n")), "'label'", "'foo', 'bar'")


def test_the_bare_command_prints_help_and_no_error_line(run: Run) -> None:
    ran = run()
    assert ran.status == 0
    assert "Usage" in ran.out
    assert ran.err == ""


def test_a_number_to_predict_is_no_set_of_classes(run: Run) -> None:
    write("x,y\n" + "".join(f"{i},{i * 2}\n" for i in range(120)))
    assert_refused(run("train", "bad.csv", "--target", "y", "-o", "m.json"), "120 different labels", "--type y=")


def test_a_threshold_does_not_drop_an_edit(run: Run, table: Path) -> None:
    words = ("--learner", "cnll", "--param", "n_units=3", "--no-baselines", "-q")
    run("train", str(table), "--target", "label", *words, "-o", "soft.json")
    run("export", "soft.json", "--to", "text", "-o", "rules.txt")
    decided, _, _ = Path("rules.txt").read_text().partition("report")
    Path("edited.txt").write_text(
        decided + "report yes with probability of (H fires with probability 0.9 when a > 0.2)"
    )
    imported = run("import", "edited.txt", "-o", "edited.json")
    assert imported.status == 0
    assert "different ways" in imported.err
    assert_refused(run("threshold", "edited.json", str(table), "--f1", "-o", "moved.json"), "edited.json", "edited")
    assert not Path("moved.json").exists()


def test_a_number_of_threads_that_polars_would_panic_over(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "0")
    assert_refused(run("describe", "t.csv"), "POLARS_MAX_THREADS: '0' is no number of threads")
