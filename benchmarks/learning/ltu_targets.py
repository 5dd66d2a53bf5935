"""Whether the LTU tree finds rules that are known, and reads them as they are.

    python -m benchmarks.learning.ltu_targets [NAME ...] [--seeds 30] [--drawn 40] [--write]

Columns permuted at random, 4,000 test rows without noise, 30 runs of each target and 40 rules drawn at random beside
HistGradientBoosting; one thread. NAME: targets whose name begins so. --write replaces the section "ltu targets" of
docs/benchmarks/.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.learning.ltu_made_targets import DRAWN, TARGETS, Drawn, Rows, Target
from benchmarks.learning.peers.ours import units
from benchmarks.learning.peers.pages import FOLDER
from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import markdown, publish
from rulekit import LTUTreeClassifier

RUNS = 30
FIRST = 5000
"""The first seed: none that the learner was developed on."""


@dataclass(frozen=True, slots=True)
class Run:
    """A fit: its test error in percent, units, weights, "at least 4 of" five read in it, and CPU seconds."""

    error: float
    units: int
    read: int
    seconds: float


def run(rows: Rows, seed: int) -> Run:
    """One fit of the default tree."""
    begun = time.process_time()
    model = LTUTreeClassifier(random_state=seed).fit(rows.train, rows.y)
    seconds = time.process_time() - begun
    error = 100.0 * float(np.mean(model.predict(rows.test) != rows.y_test))
    return Run(error, units(model).rules, fours(str(model.rule_graph_)), seconds)


def fours(text: str) -> int:
    """How many times the rules say "at least 4 of" five literals."""
    said = [line.split("at least 4 of (")[1].split(")")[0] for line in text.splitlines() if "at least 4 of (" in line]
    return sum(literals.count(",") == 4 for literals in said)


def target_row(name: str, target: Target, seeds: Sequence[int]) -> tuple[str, ...]:
    """A target's runs: how many are exact, and so with few enough units, and read as they should."""
    found = [run(target.rows(seed), seed) for seed in seeds]
    exact = [one for one in found if one.error == 0.0]
    few = [one for one in exact if target.units is None or one.units <= target.units]
    read = [one for one in few if one.read >= target.read]
    met = len(read) * RUNS >= target.least * len(found)
    return (
        name,
        f"{target.least} of {RUNS}",
        f"{len(read)} of {len(found)}",
        "met" if met else "missed",
        f"{np.mean([one.error for one in found]):.2f}",
        f"{max(one.error for one in found):.1f}",
        f"{np.mean([one.units for one in found]):.1f}",
        f"{np.mean([one.seconds for one in found]):.2f}",
    )


def drawn_row(name: str, drawn: Drawn, seeds: Sequence[int]) -> tuple[str, ...]:
    """The mean error on rules drawn at random, beside HistGradientBoosting."""
    found, other = list[Run](), list[float]()
    for seed in seeds:
        rows = drawn.rows(seed)
        found.append(run(rows, seed))
        peer = HistGradientBoostingClassifier(random_state=0).fit(rows.train, rows.y)
        other.append(100.0 * float(np.mean(peer.predict(rows.test) != rows.y_test)))
    mean = float(np.mean([one.error for one in found]))
    return (
        name,
        f"at most {drawn.most}",
        f"{mean:.2f}",
        "met" if mean <= drawn.most else "missed",
        f"{sum(one.error == 0.0 for one in found)} of {len(found)}",
        f"{np.mean([one.units for one in found]):.1f}",
        f"{np.mean([one.seconds for one in found]):.2f}",
        f"{np.mean(other):.2f}",
    )


TARGET_HEADER = ("target", "asked", "exact as asked", "verdict", "error %", "worst", "units", "seconds")
DRAWN_HEADER = ("rules", "asked", "error %", "verdict", "exact", "units", "seconds", "HistGB, error %")


def report(names: Sequence[str], seeds: Sequence[int], drawn: Sequence[int]) -> Iterator[str]:
    """The section, line by line."""
    yield from (
        stamp(),
        "",
        f"Columns permuted, 4,000 test rows without noise, {len(seeds)} runs from seed {FIRST} on. Exact: no error,",
    )
    yield "no more units than the rule has, and where the function is that of five bits, both units read as"
    yield '"at least 4 of" five literals. Seconds are of the CPU, binning and rounding included.'
    for header, rows in (
        (TARGET_HEADER, [_told(target_row(n, t, seeds)) for n, t in TARGETS.items() if _asked(n, names)]),
        (DRAWN_HEADER, [_told(drawn_row(n, t, drawn)) for n, t in DRAWN.items() if _asked(n, names)]),
    ):
        if rows:
            yield from ("", *markdown(header, rows))


def _asked(name: str, names: Sequence[str]) -> bool:
    return not names or any(name.startswith(own) for own in names)


def _told(row: tuple[str, ...]) -> tuple[str, ...]:
    print("  " + " | ".join(row), flush=True)
    return row


def main() -> None:
    """Measure and print; with --write put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets whose name begins so; none: all")
    parser.add_argument("--seeds", type=int, default=RUNS, help="runs of each target")
    parser.add_argument("--drawn", type=int, default=40, help="rules drawn at random")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks/")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page to write")
    arguments = parser.parse_args()
    lines = list(report(arguments.names, range(FIRST, FIRST + arguments.seeds), range(FIRST, FIRST + arguments.drawn)))
    publish(arguments, "ltu targets", lines)


if __name__ == "__main__":
    main()
