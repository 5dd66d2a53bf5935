"""What a network goes on from when further rows come, which are seen as the first ones were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.contract import Frame
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.conditions import recoded
from rulekit.learners.data.inputs import checked_labels, classes_of
from rulekit.learners.data.problem import Problem
from rulekit.learners.data.training_rows import KnownRows
from rulekit.learners.ltu.exact_terms import Seen
from rulekit.learners.ltu.inputs import Inputs, UnitInput
from rulekit.learners.papers.madaline_networks import Network
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """The networks so far, by the number of their question, and how their rows were seen.

    frame: of the model; seen: what could be in the rows; said: by question, what `history_` says; calls: how often rows
    came.
    """

    frame: Frame
    inputs: Inputs
    seen: Seen
    networks: Mapping[int, Network]
    said: Mapping[int, Mapping[str, Any]]
    calls: int

    @property
    def known(self) -> KnownRows:
        """What further rows must keep to."""
        return KnownRows(tuple(sorted(self.frame.classes)), self.frame.schema)

    def settings(self, settings: Any) -> Any:
        """The settings with the label and the positive class that it has already."""
        classes, name = self.frame.classes, self.frame.schema.target
        return replace(settings, target=name, positive=classes[1] if self.frame.kind == "two" else settings.positive)

    def binned(self, rows: Problem, table: Table) -> Problem:
        """Further rows, which have no columns yet; numbers may go beyond what they were."""
        numbers = {item.column for item in self.inputs.items if item.is_number}
        return recoded(rows, self.frame.columns, table, numbers)

    def inputs_of(self, columns: Sequence[BinnedColumn]) -> Inputs:
        """The same inputs of rows that `binned` has made, with the means and scales of the first rows."""
        return replace(self.inputs, items=tuple(_moved(item, columns[item.column]) for item in self.inputs.items))


def known_rows(progress: Progress | None, classes: Any) -> KnownRows:
    """What the rows of a call must keep to; classes: as it gives them, or None.

    Raises InputError where a first call gives none, or a later one others than the first.
    """
    if classes is None and progress is None:
        raise InputError("the first call has to name all classes", where="classes", fix="for instance np.unique(y)")
    known = None if progress is None else progress.known
    if classes is None:
        assert known is not None
        return known
    given = np.asarray(classes)
    found = KnownRows(tuple(classes_of(checked_labels(given, given.size))[0].tolist()))
    if known is not None and found.classes != known.classes:
        names = ", ".join(map(str, known.classes))
        raise InputError("these are not the classes of the first call", where="classes", fix=f"give {names}, or none")
    return known or found


def refuse_whole(settings: Any, name: str) -> None:
    """Raises InputError for settings that need all rows at once."""
    if settings.method == "backprop":
        raise InputError("back-propagation needs all rows at once", where=f"{name}, method", fix="take madaline")
    if isinstance(settings.class_weight, str):
        where, fix = f"{name}, class_weight", "give a weight for each class"
        raise InputError("how often classes are is not known before all rows are", where=where, fix=fix)


def _moved(item: UnitInput, column: BinnedColumn) -> UnitInput:
    """An input over the codes that its column has now."""
    if not item.is_number:
        return item
    values = column.low.copy()
    values[0] = item.values[0]  # what a missing cell is
    return replace(item, values=values)


def with_passes(said: Mapping[str, Any], before: Mapping[str, Any] | None, network: Network) -> dict[str, Any]:
    """What is said of a network's training with the passes of the calls before, and the units that it has lost."""
    if before is None:
        return dict(said)
    done, names = list(before["passes"]), set(network.names.tolist())
    passes = [{**one, "pass": number} for number, one in enumerate(said["passes"], len(done) + 1)]
    unused = sorted({*before["unused"], *said["unused"]} - names)
    return {**said, "unused": unused, "passes": done + passes}
