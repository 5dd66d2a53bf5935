"""Learning from a file larger than the memory budget, beside the same learner in memory, each in its own process.

    python -m benchmarks.speed.out_of_core [--rows 10000000] [--memory 500MB] [--in-memory 1000000] [--small] [--write]

Makes Parquet files of 28 float32 columns (benchmarks.shared.made_tables), reads them and learns 20 units of the default
without inner folds: fewer rows in memory and out of core, whose model files must be the same, and all of them out of
core. Reading, binning and learning are timed, compilation is not: every process first fits 1,000 rows. Prints
seconds, the time a row beside that in memory, and the peak of the resident set of the process, everything included.
Finished runs are kept in build/benchmarks/out_of_core.jsonl. --write replaces the section "out of core" of
docs/benchmarks/. About 5 minutes on two quiet cores, 2 GB of disk and as much again while it runs; with --small
(300,000 rows, 100,000 in memory) less than one. Exit status 1 where a figure is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.learning.contenders import DEFAULT, WARM_ROWS
from benchmarks.shared import made_tables
from benchmarks.shared.kept import Found, Kept
from benchmarks.shared.machine import stamp
from benchmarks.shared.measuring import in_process
from benchmarks.shared.sections import add_options, kept, markdown, publish
from rulekit.tables.table import Budget, parse_memory

TARGET = "y"
MOST_TIMES = 3.0

Runs = dict[str, Found]


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


def learn(path: str, memory: str | None, output: str) -> dict[str, Any]:
    """Read a file and learn from it, in memory or within a budget: seconds, peak memory of this process, SHA-256."""
    from rulekit import CNLLClassifier
    from rulekit.graph.rule_graph import class_array
    from rulekit.tables.labelling import read_labelled
    from rulekit.tables.options import ReadingOptions

    warm = next(blocks(WARM_ROWS))
    CNLLClassifier(**DEFAULT, memory=memory).fit(warm.X, warm.y)
    begun, used = time.perf_counter(), time.process_time()
    learner = CNLLClassifier(**DEFAULT, memory=memory, target=TARGET, positive=1)
    if memory is None:
        rows = read_labelled(path, ReadingOptions(TARGET))
        read = time.perf_counter()
        learner.fit(rows.table, class_array(rows.classes)[rows.y])
    else:
        rows = read_labelled(path, ReadingOptions(TARGET), Budget(parse_memory(memory)))
        read = time.perf_counter()
        learner.fit(rows)
    seconds, processor = time.perf_counter() - begun, time.process_time() - used
    learner.rule_graph_.save(output)
    model = hashlib.sha256(Path(output).read_bytes()).hexdigest()
    return {"seconds": seconds, "reading": read - begun, "processor": processor, "peak": peak_memory(), "model": model}


def peak_memory() -> int:
    """The largest resident set of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def runs(rows: int, fewer: int, memory: str) -> dict[str, tuple[int, str | None]]:
    """Rows and budget of each run by name; the first is what the others are compared with."""
    return {
        f"in memory, {fewer:,} rows": (fewer, None),
        f"{memory}, {fewer:,} rows": (fewer, memory),
        f"{memory}, {rows:,} rows": (rows, memory),
    }


def compare(finished: Kept, wanted: Mapping[str, tuple[int, str | None]], folder: str | None, limit: float) -> Runs:
    """Make the files that are needed and learn from them, one run after the other."""
    found: Runs = {}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name, (n, budget) in wanted.items():
            path, output = str(Path(place, f"{n}.parquet")), str(Path(place, "model.json"))
            if name not in finished and not Path(path).exists():
                for other in Path(place).glob("*.parquet"):
                    other.unlink()
                print(f"  making {n:,} rows", flush=True)
                in_process("benchmarks.speed.out_of_core:write_parquet", {"path": path, "rows": n}, limit=limit)
            arguments = {"path": path, "memory": budget, "output": output}
            found[name] = finished.measure(name, "benchmarks.speed.out_of_core:learn", arguments, limit=limit)
            run = found[name]
            shown = run.stopped or f"{run.value['seconds']:8.1f} s   peak {run.value['peak'] / 1e6:6.0f} MB"
            print(f"  {name:<28} {shown}", flush=True)
    return found


def section(found: Runs, wanted: Mapping[str, tuple[int, str | None]], memory: str) -> tuple[list[str], bool]:
    """The lines of the page, and whether every figure is reached."""
    first, second, last = found
    in_memory = found[first].value["seconds"] / wanted[first][0] if found[first].value else float("nan")
    cells = []
    for name, run in found.items():
        if run.value is None:
            cells.append((name, run.stopped, *[""] * 6))
            continue
        n, value = wanted[name][0], run.value
        each = value["seconds"] / n
        cells.append(
            (
                name,
                f"{value['seconds']:.1f}",
                f"{value['reading']:.1f}",
                f"{value['processor']:.1f}",
                f"{1e6 * each:.2f}",
                f"{each / in_memory:.2f}",
                f"{value['peak'] / 1e6:.0f}",
                f"{n * made_tables.COLUMNS * 4e-6:.0f}",
            )
        )
    header = ("run", "wall s", "of it reading", "CPU s", "us a row", "times in memory", "peak MB", "float32 data, MB")
    figures = []
    value = found[last].value
    if value is not None:
        times = value["seconds"] / wanted[last][0] / in_memory
        within = value["peak"] <= parse_memory(memory)
        figures = [
            (f"{last}: finishes", True),
            (f"peak of the whole process within {memory}: {value['peak'] / 1e6:.0f} MB", within),
            (f"time a row below {MOST_TIMES:g} times that in memory: {times:.2f}", times < MOST_TIMES),
        ]
    else:
        figures = [(f"{last}: {found[last].stopped}", False)]
    if found[first].value and found[second].value:
        same = found[first].value["model"] == found[second].value["model"]
        figures.append((f"the same model file in memory and out of core from {wanted[first][0]:,} rows", same))
    words = [f"- {text}: {'met' if met else 'NOT met'}" for text, met in figures]
    return [*markdown(header, cells), "", *words], all(met for _, met in figures)


def main() -> int:
    """Run the comparison; exit status 1 where a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--in-memory", type=int, default=1_000_000, help="rows of the comparison with memory")
    parser.add_argument("--memory", default="500MB")
    parser.add_argument("--folder", help="where the files are made (default: the temporary folder)")
    parser.add_argument("--limit", type=float, default=1200.0, help="wall seconds for the process of one run")
    add_options(parser)
    arguments = parser.parse_args()
    rows, fewer = (300_000, 100_000) if arguments.small else (arguments.rows, arguments.in_memory)
    expected = "less than one minute" if arguments.small else "about 5 minutes for 10,000,000 rows"
    print(f"{expected} on two quiet cores; at most {arguments.limit:g} s for the process of one run", flush=True)
    begun = time.monotonic()
    finished, wanted = kept(arguments, "out_of_core"), runs(rows, fewer, arguments.memory)
    found = compare(finished, wanted, arguments.folder, arguments.limit)
    lines, met = section(found, wanted, arguments.memory)
    about = (
        f"A Parquet file of {made_tables.COLUMNS} float32 columns, 20 units of the default without inner folds; "
        "reading, binning and learning are timed, compilation is not; one run each, in a process of its own, whose "
        "peak is that of its resident set with Python and all libraries. `times in memory` compares the time a row "
        "with that of the first line."
    )
    publish(arguments, "out of core", [stamp(day=finished.day), "", about, "", *lines])
    print(f"{time.monotonic() - begun:.0f} s in all")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
