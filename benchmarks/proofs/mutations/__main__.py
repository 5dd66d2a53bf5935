"""Single faults put into exported artifacts: does `rulekit verify` catch every one that changes a decision?

    python -m benchmarks.proofs.mutations [--faults 500] [--seed 0] [--write]

Half of the faults stand in ONNX (tensor, columns, codes and the form for low latency in turn), half in generated
Python, over the models of rulekit.conformance and learned ones whose reachable cells can be enumerated. What a
fault changes is found without `verify`, on every cell, by running the changed artifact (see truth.py).
`verify` runs as a user runs it, and the row that it shows is run again through both. Prints a table and every fault
that is not as it should be; exits with 1 if there is one. --write puts the table into docs/verification.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.learning.peers.pages import replace_section
from benchmarks.proofs.mutations.faults import KINDS
from benchmarks.proofs.mutations.running import Result, models, share

PAGE = Path(__file__).resolve().parents[3] / "docs" / "verification.md"
PARTS = 2  # processes; the faults that are drawn depend on it


def table(results: list[Result]) -> str:
    """Markdown: faults, those that change a decision, caught, equivalent, called alike, by kind and target."""
    lines = [
        "| fault | target | faults | change a decision | caught, with a row | change a probability only | caught |"
        " no difference | verified | of these proved |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in (*KINDS, "all"):
        for name in ("onnx", "python") if kind != "all" else ("all",):
            chosen = [r for r in results if kind in ("all", r.site.kind) and name in ("all", r.way.target)]
            if chosen:
                lines.append(f"| {kind} | {name} | {len(chosen)} | {_counts(chosen)} |")
    return "\n".join(lines)


def _counts(results: list[Result]) -> str:
    groups = [
        [r for r in results if r.truth.effect in effects] for effects in (("decision", "fails"), ("probability",))
    ]
    cells = [f"{len(group)} | {sum(r.right for r in group)}" for group in groups]
    same = [r for r in results if r.truth.effect == "none"]
    return " | ".join([*cells, f"{len(same)} | {sum(not r.caught for r in same)} | {sum(r.proved for r in same)}"])


def main() -> int:
    """Prints the table; 1 where a fault was missed or a row shows nothing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.proofs.mutations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--faults", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="put the table into docs/verification.md")
    options = parser.parse_args()
    started = time.perf_counter()
    parts = [options.faults // PARTS + (part < options.faults % PARTS) for part in range(PARTS)]
    with ProcessPoolExecutor(PARTS, multiprocessing.get_context("spawn")) as processes:
        shares = processes.map(share, parts, [options.seed] * PARTS, range(PARTS))
        results = [result for found in shares for result in found]
    lines = table(results)
    print(lines)
    print(f"{len(results)} faults in {len(models())} models; {time.perf_counter() - started:.0f} s")
    if options.write:
        replace_section(PAGE, "mutations", lines.splitlines())
    return 0 if all(result.right for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
