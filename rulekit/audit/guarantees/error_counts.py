"""The errors of a model on rows that took no part in its training, and on those that trained it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.audit.figures.kept_figures import kept_figures
from rulekit.audit.report.subject import MeasuredRows
from rulekit.graph.language.readable import counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.row_hashes import Overlap

HELD_OUT, TRAINING = "held_out", "training"
WEIGHTED = "the rows have different weights, and the bound counts rows"


@dataclass(frozen=True, slots=True)
class CountedErrors:
    """Errors on rows, in words which; most_frequent: the error of the most frequent class of these rows alone.

    fails: why no bound holds for them, "" where nothing is known against it.
    """

    source: str
    rows: int
    error: float
    most_frequent: float
    fails: str = ""

    @property
    def errors(self) -> int:
        """How many; of weighted rows about so many."""
        return round(self.error * self.rows)


def counted_errors(graph: RuleGraph, rows: MeasuredRows | None = None, role: str = "") -> dict[str, CountedErrors]:
    """What is known, by HELD_OUT and TRAINING: of rows that are given, else what training measured.

    role: which of the two the given rows are; "" asks the hashes of the training rows that the model holds.
    """
    found = _kept(graph)
    if rows is None:
        return found
    compared = rows.overlap is not None and rows.overlap.sampled
    told, fails = (role, "") if role else _role(rows.overlap)
    known = "" if role or compared else ", of which it is not known whether they trained the model"
    total, right = rows.mass.sum(), rows.mass[rows.decided == rows.y].sum()
    return found | {
        told: CountedErrors(
            f"{counted(len(rows), 'row')} of {rows.name}{known}",
            len(rows),
            1.0 - float(right / total),
            1.0 - float(np.bincount(rows.y, rows.mass).max() / total),
            WEIGHTED if rows.weight is not None else fails,
        )
    }


def _role(overlap: Overlap | None) -> tuple[str, str]:
    """Which rows they are by their hashes, and why no bound holds for them."""
    if overlap is None or not overlap.seen:
        return HELD_OUT, ""
    if overlap.seen == overlap.sampled and overlap.found == overlap.known:
        return TRAINING, ""
    about = "" if overlap.share == 1.0 else "about "
    return HELD_OUT, f"{about}{overlap.rows} of these rows equal training rows, and may be the same rows"


def _kept(graph: RuleGraph) -> dict[str, CountedErrors]:
    kept = kept_figures(graph)
    if kept is None or not kept.figures.rows:
        return {}
    found, measured = {}, kept.figures
    if kept.training is not None:
        rows, errors, most = kept.training
        found[TRAINING] = CountedErrors(counted(rows, "training row"), rows, errors / rows, 1.0 - most / rows)
    cells = [cell for row in measured.confusion for cell in row]
    source, told = kept.measured_on, HELD_OUT
    if "training rows" in source:
        source, told = counted(measured.rows, "training row"), TRAINING
    fails = "" if measured.rows == sum(cells) and all(cell % 1 == 0 for cell in cells) else WEIGHTED
    error, constant = 1.0 - measured.accuracy, 1.0 - measured.majority
    return found | {told: CountedErrors(source, measured.rows, error, constant, fails)}
