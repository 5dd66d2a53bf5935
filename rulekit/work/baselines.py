"""The baselines of a training: a process of its own measures them, beside the learning where the table is small."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.audit.figures.baselines import Baselines, Measure, reported, sample_of
from rulekit.limits import Deadline
from rulekit.tables.labels import LabelledTable

_LEAST_SECONDS, _SHARE, _BESIDE = 0.5, 0.25, 2.0
_SMALL = 100_000  # cells


@dataclass(slots=True, eq=False)
class TrainingBaselines:
    """Baselines on the rows and folds of a learner; measure: begins to measure; begun: when learning did (monotonic).

    They take two seconds beside the learning from a small table, about a quarter of its time after others, and keep to
    what is left of a time limit.
    """

    measure: Measure
    rows: LabelledTable
    parameters: Mapping[str, Any]
    deadline: Deadline
    begun: float = field(default_factory=time.monotonic)
    _wait: Callable[[Deadline], Baselines | None] | None = None

    def meanwhile(self, learner: Any) -> None:
        """Begin, where the table is small and the folds are dealt."""
        small = len(self.rows) * len(self.rows.table.features) <= _SMALL
        if small and self._wait is None and learner.folds_ is not None:
            self._begin(learner, _BESIDE)

    def after(self, learner: Any) -> None:
        """Begin, where that has not been done."""
        if self._wait is None:
            self._begin(learner, max(_LEAST_SECONDS, _SHARE * (time.monotonic() - self.begun)))

    def found(self) -> Baselines | None:
        """Wait for them; None where the learner dealt no folds, or no time was left."""
        return None if self._wait is None else self._wait(self.deadline)

    def _begin(self, learner: Any, seconds: float) -> None:
        seconds = min(seconds, self.deadline.left)
        self._wait = _compared(learner, self.rows, self.parameters, seconds, self.measure)


def _compared(
    learner: Any, rows: LabelledTable, parameters: Mapping[str, Any], seconds: float, measure: Measure
) -> Callable[[Deadline], Baselines | None]:
    fold = learner.folds_
    if fold is None or seconds <= 0.0 or int(fold.max()) == 0:
        return lambda deadline: None
    weight = np.ones(len(rows)) if rows.weight is None else np.array(rows.weight)
    table, y = rows.table, rows.y
    if not weight.all():
        table, y, weight = table.take(weight > 0), y[weight > 0], weight[weight > 0]
    factors = np.ones(len(rows.classes)) if rows.cost is None else np.array(rows.cost)
    by_class = parameters.get("class_weight")
    if by_class == "balanced":
        totals = np.bincount(y, weight, len(factors))
        factors = factors * totals.sum() / (len(totals) * np.maximum(totals, 1e-300))
    elif by_class is not None:
        factors = factors * [float(by_class.get(label, 1.0)) for label in rows.classes]
    weight = weight * factors[y]
    sample = sample_of(table, y, weight, fold)
    wait = measure(sample, seconds)
    return lambda deadline: reported(wait(deadline), sample, y, weight, rows.classes)
