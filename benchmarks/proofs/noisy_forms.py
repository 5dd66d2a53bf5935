"""Models of the noisy-or family as ONNX at any number of causes: operators, size, and how long their proof takes.

    python -m benchmarks.proofs.noisy_forms [--small] [--write]

The models of rulekit.conformance.models, of 100 causes, of a tenth of the most that is asked for, and of these;
each in a process of its own. `verify` compares 2,000 adversarial rows and proves the decision.
"""

from __future__ import annotations

import argparse
import time

import onnx

from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import add_options, kept, markdown, publish
from rulekit.conformance.models import MEMBERS, MOST_CAUSES
from rulekit.targets import find_target
from rulekit.verification.parity import verify

ROWS, LIMIT, LEAST = 2_000, 900.0, 100


def measured(name: str, k: int) -> list[str]:
    """Operators, kilobytes, seconds to export and to verify, and what was proved, as cells of a table."""
    graph, target = MEMBERS[name](k), find_target("onnx")
    begun = time.perf_counter()
    artifact = target.emit(graph, {})
    exported = time.perf_counter()
    report = verify(graph, artifact, target=target, rows=ROWS)
    seconds = time.perf_counter() - exported
    operators = len(onnx.load_from_string(artifact.main).graph.node)
    said = f"{report.proof}" if report.ok else "FAILED"
    return [str(operators), f"{len(artifact.main) / 1000:,.0f}", f"{exported - begun:.1f}", f"{seconds:.1f}", said]


def main() -> None:
    """Measure and print, and with --write fill the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    finished, rows = kept(options, "noisy_forms"), []
    for name, most in MOST_CAUSES.items():
        for k in sorted({min(LEAST, most), most // 10, *(() if options.small else (most,))}):
            given = {"name": name, "k": k}
            found = finished.measure(f"{name} {k}", "benchmarks.proofs.noisy_forms:measured", given, limit=LIMIT)
            cells = [name, f"{k:,}", *(found.value or ["", "", "", "", found.stopped])]
            print(*cells, flush=True)
            rows.append(cells)
    head = ("model", "causes", "operators", "kB", "export s", "verify s", "decision")
    publish(options, "noisy forms", [stamp(day=finished.day), "", *markdown(head, rows)])


if __name__ == "__main__":
    main()
