"""Reading a large CSV: rulekit's typed, encoded, labelled table beside plain polars, each in its own process.

    python -m benchmarks.speed.reading [--megabytes 1000]

Prints size, seconds, megabytes a second and peak memory of each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

READERS = {
    "polars.read_csv": "import polars; polars.read_csv(path)",
    "rulekit read_labelled": "from rulekit.tables.labelling import read_labelled; "
    "from rulekit.tables.options import ReadingOptions; read_labelled(path, ReadingOptions('label'))",
}
PROGRAM = """
import resource, sys, time
path = sys.argv[1]
begun = time.perf_counter()
{statement}
seconds = time.perf_counter() - begun
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write(path: Path, megabytes: int) -> int:
    """A CSV of about that size: ten numbers, four categories, one Boolean, gaps, a label; returns its bytes."""
    import numpy as np
    import polars

    rng = np.random.default_rng(0)
    rows = 200_000
    numbers = {f"n{j}": np.round(rng.normal(0, 1000, rows), 3) for j in range(6)}
    whole = {f"k{j}": rng.integers(0, 10**6, rows) for j in range(4)}
    words = {f"c{j}": rng.choice(["red", "green", "deep blue", "black"], rows) for j in range(4)}
    frame = polars.DataFrame({**numbers, **whole, **words, "b": rng.random(rows) < 0.5})
    frame = frame.with_columns(
        polars.when(polars.Series(rng.random(rows) < 0.05)).then(None).otherwise(polars.col("n0")).alias("n0"),
        label=polars.Series(np.where(rng.random(rows) < 0.3, "yes", "no")),
    )
    block = frame.write_csv().encode()
    header, body = block.split(b"\n", 1)
    with path.open("wb") as file:
        file.write(header + b"\n")
        for _ in range(max(1, megabytes * 10**6 // len(body))):
            file.write(body)
    return path.stat().st_size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        size = write(path, megabytes) / 1e6
        print(f"{size:.0f} MB, {os.cpu_count()} cores")
        for name, statement in READERS.items():
            command = [sys.executable, "-c", PROGRAM.format(statement=statement), str(path)]
            seconds, memory = map(float, subprocess.run(command, check=True, capture_output=True).stdout.split())
            print(f"{name:24s} {seconds:6.1f} s  {size / seconds:6.0f} MB/s  peak {memory:6.0f} MB")


if __name__ == "__main__":
    main()
