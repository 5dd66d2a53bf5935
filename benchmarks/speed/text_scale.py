"""Noisy-ors on texts: time and memory beside logistic regression on Reuters, and against the size of made texts.

    python -m benchmarks.speed.text_scale [--rounds 5] [--data ../shared/data] [--small] [--anew] [--write]

Reuters: all 9,603 training documents of the ModApte split, all words, ten classes; CPU seconds from the matrix on, each
learner in a process of its own with one thread, compiled before. Made texts: 50 words a row of a vocabulary of 100,000,
up to a million rows. Finished fits are kept in build/benchmarks/text_scale.jsonl. --write replaces the section "text
scale" of docs/benchmarks/ and pictures/text_scale.png.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.shared.kept import Kept
from benchmarks.shared.laws import exponent, line_through
from benchmarks.shared.machine import stamp
from benchmarks.shared.measuring import ratios, spread
from benchmarks.shared.pictures import Panel, draw_lines
from benchmarks.shared.sections import add_options, kept, markdown, picture, publish
from benchmarks.speed.text_fits import DESCENT, DESCENT_2, EM, LOGISTIC, SVM

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SMALL_ROWS = 30_000
WORDS = 100_000
LIMIT = 600.0
OURS = (EM, DESCENT, DESCENT_2)
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
COMPILED = {**ONE_THREAD, "RULEKIT_NO_NUMBA": "0"}
"""Kernels are compiled when they are first called, which is before the clock."""
TOLERANCE = 0.1

Runs = dict[str, dict[str, Any]]


def on_reuters(finished: Kept, data: Path, rounds: int) -> Runs:
    """Each learner on ten classes of Reuters, one process after the other."""
    found: Runs = {}
    for name in (LOGISTIC, *OURS, SVM):
        given = {"data": str(data.resolve()), "name": name, "rounds": rounds}
        key, function = f"reuters, allocated {rounds} {name}", "benchmarks.speed.text_fits:reuters"
        done = finished.measure(key, function, given, limit=LIMIT, environment=COMPILED)
        if done.stopped:
            raise SystemExit(f"{name}: {done.stopped}")
        found[name] = done.value
        print(f"  reuters  {name:28s} {spread(done.value['processor']).text()} s", flush=True)
    return found


def on_made(finished: Kept, most: int) -> dict[str, dict[int, dict[str, Any]]]:
    """By learner and number of entries what a fit to made texts cost."""
    found: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in (EM, DESCENT_2)}
    for n in (n for n in ROWS if n <= most):
        for name, fits in found.items():
            given = {"name": name, "n": n, "k": WORDS}
            key, function = f"made {n} {name}", "benchmarks.speed.text_fits:scaled"
            done = finished.measure(key, function, given, limit=LIMIT, environment=COMPILED)
            if done.stopped:
                print(f"  made {n:>9,}  {name}: {done.stopped}", flush=True)
                continue
            fits[done.value["entries"]] = done.value
            print(f"  made {n:>9,}  {name:28s} {done.value['processor']:.2f} s", flush=True)
    return found


def reuters_lines(found: Runs) -> list[str]:
    """The table of Reuters with what was asked."""
    (n, k), entries = found[EM]["shape"], found[EM]["entries"]
    csr = found[EM]["csr"]
    rows = []
    for name, run in found.items():
        times = ratios(run["processor"], found[LOGISTIC]["processor"])
        met = times.median <= 1.0 and run["memory"] <= 2 * csr
        rows.append(
            (
                name,
                spread(run["processor"]).text(),
                times.text(),
                f"{run['memory'] / 2**20:.1f}",
                f"{run['memory'] / csr:.2f}",
                ("met" if met else "NOT met") if name in OURS else "",
            )
        )
    return [
        f"**Reuters**: {n:,} documents, {k:,} words, {entries:,} entries, {csr / 2**20:.1f} MB as CSR; ten classes, "
        "one thread. CPU seconds of all ten, median (range) of the rounds, from the matrix on, compilation excluded; "
        "memory is the most that one fit holds at once beside the matrix. Asked: at most 1.0 times LogisticRegression "
        "(defaults) and at most 2 times the CSR.",
        "",
        *markdown(("", "CPU seconds", "over LogisticRegression", "memory, MB", "memory over CSR", "verdict"), rows),
        "",
    ]


def made_lines(found: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> list[str]:
    """The tables of made texts, and whether time and memory are linear."""
    rows, laws = [], []
    for name, fits in found.items():
        for entries, run in fits.items():
            cells = (f"{run['processor']:.2f}", f"{run['memory'] / 2**20:.0f}", f"{run['memory'] / run['csr']:.2f}")
            rows.append((f"{name}, {entries // 50:,} rows", f"{entries:,}", *cells))
        if len(fits) < 3:
            continue
        for what, unit in (("processor", "s"), ("memory", "MB")):
            scale = 1.0 if unit == "s" else 2.0**-20
            values = {size: float(run[what]) * scale for size, run in fits.items()}
            slope, line = exponent(values), line_through(values)
            at = f"{line.fixed:.2g} {unit} + {1e6 * line.each:.3g} {unit} a million entries"
            laws.append((f"{name}, {what}", f"{slope:.2f}", at, _word(slope)))
        if all("sweeps" in run for run in fits.values()):
            each = exponent({size: run["processor"] / run["sweeps"] for size, run in fits.items()})
            sweeps = ", ".join(f"{run['sweeps']}" for run in fits.values())
            laws.append((f"{name}, processor a sweep", f"{each:.2f}", f"sweeps: {sweeps}", _word(each)))
    return [
        f"**Made texts**: 50 words a row of {WORDS:,}, labels of a noisy-or of one word in 500. Linear in the entries "
        f"means an exponent over the upper decade of at most {1 + TOLERANCE:g}.",
        "",
        *markdown(("", "entries", "CPU seconds", "memory, MB", "memory over CSR"), rows),
        "",
        *markdown(("", "exponent", "line", "linear"), laws),
        "",
        "![time and memory against the entries](pictures/text_scale.png)",
        "",
    ]


def _word(slope: float) -> str:
    return "met" if slope <= 1.0 + TOLERANCE else "NOT met"


def panels(found: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> list[list[Panel]]:
    """Time and memory side by side."""
    row = []
    for what, y, scale in (("processor", "CPU seconds", 1.0), ("memory", "rise of peak memory, MB", 2.0**-20)):
        lines = {
            name: [(size, *(3 * (max(float(run[what]) * scale, 1e-3),))) for size, run in fits.items()]
            for name, fits in found.items()
            if fits
        }
        row.append(Panel(what, "entries", y, lines))
    return [row]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=5)
    add_options(parser)
    arguments = parser.parse_args()
    finished = kept(arguments, "text_scale")
    reuters = on_reuters(finished, arguments.data, 1 if arguments.small else arguments.rounds)
    made = on_made(finished, SMALL_ROWS if arguments.small else ROWS[-1])
    every = [*reuters.values(), *(run for fits in made.values() for run in fits.values())]
    others = max(run["others"] for run in every)
    draw_lines(picture(arguments, "text_scale"), panels(made))
    publish(arguments, "text scale", [stamp(others, finished.day), "", *reuters_lines(reuters), *made_lines(made)])


if __name__ == "__main__":
    main()
