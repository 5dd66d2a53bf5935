"""One thread, two threads, numpy without numba, blocks of rows, a memory budget: the same model file, byte for byte.

    python -m benchmarks.same_model [--rows 100000] [--fallback-rows 20000]

Learns every table with every setting in every way and compares the SHA-256 of the saved files; exits with 1 where one
differs. The numpy fallback is slow, so it is compared with the others on fewer rows. Writes docs/benchmarks.md
(section "same model") and build/benchmarks/same_model.json. With the defaults it takes about 4 minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import made_tables
from benchmarks.contenders import DEFAULT, SECOND
from benchmarks.machine import stamp
from benchmarks.measuring import in_process
from benchmarks.peers.pages import PAGE
from benchmarks.sections import markdown, write_section
from benchmarks.training_time import RESULTS

Given = dict[str, Any]
Digests = dict[str, dict[str, str]]

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "E": DEFAULT,
    "II": SECOND,
    "E, five folds": {**DEFAULT, "n_units": 8, "stopping": "cv"},
    "II, every cut": {**SECOND, "n_units": 6, "max_bins": None},
}
SLOW_WITHOUT_BINS = 20_000  # a column of 100,000 distinct values has as many cuts
BUDGET = "2GB"
SIXTEENTH = 16
FALLBACK = {"RULEKIT_NO_NUMBA": "1"}


def plain(n: int) -> Given:
    """The made table: 28 columns of float32."""
    rows = made_tables.make(n)
    return {"X": rows.X, "y": rows.y}


def weighted(n: int) -> Given:
    """The made table with weights of many sizes, some of them 0."""
    rng = np.random.default_rng(3)
    weights = np.where(rng.random(n) < 0.05, 0.0, rng.lognormal(0.0, 1.0, n))
    return {**plain(n), "sample_weight": weights}


def mixed(n: int) -> Given:
    """Numbers, whole numbers, Booleans and categories with missing cells, as in adult."""
    rng = np.random.default_rng(5)
    age = rng.integers(17, 90, n).astype(np.float64)
    gain = np.where(rng.random(n) < 0.9, 0.0, np.round(rng.lognormal(8.0, 1.0, n)))
    hours = np.clip(np.round(rng.normal(40, 12, n)), 1, 99)
    levels = np.array([f"level {i}" for i in range(40)], dtype=object)
    work = levels[np.minimum(rng.geometric(0.2, n) - 1, 39)]
    married = rng.choice(np.array(["yes", "no", "was"], dtype=object), n)
    member = rng.random(n) < 0.3
    score = (age > 35) * (married == "yes") + (gain > 5000) * 2.0 + (work == "level 3") + 0.5 * member * (hours > 45)
    y = np.where(score + rng.normal(0, 0.4, n) > 1.2, ">50K", "<=50K")
    age[rng.random(n) < 0.03] = np.nan
    for column in (work, married):
        column[rng.random(n) < 0.05] = None
    return {"X": {"age": age, "gain": gain, "hours": hours, "work": work, "married": married, "member": member}, "y": y}


def classes(n: int) -> Given:
    """Three classes, one formula each."""
    given = mixed(n)
    hours = given["X"]["hours"]
    return {"X": given["X"], "y": np.where(hours > 52, "many", given["y"].astype(str))}


TABLES: Mapping[str, Callable[[int], Given]] = {
    "adult-like": mixed,
    "big": plain,
    "weighted": weighted,
    "three classes": classes,
}


def digest(model: Any) -> str:
    """SHA-256 of the model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.rule_graph_.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def in_blocks(given: Given, size: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a table `size` at a time, each block (X, y) or (X, y, weight)."""
    X, rest = given["X"], [given[name] for name in ("y", "sample_weight") if name in given]
    for start in range(0, len(rest[0]), size):
        rows = slice(start, start + size)
        part = {name: column[rows] for name, column in X.items()} if isinstance(X, dict) else X[rows]
        yield (part, *(values[rows] for values in rest))


def digests(
    rows: int, ways: list[str], most_cuts: int = SLOW_WITHOUT_BINS, settings: list[str] | None = None
) -> Digests:
    """By table and setting (all, or those named), the digest of the model learned in each way."""
    from rulekit import CNLLClassifier

    found: Digests = {}
    for table, make in TABLES.items():
        for setting in SETTINGS if settings is None else settings:
            parameters = SETTINGS[setting]
            given = make(min(rows, most_cuts) if parameters.get("max_bins", 0) is None else rows)
            learned = found.setdefault(f"{table}, {setting}", {})
            for way in ways:
                if way == "blocks":
                    model = CNLLClassifier(**parameters).fit(in_blocks(given, max(1, rows // SIXTEENTH)))
                elif way == "memory budget":
                    model = CNLLClassifier(**parameters, memory=BUDGET).fit(**given)
                else:
                    model = CNLLClassifier(**parameters, n_threads=int(way[0])).fit(**given)
                learned[way] = digest(model)
    return found


THREADS = ["1 thread", "2 threads", "3 threads"]
STORED = ["blocks", "memory budget"]


def compare(rows: int, fallback_rows: int, limit: float = 900.0) -> tuple[Digests, Digests]:
    """Digests with numba on all rows, and with and without numba on fewer."""
    function = "benchmarks.same_model:digests"
    compiled = in_process(function, {"rows": rows, "ways": [*THREADS, *STORED]}, limit=limit)
    fewer = {"rows": fallback_rows, "most_cuts": fallback_rows // 10}
    both = in_process(function, {**fewer, "ways": THREADS[:1]}, limit=limit)
    numpy = in_process(function, {**fewer, "ways": THREADS[:2]}, limit=limit, environment=FALLBACK)
    for name, learned in numpy.items():
        both[name] |= {f"numpy, {way}": found for way, found in learned.items()}
    return compiled, both


def differing(found: Digests) -> list[str]:
    """The tables and settings whose models are not all the same."""
    return [name for name, learned in found.items() if len(set(learned.values())) != 1]


def main() -> None:
    """Compare, print, write; exit with 1 where a model differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--fallback-rows", type=int, default=20_000)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    begun = time.monotonic()
    compiled, both = compare(arguments.rows, arguments.fallback_rows)
    names = list(compiled)
    lines = [
        stamp(),
        "",
        f"The SHA-256 of the model file of each table and setting: {arguments.rows:,} rows with {', '.join(THREADS)}, "
        f'in {SIXTEENTH} blocks of rows, and with `memory="{BUDGET}"`; {arguments.fallback_rows:,} rows with numba and '
        f"without (`RULEKIT_NO_NUMBA=1`), there with 1 and 2 threads. Where every value is a cut (`max_bins=None`), "
        f"{SLOW_WITHOUT_BINS:,} and {arguments.fallback_rows // 10:,} rows.",
        "",
        *markdown(
            ("table, setting", "threads, blocks, budget", "model file", "numba, numpy", "model file"),
            [
                (name, *(cell for found in (compiled, both) for cell in (_verdict(found[name]), _short(found[name]))))
                for name in names
            ],
        ),
    ]
    print("\n".join(lines))
    write_section(arguments.page, "same model", lines)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "same_model.json").write_text(json.dumps({"compiled": compiled, "fallback": both}, indent=1))
    wrong = [*differing(compiled), *differing(both)]
    print(f"{time.monotonic() - begun:.0f} s in all; {f'DIFFERENT: {wrong}' if wrong else 'all models are identical'}")
    sys.exit(1 if wrong else 0)


def _verdict(learned: Mapping[str, str]) -> str:
    if len(set(learned.values())) == 1:
        return f"{len(learned)} identical"
    return "DIFFERENT: " + ", ".join(f"{way} {found[:8]}" for way, found in learned.items())


def _short(learned: Mapping[str, str]) -> str:
    return f"`{next(iter(learned.values()))[:12]}`"


if __name__ == "__main__":
    main()
