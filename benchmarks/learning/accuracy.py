"""Accuracy, AUC, rules, literals and time on all shared binary tables, ours and peers interleaved in one run.

    python -m benchmarks.learning.accuracy [TABLE ...] [--environment build/peers] [--results FILE] [--write]
    python -m benchmarks.learning.accuracy --curves [TABLE ...] [--results build/curves.jsonl] [--write]

Five stratified folds with a named seed; the same rows for all. Each fit has a process of its own, one thread and a
limit of CPU seconds; after one hit on a table the learner's other folds there are skipped and counted. The peers'
environment is made with venv and pip where it is not there. Finished fits are kept in the results file, so a run can
be stopped and gone on with; `--only ours` does ours and HistGradientBoosting anew. `--curves` draws accuracy against
size instead: about 10 minutes on a quiet core, one with `--only ours`; `--curves tic_tac_toe --folds 2 --results
FILE` is a smaller run. The page and the picture are written with `--write` (or where another `--page` is named).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.learning.peers.catalogue import COMPARED, ENTRIES, OUR_NAMES, sized
from benchmarks.learning.peers.curves import FAMILIES, SIZES, TABLES, WITH_PATH, curve_report, draw
from benchmarks.learning.peers.data import FOLD_TABLES, load
from benchmarks.learning.peers.environment import DEFAULT, Environments, environments
from benchmarks.learning.peers.pages import FOLDER, replace_section, run_with
from benchmarks.learning.peers.report import accuracy_report
from benchmarks.learning.peers.results import Results
from benchmarks.learning.peers.runner import Limits, Servers, Task, Wanted, machine, run
from benchmarks.learning.peers.splits import stratified_folds

REFERENCE = "HistGB 100"
OURS = "rulekit"
PICTURE = "accuracy_size.png"


def tasks(names: Sequence[str], folder: Path, n_folds: int, seed: int) -> Iterator[Task]:
    """Each table with its folds."""
    for name in names:
        table = load(name, folder)
        for split in stratified_folds(table.labels, n_folds, seed):
            yield Task(table, split)


def compare(arguments: argparse.Namespace, peers: Environments) -> None:
    """The comparison of all entries."""
    tables = arguments.tables or list(FOLD_TABLES)
    ours = [name for name in COMPARED if name in OUR_NAMES]
    chosen = [*ours, REFERENCE] if arguments.only else arguments.peers or list(COMPARED)
    results = Results(arguments.results or Path("build/accuracy.jsonl"))
    if not arguments.report_only:
        results.retry()
    if arguments.only:
        results.forget(lambda row: row["peer"] in chosen and row["table"] in tables)
    with Servers(peers) as servers:
        if not arguments.report_only:
            work = tasks(tables, arguments.data, arguments.folds, arguments.seed)
            run(work, [Wanted.of(ENTRIES[name]) for name in chosen], results, servers, Limits(arguments.limit))
        servers.greet()
        note = f"{arguments.folds} stratified folds, seed {arguments.seed}."
        lines = [*run_with(servers.versions, arguments.limit), note, "", *accuracy_report(results, peers.missing)]
    print("\n".join(lines))
    if arguments.write:
        replace_section(arguments.page, "accuracy", lines)


def curves(arguments: argparse.Namespace, peers: Environments) -> None:
    """Accuracy against size of four families, with HistGradientBoosting as the far mark."""
    tables = arguments.tables or list(TABLES)
    results = Results(arguments.results or Path("build/curves.jsonl"))
    if not arguments.report_only:
        results.retry()
    if arguments.only:
        results.forget(lambda row: row["peer"].split(" ")[0] == OURS and row["table"] in tables)
    wanted = [
        Wanted(name, sized(name, size).environment, size)
        for size in SIZES
        for name in FAMILIES
        if (name not in WITH_PATH or size == SIZES[-1]) and (name == OURS or not arguments.only)
    ]
    with Servers(peers) as servers:
        if not arguments.report_only:
            work = tasks(tables, arguments.data, arguments.folds, arguments.seed)
            run(work, [*wanted, Wanted.of(ENTRIES[REFERENCE])], results, servers, Limits(arguments.limit))
        servers.greet()
        lines = run_with(servers.versions, arguments.limit)
    drawn = arguments.picture or (arguments.page.parent / "pictures" if arguments.write else Path("build")) / PICTURE
    draw(results, drawn, tables)
    lines += curve_report(results, tables, peers.missing, f"{arguments.folds} stratified folds, seed {arguments.seed}")
    print(f"picture: {drawn}")
    print("\n".join(lines))
    if arguments.write:
        replace_section(arguments.page, "curves", lines)


def main() -> None:
    """Measure, print, and write the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="of " + ", ".join(FOLD_TABLES))
    parser.add_argument("--curves", action="store_true", help="accuracy against size")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--environment", type=Path, default=DEFAULT, help="where the peers are, made if absent")
    parser.add_argument("--results", type=Path, help="JSON lines, gone on with if there")
    parser.add_argument("--limit", type=float, default=30.0, help="CPU seconds for a fit")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", nargs="*", help="only these entries: " + ", ".join(ENTRIES))
    parser.add_argument("--only", choices=["ours"], help="do ours and HistGB anew, keep the others")
    parser.add_argument("--report-only", action="store_true", help="from the results so far, nothing is run")
    parser.add_argument("--write", action="store_true", help="replace the section of the page and its picture")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page; another one than the default is written")
    parser.add_argument("--picture", type=Path, help="where the curves are drawn")
    arguments = parser.parse_args()
    arguments.write |= arguments.page != FOLDER
    peers = environments(arguments.environment)
    print(f"{machine()}; a fit may take {arguments.limit:g} CPU seconds, one thread", flush=True)
    (curves if arguments.curves else compare)(arguments, peers)


if __name__ == "__main__":
    main()
