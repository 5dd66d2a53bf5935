"""Models of 20 units beside HistGradientBoosting and FIGS on the same rows, in one run.

    python -m benchmarks.learning.small_models [TABLE ...] [--environment build/peers] [--results small_models.jsonl]

adult with its official test file; heloc and magic 6 splits, german_credit and breast_cancer_wisconsin 20 (30 % held out
of each class, named seeds); the logical set `dnf`, 6 splits. Prints paired differences to HistGradientBoosting(100) and
to FIGS with standard errors, sizes, and the ratio of CPU time. Finished fits are kept in the results file;
`--only ours` does ours and HistGradientBoosting anew.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.learning.peers.catalogue import ENTRIES, OUR_NAMES
from benchmarks.learning.peers.data import BinaryTable, load, logical
from benchmarks.learning.peers.environment import DEFAULT, environment
from benchmarks.learning.peers.pages import PAGE, replace_section, run_with
from benchmarks.learning.peers.results import Results, Row
from benchmarks.learning.peers.runner import Limits, Servers, Task, Wanted, machine, run
from benchmarks.learning.peers.splits import held_out, two_files

REFERENCE = "HistGB 100"
NAMES = (*OUR_NAMES, REFERENCE, "HistGB 100, native levels", "FIGS")
SPLITS = {"adult": 1, "heloc": 6, "magic_telescope": 6, "german_credit": 20, "breast_cancer_wisconsin": 20, "dnf": 6}
# Least differences to HistGradientBoosting that were asked for, and the most time as a multiple of its own.
LEAST: Mapping[str, Mapping[str, float]] = {
    "rulekit 20": dict(zip(SPLITS, (-0.010, 0.0, -0.036, -0.008, -0.003), strict=False)),
    "rulekit rules 8": dict(zip(SPLITS, (-0.011, -0.006, -0.034, -0.020, -0.015), strict=False)),
    "additive 20": dict(zip(SPLITS, (-0.006, 0.0, -0.019, 0.0, 0.003), strict=False)),
}
MOST_TIME = {"additive 20": 1.5}


class Gap(NamedTuple):
    """A mean paired difference in accuracy, its standard error, and over how many splits."""

    mean: float
    error: float
    splits: int


def tasks(names: Sequence[str], folder: Path) -> Iterator[Task]:
    """The tables and splits of this benchmark."""
    for name in names:
        if name == "adult":
            train, test = load("adult", folder), load("adult_test", folder)
            whole = BinaryTable(name, pl.concat([train.frame, test.frame]), np.concatenate([train.labels, test.labels]))
            yield Task(whole, two_files(len(train.labels), len(test.labels)), with_rows=True)
        else:
            table = logical() if name == "dnf" else load(name, folder)
            for seed in range(SPLITS[name]):
                yield Task(table, held_out(table.labels, seed))


def gap(rows: Mapping[str, Row], others: Mapping[str, Row]) -> Gap | None:
    """The difference over the splits that both finished; on a single split its error is that over test rows."""
    shared = [name for name, row in rows.items() if row["status"] == others.get(name, {}).get("status") == "ok"]
    if not shared:
        return None
    differences = np.array([rows[name]["accuracy"] - others[name]["accuracy"] for name in shared])
    if len(shared) > 1:
        return Gap(float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(shared))), len(shared))
    right = [_right(one[shared[0]]) for one in (rows, others)]
    if right[0] is None or right[1] is None:
        return Gap(float(differences[0]), float("nan"), 1)
    error = (right[0] - right[1]).std(ddof=1) / np.sqrt(len(right[0]))
    return Gap(float(differences[0]), float(error), 1)


def _right(row: Row) -> Any:
    if "right" not in row:
        return None
    packed = np.frombuffer(base64.b64decode(row["right"]), dtype=np.uint8)
    return np.unpackbits(packed)[: row["n_test"]].astype(np.float64)


def of(results: Results, table: str, peer: str) -> dict[str, Row]:
    """One peer's rows of one table, by split."""
    return {row["split"]: row for row in results.rows.values() if row["table"] == table and row["peer"] == peer}


def mean_of(rows: Mapping[str, Row], what: str) -> float:
    """The mean over the splits that finished."""
    values = [row[what] for row in rows.values() if row["status"] == "ok"]
    return float(np.mean(values)) if values else float("nan")


def time_ratio(rows: Mapping[str, Row], others: Mapping[str, Row]) -> float:
    """The median over splits of CPU seconds as a multiple of the other's on the same rows."""
    ratios = [
        row["seconds"] / others[name]["seconds"]
        for name, row in rows.items()
        if row["status"] == others.get(name, {}).get("status") == "ok"
    ]
    return float(np.median(ratios)) if ratios else float("nan")


def report(results: Results) -> list[str]:
    """The tables of this benchmark as lines of Markdown."""
    lines = []
    for table in SPLITS:
        by_peer = {name: of(results, table, name) for name in NAMES}
        by_peer = {name: rows for name, rows in by_peer.items() if rows}
        if REFERENCE not in by_peer:
            continue
        lines += [
            "",
            f"**{table}**, {len(by_peer[REFERENCE])} splits",
            "",
            "| | accuracy | minus HistGB | required | minus FIGS | AUC | rules | literals | time / HistGB | seconds |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [_line(table, name, rows, by_peer) for name, rows in by_peer.items()]
    return lines


def _line(table: str, name: str, rows: Mapping[str, Row], by_peer: Mapping[str, Mapping[str, Row]]) -> str:
    failed = [row for row in rows.values() if row["status"] != "ok"]
    if len(failed) == len(rows):
        return f"| {name} | {failed[0]['status']}: {failed[0].get('why', '')} | | | | | | | | |"
    ratio = time_ratio(rows, by_peer[REFERENCE])
    least = LEAST.get(name, {}).get(table)
    cells = [
        name,
        f"{mean_of(rows, 'accuracy'):.4f}" + (f" ({len(failed)} splits not finished)" if failed else ""),
        _gap_text(gap(rows, by_peer[REFERENCE])) if name != REFERENCE else "",
        "" if least is None else f"{least:+.3f}, {MOST_TIME.get(name, 1.3)}x",
        _gap_text(gap(rows, by_peer["FIGS"])) if "FIGS" in by_peer and name != "FIGS" else "",
        f"{mean_of(rows, 'auc'):.4f}",
        f"{mean_of(rows, 'rules'):.1f}",
        f"{mean_of(rows, 'literals'):.1f}",
        f"{ratio:.2f}",
        f"{mean_of(rows, 'seconds'):.3f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _gap_text(found: Gap | None) -> str:
    return "" if found is None else f"{found.mean:+.4f} ± {found.error:.4f}"


def main() -> None:
    """Measure, print, and write the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(SPLITS), help="of " + ", ".join(SPLITS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--environment", type=Path, default=DEFAULT, help="where the peers are, made if absent")
    parser.add_argument("--results", type=Path, default=Path("build/small_models.jsonl"))
    parser.add_argument("--limit", type=float, default=30.0, help="CPU seconds for a fit")
    parser.add_argument("--peers", nargs="*", default=list(NAMES), help="only these")
    parser.add_argument("--only", choices=["ours"], help="do ours and HistGB anew, keep the others")
    parser.add_argument("--report-only", action="store_true", help="from the results so far, nothing is run")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    results = Results(arguments.results)
    if not arguments.report_only:
        results.retry()
    if arguments.only:
        arguments.peers = [*OUR_NAMES, REFERENCE]
        results.forget(lambda row: row["peer"] in arguments.peers and row["table"] in arguments.tables)
    wanted = [Wanted.of(ENTRIES[name]) for name in arguments.peers]
    print(f"{machine()}; a fit may take {arguments.limit:g} CPU seconds, one thread", flush=True)
    with Servers(environment(arguments.environment)) as servers:
        if not arguments.report_only:
            run(tasks(arguments.tables, arguments.data), wanted, results, servers, Limits(arguments.limit))
        servers.greet()
        lines = report(results)
        print("\n".join(lines))
        replace_section(arguments.page, "small models", [*run_with(servers.versions, arguments.limit), *lines])


if __name__ == "__main__":
    main()
