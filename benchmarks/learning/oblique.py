"""Trees of linear threshold units on real tables, beside oblique trees of others, CART, logistic regression and CNLL.

    python -m benchmarks.learning.oblique [TABLE ...] [--splits 10] [--results FILE] [--write]

30 % of each class held out, ten splits of named seeds from 100 on, the same rows for all; a fit has one thread and a
limit of CPU seconds. Finished fits are kept in the results file; `--only ours` does ours and HistGradientBoosting anew.
A page is written with `--write`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.learning.peers.asked import Asked, asked_lines
from benchmarks.learning.peers.catalogue import ENTRIES
from benchmarks.learning.peers.data import load
from benchmarks.learning.peers.definitions import OBLIQUE
from benchmarks.learning.peers.environment import DEFAULT, environments
from benchmarks.learning.peers.pages import PAGE, run_with
from benchmarks.learning.peers.paired import gap, mean_of, of, time_ratio
from benchmarks.learning.peers.results import Results, Row
from benchmarks.learning.peers.runner import Limits, Servers, Task, Wanted, machine, run
from benchmarks.learning.peers.splits import held_out
from benchmarks.shared.sections import markdown, write_section

TABLES = (
    "breast_cancer_wisconsin",
    "ionosphere",
    "spambase",
    "magic_telescope",
    "heloc",
    "heart_cleveland",
    "house_votes_84",
    "adult",
)
OURS, LINEAR, TREE, REFERENCE = "LTU tree", "logistic", "CART depth 4", "HistGB 100"
NAMES = (
    *(OURS, REFERENCE, LINEAR, "CART depth 2", TREE),
    *("HHCART depth 4", "treeple oblique depth 4", "rulekit 20, units by CV"),
)
FIRST = 100
"""The first seed of the splits: none that the learner was developed on."""
EXPLAINED = ("house_votes_84", "heart_cleveland", "heloc")
"""Tables where logistic regression is hard to reach: the gap is to be closed or explained."""


def tasks(names: Sequence[str], folder: Path, splits: int) -> Iterator[Task]:
    """The tables and splits of this benchmark."""
    for name in names:
        table = load(name, folder)
        for seed in range(FIRST, FIRST + splits):
            yield Task(table, held_out(table.labels, seed))


def report(results: Results) -> list[str]:
    """The section as lines of Markdown."""
    found = {table: {name: of(results, table, name) for name in NAMES} for table in TABLES}
    found = {table: by_peer for table, by_peer in found.items() if by_peer[OURS]}
    rows = [(table, *(_cell(rows) for rows in by_peer.values())) for table, by_peer in found.items()]
    sizes = [
        (
            table,
            f"{mean_of(by_peer[OURS], 'rules'):.1f}",
            f"{mean_of(by_peer[OURS], 'literals'):.1f}",
            f"{mean_of(by_peer[OURS], 'seconds'):.2f}",
            f"{time_ratio(by_peer[OURS], by_peer[LINEAR]):.0f}",
        )
        for table, by_peer in found.items()
    ]
    splits = max((len(by_peer[OURS]) for by_peer in found.values()), default=0)
    return [
        f"30 % of each class held out, {splits} splits from seed {FIRST} on.",
        "",
        *asked_lines([one for table, by_peer in found.items() for one in _asked(table, by_peer)]),
        "",
        "**Error in per cent** over the splits, with its standard error",
        "",
        *markdown(("table", *NAMES), rows),
        "",
        f"**{OURS}**: its size, CPU seconds of a fit, and these as a multiple of those of {LINEAR}",
        "",
        *markdown(("table", "units", "columns read", "seconds", f"/ {LINEAR}"), sizes),
    ]


def _cell(rows: Mapping[str, Row]) -> str:
    errors = [100.0 - 100.0 * row["accuracy"] for row in rows.values() if row["status"] == "ok"]
    if not errors:
        return next(iter(rows.values()))["status"] if rows else ""
    mean = sum(errors) / len(errors)
    spread = (sum((error - mean) ** 2 for error in errors) / max(1, len(errors) - 1) / len(errors)) ** 0.5
    return f"{mean:.2f} ± {spread:.2f}" + (f" ({len(rows) - len(errors)} late)" if len(errors) < len(rows) else "")


def _asked(table: str, by_peer: Mapping[str, Mapping[str, Row]]) -> Iterator[Asked]:
    """Beside logistic regression and a standard error of the paired difference; beside the tree."""
    linear, tree = gap(by_peer[OURS], by_peer[LINEAR]), gap(by_peer[OURS], by_peer[TREE])
    if linear is not None:
        required = f"accuracy at least that of {LINEAR} less a standard error"
        required += ", or the gap explained" if table in EXPLAINED else ""
        yield Asked(f"{table}, {OURS}", required, linear.text(), linear.mean >= -linear.error)
    if tree is not None:
        yield Asked(f"{table}, {OURS}", f"above {TREE}", tree.text(), tree.mean > 0.0)


def main() -> None:
    """Measure, print, and write the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help="of " + ", ".join(TABLES))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--environment", type=Path, default=DEFAULT, help="where the peers are, made if absent")
    parser.add_argument("--results", type=Path, default=Path("build/oblique.jsonl"))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds for a fit")
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
        arguments.peers = [OURS, REFERENCE]
        results.forget(lambda row: row["peer"] in arguments.peers and row["table"] in arguments.tables)
    wanted = [Wanted.of(ENTRIES[name]) for name in arguments.peers]
    print(f"{machine()}; a fit may take {arguments.limit:g} CPU seconds, one thread", flush=True)
    with Servers(environments(arguments.environment, (OBLIQUE,))) as servers:
        if not arguments.report_only:
            work = tasks(arguments.tables, arguments.data, arguments.splits)
            run(work, wanted, results, servers, Limits(arguments.limit))
        servers.greet()
        lines = [*run_with(servers.versions, arguments.limit), *report(results)]
    print("\n".join(lines))
    if arguments.write or arguments.page != PAGE:
        write_section(arguments.page, "oblique trees", lines)


if __name__ == "__main__":
    main()
