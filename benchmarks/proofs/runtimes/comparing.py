"""The answers of a runtime beside the rule graph's: what differs, what was declared, what is not true any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.proofs.runtimes.cases import VALUES, Case
from benchmarks.proofs.runtimes.exchange import Answer
from benchmarks.proofs.runtimes.gaps import GAPS, Gap
from rulekit.verification.report import MAX_GAP


@dataclass(frozen=True, slots=True)
class Cell:
    """One case in one runtime.

    rows: those compared; different: decisions among them; gap: the largest difference of a probability. gaps: declared
    gaps of the model, for which nothing is compared; left_out: rows with a value that the runtime is declared to lack.
    shown: the gaps, of the model or of its rows, that this case proves to be there; fault: what is wrong, in one line.
    """

    model: str
    form: str
    rows: int = 0
    different: int = 0
    gap: float = 0.0
    gaps: tuple[Gap, ...] = ()
    left_out: int = 0
    shown: tuple[Gap, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cases of a runtime. faults: undeclared gaps, wrong refusals, and declared gaps that no case shows."""

    runtime: str
    cells: tuple[Cell, ...]
    faults: tuple[str, ...] = field(default=())

    @property
    def rows(self) -> int:
        return sum(cell.rows for cell in self.cells)

    @property
    def different(self) -> int:
        return sum(cell.different for cell in self.cells)

    @property
    def gap(self) -> float:
        return max((cell.gap for cell in self.cells), default=0.0)


def compare(case: Case, runtime: str, answer: Answer | None, gaps: Sequence[Gap] = GAPS) -> Cell:
    """What a runtime answered to a case, held against the graph and the declared gaps."""
    declared = [gap for gap in gaps if gap.runtime == runtime]
    of_model = tuple(gap for gap in declared if gap.feature in case.features)
    found = case.outcome(answer or Answer())
    if isinstance(found, str):
        return _refused(case, found, of_model)
    gaps_found = np.abs(found.probabilities - case.expected.probabilities)
    gaps_found = np.where(np.isnan(gaps_found), 1.0, gaps_found).max(axis=1, initial=0.0)
    differ = found.labels != case.expected.labels
    wrong = differ | (gaps_found > MAX_GAP)
    refusals = [gap for gap in of_model if gap.says]
    if refusals:
        fault = f"{runtime} is declared to refuse {refusals[0].feature!r}, and took {case.name}"
        return Cell(case.model, case.form, gaps=of_model, fault=fault)
    if of_model:
        return Cell(case.model, case.form, gaps=of_model, shown=of_model if wrong.any() else ())
    lacking = {gap: case.values[gap.feature] for gap in declared if gap.feature in VALUES}
    compared = ~np.logical_or.reduce([np.zeros(len(differ), dtype=bool), *lacking.values()])
    fault = ""
    if (wrong & compared).any():
        row = int(np.argmax(wrong & compared))
        fault = f"{runtime}, {case.name}: {int((differ & compared).sum())} different decisions; {_row(case, row)}"
    return Cell(
        case.model,
        case.form,
        int(compared.sum()),
        int((differ & compared).sum()),
        float(gaps_found[compared].max(initial=0.0)),
        left_out=int((~compared).sum()),
        shown=tuple(gap for gap, rows in lacking.items() if _only(rows, lacking.values(), wrong)),
        fault=fault,
    )


def _only(rows: np.ndarray, all_rows: Iterable[np.ndarray], wrong: np.ndarray) -> bool:
    """Whether some row is wrong that is left out for this gap alone."""
    return bool((wrong & rows & (np.sum(list(all_rows), axis=0) == 1)).any())


def _refused(case: Case, said: str, of_model: tuple[Gap, ...]) -> Cell:
    """A refusal is right where it is declared; it shows the gaps whose words it has."""
    shown = tuple(gap for gap in of_model if gap.says and gap.says in said)
    line = " ".join(said.split())[:300]
    fault = "" if shown else f"{case.name} is refused: {line}"
    return Cell(case.model, case.form, gaps=of_model, shown=shown, fault=fault)


def _row(case: Case, row: int) -> str:
    """The cells of a row that the model uses."""
    return ", ".join(f"{name} = {case.rows.columns[name][row]!r}" for name in case.graph.used_features[:12])


def conclude(runtime: str, cells: Iterable[Cell], gaps: Sequence[Gap] = GAPS) -> Comparison:
    """The cells of a runtime, with their faults and the declared gaps that none of them shows."""
    found = tuple(cells)
    faults = [cell.fault for cell in found if cell.fault]
    shown = {gap for cell in found for gap in cell.shown}
    for gap in gaps:
        if gap.runtime == runtime and gap not in shown and gap.must_show:
            faults.append(f"{runtime} is declared to lack {gap.feature!r}, and no case shows it: {gap.reason}")
    return Comparison(runtime, found, tuple(faults))
