"""Prediction: the latency of one row and the rows a second of every target, beside boosting and a tree, in one run.

    python -m benchmarks.prediction [--rows 1000000] [--rounds 5]

One model (20 units, the default, learned on 200,000 rows of the made table), float32 rows; each way in a process of
its own, interleaved, the order turning. Ratios are to HistGradientBoosting(100).predict of the same round. Writes
docs/benchmarks.md (section "prediction"), docs/pictures/prediction.png and build/benchmarks/prediction.json. With the
defaults it takes about 5 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.machine import stamp
from benchmarks.measuring import ProcessFailedError, in_process, ratios, spread
from benchmarks.peers.pages import PAGE
from benchmarks.pictures import FOLDER, draw_bars
from benchmarks.prediction_ways import CHUNK, SLOW_ROWS, TRAINED
from benchmarks.sections import markdown, write_section
from benchmarks.training_time import RESULTS, Timed

BASE, ONE_THREAD = "boosting", "boosting, 1 thread"
NAMES = {
    "graph": "RuleGraph.predict",
    "onnx": "ONNX, onnxruntime, 1 thread",
    "columns": "generated Python, predict_many of a matrix",
    "sequences": "generated Python, predict of a list",
    "mappings": "generated Python, predict of a mapping",
    BASE: "HistGradientBoosting(100).predict",
    ONE_THREAD: "HistGradientBoosting(100).predict, 1 thread",
    "converted": "HistGradientBoosting(100), skl2onnx, 1 thread",
    "tree": "decision tree of depth 4, predict",
}
REQUIRED = 20.0


def run(folder: Path, rounds: int, refused: Mapping[str, str], limit: float) -> dict[str, Timed]:
    """All ways in turn, round by round."""
    results = {way: Timed(stopped=refused.get(way, "")) for way in NAMES}
    order = list(NAMES)
    for turn in range(rounds):
        for way in [*order[turn % len(order) :], *order[: turn % len(order)]]:
            timed = results[way]
            if timed.stopped:
                continue
            try:
                arguments = {"way": way.partition(",")[0], "folder": str(folder)}
                environment = {"OMP_NUM_THREADS": "1"} if way == ONE_THREAD else {}
                found = in_process("benchmarks.prediction_ways:timed", arguments, limit=limit, environment=environment)
                timed.runs.append(found)
            except ProcessFailedError as error:
                timed.stopped = str(error)
                print(f"  round {turn + 1}  {NAMES[way]:48s} {error}", flush=True)
                continue
            last = timed.runs[-1]
            print(
                f"  round {turn + 1}  {NAMES[way]:48s} {1e6 * last['latency']:9.1f} us  "
                f"{last['at_once'] / 1e6:8.3f} M rows/s  {last['in_chunks'] / 1e6:8.3f} in chunks",
                flush=True,
            )
    return results


def section(results: Mapping[str, Timed], rows: int) -> list[str]:
    """The lines of the page."""
    base = results[BASE]
    cells = []
    for way, timed in results.items():
        if not timed.runs:
            cells.append((NAMES[way], timed.stopped or "not run", *[""] * 5))
            continue
        latency = timed.values("latency")
        speeds = {what: timed.values(what) for what in ("at_once", "in_chunks")}
        faster = ratios(base.values("latency"), latency).text(1) if base.runs else "-"
        more = {what: ratios(v, base.values(what)).text(1) if base.runs else "-" for what, v in speeds.items()}
        cells.append(
            (
                NAMES[way],
                spread(1e6 * v for v in latency).text(1),
                faster,
                spread(v / 1e6 for v in speeds["at_once"]).text(),
                more["at_once"],
                spread(v / 1e6 for v in speeds["in_chunks"]).text(),
                more["in_chunks"],
            )
        )
    faster = "times faster"
    header = ("way", "one row, us", faster, f"{rows:,} rows at once, M/s", faster, f"{CHUNK:,} a call, M/s", faster)
    return [*markdown(header, cells), "", *(f"- {words}" for words in verdicts(results))]


def verdicts(results: Mapping[str, Timed]) -> list[str]:
    """The required figure, and whether all targets decide alike."""
    found = []
    ours, base = results["graph"], results[BASE]
    if ours.runs and base.runs:
        times = ratios(ours.values("at_once"), base.values("at_once"))
        verdict = "met" if times.median >= REQUIRED else "NOT met"
        found.append(
            f"RuleGraph.predict over HistGradientBoosting(100).predict: required at least {REQUIRED:g} times the rows "
            f"a second; measured {times.text(1)}: {verdict}"
        )
    differ = sum(int(run["differ"]) for timed in results.values() for run in timed.runs)
    found.append(f"labels of the targets that differ from RuleGraph.predict, {CHUNK:,} rows each: {differ}")
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared = {"folder": name, "rows": arguments.rows}
        refused = in_process("benchmarks.prediction_ways:prepare", prepared, limit=600.0)
        results = run(folder, arguments.rounds, refused, arguments.limit)
    lines = [
        stamp(),
        "",
        f"A model of 20 units learned on {min(TRAINED, arguments.rows):,} rows of 28 float32 columns; "
        f"{arguments.rounds} rounds in turn, each way in a process of its own; medians and (ranges). One row: the "
        f"median call in a warm process. Rows given one by one are timed on {SLOW_ROWS:,}; how rows are put into lists "
        "and mappings is not timed. HistGradientBoosting uses all cores, rulekit one.",
        "",
        *section(results, arguments.rows),
        "",
        "![prediction](pictures/prediction.png)",
    ]
    print("\n".join(lines))
    write_section(arguments.page, "prediction", lines)
    bars = {
        NAMES[way]: (found.low, found.median, found.high)
        for way, timed in results.items()
        if timed.runs and (found := spread(timed.values("at_once")))
    }
    draw_bars(FOLDER / "prediction.png", "Prediction, rows a second", "rows a second", bars)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "prediction.json").write_text(json.dumps({way: timed.runs for way, timed in results.items()}, indent=1))
    print(f"{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
