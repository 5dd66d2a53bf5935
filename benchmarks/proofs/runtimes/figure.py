"""The conformance figure: every model in every form and runtime, and every other target, on adversarial rows."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.proofs.runtimes.cases import FORMS, Case, cases_of
from benchmarks.proofs.runtimes.catalogue import RUNTIMES, Runtime
from benchmarks.proofs.runtimes.comparing import Cell, Comparison, compare, conclude
from benchmarks.proofs.runtimes.exchange import read_answer
from benchmarks.shared.measuring import in_process
from rulekit.graph.rule_graph import RuleGraph

Models = Mapping[str, Callable[[], RuleGraph]]
# The other targets have no runtimes to choose: printed rules are parsed back, Python is run in three ways.
WAYS = ("file", "text", "python", "python columns", "python csv")
LONGEST = ("python", "python columns", "python csv", "text", "file")


@dataclass(frozen=True, slots=True)
class Column:
    """One runtime, or one way of another target, in the table; `skipped` says why it was not run."""

    key: str
    title: str
    comparison: Comparison
    seconds: float = 0.0
    skipped: str = ""


def node_kinds(models: Models) -> dict[str, list[str]]:
    """The models that contain each node type, and those of each type of decision, by its name."""
    nodes: dict[str, list[str]] = {}
    decisions: dict[str, list[str]] = {}
    for name, make in models.items():
        graph = make()
        for kind in {type(node).__name__ for node in graph.nodes()}:
            nodes.setdefault(kind, []).append(name)
        decisions.setdefault(type(graph.decision).__name__, []).append(name)
    return dict(sorted(nodes.items())) | dict(sorted(decisions.items()))


def run_runtimes(
    models: Models, n_rows: int, keys: Iterable[str], folder: Path, forms: Iterable[str] = FORMS, workers: int = 2
) -> Iterator[Column]:
    """Each runtime on all cases; the folder holds the cases and what was answered."""
    shutil.rmtree(folder, ignore_errors=True)
    cases = list(cases_of(models, n_rows, tuple(forms)))
    for case in cases:
        case.write(folder / "cases")

    def run(runtime: Runtime) -> Column:
        if runtime.missing:
            return Column(runtime.key, runtime.title, Comparison(runtime.key, ()), skipped=runtime.missing)
        comparison, seconds = answered(runtime, cases, folder)
        return Column(runtime.key, f"{runtime.title} {runtime.version()}", comparison, seconds)

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(run, [RUNTIMES[key] for key in keys])


def answered(runtime: Runtime, cases: Sequence[Case], folder: Path) -> tuple[Comparison, float]:
    """What a runtime says of cases that lie in the folder, and the seconds it took."""
    answers = folder / runtime.key
    shutil.rmtree(answers, ignore_errors=True)
    seconds = runtime.run(folder / "cases", answers, [case.name for case in cases])
    cells = [compare(case, runtime.key, read_answer(answers / case.name)) for case in cases]
    return conclude(runtime.key, cells), seconds


def run_ways(n_rows: int, names: Iterable[str] = WAYS, workers: int = 2) -> Iterator[Column]:
    """Each way of the other targets on all models, in a process of its own."""

    def run(name: str) -> Column:
        answer = in_process("benchmarks.proofs.runtimes.figure:way_cells", {"way": name, "rows": n_rows}, limit=3600)
        cells = tuple(Cell(**cell) for cell in answer["cells"])
        faults = tuple(cell.fault for cell in cells if cell.fault)
        return Column(name, answer["title"], Comparison(name, cells, faults), answer["seconds"])

    wanted = list(names)
    with ThreadPoolExecutor(workers) as pool:
        started = {name: pool.submit(run, name) for name in sorted(wanted, key=LONGEST.index)}
        yield from (started[name].result() for name in wanted)


def way_cells(way: str, rows: int) -> dict[str, Any]:
    """All models one way, as JSON values; the rows are run twice where the way takes raw values too."""
    import time

    from benchmarks.proofs.parity_ways import ways
    from rulekit.conformance.models import MODELS
    from rulekit.verification.parity import verify

    begun = time.perf_counter()
    found = next(each for each in ways() if each.name == way)
    cells = []
    for name, make in MODELS.items():
        graph = make()
        report = verify(graph, found.emit(graph), target=found.target, rows=rows, proving=False, run_untrusted=True)
        fault = "" if report.ok else f"{way}, {name}: {report}"
        compared = report.adversarial_rows
        cells.append(
            {
                "model": name,
                "form": way,
                "rows": compared,
                "different": report.different_decisions,
                "gap": report.largest_gap,
                "fault": fault,
            }
        )
    return {"cells": cells, "title": TITLES[way], "seconds": time.perf_counter() - begun}


TITLES = {
    "file": "model file, loaded again",
    "text": "printed rules, parsed back",
    "python": "generated Python, row by row",
    "python columns": "generated Python, columns",
    "python csv": "generated Python, scorer of CSV",
}


def scratch() -> Path:
    """A folder for cases and answers."""
    return Path(tempfile.mkdtemp(prefix="rulekit-runtimes-"))
