"""One thread, two threads, no numba, blocks of rows, a memory budget: the same model file, byte for byte.

    python -m benchmarks.proofs.same_model [--rows 60000] [--fallback-rows 1000] [--small] [--write]

Learns every table with every setting in every way and compares the SHA-256 of the saved files; exits with 1 where one
differs. The interpreter runs kernels slowly, so it is compared with the others on fewer rows. Finished tables are kept
in build/benchmarks/same_model.jsonl. --write replaces the section "same model" of docs/benchmarks/.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning.contenders import DEFAULT
from benchmarks.shared import made_tables
from benchmarks.shared.kept import Kept
from benchmarks.shared.machine import stamp
from benchmarks.shared.measuring import ProcessFailedError
from benchmarks.shared.sections import add_options, kept, markdown, publish

Given = dict[str, Any]
Digests = dict[str, dict[str, str]]

BOOSTING, ADDITIVE, NOISY_OR = "AdaBoostStumpClassifier", "AdditiveRulesClassifier", "NoisyOrClassifier"
RULES = "RulesClassifier"
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "E": DEFAULT,
    "E, every cut": {**DEFAULT, "n_units": 6, "max_bins": None},
    "E, five folds": {**DEFAULT, "n_units": 8, "stopping": "cv"},
    "rules": {"stopping": "none"},
    "rules, five folds": {},
    "AdaBoost": {"n_estimators": 20, "stopping": "none"},
    "AdaBoost, five folds": {"n_estimators": 12},
    "additive": {"max_rules": 5, "stopping": "none"},
    "noisy-or": {"max_causes": 6},
}
LEARNERS: Mapping[str, str] = {
    "rules": RULES,
    "rules, five folds": RULES,
    "AdaBoost": BOOSTING,
    "AdaBoost, five folds": BOOSTING,
    "additive": ADDITIVE,
    "noisy-or": NOISY_OR,
}
"""The estimators of the settings that are not those of CNLLClassifier."""
SLOW_WITHOUT_BINS = 10_000  # a column of 100,000 distinct values has as many cuts
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
    rows: int,
    ways: list[str],
    most_cuts: int = SLOW_WITHOUT_BINS,
    settings: list[str] | None = None,
    tables: list[str] | None = None,
) -> Digests:
    """By table and setting (all, or those named), the digest of the model learned in each way."""
    import rulekit

    found: Digests = {}
    for table in TABLES if tables is None else tables:
        make = TABLES[table]
        for setting in SETTINGS if settings is None else settings:
            parameters, learner = SETTINGS[setting], getattr(rulekit, LEARNERS.get(setting, "CNLLClassifier"))
            given = make(min(rows, most_cuts) if parameters.get("max_bins", 0) is None else rows)
            learned = found.setdefault(f"{table}, {setting}", {})
            for way in ways:
                if way == "blocks":
                    model = learner(**parameters).fit(in_blocks(given, max(1, rows // SIXTEENTH)))
                elif way == "memory budget":
                    model = learner(**parameters, memory=BUDGET).fit(**given)
                else:
                    model = learner(**parameters, n_threads=int(way[0])).fit(**given)
                learned[way] = digest(model)
    return found


THREADS = ["1 thread", "2 threads", "3 threads"]
STORED = ["blocks", "memory budget"]


def compare(finished: Kept, rows: int, fallback_rows: int, limit: float) -> tuple[Digests, Digests]:
    """Digests with numba on all rows, and with and without numba on fewer; a process for each table."""
    compiled: Digests = {}
    both: Digests = {}
    fewer = {"rows": fallback_rows, "most_cuts": most_cuts(fallback_rows)}
    for table in TABLES:
        runs: tuple[tuple[Digests, str, Given, dict[str, str]], ...] = (
            (compiled, "", {"rows": rows, "most_cuts": most_cuts(rows), "ways": [*THREADS, *STORED]}, {}),
            (both, "", {**fewer, "ways": THREADS[:1]}, {}),
            (both, "no numba, ", {**fewer, "ways": THREADS[:2]}, FALLBACK),
        )
        for found, prefix, given, environment in runs:
            key = f"{table}, {prefix}{given['rows']} rows, {', '.join(given['ways'])}"
            arguments = {**given, "tables": [table]}
            run = finished.measure(
                key, "benchmarks.proofs.same_model:digests", arguments, limit=limit, environment=environment
            )
            if run.stopped:
                raise ProcessFailedError(f"{key}: {run.stopped}", late=run.late)
            for name, learned in run.value.items():
                found.setdefault(name, {}).update({f"{prefix}{way}": digest for way, digest in learned.items()})
            words = "identical so far" if not differing(found) else f"DIFFERENT: {', '.join(differing(found))}"
            print(f"  {key}: {words}", flush=True)
    return compiled, both


def most_cuts(rows: int) -> int:
    """Rows of a table whose every value is a cut."""
    return min(SLOW_WITHOUT_BINS, max(200, rows // 6))


def differing(found: Digests) -> list[str]:
    """The tables and settings whose models are not all the same."""
    return [name for name, learned in found.items() if len(set(learned.values())) != 1]


def main() -> None:
    """Compare, print, write; exit with 1 where a model differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--fallback-rows", type=int, default=1_000)
    parser.add_argument("--limit", type=float, default=600.0, help="wall seconds for the process of one table")
    add_options(parser)
    arguments = parser.parse_args()
    rows, fewer = (5_000, 1_000) if arguments.small else (arguments.rows, arguments.fallback_rows)
    print(f"at most {arguments.limit:g} s for the process of one table", flush=True)
    begun = time.monotonic()
    finished = kept(arguments, "same_model")
    try:
        compiled, both = compare(finished, rows, fewer, arguments.limit)
    except ProcessFailedError as error:
        sys.exit(f"not finished: {error}")
    wrong = [*differing(compiled), *differing(both)]
    verdict = f"DIFFERENT: {', '.join(wrong)}" if wrong else "all model files of a table and setting are identical: met"
    lines = [
        stamp(day=finished.day),
        "",
        f"The SHA-256 of the model file of each table and setting: {rows:,} rows with {', '.join(THREADS)}, in "
        f'{SIXTEENTH} blocks of rows, and with `memory="{BUDGET}"`; {fewer:,} rows with numba on 1 thread and with '
        "without it (`RULEKIT_NO_NUMBA=1`) on 1 and 2 threads. Where every value is a cut (`max_bins=None`), "
        f"{most_cuts(rows):,} and {most_cuts(fewer):,} rows. E is the default of CNLL.",
        "",
        *markdown(
            (
                "table, setting",
                f"{rows:,} rows: ways",
                "model file",
                f"{fewer:,} rows: with and without numba",
                "model file",
            ),
            [
                (name, *(cell for found in (compiled, both) for cell in (_verdict(found[name]), _short(found[name]))))
                for name in compiled
            ],
        ),
        "",
        f"- {verdict}",
    ]
    publish(arguments, "same model", lines)
    print(f"{time.monotonic() - begun:.0f} s in all")
    sys.exit(1 if wrong else 0)


def _verdict(learned: Mapping[str, str]) -> str:
    if len(set(learned.values())) == 1:
        return f"{len(learned)} identical"
    return "DIFFERENT: " + ", ".join(f"{way} {found[:8]}" for way, found in learned.items())


def _short(learned: Mapping[str, str]) -> str:
    return f"`{next(iter(learned.values()))[:12]}`"


if __name__ == "__main__":
    main()
