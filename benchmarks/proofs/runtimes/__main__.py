"""The conformance figure.

    python -m benchmarks.proofs.runtimes [--rows 20000] [--runtime KEY]... [--write]

Runs every model of benchmarks.proofs.parity in every form of ONNX export and in every runtime that is on this machine
(`make runtimes` installs them), and through the other targets; prints the tables and exits with 1 where anything
differs that is not declared. --write puts them into docs/runtimes.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from benchmarks.learning.peers.pages import replace_section
from benchmarks.proofs.runtimes.catalogue import RUNTIMES
from benchmarks.proofs.runtimes.figure import WAYS, node_kinds, run_runtimes, run_ways, scratch
from benchmarks.proofs.runtimes.pages import conclusion, forms_table, gaps_table, kinds_table, short, summary
from benchmarks.shared.machine import stamp
from rulekit.conformance.models import MODELS

PAGE = Path(__file__).parents[3] / "docs" / "runtimes.md"


def main() -> int:
    """Prints the tables; 1 where something differs that is not declared, or is declared and no longer there."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.proofs.runtimes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=20_000, help="adversarial rows of each model")
    parser.add_argument("--runtime", action="append", choices=[*RUNTIMES, *WAYS], help="only these; may be repeated")
    parser.add_argument("--write", action="store_true", help="replace the tables of the page")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    wanted = options.runtime or [*RUNTIMES, *WAYS]
    begun = time.perf_counter()
    folder = scratch()
    columns = []
    try:
        for found in (
            run_runtimes(MODELS, options.rows, [key for key in RUNTIMES if key in wanted], folder),
            run_ways(options.rows, [name for name in WAYS if name in wanted]),
        ):
            for column in found:
                columns.append(column)
                said = column.skipped or f"{column.comparison.rows:,} rows, {column.comparison.different:,} different"
                print(f"{short(column.key):16} {said}  ({time.perf_counter() - begun:.0f} s)", flush=True)
                for fault in column.comparison.faults:
                    print(f"  {fault}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = [
        conclusion(columns, len(MODELS), options.rows),
        f"{stamp()} {time.perf_counter() - begun:.0f} s in all, two processes at a time.",
        "",
        *summary(columns),
        "",
        "Rows compared and, behind the colon, different decisions, over all models that contain a kind of node, or "
        "decide in a way, and all forms of export that a runtime takes. Small numbers are declared gaps, for which "
        "the other exports were not compared.",
        "",
        *kinds_table(columns, node_kinds(MODELS)),
        "",
        *forms_table(columns),
    ]
    print("\n" + "\n".join(lines))
    if options.write:
        replace_section(options.page, "runtimes", lines)
        replace_section(options.page, "gaps", gaps_table())
        print(f"\nwritten: {options.page}")
    return 1 if any(column.comparison.faults for column in columns) else 0


if __name__ == "__main__":
    sys.exit(main())
