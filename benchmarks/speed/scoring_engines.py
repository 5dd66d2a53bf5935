"""One model on the same Parquet files: one process on one core, Dask, Spark and DuckDB on two; are decisions the same?

    python -m benchmarks.speed.scoring_engines [--rows 10000000] [--spark PYTHON] [--small] [--write]

Makes rows like those of adult, and learns the default from 20,000 of them. Each engine reads the files of a folder,
keeps a key, and writes label, probabilities, rules and digest as Parquet. Starting an engine, and 40,000 first rows,
are not timed. PYTHON belongs to an environment with pyspark, psutil and what rulekit needs (default: this one).
--small: 1,000,000 rows. --write replaces the section "scoring engines" of docs/benchmarks/. About 5 minutes on two
quiet cores, and 3 GB of disk. Exit status 1 where a decision differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.shared.machine import stamp, versions
from benchmarks.shared.measuring import ProcessFailedError, in_process
from benchmarks.shared.sections import add_options, markdown, publish

CORES = 2
FILES, FIRST = 20, 40_000
MODEL, QUERY, KEY = "model.json", "model.sql", "id"
LEARNED = 20_000
SETTINGS = {"POLARS_MAX_THREADS": 1, "MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**30}
WITHIN = {"Dask": 1.3, "DuckDB": 1.3, "Spark": 2.0}
Timed = dict[str, float]


def make(folder: str, rows: int) -> None:
    """The model, its query, and the rows in files under `rows`."""
    import numpy as np
    import pyarrow
    import pyarrow.parquet as pq

    from benchmarks.proofs.same_model import mixed
    from rulekit import RulesClassifier, export

    given = mixed(LEARNED)
    graph = RulesClassifier().fit(given["X"], given["y"]).rule_graph_
    graph.save(f"{folder}/{MODEL}")
    export(graph, f"{folder}/{QUERY}", to="sql", dialect="duckdb", keep=KEY, fired=True, digest=True)
    table = pyarrow.table({KEY: np.arange(rows), **mixed(rows)["X"]})
    for place, many, files in (("first", FIRST, 4), ("rows", rows, FILES)):
        Path(folder, place).mkdir()
        size = -(-many // files)
        for number in range(files):
            path = f"{folder}/{place}/part-{number:02}.parquet"
            pq.write_table(table.slice(number * size, min(size, many - number * size)), path, row_group_size=122_880)


def timed(run: Callable[[str, str], None], folder: str, output: str) -> Timed:
    """Wall and processor seconds, those of processes that this one started included, of a run after a first one."""
    import psutil

    def processor() -> float:
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        return sum(sum(process.cpu_times()[:4]) for process in family)

    run(f"{folder}/first", f"{folder}/warm")
    begun, used = time.perf_counter(), processor()
    run(f"{folder}/rows", f"{folder}/{output}")
    return {"seconds": time.perf_counter() - begun, "processor": processor() - used}


def one_process(folder: str, output: str, core: int = 0, parts: int = 1) -> Timed:
    """Every `parts`-th file from `core` on, on one core."""
    os.sched_setaffinity(0, {core})
    import pyarrow.parquet as pq

    from rulekit import load
    from rulekit.distributed.scoring import answers

    graph = load(f"{folder}/{MODEL}")

    def run(rows: str, to: str) -> None:
        Path(to).mkdir(exist_ok=True)
        for file in sorted(Path(rows).glob("*.parquet"))[core::parts]:
            given = pq.read_table(file, columns=[KEY, *graph.used_features])
            found = answers(graph, graph.table(given.drop_columns(KEY)))
            pq.write_table(found.add_column(0, KEY, given[KEY]), f"{to}/{file.name}")

    return timed(run, folder, output)


def dask(folder: str, output: str, settings: Mapping[str, int] | None = None) -> Timed:
    """Two workers of one thread; settings: of their environment."""
    from dask import config
    from dask.dataframe import read_parquet
    from distributed import Client

    from rulekit.distributed import score

    def run(rows: str, to: str) -> None:
        score(f"{folder}/{MODEL}", read_parquet(rows), keep=[KEY]).to_parquet(to, write_index=False)

    own = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in (settings or {}).items()}
    with config.set(own), Client(n_workers=CORES, threads_per_worker=1, dashboard_address=None):
        return timed(run, folder, output)


def spark(folder: str, output: str, unchanged: bool = False) -> Timed:
    """local[2]; unchanged: the same columns go to Python and back as they are, which is what Spark itself takes."""
    from pyspark.sql import SparkSession

    from rulekit.distributed import score

    settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "100000"}
    settings |= {"spark.driver.memory": "4g", "spark.ui.showConsoleProgress": "false"}
    session = SparkSession.builder.master(f"local[{CORES}]").config(map=settings).getOrCreate()

    def run(rows: str, to: str) -> None:
        frame = session.read.parquet(rows)
        found = (
            frame.mapInArrow(lambda batches: batches, frame.schema)
            if unchanged
            else score(f"{folder}/{MODEL}", frame, keep=[KEY])
        )
        found.write.parquet(to, mode="overwrite")

    return timed(run, folder, output)


def duckdb(folder: str, output: str) -> Timed:
    """The query of the SQL target on two threads."""
    import duckdb as engine

    query = Path(folder, QUERY).read_text()

    def run(rows: str, to: str) -> None:
        with engine.connect(config={"threads": CORES}) as connection:
            connection.execute(f"CREATE VIEW rows AS FROM '{rows}/*.parquet'")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute(f"COPY ({query}) TO '{to}' (FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE)")

    return timed(run, folder, output)


def differences(folder: str, output: str, rows: int) -> tuple[int, float]:
    """Rows whose label, rules or digest are not those of one process, or that are not there; the largest gap of
    probabilities.
    """
    import polars as pl

    def read(name: str) -> Any:
        return pl.scan_parquet(f"{folder}/{name}/*.parquet").with_columns(pl.col("rules").fill_null(""))

    both = read("one").join(read(output), on=KEY, suffix=" there", validate="1:1")
    numbers = [name for name in read("one").collect_schema().names() if name.startswith("probability")]
    alike = pl.all_horizontal(pl.col(name) == pl.col(f"{name} there") for name in ("label", "rules", "digest"))
    gap = pl.max_horizontal((pl.col(name) - pl.col(f"{name} there")).abs() for name in numbers)
    same, largest = both.select(alike.sum(), gap.max()).collect().row(0)
    return rows - int(same), float(largest)


def side_by_side(folder: str) -> Timed:
    """One process on each core, which share the files: what the machine gives on two cores."""
    asked = [{"folder": folder, "output": "two", "core": core, "parts": CORES} for core in range(CORES)]
    with ThreadPoolExecutor(CORES) as pool:
        found = list(pool.map(partial(in_process, "benchmarks.speed.scoring_engines:one_process"), asked))
    return {"seconds": max(f["seconds"] for f in found), "processor": sum(f["processor"] for f in found)}


def compare(folder: str, rows: int, python: str) -> tuple[list[tuple[str, ...]], list[str], bool]:
    """The rows of the table, what is asked of it, and whether no decision differs."""

    def measured(function: str, output: str, **more: Any) -> Timed:
        own = python if function == "spark" else sys.executable
        asked = {"folder": folder, "output": output, **more}
        return in_process(f"benchmarks.speed.scoring_engines:{function}", asked, limit=1800.0, python=own)  # type: ignore[no-any-return]

    ways: dict[str, tuple[int, str, Callable[[], Timed]]] = {
        "one process on one core": (1, "one", lambda: measured("one_process", "one")),
        "one process on each of two cores": (CORES, "two", lambda: side_by_side(folder)),
        "Dask, two workers": (CORES, "dask", lambda: measured("dask", "dask")),
        "Dask, two workers with the settings": (CORES, "tuned", lambda: measured("dask", "tuned", settings=SETTINGS)),
        "DuckDB, two threads": (CORES, "duckdb", lambda: measured("duckdb", "duckdb")),
        "Spark, local[2]": (CORES, "spark", lambda: measured("spark", "spark")),
        "Spark, rows to Python and back": (CORES, "", lambda: measured("spark", "back", unchanged=True)),
    }
    cells, figures, same, by = [], [], True, dict[int, Timed]()
    for name, (cores, output, run) in ways.items():
        try:
            found = run()
        except ProcessFailedError as error:
            cells.append((name, str(error), *[""] * 5))
            continue
        one = by.setdefault(cores, found)  # one process on as many cores
        wall, processor = found["seconds"] / one["seconds"], found["processor"] / by[1]["processor"]
        differing, gap = differences(folder, output, rows) if output else (0, 0.0)
        same &= differing == 0
        said = (f"{differing:,}", f"{gap:.0e}" if gap else "0") if output else ("", "")
        cells.append(
            (name, f"{found['seconds']:.1f}", f"{wall:.2f}", f"{found['processor']:.1f}", f"{processor:.2f}", *said)
        )
        print("  ".join(cells[-1]), flush=True)
        if (limit := WITHIN.get(name.partition(",")[0])) and output:
            words = f"{name}: asked at most {limit:g} times the time of one process a core, measured {wall:.2f}"
            figures.append(f"- {words}: {'met' if wall <= limit else 'NOT met'}")
    figures.append(f"- 0 different decisions: {'met' if same else 'NOT met'}")
    return cells, figures, same


def main() -> int:
    """Run the comparison; exit status 1 where a decision differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--spark", default=sys.executable, metavar="PYTHON")
    add_options(parser)
    arguments = parser.parse_args()
    rows = 1_000_000 if arguments.small else arguments.rows
    with tempfile.TemporaryDirectory() as folder:
        in_process("benchmarks.speed.scoring_engines:make", {"folder": folder, "rows": rows})
        cells, figures, same = compare(folder, rows, arguments.spark)
        theirs = {"packages": ["pyspark"]}
        spark_there = in_process("benchmarks.shared.machine:versions", theirs, python=arguments.spark)
    header = ("engine", "wall s", "times one a core", "CPU s", "times one", "different decisions", "largest gap")
    packages = f"{versions(('distributed', 'pandas', 'pyarrow', 'duckdb'))}, {spark_there}"
    about = (
        f"{rows:,} made rows like those of adult in {FILES} Parquet files, the default learned from {LEARNED:,} of "
        "them. Each engine reads the files, keeps a key, and writes label, probabilities, rules and digest as Parquet; "
        f"starting it, and {FIRST:,} first rows, are not timed. `times one a core`: wall seconds in those of one "
        "process on as many cores; `CPU s`: of all processes of an engine, and in those of one process. A decision is "
        "the same if label, rules and digest are; `largest gap`: of a probability, to that of one process. "
        f"The settings: {', '.join(f'`{name}={value}`' for name, value in SETTINGS.items())}. "
        f"The last line sends the same columns through Spark unchanged. {packages}."
    )
    publish(arguments, "scoring engines", [stamp(), "", about, "", *markdown(header, cells), "", *figures])
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
