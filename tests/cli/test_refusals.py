"""What the commands refuse: one line that names the fault, exit status 2, and no file made or changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from command_line import Run, assert_refused
from foreign_models import HOSTILE, write
from report_models import LOANS

FILES = {
    "rules.txt": 'rulekit rules 1\ncolumn a: numeric, missing {"-9"}\ncolumn b: numeric\ncolumn c: categorical {red}\n'
    'label "label": {no, yes}\ndecide yes when any of (c in {red}, b > 1.755 and a <= 0.125)\n',
    "bad.toml": "no toml",
    "column.toml": "[columns]\nzz = { unit = 'EUR' }\n",
    "kind.toml": "[columns]\nc = { kind = 'numeric' }\n",
    "hostile.onnx": "\0" * 100,
    "others/old.json": "{}",
}
TRAIN = "train table.csv --target label"
# A command, and what its last line says; {train} trains on the table, {rows} on a folder of it with an engine, {loans}
# on the loans, all to m.json.
REFUSED = """
train nowhere.csv --target y -o m.json | nowhere.csv
train table.csv --target labell -o m.json | labell | label
train table.csv -o m.json | --target
{train} --param max_rule=3 | max_rule | max_rules
{train} --param stoping=none | stoping | did you mean stopping?
{train} --param max_rules=many | max_rules
{train} --learner additive --param points=0 | points | True, False, or a whole number
{train} --seed -1 | --seed
{train} --time-limit -1 | --time-limit
{train} --memory much | 'much' is no amount of memory
{train} --memory 100MB | MB of memory, 100 MB are allowed; allow
train nowhere.csv --target y --learner magic -o m.json | magic | rules
train nowhere.csv --target y --param x=1 -o m.json | 'x' | max_rules
train nowhere.csv --target y --param max_rules=-3 -o m.json | --param: max_rules is -3 | from 1
train nowhere.csv --target y --report maybe -o m.json | rulekit: --report is 'maybe'; one of 'rules', 'all', 'rates'
train nowhere.csv --target y --learner cnll --report all -o m.json | rulekit: --report: cnll predicts | leave it out
train nowhere.csv --target y --param report=all -o m.json | report is no --param; use --report
train nowhere.csv --target y --param groups=a -o m.json | groups is no --param; use --group
train --learner cnl --help | 'cnl' | cnll
{train} --missing-target no | rulekit: --missing-target: 'no'; error or drop
{train} --monotone x=increasing | rulekit: --monotone: no column 'x'
{train} --forbid a | rulekit: --forbid: 'a' is not two columns
{train} --require a | rulekit: --require: 'a' names no class
{train} --weight label | label | weight
{train} --group label | label | group
{train} --time a --group c | give one
{train} --ignore label | label | ignored
{train} --type label=ignore | label | ignored
{train} --type label=ordered:no,yes | label | --ordered
{train} --missing bb=? | 'bb' | columns are 'a', 'b'
{train} --type c=ordered: | 'c' | empty level
{train} --ordered "" | no class ''
{train} --types column.toml | no column 'zz'
{train} --types kind.toml | column 'c'
{train} --role a=audit --role b=audit --role c=audit --role d=audit | --role | no column is left
{loans} --unit incme=EUR | incme | did you mean 'income'?
{loans} --unit income | --unit | COL=UNIT
{loans} --unit purpose=EUR | purpose | categorical | only numbers have a unit
{loans} --unit default=EUR | default | no feature
{loans} --role purpose=hidden | purpose | hidden | use, audit or forbidden
{loans} --role default=audit | default | no feature
{loans} --unseen purpose=ignore | purpose | unseen, missing or error
{loans} --type purpose=date | purpose | data row 1 | is not a date
{loans} --type income=day | income | datetime | money
{train} --start rules.txt --freeze r1 | no rule 'r1'
{train} --start rules.txt --positive no | about the class 'yes'
{train} --start rules.txt --ignore a | column 'a'
{train} --start nowhere.json | nowhere.json
{train} --freeze all | --freeze
{train} --param start=rules.txt | use --start
{train} --smallest --param parsimony=2 | --smallest and --param parsimony
{train} --smallest --param stopping=none | --smallest and --param stopping
{train} --smallest --size 1 | say which size
{train} --curve curve.txt | a curve is no .txt
{train} --curve curve | curve.png or curve.csv
{train} --curve curve.csv --param stopping=none | no curve without cross-validation
{train} --curve curve.csv --curve ./curve.csv | two results would be written to one file
{train} --curve nowhere/curve.csv | nowhere
{train} --curve table.csv | lost
train table.csv --target label --label-separator ; -o models.json | a folder is needed for the models of 2 labels
train table.csv --target label --label-separator " " -o models | a space cannot stand between two
train table.csv --target label --label-separator ; --curve c.csv -o models | a file of one model is asked for
train table.csv --target label --label-separator ; -o others | the folder holds another file, old.json
train table.csv --target label --label-separator ; -o models --param size=0 | size
train table.csv --target label -o /proc/rulekit/m.json | /proc/rulekit/m.json
train table.csv --target label -o nowhere/m.json | nowhere/m.json
train table.csv --target label -o /dev/full | /dev/full
train table.csv --target label -o x.csv | x.csv | call it
train table.csv --target label -o model | model | call it
train table.csv --target label -o x.onnx | x.onnx | call it
train table.csv --target label --start model.json -o model.json | would be lost
train nowhere.csv --target label -o model.json | nowhere.csv
{train} --teacher hostile.onnx | hostile.onnx: this is no ONNX
{train} --teacher nowhere.onnx | nowhere.onnx: cannot be read
{train} --teacher table.csv | table.csv
{train} --teacher bad.toml | bad.toml
{train} --teacher model.json --teacher-column a | give one of the two
{train} --teacher-column aa | 'aa' | columns are 'a'
{train} --teacher-column c | the classes are 'no', 'yes'; give --teacher-classes
{train} --teacher-column b | says nothing of
{train} --teacher-column c --teacher-cut 3 | column 'c': a cut is one of numbers
{train} --teacher-column a --ask 5 | a column answers no new rows
{train} --teacher-cut 0 | --teacher-cut | no teacher is named
{train} --teacher-classes no,yes | --teacher-classes | no teacher is named
{train} --ask 5 | --ask | no teacher is named
{train} --ask 0 --teacher model.json | --ask
{train} --ask 1000000000000 --teacher model.json | --ask | at most 1,000,000 rows
{train} --ask-out asked.csv --teacher model.json | --ask-out | give --ask N
{train} --ask-out asked.csv | --ask-out
{train} --teacher model.json --ask 5 --ask-out asked.txt | .csv
{train} --teacher model.json --ask 5 --ask-out table.csv | would be lost
{train} --engine dask | table.csv: an engine reads Parquet, and this is none; write the rows as Parquet
{rows} --engine spark | --engine: no engine 'spark'; dask, or dask://HOST
{rows} --engine dask:// | --engine: no engine 'dask://'
{train} --engine dask --learner cnll | --engine: cnll learns in one process only; leave it out
{train} --engine dask --learner additive --param points=3 | --param points: this needs all rows in one process
{train} --engine dask --require "a > 1 -> yes" | --require: this needs all rows in one process; leave it out
{train} --engine dask --start model.json | --start: this needs all rows in one process
{train} --engine dask --freeze all | --freeze: this needs
{train} --engine dask --overrides model.json | --overrides: this needs
{train} --engine dask --teacher model.json | --teacher: this needs
{train} --engine dask --teacher-column a | --teacher-column: this needs
{train} --engine dask --teacher-cut 0 | --teacher-cut: this needs
{train} --engine dask --teacher-classes a,b | --teacher-classes: this needs
{train} --engine dask --ask-out a.csv | --ask-out: this needs
{train} --engine dask --ask 5 | --ask: this needs
{train} --engine dask --memory 500MB | --memory: this needs
{train} --engine dask --holdout 0.3 | --holdout: this needs
{train} --engine dask --holdout-out h.csv | --holdout-out: this needs
{train} --engine dask --size 1 --smallest | --smallest and --size
{train} --engine dask --curve c.txt | a curve is no .txt
{rows} --group c | --group: an engine does not know it; leave it out, or train in one process
{rows} --time a | --time: an engine does not know it
{rows} --label-separator ; | --label-separator: an engine does not know it
{rows} --ignore zz | no column 'zz'
train rows --target labell --engine dask -o m.json | labell | label
train rows --engine dask -o m.json | rows: no label column is named
train others --target label --engine dask -o m.json | old.json: an engine reads Parquet
train none --target label --engine dask -o m.json | none: a folder without a Parquet file; give one with the rows
train nowhere --target label --engine dask -o m.json | nowhere: no such file
train differ --target label --engine dask -o m.json | b.parquet, column 'b': no such column here, Float64 in a.parquet
train cut --target label --engine dask -o m.json | a.parquet: this is no readable Parquet file
train rows --target label --engine dask -o x.csv | x.csv | call it
train rows --target label -o m.json | rows: this is a folder
{train} --teacher model.json --memory 400MB | --memory | leave it out
{train} --teacher-column a --positive maybe | no class 'maybe'
train table.csv --target label --label-separator ; --teacher model.json -o models | one label
train table.csv --teacher model.json --teacher-classes no,yes --weight a -o m.json | name it with --target
evaluate model.json table.csv --teacher hostile.onnx | hostile.onnx
evaluate model.json table.csv --teacher-cut 5 | no teacher is named
evaluate model.json table.csv --teacher-column aa | 'aa'
evaluate model.json table.csv --teacher-column a --target lable | no target column 'lable'
evaluate model.json table.csv --curve c.csv --teacher model.json | --teacher measures one model
try table.csv --target lable | lable | did you mean 'label'
try table.csv --target label --learners adabost | no learner 'adabost' | did you mean adaboost?
try table.csv --target label --folds 1 | --folds
try table.csv --target label --time-limit 0 | --time-limit | give more time
try table.csv --target label --monotone a=up | no direction
try table.csv --target label --learners ltu-tree --monotone a=increasing | cannot promise
try table.csv --target b --missing-target drop | fractional
resize model.json | which size?
resize model.json --size 99 | no row of size 99
resize model.json --rules 0 | no row
show model.json --format tabel | --format | table | language
explain model.json table.csv --row one | 'one' is no whole number
reasons model.json | say what to do with a catalogue
reasons model.json --catalogue bad.toml | this is no TOML
check | give a model, or a sentence
check model.json --sentence "exists x: E(x)" | give a model, or a sentence
check --sentence "exists x E(x)" | is no sentence
check --sentence "P(a) and P(a, b)" | different numbers of names
check --sentence "P(a)" --graph P | 'P' is no relation of the sentence
compare model.json none.json | cannot be read
compare model.json hostile.onnx | hostile.onnx
compare model.json model.json --by c | --by
compare model.json model.json --data table.csv --by lable | label
sample model.json table.csv --label maybe | no class 'maybe'
sample model.json table.csv --take 1 | --take | -o FILE
sample model.json table.csv --take 99 -o taken.json --steps 1000 -q | no rule set number 99
sample model.json table.csv -o taken.json | --take N
sample model.json table.csv --take 1 -o taken.onnx | taken.onnx
sample model.json table.csv --picture walks.jpg | walks.jpg
sample model.json table.csv --param likelihood=normal | likelihood
sample model.json table.csv --param size=3.5 | size
sample model.json table.csv --param n_folds=3 | sample has no n_folds | n_chains
sample model.json table.csv --param n_chains=1 | one walk
sample model.json table.csv --param n_chains=1000000 | n_chains
sample model.json table.csv --steps 99999999999999999999 | --steps
sample model.json table.csv --time-limit 0 | too few steps
bounds model.json --delta 1.5 | --delta | 0.05
bounds model.json --epsilon 0 | --epsilon
bounds model.json none.csv | none.csv
bounds none.json | none.json
threshold model.json table.csv --recall 0.9 --f1 -o wide.json | purpose
override model.json "a > 0.9 -> no" --author A --reason b -o m.json | an override has a date | never taken from
override model.json "a > 0.9 -> no" --author A --reason b --date 2026-11-25 | where is the model to be written?
override model.json -o two.json | nothing to change
override model.json "a > 0 -> no" "b > 1 -> no" --author A --reason b --date 2026-11-25 --id x -o m.json | --id names
override model.json --remove o1 -o two.json | an override has an author
predict model.json model.json | JSON
predict model.json others | others: this is a folder
evaluate others table.csv --by c | --by measures one model
monitor model.json table.csv --fail-on everything | 'everything' is nothing to fail on
monitor model.json table.csv --counts | no columns what, name and count
monitor model.json table.csv --weight v | no column 'v'
export model.json --to onnx --opste 12 -o m.onnx | --opste | --opset
export model.json --to onxn -o m.onnx | 'onxn' | onnx
export model.json --to onnx --opset x -o m.onnx | --opset
export model.json --to onnx -o m.json | m.json | m.onnx
export model.json --to text -o m.py | m.py | m.txt
verify model.json rules.txt --rows 0 | nothing to compare
verify model.json rules.txt --seed -1 | --seed
verify model.json rules.txt --require prof | '--require': 'prof' is not one of 'proof'
verify model.json gone.onnx | gone.onnx: cannot be read: no such file
verify m.json model.json | model.json: this is a model, not an artifact of one | rulekit compare A B | rulekit export
verify rules.txt | a model is needed, or the report of an earlier verification; rulekit verify MODEL ARTIFACT
verify a.json b.onnx c.onnx | 3 files are given
verify m.json rules.txt --against p.json | --against takes the artifact alone
verify rules.txt --against p.json --rows 5 | --rows does not go with --against
verify rules.txt --against p.json --data t.csv | --data does not go with --against
verify rules.txt --against nothing.json | nothing.json: cannot be read: no such file
"""


def parquet(folder: Path) -> None:
    """Folders of the table in Parquet: whole, empty, with other columns in one file, and cut off."""
    frame = pl.read_csv(folder / "table.csv")
    for name in ("rows", "none", "differ", "cut"):
        (folder / name).mkdir()
    for name in ("rows", "differ", "cut"):
        frame.write_parquet(folder / name / "a.parquet")
    frame.drop("b").write_parquet(folder / "differ" / "b.parquet")
    (folder / "cut" / "a.parquet").write_bytes((folder / "rows" / "a.parquet").read_bytes()[:200])


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_what_cannot_be_done_is_one_line_and_changes_no_file(case: str, run: Run, model: Path, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copy(LOANS, tmp_path)
    parquet(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    line, *words = case.split(" | ")
    trains = {"train": f"{TRAIN} -o m.json", "loans": "train loans.csv --target default -o m.json"}
    trains["rows"] = "train rows --target label --engine dask -o m.json"
    ran = run(line.format(**trains))
    assert_refused(ran, *words)
    assert ran.out == ""
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["external-inside", "custom", "memory", "nan", "one-label", "foreign-label", "cut"])
def test_hostile_teachers_are_one_line_and_leave_no_model(name: str, run: Run, table: Path) -> None:
    content, said = HOSTILE[name]
    write(Path(), f"{name}.onnx", content)
    ran = run(f"{TRAIN} --teacher {name}.onnx --ask 20 --ask-out asked.csv --holdout 0.3 -o m.json")
    assert_refused(ran, f"{name}.onnx", said)
    assert (ran.out, Path("m.json").exists(), Path("asked.csv").exists()) == ("", False, False)


ROWS = "a,b,label\n" + "".join(f"{i},{i % 3},{'yes' if i % 2 else 'no'}\n" for i in range(40))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["bad.csv"]),
        (b"a,b,label\n", ["bad.csv"]),
        (f"{ROWS}1,2\n".encode(), ["bad.csv", "row"]),
        (f"{ROWS}1,2,yes,4\n".encode(), ["bad.csv", "row"]),
        (bytes(range(256)) * 40, ["bad.csv"]),
        (ROWS.replace("a,b", "a,a").encode(), ["'a'"]),
        (b"a,b,label\n" + b"1,2,yes\n" * 30, ["yes"]),
        (f"{ROWS}1,2,\n".encode(), ["label"]),
        (
            b"x,label\n" + b"".join(b"%d,%d\n" % (i, 2 * i) for i in range(120)),
            ["120 different labels", "--type label="],
        ),
    ],
)
def test_tables_that_cannot_be_learned_from(run: Run, content: bytes, words: list[str]) -> None:
    Path("bad.csv").write_bytes(content)
    assert_refused(run("train bad.csv --target label -o m.json"), *words)
    assert not Path("m.json").exists()


@pytest.mark.parametrize(
    ("command", "content", "words"),
    [
        ("predict", "b,c,d\n1,red,true\n", ["'a'"]),
        ("predict", "a,b,c,d\nmany,1,red,true\n", ["'a'", "many"]),
        ("predict", "foo,bar\n1,2\n", ["'foo', 'bar'"]),
        ("evaluate", "foo,bar\n1,2\n", ["'label'", "'foo', 'bar'"]),
        ("sample", "a,b,c,d,label\n" + "0.2,1,red,true,yes\n" * 5 + "0.2,1,red,true,no\n" * 5, ["too few steps"]),
    ],
)
def test_tables_that_a_model_cannot_read(command: str, content: str, words: list[str], run: Run, model: Path) -> None:
    Path("bad.csv").write_text(content)
    assert_refused(run(f"{command} model.json bad.csv"), *words)


@pytest.mark.parametrize("command", ["show", "export", "predict", "evaluate", "simplify", "verify", "import"])
def test_damaged_models_are_refused_everywhere(run: Run, model: Path, command: str) -> None:
    model.write_bytes(model.read_bytes()[:-200])
    further = dict.fromkeys(("predict", "evaluate", "verify"), " table.csv")
    further |= dict.fromkeys(("simplify", "import"), " -o x.json") | {"export": " --to text -o x.txt"}
    assert_refused(run(f"{command} model.json{further.get(command, '')}"), "model.json")
    assert not Path("x.json").exists()
