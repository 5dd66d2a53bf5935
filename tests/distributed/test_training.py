"""Training where the rows are: the command and `fit` write what one process writes, and refuse in one line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Ran, assert_refused, done

pytest.importorskip("distributed", reason="distributed is not installed: pip install rulekit-portable[dask]")

import psutil
from rulekit_cli import main as command

import rulekit.distributed
from rulekit import AdaBoostStumpClassifier, AdditiveRulesClassifier, CNLLClassifier, RulesClassifier
from rulekit.distributed import orders, training
from rulekit.distributed.engine import local_cluster
from rulekit.errors import Cancelled, InputError
from rulekit.graph.files.writing import to_json
from rulekit.tables.options import ReadingOptions
from rulekit.work.progress import Learning, Noticed, Stage
from rulekit.work.training import TrainingRequest

FEW = {"n_folds": 2, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def at(client):
    """The engine by its address, as the command is given it."""
    return client.scheduler.address.replace("tcp://", "dask://")


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(4), 900
    x, k, c = rng.normal(size=n).round(2), rng.integers(0, 9, n), rng.choice(["a", "b", "d"], n)
    y = np.where(((x > 0.3) & (k < 5)) | (c == "a"), "yes", "no")
    given = pl.DataFrame({"x": np.where(k == 3, np.nan, x), "k": k, "c": c, "w": rng.integers(0, 4, n) / 2.0, "y": y})
    return given.with_columns(pl.col("x").fill_nan(None))


@pytest.fixture
def folder(frame, tmp_path, monkeypatch):
    """Two files, the second with three groups of rows, beside one file with all rows."""
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    frame[:250].write_parquet("rows/a.parquet")
    frame[250:].write_parquet("rows/b.parquet", row_group_size=250)
    frame.write_parquet("all.parquet")
    return Path("rows")


@pytest.fixture
def run(monkeypatch, capsys):
    def call(line):
        monkeypatch.setattr("sys.argv", ["rulekit", *line.split()])
        with pytest.raises(SystemExit) as stopped:
            command.main()
        return Ran(int(stopped.value.code or 0), *capsys.readouterr())

    return call


def no_job(client):
    return not any(client.run(lambda: len(orders._JOBS)).values())


# The command ----------------------------------------------------------------------------------------------------------

ADABOOST = "--target y --learner adaboost --param n_estimators=4 --param n_folds=2 --no-baselines"
RULES = "--target y --param max_rules=2 --param n_folds=2 --no-baselines"
ADDITIVE = "--target y --learner additive --param max_rules=2 --param n_folds=2 --no-baselines"


def test_engine_dask_starts_workers_which_end_with_the_command(run, folder):
    def workers():
        return {each for each in psutil.Process().children() if "resource_tracker" not in " ".join(each.cmdline())}

    before = workers()
    there = done(run(f"train rows {ADABOOST} --engine dask -o dask.json"))
    assert workers() <= before
    here = done(run(f"train all.parquet {ADABOOST} -o here.json"))
    assert Path("dask.json").read_bytes() == Path("here.json").read_bytes()
    assert there.out == here.out.replace("here.json", "dask.json")


@pytest.mark.parametrize(
    "words",
    [
        f"{RULES} --ignore w --test all.parquet --curve curve.csv",
        f"{RULES} --weight w --cost 1:5 --smallest --positive no --monotone x=increasing --type k=categorical",
        f"{ADDITIVE} --weight w --missing c=d --unit x=EUR --size 1 --json",
        f"{ADABOOST} --ignore w --no-simplify --role k=audit --seed 3 -q",
    ],
)
def test_options_change_the_same(run, folder, at, client, words):
    there = done(run(f"train rows {words} --engine {at} -o dask.json"))
    kept = [path.read_bytes() for path in (Path("dask.json"), *Path().glob("curve.csv"))]
    here = done(run(f"train all.parquet {words} -o here.json"))
    assert kept == [path.read_bytes() for path in (Path("here.json"), *Path().glob("curve.csv"))]
    assert there.out == here.out.replace("here.json", "dask.json")
    assert no_job(client)


def request(**more):
    parameters = {"n_estimators": 30, "n_folds": 2}
    return TrainingRequest(Path("rows"), ReadingOptions("y"), "adaboost", parameters, output=Path("m.json"), **more)


def test_a_callback_sees_each_step_and_may_stop(folder, at, client):
    events = []

    def after_the_second(event):
        events.append(event)
        return isinstance(event, Learning) and event.step.get("unit") == 2

    found = training.train(at, request(), after_the_second)
    assert [event.what for event in events if isinstance(event, Stage)] == ["reading"] * 3 + [
        "simplifying",
        "measuring",
    ]
    (noticed,) = (event for event in events if isinstance(event, Noticed))
    assert (noticed.summary.n_rows, noticed.summary.gaps) == (900, ("x",))
    assert found.model.provenance["stopped"] == "cancelled"
    assert found.size.rules
    assert Path("m.json").exists()
    for stops in (lambda event: isinstance(event, Noticed), lambda event: event == Stage("reading", 0.5)):
        with pytest.raises(Cancelled):
            training.train(at, request(), stops)
    assert no_job(client)


def test_a_limit_of_time_keeps_the_best_so_far(run, folder, at, client):
    def until_it_is_over(event):
        if isinstance(event, Learning) and event.step.get("unit") == 2:
            time.sleep(3.0)

    found = training.train(at, request(time_limit=3.0), until_it_is_over)
    assert found.model.provenance["stopped"] == "time limit"
    assert found.size.rules
    assert any("stopped" in note for note in found.notes)
    Path("m.json").unlink()
    ran = run(f"train rows {ADABOOST} --engine {at} --time-limit 0.001 -o m.json")
    assert_refused(ran, "--time-limit: 0.001 seconds were over while the table was read")
    assert not Path("m.json").exists()
    assert no_job(client)


COLUMNS = {
    "text": ({"t": [f"the quick brown fox number {k} jumps over dogs" for k in range(90)]}, "--ignore t"),
    "one class": ({"y": ["yes"] * 90}, "the only class is 'yes'"),
    "missing labels": ({"y": [None, *["yes", "no"] * 44, "no"]}, "the label is missing in 1 of 90 rows (data row 1)"),
    "fractional labels": ({"y": [k / 7 for k in range(90)]}, "fractional"),
    "many labels": ({"y": [k % 60 for k in range(90)]}, "60 different labels"),
}


@pytest.mark.parametrize("what", [*COLUMNS, "no use", "other test rows", "damaged group", "no label"])
def test_rows_that_cannot_be_learned_from_are_one_line(run, frame, at, client, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    columns, line = COLUMNS.get(what, ({}, ""))
    frame[:90].with_columns(**{name: pl.Series(values) for name, values in columns.items()}).write_parquet("rows/a")
    words = RULES
    if what == "no use":
        words, line = (
            f"{RULES} --role x=audit --role k=audit --role c=audit --role w=audit",
            "--role: no column is left",
        )
    if what == "other test rows":
        frame.with_columns(y=pl.lit("maybe")).write_csv("test.csv")
        words, line = f"{RULES} --test test.csv", "maybe"
    if what == "damaged group":
        content = bytearray(Path("rows/a").read_bytes())
        content[20:120] = bytes(100)
        Path("rows/a").write_bytes(content)
        line = "a: damaged: its pages are not where its footer has them; write it again"
    if what == "no label":
        words, line = RULES.replace("--target y", ""), "no label column is named"
    before = sorted(tmp_path.rglob("*"))
    ran = run(f"train rows {words} --engine {at} -o m.json")
    assert_refused(ran, line)
    assert sorted(tmp_path.rglob("*")) == before
    assert no_job(client)


def test_an_engine_that_does_not_answer_is_one_line(run, folder, monkeypatch):
    monkeypatch.setattr(training, "ANSWERS", 0.3)
    ran = run(f"train rows {RULES} --engine dask://127.0.0.1:1 -o m.json")
    assert_refused(ran, "--engine: no scheduler of Dask answers at 127.0.0.1:1; start one there")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert_refused(run(f"train rows {RULES} --engine dask -o m.json"), "Dask is not installed; pip install")
    assert not Path("m.json").exists()


# The library ----------------------------------------------------------------------------------------------------------

DECLARED = {"types": {"k": "categorical"}, "missing": ["c=d"], "units": {"x": "EUR"}, "class_weight": "balanced"}


@pytest.mark.parametrize(
    ("kind", "how", "weight"),
    [
        (RulesClassifier, {"max_rules": 2}, "w"),
        (AdditiveRulesClassifier, {"max_rules": 3, **DECLARED}, None),
        (AdaBoostStumpClassifier, {"n_estimators": 4, **DECLARED}, "w"),
    ],
)
def test_fit_is_fit_in_one_process(client, folder, frame, kind, how, weight):
    from_pandas = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pandas").from_pandas
    if weight is None:
        frame = frame.drop("w")
        for file in folder.iterdir():
            pl.read_parquet(file).drop("w").write_parquet(file, row_group_size=400)
    X = frame.drop("y", *filter(None, [weight]))
    here = kind(**how, **FEW).fit(X, frame["y"], None if weight is None else frame[weight].to_numpy())
    for source in ("rows", from_pandas(frame.to_pandas(), npartitions=3)):
        there = rulekit.distributed.fit(kind(**how, **FEW), source, client, target="y", weight=weight)
        assert to_json(there.rule_graph_) == to_json(here.rule_graph_)
        for name in ("classes_", "feature_names_in_"):
            assert getattr(there, name).tolist() == getattr(here, name).tolist()
            assert getattr(there, name).dtype == getattr(here, name).dtype
        assert (there.predict_proba(X) == here.predict_proba(X)).all()
    assert no_job(client)


REFUSED = {
    "CNLLClassifier": (CNLLClassifier(), "rows", "cnll learns in one process only"),
    "scikit-learn": (object(), "rows", "object is no estimator of rulekit"),
    "parameters": (RulesClassifier(max_rules=-1), "nowhere", "max_rules is -1"),
    "require": (RulesClassifier(require=["x > 0 -> yes"]), "nowhere", "require: this needs all rows in one process"),
    "points": (AdditiveRulesClassifier(points=3), "nowhere", "points: this needs all rows"),
    "memory": (RulesClassifier(memory="1GB"), "nowhere", "memory: this needs all rows"),
    "source": (RulesClassifier(), [1, 2], "list is no source; give a folder, a Parquet file or a frame of Dask"),
    "no file": (RulesClassifier(), "nowhere", "no such file"),
    "types": (RulesClassifier(types={"zz": "numeric"}), "rows", "no column 'zz'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_fit_refuses(client, folder, what):
    estimator, source, line = REFUSED[what]
    with pytest.raises(InputError, match=line):
        rulekit.distributed.fit(estimator, source, client, target="y")


def test_scoring_on_spark_needs_no_dask():
    code = "import sys; sys.modules['distributed'] = None; from rulekit.distributed import score"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'sorce'"):
        rulekit.distributed.sorce  # noqa: B018
