"""Learning from a file larger than the memory budget, beside the same learner in memory, each in its own process.

    python -m benchmarks.out_of_core [--rows 10000000] [--memory 500MB] [--small 1000000] [--folder FOLDER]

Makes Parquet files of 28 float32 columns (benchmarks.made_tables), reads them and learns 20 units of the default
without inner folds: the small one in memory and out of core, whose model files must be the same, and the large one out
of core. Reading, binning and learning are timed, compilation is not: every process first fits 1,000 rows. Prints
seconds, the time a row beside that in memory, and the peak of the resident set of the process, everything included.
About ten minutes on two cores; 2 GB of disk, and as much again while it runs. Exit status 1 where a figure is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import made_tables
from benchmarks.contenders import DEFAULT, WARM_ROWS
from benchmarks.machine import stamp
from benchmarks.measuring import in_process

LIMIT = 3600.0
TARGET = "y"
MOST_TIMES = 3.0


def blocks(rows: int) -> Iterator[made_tables.Rows]:
    """The made table of so many rows, block by block."""
    for number, start in enumerate(range(0, rows, made_tables.BLOCK)):
        yield made_tables.block_of(number, min(made_tables.BLOCK, rows - start))


def write_parquet(path: str, rows: int) -> None:
    """The made table as a Parquet file; to be called in a process of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"f{j}" for j in range(made_tables.COLUMNS)]
    schema = pa.schema([*((name, pa.float32()) for name in names), (TARGET, pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for block in blocks(rows):
            columns = [*(pa.array(block.X[:, j]) for j in range(len(names))), pa.array(block.y.astype("int8"))]
            writer.write_table(pa.table(columns, schema=schema))


def learn(path: str, memory: str | None, output: str) -> dict[str, float]:
    """Read a file and learn from it, in memory or within a budget; seconds and peak memory of this process."""
    from rulekit import CNLLClassifier
    from rulekit.graph.rule_graph import class_array
    from rulekit.tables.budget import Budget, parse_memory
    from rulekit.tables.labels import read_labelled
    from rulekit.tables.spilling import read_labelled_blocks

    warm = next(blocks(WARM_ROWS))
    CNLLClassifier(**DEFAULT, memory=memory).fit(warm.X, warm.y)
    begun = time.perf_counter()
    learner = CNLLClassifier(**DEFAULT, memory=memory, target=TARGET, positive=1)
    if memory is None:
        rows = read_labelled(path, TARGET)
        read = time.perf_counter()
        learner.fit(rows.table, class_array(rows.classes)[rows.y])
    else:
        rows = read_labelled_blocks(path, TARGET, Budget(parse_memory(memory)))
        read = time.perf_counter()
        learner.fit(rows)
    seconds = time.perf_counter() - begun
    learner.rule_graph_.save(output)
    return {"seconds": seconds, "reading": read - begun, "peak": peak_memory()}


def peak_memory() -> int:
    """The largest resident set of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main() -> int:
    """Run the comparison; exit status 1 where a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--small", type=int, default=1_000_000)
    parser.add_argument("--memory", default="500MB")
    parser.add_argument("--folder", help="where the files are made (default: the temporary folder)")
    options = parser.parse_args()
    print(stamp())
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return compare(Path(folder), options.rows, options.small, options.memory)


def compare(folder: Path, rows: int, small: int, memory: str) -> int:
    """Make the files, learn from them, print what was found."""
    from rulekit.tables.budget import parse_memory

    files = {n: str(folder / f"{n}.parquet") for n in {rows, small}}
    for n, path in files.items():
        in_process("benchmarks.out_of_core:write_parquet", {"path": path, "rows": n}, limit=LIMIT)
    runs: list[tuple[str, int, str | None]] = [
        (f"in memory, {small:,} rows", small, None),
        (f"{memory}, {small:,} rows", small, memory),
        (f"{memory}, {rows:,} rows", rows, memory),
    ]
    models, found = [], []
    for name, n, budget in runs:
        model = folder / f"{len(models)}.json"
        arguments = {"path": files[n], "memory": budget, "output": str(model)}
        run = in_process("benchmarks.out_of_core:learn", arguments, limit=LIMIT)
        models.append(model.read_bytes())
        found.append(run)
        per_row = run["seconds"] / n / (found[0]["seconds"] / small)
        print(line(name, run, per_row), flush=True)
    same = models[0] == models[1]
    ratio = found[2]["seconds"] / rows / (found[0]["seconds"] / small)
    within = found[2]["peak"] <= parse_memory(memory)
    print(f"the same model file from {small:,} rows: {'yes' if same else 'NO'}")
    print(f"peak memory within {memory}: {'yes' if within else 'NO'}")
    print(f"time a row below {MOST_TIMES:g} times that in memory: {'yes' if ratio < MOST_TIMES else 'NO'}")
    return 0 if same and within and ratio < MOST_TIMES else 1


def line(name: str, run: dict[str, Any], per_row: float) -> str:
    """One run as a line."""
    return (
        f"{name:<26} {run['seconds']:8.1f} s (reading {run['reading']:6.1f} s)   {per_row:5.2f} times a row   "
        f"peak {run['peak'] / 1e6:6.0f} MB"
    )


if __name__ == "__main__":
    sys.exit(main())
