"""The parity table: every model x every way to run it, on adversarial rows.

    python -m benchmarks.proofs.parity [--rows 10000] [--seed 0]

Prints per model the rows compared, the values in them, different decisions and the largest probability gap; exits with
1 where anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.proofs.parity_ways import Way, ways
from rulekit.conformance.models import MODELS
from rulekit.errors import RulekitError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.verification.parity import verify, verify_evaluators
from rulekit.verification.report import Report

ORACLE_SHARE = 10  # the row-by-row oracle takes one row of so many


@dataclass(frozen=True, slots=True)
class Line:
    """One model: the report of each way, and why the other ways refused it."""

    model: str
    reports: dict[str, Report]
    refused: dict[str, str]

    @property
    def rows(self) -> int:
        """Adversarial rows of the model (each way runs all of them)."""
        return max(report.adversarial_rows for report in self.reports.values())

    @property
    def cells(self) -> int:
        return sum(report.cells for report in self.reports.values())

    @property
    def different(self) -> int:
        return sum(report.different_decisions for report in self.reports.values())

    @property
    def gap(self) -> float:
        return max(report.largest_gap for report in self.reports.values())

    @property
    def ok(self) -> bool:
        return all(report.ok for report in self.reports.values())


def measure(name: str, graph: RuleGraph, found: Iterable[Way], rows: int, seed: int = 0) -> Line:
    """Runs one model every way; a way that declares a refusal must refuse, with a named error.

    Rows alone decide here: what can be proved of an artifact besides has tests of its own.
    """
    reports = {"oracle": verify_evaluators(graph, rows=max(1, rows // ORACLE_SHARE), seed=seed)}
    refused = {}
    for way in found:
        reason = way.refuses(graph)
        if reason:
            refused[way.name] = reason
            _must_refuse(way, graph)
        else:
            artifact = way.emit(graph)
            unread = way.target.inspect is None
            reports[way.name] = verify(
                graph, artifact, target=way.target, rows=rows, seed=seed, proving=False, run_untrusted=unread
            )
    return Line(name, reports, refused)


def _must_refuse(way: Way, graph: RuleGraph) -> None:
    try:
        way.emit(graph)
    except RulekitError:
        return
    raise AssertionError(f"{way.name} took a model that it is said to refuse: {way.refuses(graph)}")


def main() -> int:
    """Prints the table; 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="adversarial rows of each model")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    found = ways()
    print("ways: numpy against oracle, " + ", ".join(way.name for way in found))
    print(f"{'model':26} {'basis':12} {'ways':>4} {'rows':>8} {'cells':>12} {'different':>9} {'largest gap':>11}")
    lines = []
    for name, make in MODELS.items():
        graph = make()
        line = measure(name, graph, found, options.rows, options.seed)
        lines.append(line)
        basis = line.reports["oracle"].basis
        counts = f"{len(line.reports):4} {line.rows:8,} {line.cells:12,} {line.different:9,} {line.gap:11.1e}"
        print(f"{name:26} {basis:12} {counts}", flush=True)
        for way, report in line.reports.items():
            if not report.ok:
                print(f"  {way}: {report}")
    print(
        f"{len(lines)} models, {sum(line.rows for line in lines):,} adversarial rows, "
        f"{sum(r.adversarial_rows + r.raw_rows for line in lines for r in line.reports.values()):,} rows run, "
        f"{sum(line.cells for line in lines):,} cells: {sum(line.different for line in lines):,} different decisions, "
        f"probabilities within {max(line.gap for line in lines):.1e}; {time.perf_counter() - started:.0f} s"
    )
    return 0 if all(line.ok for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
