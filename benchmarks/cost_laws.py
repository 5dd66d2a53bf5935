"""Cost laws of training: time against rows, columns and units, drawn, with the fitted exponents.

    python -m benchmarks.cost_laws [--laws rows columns units] [--most-rows 10000000] [--limit 120]

Made tables in float32, 64 bins, the default (20 units) and algorithm II with refit, all cores, each fit in a process of
its own that first fits 1,000 rows; the smaller sizes are the median of three fits. An exponent is the slope of the
line through the sizes of the upper decade, time and size as logarithms; 1 is linear. Beside the time per unit
stands the time per round of AdaBoost on the same bins and kernels. Writes docs/benchmarks.md (section "cost laws"),
docs/pictures/cost_laws.png and build/benchmarks/cost_laws.json. With the defaults it takes about 7 minutes on two
cores and 6 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import made_tables
from benchmarks.contenders import DEFAULT, QUICK, SECOND
from benchmarks.machine import stamp
from benchmarks.measuring import ProcessFailedError, Spread, in_process, spread
from benchmarks.peers.pages import PAGE
from benchmarks.pictures import FOLDER, Panel, draw_logarithmic
from benchmarks.sections import write_section
from benchmarks.training_time import RESULTS

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
COLUMNS = (10, 30, 100, 300, 1000)
UNITS = (1, 2, 5, 10, 20, 50)
ROWS_OF_COLUMNS, ROWS_OF_UNITS = 50_000, 200_000
REPEATS = 3
TOLERANCE = 0.1
E, II, STUMPS = "rulekit", "rulekit II, refit", "AdaBoost.M1 on our kernels"


@dataclass(slots=True)
class Law:
    """One law: what varies, and for each learner the fits at each size."""

    name: str
    axis: str
    fits: dict[str, dict[int, list[dict[str, Any]]]] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def times(self, learner: str, what: str = "seconds") -> dict[int, Spread]:
        found = {size: runs[0] for size, runs in self.fits.get(learner, {}).items() if runs}
        values = {size: run["all_seconds"] if what == "seconds" else [run[what]] for size, run in found.items()}
        return {size: spread(each) for size, each in values.items()}


def exponent(times: Mapping[int, float]) -> float:
    """The slope of log time over log size, by least squares over the upper decade of sizes."""
    largest = max(times)
    upper = [(math.log(size), math.log(seconds)) for size, seconds in times.items() if 10 * size >= largest]
    if len(upper) < 2:
        return math.nan
    mean_x, mean_y = (sum(values) / len(upper) for values in zip(*upper, strict=True))
    return sum((x - mean_x) * (y - mean_y) for x, y in upper) / sum((x - mean_x) ** 2 for x, _ in upper)


def measure(law: Law, learner: str, size: int, function: str, arguments: Mapping[str, Any], limit: float) -> None:
    """Fit, several times where that is quick; a fit that fails or is late is noted."""
    runs = law.fits.setdefault(learner, {}).setdefault(size, [])
    try:
        given = {**arguments, "repeats": REPEATS}
        runs.append(in_process(f"benchmarks.contenders:{function}", given, limit=limit))
    except ProcessFailedError as error:
        law.stopped.append(f"{learner}, {size:,} {law.name}: {error}")
    last = f"{spread(runs[0]['all_seconds']).text(3)} s" if runs else law.stopped[-1]
    print(f"  {law.name:8s} {size:>10,}  {learner:28s} {last}", flush=True)


def _fits(parameters: Mapping[str, Any], units: int = 20) -> dict[str, Any]:
    return {"parameters": {**parameters, "n_units": units}}


def rows_law(folder: Path, most: int, limit: float) -> Law:
    """28 columns, 20 units."""
    law = Law("rows", "rows (28 columns, 20 units)")
    for n in (size for size in ROWS if size <= most):
        data = made_tables.write(folder, n)
        measure(law, E, n, "rulekit", {"data": str(data), **_fits(DEFAULT)}, limit)
        measure(law, II, n, "rulekit", {"data": str(data), **_fits(SECOND)}, limit)
        measure(law, STUMPS, n, "boosted_stumps", {"data": str(data)}, limit)
        shutil.rmtree(data)
    return law


def columns_law(folder: Path, most: int, limit: float) -> Law:
    """Up to 50,000 rows, 20 units."""
    n = min(most, ROWS_OF_COLUMNS)
    law = Law("columns", f"columns ({n:,} rows, 20 units)")
    for d in COLUMNS:
        data = made_tables.write(folder, n, d)
        measure(law, E, d, "rulekit", {"data": str(data), **_fits(DEFAULT)}, limit)
        measure(law, II, d, "rulekit", {"data": str(data), **_fits(SECOND)}, limit)
        shutil.rmtree(data)
    return law


def units_law(folder: Path, most: int, limit: float) -> Law:
    """Up to 200,000 rows, 28 columns."""
    n = min(most, ROWS_OF_UNITS)
    law = Law("units", f"units ({n:,} rows, 28 columns)")
    data = made_tables.write(folder, n)
    for units in UNITS:
        measure(law, E, units, "rulekit", {"data": str(data), **_fits(DEFAULT, units)}, limit)
        measure(law, II, units, "rulekit", {"data": str(data), **_fits(SECOND, units)}, limit)
    shutil.rmtree(data)
    return law


LAWS: Mapping[str, Callable[[Path, int, float], Law]] = {
    "rows": rows_law,
    "columns": columns_law,
    "units": units_law,
}


# What is shown -------------------------------------------------------------------------------------------------------


def section(laws: Sequence[Law]) -> list[str]:
    """The lines of the page."""
    lines: list[str] = []
    for law in laws:
        sizes = sorted({size for fits in law.fits.values() for size in fits})
        lines += [
            f"**{law.name}**, seconds (median of three where below {QUICK:g} s):",
            "",
            f"| {law.axis} | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |",
            "|---|" + "--:|" * (len(sizes) + 1),
        ]
        for learner in law.fits:
            times = law.times(learner)
            cells = [f"{times[size].median:.3g}" if size in times else "-" for size in sizes]
            slope = exponent({size: found.median for size, found in times.items()}) if times else math.nan
            lines.append(f"| {learner} | {' | '.join(cells)} | {slope:.2f} |")
        lines += ["", *(f"- {words}" for words in [*verdicts(law), *constant_factors(law), *law.stopped]), ""]
    return lines


def verdicts(law: Law) -> list[str]:
    """Rows and columns must be linear within a tenth; for units the exponent is stated."""
    found = []
    for learner in (E, II):
        times = {size: spread.median for size, spread in law.times(learner).items()}
        if len(times) < 2:
            continue
        slope = exponent(times)
        text = f"{learner}: exponent over the upper decade of {law.name} {slope:.2f}"
        if law.name != "units":
            met = "met" if abs(slope - 1.0) <= TOLERANCE else "less than linear" if slope < 1.0 else "NOT met"
            text += f", required 1 within {TOLERANCE:g}: {met}"
        found.append(text)
    return found


def constant_factors(law: Law) -> list[str]:
    """The time per unit over the time per round of AdaBoost at each number of rows."""
    if STUMPS not in law.fits:
        return []
    found = []
    rounds = law.times(STUMPS, "per_unit")
    for learner in (E, II):
        units = law.times(learner, "per_unit")
        ratios = [f"{units[n].median / rounds[n].median:.1f} at {n:,}" for n in sorted(units) if n in rounds]
        found.append(f"{learner}: time per unit over the time per round of AdaBoost, {', '.join(ratios)} rows")
    return found


def report(laws: Sequence[Law], page: Path) -> None:
    """Print the figures and write section, picture and JSON."""
    every = [run for law in laws for fits in law.fits.values() for runs in fits.values() for run in runs]
    lines = [
        stamp(max((run["others"] for run in every), default=0.0)),
        "",
        "Variant E and algorithm II with refit as above, 64 bins, on made tables in float32, binning included; all "
        "cores. The exponent is the slope of log time over log size in the upper decade.",
        "",
        "![cost laws](pictures/cost_laws.png)",
        "",
        *section(laws),
    ]
    print("\n".join(lines))
    write_section(page, "cost laws", lines)
    panels = [
        Panel(
            law.name,
            law.axis,
            "seconds",
            {
                learner: [(size, t.low, t.median, t.high) for size, t in sorted(law.times(learner).items())]
                for learner in law.fits
                if law.times(learner)
            },
        )
        for law in laws
    ]
    draw_logarithmic(FOLDER / "cost_laws.png", panels)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "cost_laws.json").write_text(json.dumps({law.name: law.fits for law in laws}, indent=1))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="*", default=list(LAWS), choices=list(LAWS))
    parser.add_argument("--most-rows", type=int, default=ROWS[-1])
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        laws = [LAWS[name](Path(folder), arguments.most_rows, arguments.limit) for name in arguments.laws]
    report(laws, arguments.page)
    print(f"{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
