"""Models of 20 units or rules beside HistGradientBoosting, FIGS and FasterRisk on the same rows, in one run.

    python -m benchmarks.learning.small_models [TABLE ...] [--environment build/peers] [--results FILE] [--write]

adult with its official test file; heloc and magic 6 splits, german_credit and breast_cancer_wisconsin 20 (30 % held out
of each class, named seeds); the logical set `dnf`, 6 splits. Prints what was asked beside what was found, then paired
differences with standard errors, sizes, and the ratio of CPU time. Finished fits are kept in the results file;
`--only ours` does ours and HistGradientBoosting anew. The page is written with `--write`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.learning.peers.catalogue import ENTRIES, OUR_NAMES
from benchmarks.learning.peers.data import BinaryTable, load, logical
from benchmarks.learning.peers.environment import DEFAULT, environments
from benchmarks.learning.peers.pages import PAGE, replace_section, run_with
from benchmarks.learning.peers.results import Results
from benchmarks.learning.peers.runner import Limits, Servers, Task, Wanted, machine, run
from benchmarks.learning.peers.small_report import NAMES, REFERENCE, SPLITS, report
from benchmarks.learning.peers.splits import held_out, two_files


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


def main() -> None:
    """Measure, print, and write the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(SPLITS), help="of " + ", ".join(SPLITS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--environment", type=Path, default=DEFAULT, help="where the peers are, made if absent")
    parser.add_argument("--results", type=Path, default=Path("build/small_models.jsonl"))
    parser.add_argument("--limit", type=float, default=30.0, help="CPU seconds for a fit")
    parser.add_argument("--peers", nargs="*", default=list(NAMES), help="only these: " + ", ".join(NAMES))
    parser.add_argument("--only", choices=["ours"], help="do ours and HistGB anew, keep the others")
    parser.add_argument("--report-only", action="store_true", help="from the results so far, nothing is run")
    parser.add_argument("--write", action="store_true", help="replace the section of the page")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page; another one than the default is written")
    arguments = parser.parse_args()
    results = Results(arguments.results)
    if not arguments.report_only:
        results.retry()
    if arguments.only:
        arguments.peers = [*OUR_NAMES, REFERENCE]
        results.forget(lambda row: row["peer"] in arguments.peers and row["table"] in arguments.tables)
    wanted = [Wanted.of(ENTRIES[name]) for name in arguments.peers]
    print(f"{machine()}; a fit may take {arguments.limit:g} CPU seconds, one thread", flush=True)
    with Servers(environments(arguments.environment)) as servers:
        if not arguments.report_only:
            run(tasks(arguments.tables, arguments.data), wanted, results, servers, Limits(arguments.limit))
        servers.greet()
        lines = [*run_with(servers.versions, arguments.limit), *report(results)]
    print("\n".join(lines))
    if arguments.write or arguments.page != PAGE:
        replace_section(arguments.page, "small models", lines)


if __name__ == "__main__":
    main()
