"""What workers of Dask and Spark decide is what the model decides, and what it refuses is refused by partition."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rulekit
from rulekit.conformance.models import MODELS
from rulekit.distributed import scoring
from rulekit.errors import InputError
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.verification.rows import adversarial_rows, raw_columns
from rulekit.work.deciding import Decider

ROOT = Path(__file__).parents[2]
LOANS = ROOT / "samples" / "exports" / "loans" / "model.json"
TABLE = ROOT / "samples" / "loans.csv"
NUMBERS = """rulekit rules 1
column "a.b`c": numeric
column seen: numeric, date
label y: {2, 7}
default 2
decide 7 when "a.b`c" > 3 and not seen > 2020-01-01
"""

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def loans():
    return pandas.read_csv(TABLE, keep_default_na=False, na_values=[""]).reset_index(names="id")


def expected_rules(graph, table):
    decider = Decider.of(graph)
    decided = decider.decide(table)
    return [" ".join(decider.fired_ids(decided, row)) or None for row in range(table.n_rows)]


def same(graph, found, given):
    """Whether a pandas frame of results says what the model says of given rows, in their order."""
    assert found["label"].tolist() == graph.predict(given).tolist()
    names = [f"probability({label})" for label in map(rulekit.names.label_text, graph.classes)]
    assert np.array_equal(found[names].to_numpy(), graph.predict_proba(given))
    assert [ids if isinstance(ids, str) else None for ids in found["rules"]] == expected_rules(
        graph, graph.table(given)
    )
    assert set(found["digest"]) <= {graph.digest}


# Dask -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def dask():
    return pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install rulekit-portable[dask]")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_decides_parts_as_the_whole(dask, name):
    graph = MODELS[name]()
    rows = raw_columns(adversarial_rows(graph, 300).table)
    given = pandas.DataFrame(rows if graph.used_features else {"none": np.zeros(10)})
    found = scoring.score(graph, dask.from_pandas(given, npartitions=3))
    result = found.compute(scheduler="sync")
    assert result.dtypes.to_dict() == found.dtypes.to_dict()
    same(graph, result, given)


def test_workers_read_a_model_once_and_a_dead_one_loses_nothing(dask):
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    graph, given = rulekit.load(LOANS), loans().set_index("age", drop=False)
    asked = scoring.score(LOANS, dask.from_pandas(given, npartitions=8, sort=False), keep=["id"])
    with distributed.Client(n_workers=2, threads_per_worker=2, dashboard_address=None) as client:
        first = asked.compute()
        assert max(client.run(_misses).values()) == 1
        running = client.compute(asked)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        for found in (first, running.result(timeout=60)):
            assert found.index.equals(given.index)
            assert found["id"].tolist() == given["id"].tolist()
            same(graph, found, given)


def _misses():
    from rulekit.distributed import scoring

    return scoring._loaded.cache_info().misses


def test_a_file_is_read_by_the_columns_that_are_needed(dask, tmp_path, monkeypatch):
    seen, scored, graph = [], scoring._scored, rulekit.load(LOANS)
    monkeypatch.setattr(scoring, "_scored", lambda *given: seen.append(list(given[2])) or scored(*given))
    loans().assign(more="x").to_parquet(tmp_path / "loans.parquet")
    scoring.score(graph, dask.read_parquet(tmp_path / "loans.parquet")).compute(scheduler="sync")
    assert seen == [list(graph.used_features)]


def test_what_predict_refuses_is_refused_with_its_partition(dask):
    given = loans().astype({"income": object})
    given.loc[1501, "income"] = "much"
    found = scoring.score(LOANS, dask.from_pandas(given, npartitions=4))
    with pytest.raises(InputError) as refused:
        found.compute(scheduler="sync")
    with pytest.raises(InputError) as known:
        rulekit.load(LOANS).predict(given)
    assert str(refused.value) == "partition 3, " + str(known.value).replace("row 1502", "row 2")


def test_other_versions_and_frames_are_refused(dask):
    graph, given = rulekit.load(LOANS), loans()
    with pytest.raises(InputError, match=r"a partition: a worker has rulekit .*, the caller 0\.0\.9; install one"):
        scoring._of_pandas(given, to_json(graph), "0.0.9", [])
    with pytest.raises(InputError, match="DataFrame is no frame of Dask or Spark"):
        scoring.score(graph, given)
    with pytest.raises(InputError, match="dict is no rule model"):
        scoring.score({}, given)
    frame = dask.from_pandas(given, npartitions=1)
    with pytest.raises(InputError, match=r"frame: no column 'income'; did you mean 'Income'\?"):
        scoring.score(graph, frame.rename(columns={"income": "Income"}))
    with pytest.raises(InputError, match="the predictions have a column 'label' of their own"):
        scoring.score(graph, frame.rename(columns={"id": "label"}), keep=["label"])


def test_the_module_is_light():
    code = "import sys, rulekit.distributed; sys.exit(bool({'dask', 'pandas', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


# Spark ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed, which is the user's own")
    if shutil.which("java") is None:
        pytest.skip("java is not installed, which Spark needs")
    settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "150"}
    session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_spark_decides_as_the_model(spark, tmp_path):
    loans().to_parquet(tmp_path / "loans.parquet")
    frame = spark.read.parquet(str(tmp_path / "loans.parquet")).repartition(3)
    found = scoring.score(LOANS, frame, keep=["id"])
    assert found.columns == ["id", "label", "probability(no)", "probability(yes)", "rules", "digest"]
    same(rulekit.load(LOANS), found.toPandas().sort_values("id"), loans())


def test_names_dates_and_numbers_as_labels_of_spark(spark):
    graph = parse_graph(NUMBERS)
    found = scoring.score(
        graph,
        spark.sql("SELECT k AS `a.b``c`, DATE '2019-05-01' AS seen, k AS `e.f` FROM VALUES (4), (1), (null) AS t(k)"),
        keep=["e.f", "a.b`c"],
    ).collect()
    assert [(row["e.f"], row["a.b`c"], row["label"]) for row in found] == [(4, 4, 7), (1, 1, 2), (None, None, 2)]


def test_spark_refuses_what_predict_refuses(spark):
    given = loans().astype({"income": str})
    given.loc[400, "income"] = "much"
    frame = spark.createDataFrame(given.astype(object).where(given.notna(), None)).coalesce(1)
    with pytest.raises(Exception, match="partition 0 behind row 300, data row 101, column 'income': 'much' is not a"):
        scoring.score(LOANS, frame).collect()


# The page -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["dask", "pyspark", "duckdb"])
def test_the_page_shows_it(engine, tmp_path):
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    page = (ROOT / "docs" / "distributed.md").read_text()
    shown = re.findall(rf"```{engine}\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(shown) == page.count(f"```{engine}\n")
    shutil.copy(LOANS, tmp_path / "model.json")
    loans().to_parquet(tmp_path / "loans.parquet")
    (tmp_path / "loans").mkdir()
    for quarter in range(4):
        part = loans().drop(columns="id")[quarter * 500 : quarter * 500 + 500]
        part.to_parquet(tmp_path / "loans" / f"{quarter}.parquet", index=False)
    rulekit.export(
        rulekit.load(LOANS),
        tmp_path / "model.sql",
        to="sql",
        dialect="duckdb",
        table="loans",
        keep="id",
        fired=True,
        digest=True,
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for code, printed in shown:
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.split() == printed.split()
