"""Figures 5 to 12 of the LTU paper (M. Sahami) on its five bits, its claims, and what it leaves open.

    python -m benchmarks.learning.paper_ltu [--small] [--write]

Trees, back-propagation through the whole network, Madaline and Mada-winnow on 5 to 50 bits, 1,000 and 3,000 rows,
4,000 test rows, columns permuted; 30 runs as six groups of five. --write replaces the section "paper ltu" of
docs/benchmarks/ and its pictures. It takes about 10 minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.learning.ltu_claims import claim_lines
from benchmarks.learning.ltu_runs import BITS, LEARNERS, Grid, runs
from benchmarks.learning.ltu_studies import MOST_ROWS, NEEDING, best_of_five, by_kind, rows_needed, unused
from benchmarks.learning.peers.pages import FOLDER
from benchmarks.shared.machine import stamp
from benchmarks.shared.pictures import Panel, draw_lines
from benchmarks.shared.sections import RESULTS, markdown, publish
from rulekit.learners.papers.madaline_networks import FixedIncrement, Winnow

SIZES = (1000, 3000)
MARKS = (
    ("Madaline S, one pass", "Madaline S", 1.7, False),
    ("Madaline L, least disturbance, one pass", "Madaline L, least disturbance", 2.8, False),
    ("Mada-winnow S, alpha 1.25, theta d, one pass", "Winnow S, alpha 1.25, theta d", 6.0, True),
    ("Mada-winnow L, alpha 1.25, theta d, one pass", "Winnow L, alpha 1.25, theta d", 4.0, True),
    ("Mada-winnow S, alpha 1.25, theta d, 5 passes", "Winnow S, alpha 1.25, 5 passes", 0.1, True),
    ("Mada-winnow L, alpha 1.25, theta d, 5 passes", "Winnow L, alpha 1.25, 5 passes", 0.1, True),
)
FIGURES = {
    "paper_ltu_small": (
        "Figures 5 to 8",
        "LTU tree, 1 epoch",
        "LTU tree, 25 epochs",
        "whole network BP, 25 epochs",
        "Madaline S",
        "Winnow S, alpha 2, theta 4",
        "Winnow S, alpha 2, theta 2^k",
        "Winnow S, alpha 1.25, theta d",
    ),
    "paper_ltu_large": (
        "Figures 9 to 12",
        "Madaline S",
        "Madaline L",
        "Madaline L, least disturbance",
        "Winnow S, alpha 2, theta 2^k",
        "Winnow L, alpha 2, theta 2^k",
        "Winnow L, alpha 1.25, theta d",
        "Winnow L, alpha 1.25, 5 passes",
    ),
}


def grid_of(sizes: Sequence[int], bits: Sequence[int], seeds: Sequence[int]) -> Grid:
    """All learners on all sizes; says how far it is."""
    found: Grid = {}
    for name, fit in LEARNERS.items():
        found[name] = {(n, d): runs(fit, n, d, seeds) for n in sizes for d in bits}
        print(f"  {name}", flush=True)
    return found


def table_lines(found: Grid, n: int, bits: Sequence[int]) -> list[str]:
    """Average and best by learner and bits, and the units of trees on the most."""
    rows = []
    for name, by_place in found.items():
        own = [by_place[n, d] for d in bits]
        units = f"{own[-1].units:.1f}" if name.startswith("LTU tree") else ""
        rows.append((name, *(f"{one.average:.1f} ({one.best:.1f})" for one in own), units))
    header = (f"{n:,} rows", *(f"{d} bits" for d in bits), "units")
    return [*markdown(header, rows), ""]


def mark_lines(found: Grid, bits: Sequence[int], more: Sequence[int]) -> list[str]:
    """What was asked at 3,000 x 50, or at every number of bits, and what was measured; more: further seeds."""
    rows = []
    for what, name, most, everywhere in MARKS:
        places = [(3000, d) for d in (bits if everywhere else bits[-1:])]
        value, at = max((found[name][place].average, place[1]) for place in places)
        again = runs(LEARNERS[name], 3000, at, more).average
        verdict = "met" if value <= most else "NOT met"
        where = f"largest, at {at} bits" if everywhere else f"at {at} bits"
        rows.append((what, f"at most {most:g}", f"{value:.2f}", where, verdict, f"{again:.2f}"))
    header = (
        "what, 3,000 rows, average",
        "required",
        "measured",
        "where",
        "verdict",
        f"{len(more)} further runs there",
    )
    return [*markdown(header, rows), ""]


def kind_lines(places: Sequence[tuple[int, int]], seeds: Sequence[int]) -> tuple[list[str], dict[str, float]]:
    """Units and errors by the kind of units; also the units of each at the last place."""
    found = by_kind(places, seeds)
    rows = [(name, *(f"{one.average:.2f}, {one.units:.1f}" for one in of_kind)) for name, of_kind in found.items()]
    header = ("`node`", *(f"{n:,} x {d}: error %, units" for n, d in places))
    return [*markdown(header, rows), ""], {name: of_kind[-1].units for name, of_kind in found.items()}


def five_lines(bits: Sequence[int], seeds: Sequence[int]) -> tuple[list[str], dict[str, float]]:
    """The best of five Mada-winnow networks by unseen rows; also the largest error of small ones by a held-out part."""
    rows, largest = [], dict[str, float]()
    for name, rule in (("alpha 1.25, theta d", Winnow()), ("alpha 2, theta 2^k", "power of two")):
        for shape in ("small", "large"):
            for d in bits:
                found = best_of_five(rule, shape, 3000, d, seeds)
                if shape == "small":
                    largest[name] = max(largest.get(name, 0.0), found.held_out)
                values = (found.one, found.held_out, found.worst, found.cross_validated, found.on_test)
                rows.append((f"{name}, {shape}, {d} bits", *(f"{value:.2f}" for value in values)))
    header = (
        "3,000 rows, one pass, error %",
        "one",
        "held out",
        "its worst run",
        "cross-validation",
        "best on test rows",
    )
    return [*markdown(header, rows), ""], largest


def needed_lines(bits: Sequence[int], seeds: Sequence[int]) -> list[str]:
    """The rows that bring the mean error to 1 %."""
    rows = []
    for name, fit in NEEDING.items():
        needed = [rows_needed(fit, d, seeds) for d in bits]
        rows.append((name, *(f"over {MOST_ROWS:,}" if n is None else f"{n:,}" for n in needed)))
        print(f"  rows needed: {name}", flush=True)
    return [*markdown(("rows for 1 % error", *(f"{d} bits" for d in bits)), rows), ""]


def unused_lines(seeds: Sequence[int]) -> tuple[list[str], float]:
    """What the larger network needs of its four units; also the share of networks with two left, of all runs."""
    rows, two, every = [], 0, 0
    for name, rule in (("Madaline", FixedIncrement()), ("Mada-winnow", Winnow())):
        for passes in (1, 5, 10):
            found = unused(rule, 3000, 20, passes, seeds)
            left = ", ".join(f"{units}: {count}" for units, count in sorted(found.left.items()))
            rows.append((f"{name}, passes: {passes}", left, f"{found.full:.2f}", f"{found.pruned:.2f}"))
            two, every = two + found.left[2], every + found.left.total()
    header = ("larger network, 3,000 x 20", "units left: runs", "error with all four", "with those left")
    return [*markdown(header, rows), ""], two / every


def draw(folder: Path, found: Grid, sizes: Sequence[int], bits: Sequence[int]) -> list[Path]:
    """The figures of the paper: average and best, by the number of rows."""
    made = []
    for name, (title, *learners) in FIGURES.items():
        panels = [
            [
                Panel(
                    f"{title}: {n:,} rows, {what}",
                    "bits",
                    "error (%)",
                    {learner: [(d, *3 * (getattr(found[learner][n, d], what),)) for d in bits] for learner in learners},
                )
                for what in ("average", "best")
            ]
            for n in sizes
        ]
        made.append(folder / f"{name}.png")
        draw_lines(made[-1], panels, "linear", columns=3)
    return made


def report(small: bool, pictures: Path) -> Iterable[str]:
    """All lines of the section."""
    seeds = range(10 if small else 30)
    bits = (10, 30, 50) if small else BITS
    found = grid_of(SIZES, bits, seeds)
    drawn = draw(pictures, found, SIZES, bits)
    kinds, units = kind_lines(((1000, 20), (3000, 50)), seeds)
    five, best_five = five_lines((30, 50) if small else (10, 20, 30, 40, 50), seeds)
    left, two = unused_lines(seeds)
    yield from (
        stamp(),
        "",
        "The function is 1 where at most one or at least four of five bits are; the other bits are coin tosses. "
        f"Columns are permuted, {len(seeds)} runs, 4,000 test rows: the average error in percent, in brackets the mean "
        "of the best of each five runs. S is the network of Figure 2 (two units), L that of Figure 4 (four). Each row "
        "is seen once unless epochs or passes are named; theta 2^k is the least power of two that is no less than the "
        "bits d.",
        "",
    )
    yield from mark_lines(found, bits, range(1000, 1000 + (20 if small else 200)))
    for n in SIZES:
        yield from table_lines(found, n, bits)
    yield " ".join(f"![{path.stem}](pictures/{path.name})" for path in drawn)
    yield from ("", "**The paper's claims**", "")
    yield from claim_lines(found, bits, units, best_five, two)
    yield from ("**Trees by the kind of their units**, 25 epochs", "", *kinds)
    yield from ("**The best of five networks**", "", *five)
    yield from ("**Rows needed** for a mean error of 1 %, 20 runs each, in steps of the root of 2", "")
    yield from needed_lines((10, 50) if small else (10, 20, 50, 100, 200), range(5 if small else 20))
    yield from ("**Units of no use**, left out during training and after it", "", *left)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="ten runs, and 10, 30 and 50 bits")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks/")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page to write")
    arguments = parser.parse_args()
    np.seterr(over="ignore")
    pictures = arguments.page.parent / "pictures" if arguments.write else RESULTS
    publish(arguments, "paper ltu", list(report(arguments.small, pictures)))


if __name__ == "__main__":
    main()
