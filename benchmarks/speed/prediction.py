"""Prediction: the latency of one row and the rows a second of every target, beside boosting and a tree, in one run.

    python -m benchmarks.speed.prediction [--rows 1000000] [--rounds 3] [--limit 120] [--small] [--write]

One model (20 units, the default, learned on 200,000 rows of the made table), float32 rows; each way in a process of
its own, interleaved, the order turning. Ratios are to HistGradientBoosting(100).predict of the same round. Finished
rounds are kept in build/benchmarks/prediction.jsonl, so that a run can be gone on with. --write replaces the section
"prediction" of docs/benchmarks/ and pictures/prediction.png. It takes about 3 minutes on two quiet cores, and one
more where the environment of skl2onnx must be made; with --small (50,000 rows, one round) about one minute.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping

from benchmarks.shared.kept import Kept
from benchmarks.shared.machine import stamp
from benchmarks.shared.measuring import in_process, ratios, spread
from benchmarks.shared.pictures import Bars, draw_bar_panels
from benchmarks.shared.sections import add_options, kept, markdown, picture, publish
from benchmarks.speed.prediction_ways import CHUNK, OURS, SINGLE, SLOW_ROWS, TRAINED
from benchmarks.speed.training_time import Timed

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


def run(finished: Kept, rows: int, rounds: int, limit: float) -> dict[str, Timed]:
    """All ways in turn, round by round; who passes the limit once is left out of the other rounds."""
    results = {way: Timed() for way in NAMES}
    order = list(NAMES)
    keys = {(turn, way): f"{rows} rows, round {turn + 1}, {way}" for turn in range(rounds) for way in order}
    with tempfile.TemporaryDirectory() as folder:
        if any(key not in finished for key in keys.values()):
            print(f"  making {rows:,} rows, the model and its exports", flush=True)
            refused = in_process(
                "benchmarks.speed.prediction_ways:prepare", {"folder": folder, "rows": rows}, limit=600.0
            )
            for way, why in refused.items():
                results[way].stopped = why
        for turn in range(rounds):
            for way in [*order[turn % len(order) :], *order[: turn % len(order)]]:
                timed = results[way]
                if timed.stopped:
                    continue
                arguments = {"way": way.partition(",")[0], "folder": folder}
                environment = {"OMP_NUM_THREADS": "1"} if way == ONE_THREAD else {}
                function = "benchmarks.speed.prediction_ways:timed"
                found = finished.measure(keys[turn, way], function, arguments, limit=limit, environment=environment)
                timed.stopped = found.stopped
                if not found.stopped:
                    timed.runs.append(found.value)
                print(f"  round {turn + 1}  {NAMES[way]:48s} {_line(timed)}", flush=True)
    return results


def _line(timed: Timed) -> str:
    if timed.stopped:
        return timed.stopped
    last = timed.runs[-1]
    return (
        f"{1e6 * last['latency']:9.1f} us  {last['at_once'] / 1e6:8.3f} M rows/s  "
        f"{last['in_chunks'] / 1e6:8.3f} in chunks"
    )


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
                spread(v / 1e6 for v in speeds["at_once"]).text(3),
                more["at_once"],
                spread(v / 1e6 for v in speeds["in_chunks"]).text(3),
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


def explanation(rows: int, rounds: int, limit: float) -> list[str]:
    """What the table means, in words."""
    return [
        f"A model of 20 units learned on {min(TRAINED, rows):,} rows of 28 float32 columns of the made table, and what "
        f"it was exported to; {rounds} rounds in turn, each way in a process of its own, at most {limit:g} s of wall "
        f"time for the process; medians and (ranges) over rounds. One row: the median of {SINGLE} calls on different "
        f"rows in a warm process. At once, and in calls of {CHUNK:,} rows: the better of two passes, in millions of "
        f"rows a second. What takes rows one by one is timed on {min(rows, SLOW_ROWS):,}; putting rows into lists and "
        "mappings is not timed. Where a line does not say one thread, all cores may be used. `Times faster` compares "
        "with HistGradientBoosting(100).predict of the same round.",
        "",
        "![latency and throughput](pictures/prediction.png)",
        "",
    ]


def diagrams(results: Mapping[str, Timed], rows: int) -> list[Bars]:
    """Latency and throughput as bars."""
    ran = {way: timed for way, timed in results.items() if timed.runs}
    ours = frozenset(NAMES[way] for way in OURS)
    found = {what: {NAMES[way]: spread(t.values(what)) for way, t in ran.items()} for what in ("latency", "at_once")}
    bars = {what: {name: (s.low, s.median, s.high) for name, s in each.items()} for what, each in found.items()}
    latency = {name: (1e6 * low, 1e6 * middle, 1e6 * high) for name, (low, middle, high) in bars["latency"].items()}
    return [
        Bars("one row (shorter is better)", "microseconds", latency, ours),
        Bars(f"{rows:,} rows at once (longer is better)", "rows a second", bars["at_once"], ours),
    ]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="wall seconds for the process of one way")
    add_options(parser)
    arguments = parser.parse_args()
    rows, rounds = (50_000, 1) if arguments.small else (arguments.rows, arguments.rounds)
    expected = "one minute" if arguments.small else "3 minutes for 3 rounds of 1,000,000 rows"
    print(f"about {expected} on two quiet cores; at most {arguments.limit:g} s for the process of one way", flush=True)
    begun = time.monotonic()
    finished = kept(arguments, "prediction")
    results = run(finished, rows, rounds, arguments.limit)
    lines = [stamp(day=finished.day), "", *explanation(rows, rounds, arguments.limit), *section(results, rows)]
    draw_bar_panels(picture(arguments, "prediction"), diagrams(results, rows))
    publish(arguments, "prediction", lines)
    print(f"{time.monotonic() - begun:.0f} s in all; picture: {picture(arguments, 'prediction')}")


if __name__ == "__main__":
    main()
