"""Trees of linear threshold units on real tables, beside oblique trees of others, CART, logistic regression and CNLL.

    python -m benchmarks.learning.oblique [TABLE ...] [--results FILE] [--write]

30 % of each class held out, ten splits of named seeds from 100 on, the same rows for all; a fit has one thread and a
limit of CPU seconds. Finished fits are kept in the results file; `--only ours` does ours and HistGradientBoosting anew.
A page is written with `--write`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.learning.peers.asked import Asked, asked_lines
from benchmarks.learning.peers.comparison import Comparison
from benchmarks.learning.peers.data import load
from benchmarks.learning.peers.definitions import OBLIQUE
from benchmarks.learning.peers.paired import gap, mean_of, of, time_ratio
from benchmarks.learning.peers.results import Results, Row
from benchmarks.learning.peers.runner import Task
from benchmarks.learning.peers.splits import held_out
from benchmarks.shared.sections import markdown

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
RUNS, FIRST = 10, 100
"""The splits of a table, and their first seed: none that the learner was developed on."""
EXPLAINED = ("house_votes_84", "heart_cleveland", "heloc")
"""Tables where logistic regression is hard to reach: the gap is to be closed or explained."""


def tasks(names: Sequence[str], folder: Path) -> Iterator[Task]:
    """The tables and splits of this benchmark."""
    for name in names:
        table = load(name, folder)
        for seed in range(FIRST, FIRST + RUNS):
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
    assert __doc__
    ours, file = (OURS, REFERENCE), "oblique.jsonl"
    Comparison(__doc__, "oblique trees", TABLES, NAMES, ours, file, 120.0, tasks, report, (OBLIQUE,)).main()


if __name__ == "__main__":
    main()
