"""Cost laws of training: time and memory against rows, columns and units, drawn, with the fitted exponents.

    python -m benchmarks.speed.cost_laws [--laws rows columns units] [--most-rows 10000000] [--limit 120] [--small]
                                        [--write]

Made tables in float32, 64 bins: the default (20 units), HistGradientBoosting(100) and AdaBoost
on our kernels in turn at each size, all cores, each fit in a process of its own that first fits 1,000 rows. A process
has a limit of wall seconds; what would pass it, by the size before, is listed and not started. Below 4 s a fit is done
three times. Finished fits are kept in build/benchmarks/cost_laws.jsonl, so that a run can be gone on with. --write
replaces the section "cost laws" of docs/benchmarks/ and pictures/cost_laws.png. It takes about 8 minutes on two
quiet cores, 6 GB of memory and 1.5 GB of disk; with --small (100,000 rows, 100 columns) about one minute.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.learning.contenders import DEFAULT, QUICK
from benchmarks.shared import made_tables
from benchmarks.shared.kept import Kept
from benchmarks.shared.laws import Line, exponent, line_through, upper_decade
from benchmarks.shared.machine import stamp
from benchmarks.shared.measuring import Spread, spread
from benchmarks.shared.pictures import Panel, draw_lines
from benchmarks.shared.sections import add_options, kept, picture, publish

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
COLUMNS = (10, 30, 100, 300, 1000)
UNITS = (1, 2, 5, 10, 20, 50)
ROWS_OF_COLUMNS, ROWS_OF_UNITS, ROWS_OF_STUMPS = 50_000, 200_000, 1_000_000
SMALL_ROWS, SMALL_COLUMNS = 100_000, 100
REPEATS = 3
TOLERANCE = 0.1
QUIET = 0.15
E, STUMPS = "rulekit", "AdaBoost.M1 on our kernels, 20 rounds"
BOOSTING = "HistGradientBoosting 100"
LINEAR = ("rows", "columns")


@dataclass(slots=True)
class Law:
    """One law: what varies, and for each learner the fit at each size."""

    name: str
    axis: str
    fits: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    late: set[str] = field(default_factory=set)

    def values(self, learner: str, what: str) -> dict[int, Spread]:
        """Median and range by size: of the repeats of `all_...`, else the one value."""
        found = {size: run[what] for size, run in sorted(self.fits.get(learner, {}).items())}
        return {size: spread(each if isinstance(each, list) else [each]) for size, each in found.items()}


@dataclass(frozen=True, slots=True)
class Run:
    """What all measurements share: where tables are made, the largest of them, the limit, what is finished."""

    folder: Path
    most_rows: int
    most_columns: int
    limit: float
    kept: Kept

    def measure(self, law: Law, learner: str, size: int, data: Callable[[], Path], **arguments: Any) -> None:
        """Fit, unless it is finished already or would be late."""
        function = {STUMPS: "boosted_stumps", BOOSTING: "boosted_histograms"}.get(learner, "rulekit")
        key = f"{law.name} {self.most_rows} {size} {learner}"
        before = law.fits.get(learner, {})
        last = max(before, default=0)
        expected = max(before[last]["all_seconds"]) * size / last if last else 0.0
        if key not in self.kept and learner in law.late:
            why = "not started: a smaller size was stopped"
        elif key not in self.kept and expected > self.limit:
            why = f"not started: about {expected:.0f} s by its time at {last:,}, the limit is {self.limit:g} s"
        else:
            given = {"repeats": REPEATS, **arguments}
            if key not in self.kept:
                given["data"] = str(data())
            found = self.kept.measure(key, f"benchmarks.learning.contenders:{function}", given, limit=self.limit)
            why = found.stopped
            if found.late:
                law.late.add(learner)
            if not why:
                law.fits.setdefault(learner, {})[size] = found.value
        if why:
            law.stopped.append(f"{learner}, {size:,} {law.name}: {why}")
        shown = why or f"{law.values(learner, 'all_seconds')[size].text(3)} s"
        print(f"  {law.name:8s} {size:>10,}  {learner:38s} {shown}", flush=True)

    def table(self, n: int, d: int = made_tables.COLUMNS) -> Callable[[], Path]:
        """Makes the table when it is first needed; the one before is thrown away."""

        def make() -> Path:
            place = self.folder / f"big_{n}_{d}"
            if not place.exists():
                for other in self.folder.iterdir():
                    shutil.rmtree(other)
                made_tables.write(self.folder, n, d)
            return place

        return make


def _fits(parameters: Mapping[str, Any], units: int = 20) -> dict[str, Any]:
    return {"parameters": {**parameters, "n_units": units}}


def rows_law(run: Run) -> Law:
    """28 columns, 20 units."""
    law = Law("rows", "rows (28 columns, 20 units)")
    for n in (size for size in ROWS if size <= run.most_rows):
        data = run.table(n)
        run.measure(law, E, n, data, **_fits(DEFAULT))
        run.measure(law, BOOSTING, n, data)
        if n <= ROWS_OF_STUMPS:
            run.measure(law, STUMPS, n, data)
    return law


def columns_law(run: Run) -> Law:
    """Up to 50,000 rows, 20 units."""
    n = min(run.most_rows, ROWS_OF_COLUMNS)
    law = Law("columns", f"columns ({n:,} rows, 20 units)")
    for d in (size for size in COLUMNS if size <= run.most_columns):
        data = run.table(n, d)
        run.measure(law, E, d, data, **_fits(DEFAULT))
        run.measure(law, BOOSTING, d, data)
    return law


def units_law(run: Run) -> Law:
    """Up to 200,000 rows, 28 columns."""
    n = min(run.most_rows, ROWS_OF_UNITS)
    law = Law("units", f"units ({n:,} rows, 28 columns)")
    data = run.table(n)
    for units in UNITS:
        run.measure(law, E, units, data, **_fits(DEFAULT, units))
    return law


LAWS: Mapping[str, Callable[[Run], Law]] = {"rows": rows_law, "columns": columns_law, "units": units_law}


# What is shown -------------------------------------------------------------------------------------------------------


def section(laws: Sequence[Law]) -> list[str]:
    """The tables of the page and what they say."""
    lines: list[str] = []
    for law in laws:
        sizes = sorted({size for fits in law.fits.values() for size in fits})
        header = [law.axis, *(f"{size:,}" for size in sizes)]
        lines += [f"**{law.name}**", "", "| " + " | ".join(header) + " |", "|---|" + "--:|" * len(sizes)]
        for learner in law.fits:
            for what, unit, scale in (("all_seconds", "wall s", 1.0), ("memory", "rise of memory, MB", 1e-6)):
                found = law.values(learner, what)
                cells = [_cell(found[size], scale) if size in found else "-" for size in sizes]
                lines.append(f"| {learner}, {unit} | {' | '.join(cells)} |")
        lines += ["", *verdict_table(law), "", *(f"- {words}" for words in [*constant_factors(law), *law.stopped]), ""]
    return lines


def _cell(found: Spread, scale: float) -> str:
    median, low, high = (f"{scale * value:.3g}" for value in (found.median, found.low, found.high))
    return median if found.count == 1 else f"{median} ({low}-{high})"


def verdict_table(law: Law) -> list[str]:
    """For each learner and clock: exponent, fitted line, distance from it, and whether that is linear."""
    required = law.name in LINEAR
    lines = [
        f"| {law.name}: clock | exponent, upper decade | line through all sizes | furthest from it | exponent without "
        "the fixed part |" + (" linear within 10 % |" if required else ""),
        "|---|--:|--:|--:|--:|" + ("--:|" if required else ""),
    ]
    for learner in law.fits:
        for what, clock in (("all_seconds", "wall"), ("all_processor", "CPU")):
            times = {size: found.median for size, found in law.values(learner, what).items()}
            if len(times) < 3:
                continue
            line = line_through(times)
            raw, net = exponent(times), exponent(line.without_fixed(times))
            cells = [f"{learner}, {clock}", f"{raw:.2f}", _words(line, law.name), f"{line.furthest:.0%}", f"{net:.2f}"]
            if required:
                cells.append(_verdict(raw, net, line))
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def _words(line: Line, name: str) -> str:
    many, what = (1e6, "million rows") if name == "rows" else (1.0, name[:-1])
    return f"{line.fixed:.2g} s + {line.each * many:.3g} s a {what}"


def _verdict(raw: float, net: float, line: Line) -> str:
    """Without its fixed part a time is linear only if the line through all sizes fits as well."""
    if abs(raw - 1.0) <= TOLERANCE:
        return "met"
    if raw > 1.0:
        return "NOT met"
    straight = abs(net - 1.0) <= TOLERANCE and line.furthest <= TOLERANCE
    return "less than linear" + ("; met without the fixed part" if straight else "")


def constant_factors(law: Law) -> list[str]:
    """The time per unit over the time per round of AdaBoost, and the time over boosting's, at each number of rows."""
    found = []
    for over, what, words in (
        (STUMPS, "per_unit", "time per unit over the time per round of AdaBoost on the same kernels"),
        (BOOSTING, "all_seconds", f"wall time over {BOOSTING}"),
    ):
        theirs = law.values(over, what)
        for learner in (E,) if theirs else ():
            ours = law.values(learner, what)
            ratios = [f"{ours[n].median / theirs[n].median:.2g} at {n:,}" for n in ours if n in theirs]
            if ratios:
                found.append(f"{learner}: {words}: {', '.join(ratios)} {law.name}")
    return found


def explanation(laws: Sequence[Law], limit: float) -> list[str]:
    """What the tables mean, in words."""
    every = [run for law in laws for fits in law.fits.values() for run in fits.values()]
    others = max((run["others"] for run in every), default=0.0)
    sizes = {law.name: upper_decade({n: 0.0 for fits in law.fits.values() for n in fits}) for law in laws}
    ranges = "; ".join(f"{name} {min(found):,} to {max(found):,}" for name, found in sizes.items() if found)
    lines = [
        f"Made tables in float32 (three rules decide the label, 10 % of the labels flipped), binning included, imports "
        f"and compilation excluded, all cores. rulekit is `cnll` with 20 units and "
        "`stopping='none'`. Each fit has a process of its own, the "
        f"learners taking turns at each size, with a limit of {limit:g} s of wall time for the process. A fit of less "
        f"than {QUICK:g} s is done {REPEATS} times: median and (range). Memory is the rise of the resident set over "
        "the process with imports and data.",
        "",
        f"Linear within 10 % means: the exponent, which is the slope of log time over log size by least squares over "
        f"the upper decade of sizes ({ranges}), lies between {1 - TOLERANCE:g} and {1 + TOLERANCE:g}. The line is "
        "fixed part + part for each row (column, unit), fitted to the medians of all sizes so that relative errors "
        "are least, its fixed part not below 0; beside it stands how far the furthest size is from it, and the "
        "exponent of the times less the fixed part; where the exponent is below 0.9, that exponent and a distance of "
        "at most 10 % are called met without the fixed part. CPU seconds are those of all threads.",
        "",
        "![time and memory against rows, columns and units](pictures/cost_laws.png)",
        "",
    ]
    if others > QUIET:
        lines = [f"**The machine was not quiet (other processes took up to {others:.0%} of it).**", "", *lines]
    return lines


def panels(laws: Sequence[Law]) -> list[list[Panel]]:
    """Wall time above, memory below, a column for each law."""
    rows = []
    for what, y, scale in (("all_seconds", "wall seconds", 1.0), ("memory", "rise of peak memory, MB", 1e-6)):
        row = []
        for law in laws:
            found = {learner: law.values(learner, what) for learner in law.fits}
            lines = {learner: [_point(n, s, scale) for n, s in each.items()] for learner, each in found.items()}
            row.append(Panel(law.name, law.axis, y, lines))
        rows.append(row)
    return rows


def _point(size: int, found: Spread, scale: float) -> tuple[float, float, float, float]:
    """A rise of less than a page cannot be drawn on a logarithmic axis: it is drawn as 0.1 MB."""
    low, median, high = (max(scale * value, 0.1 * (scale < 1.0)) for value in (found.low, found.median, found.high))
    return size, low, median, high


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="*", default=list(LAWS), choices=list(LAWS))
    parser.add_argument("--most-rows", type=int, default=ROWS[-1])
    parser.add_argument("--limit", type=float, default=120.0, help="wall seconds for the process of one size")
    add_options(parser)
    arguments = parser.parse_args()
    most = min(arguments.most_rows, SMALL_ROWS) if arguments.small else arguments.most_rows
    columns = SMALL_COLUMNS if arguments.small else COLUMNS[-1]
    expected = "about one minute" if arguments.small else "about 8 minutes for 10,000,000 rows"
    print(f"{expected} on two quiet cores; at most {arguments.limit:g} s for the process of one size", flush=True)
    begun = time.monotonic()
    finished = kept(arguments, "cost_laws")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), most, columns, arguments.limit, finished)
        laws = [LAWS[name](run) for name in arguments.laws]
    laws = [law for law in laws if law.fits]
    others = max((f["others"] for law in laws for fits in law.fits.values() for f in fits.values()), default=0.0)
    lines = [stamp(others, finished.day), "", *explanation(laws, arguments.limit), *section(laws)]
    draw_lines(picture(arguments, "cost_laws"), panels(laws))
    publish(arguments, "cost laws", lines)
    print(f"{time.monotonic() - begun:.0f} s in all; picture: {picture(arguments, 'cost_laws')}")


if __name__ == "__main__":
    main()
