"""Serving: exported models beside an empty call, a compiled C loop, skl2onnx and Python by hand, in one run.

    python -m benchmarks.speed.serving [--rounds 41] [--rows 1000000] [--only PART ...] [--small] [--write]

The ways of a part take turns in random order in one process, on one thread; CPU time of that thread, medians and
quartiles over rounds. The labels of all rows are compared in the same run. --only: latency, throughput, ltu, additive,
sums, noisy, python, size, calls. --write replaces the section "serving" of docs/benchmarks/ and pictures/serving.png
(it needs all parts). It takes about three minutes on a quiet machine, and one more where the environment of skl2onnx
must be made; with --small about three minutes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.learning.peers.pages import FOLDER
from benchmarks.shared.machine import stamp
from benchmarks.shared.pictures import Bars, Range, draw_bar_panels
from benchmarks.shared.sections import picture, publish
from benchmarks.speed.serving import clauses, others, sums, units
from benchmarks.speed.serving.bench import NAMES, Bench
from benchmarks.speed.serving.report import Part, Verdict, verdict_table
from benchmarks.speed.serving.timing import LONG, SLOW, TRIES, Times, quartiles

PARTS: dict[str, Callable[[Bench], Part]] = {
    "latency": clauses.latency,
    "throughput": clauses.throughput,
    "ltu": units.ltu,
    "additive": others.additive,
    "sums": sums.sums,
    "noisy": others.noisy_formulas,
    "python": clauses.python,
    "size": clauses.size,
    "calls": clauses.calls,
}
OURS = frozenset(
    NAMES[way] for way in ("tensor", "fast", "columns", "cached", "graph", "python", "sequence", "mapping")
)


def run(bench: Bench, names: Sequence[str]) -> dict[str, Part]:
    """The named parts, one after the other."""
    parts = {}
    for name in names:
        begun = time.monotonic()
        parts[name] = PARTS[name](bench)
        print(f"  {name}: {time.monotonic() - begun:.0f} s", flush=True)
    return parts


def agreement(parts: Mapping[str, Part]) -> Part:
    """The verdict on all labels that were compared."""
    found = [each for part in parts.values() for each in part.agreements]
    words = f"labels that differ, {len(found)} comparisons, {sum(each.rows for each in found):,} rows in all"
    differ = quartiles([sum(each.differ for each in found)]) if found else None
    return Part("Labels.", verdicts=[Verdict(words, "at most", 0.0, differ, "rows", "none compared")])


def explanation(bench: Bench, parts: Mapping[str, Part]) -> list[str]:
    """How it was measured, in words."""
    measured = [times for part in parts.values() for times in part.times]
    samples, again, slow = (sum(getattr(times, name) for times in measured) for name in ("samples", "again", "slow"))
    return [
        "One run, one process, one thread (sessions of onnxruntime have one). The ways of a part take turns in an "
        f"order drawn anew for each of {bench.rounds} rounds (fewer where a call takes a second). Time is the CPU time "
        "of the thread over the calls of a sample; the loop around them is timed too and taken off. Every call gets "
        f"rows that its way has not seen since it went through all {len(bench.pool):,} (30 float32 columns, normal "
        "numbers): what gets the same batch again learns its branches by heart. Figures are medians and (quartiles), "
        f"ratios are taken round by round. Before and after each sample of less than {LONG:g} s runs a fixed loop; "
        f"where it took {SLOW - 1:.0%} longer than usual, the sample was taken again, at most {TRIES - 1} times: this "
        f"happened to {again:,} of {samples:,}, and {slow:,} stayed slow.",
        "",
        "*Identity*: an ONNX graph of one Identity, [N, 30] in and out, which is what a call of onnxruntime costs. *C "
        "loop*: `benchmarks/speed/serving/c`, the same rules compiled with gcc -O3 -march=native, blocks of 64 rows, "
        "no branches on data, the same label (int64) and probability (float, [N, 2]), called through ctypes; the time "
        "of that call is included, room for the answers is made before. *skl2onnx*: scikit-learn's model of 100 rounds "
        "as skl2onnx converts it, in the same onnxruntime. What is required of RuleGraph.predict stands under "
        "Prediction.",
        "",
    ]


def diagrams(parts: Mapping[str, Part]) -> list[Bars]:
    """Latency and throughput as bars."""

    def bars(times: Times, per_second: bool) -> dict[str, Range]:
        found: dict[str, Range] = {}
        for way in times.calls:
            spread = times.row(way, 1.0) if per_second else times.call(way)
            low, middle, high = spread.low, spread.median, spread.high
            found[NAMES[way]] = (1.0 / high, 1.0 / middle, 1.0 / low) if per_second else (low, middle, high)
        return dict(sorted(found.items(), key=lambda item: item[1][1], reverse=per_second))

    single = bars(parts["python"].times[0], False) | bars(parts["latency"].times[0], False)
    return [
        Bars("one row (shorter is better)", "microseconds", single, OURS),
        Bars(
            "chunks of 8,192 rows (longer is better)", "rows a second", bars(parts["throughput"].times[0], True), OURS
        ),
    ]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the pool, at least 20,000")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts")
    parser.add_argument("--small", action="store_true", help="fewer rows and rounds, to try the command")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks/")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page to write")
    arguments = parser.parse_args()
    if arguments.write and set(arguments.only) != set(PARTS):
        parser.error("--write needs all parts: their figures stand in one section")
    if arguments.rounds < 1 or arguments.rows < 20_000:
        parser.error("at least one round and 20,000 rows are needed")
    n, rounds = (200_000, 15) if arguments.small else (arguments.rows, arguments.rounds)
    print(f"about {'one minute' if arguments.small else 'three minutes'} on a quiet machine", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(n, rounds, Path(folder))
        parts = run(bench, list(dict.fromkeys(arguments.only)))
    judged = [*parts.values(), *([agreement(parts)] if any(part.agreements for part in parts.values()) else [])]
    lines = [stamp(), "", *verdict_table(judged), ""]
    if len(parts) == len(PARTS):
        draw_bar_panels(picture(arguments, "serving"), diagrams(parts))
        lines += [*explanation(bench, parts), "![latency and throughput](pictures/serving.png)", ""]
    lines += [line for part in parts.values() for line in part.lines()]
    publish(arguments, "serving", lines)
    print(f"{time.monotonic() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
