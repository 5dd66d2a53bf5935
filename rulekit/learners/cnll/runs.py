"""One formula against the rest: what each is to tell, what was grown, how many of its units are kept, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.cnll.assembly import Snapshot
from rulekit.learners.cnll.formula.noisy_formula import Problem
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.plain.dnf_form import PlainDnf
from rulekit.learners.cnll.search.growth import Grown, GrowthSettings, Limits, Stopped, grow
from rulekit.learners.fitting.path import PathPoint, measured_formulas, points_of
from rulekit.learners.fitting.size_limits import NO_LIMITS
from rulekit.learners.fitting.stopping import Curve


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A formula's label and problem, what was grown, the units that are wanted, the curve that says so, and a stop."""

    label: Any
    problem: Problem
    grown: Grown
    units: int
    curve: Curve | None
    stopped: Stopped
    plain: tuple[PlainDnf, ...] | None = None

    @property
    def path(self) -> tuple[Snapshot, ...] | tuple[PlainDnf, ...]:
        """The models by size: the formulas as they grew, or the plain forms of 1, 2, ... clauses."""
        return tuple(self.grown.path) if self.plain is None else self.plain

    @property
    def prior(self) -> float:
        """The share of the rows that the formula is to tell from the rest."""
        negative, positive = self.grown.formula.counts.sum(axis=0).tolist()
        return float(positive) / float(negative + positive)

    def formula_size(self, n: int, started: bool) -> int:
        """The place on the path of formulas of a model of size n: a plain form has the whole formula behind it."""
        return len(self.grown.path) if self.plain is not None else max(n, int(started))

    def points(self, objective: Objective, chosen: int) -> list[PathPoint]:
        """The sizes of the path, of which `chosen` is in the model."""
        before = self.grown.learned - len(self.grown.path) if self.plain is None else 0
        total = self.problem.total
        return points_of(self._measured(), total, self.costs(objective), self.label, before, self.curve, chosen)

    def costs(self, objective: Objective) -> list[float]:
        """The training objective at size 0, 1, ...; at 0 the probability is the share of the positive rows."""
        problem, measured = self.problem, self._measured()
        if self.plain is not None:
            objective = Objective(0.0, 1.0)
        positive = float(problem.weights[problem.labels == 1].sum()) * problem.weight_unit
        negative = problem.total - positive
        nothing = objective.error * min(positive, negative) + objective.brier * positive * negative / problem.total
        return [nothing, *(after for after, _ in measured)]

    def _measured(self) -> list[tuple[float, float]]:
        """Objective and weighted training error of each model of the path."""
        if self.plain is not None:
            return [(form.objective, form.error) for form in self.plain]
        return measured_formulas(self.grown)


def targets(labels: npt.NDArray[Any], classes: tuple[Any, ...], ordered: bool) -> list[tuple[Any, npt.NDArray[Any]]]:
    """What each formula is to tell from the rest: (label, 0 or 1 [n]).

    Of two classes the second; of ordered ones, for each but the lowest, whether the label is at least it.
    """
    if len(classes) == 2:
        return [(classes[1], labels)]
    if ordered:
        return [(classes[k], (labels >= k).astype(labels.dtype)) for k in range(1, len(classes))]
    return [(classes[k], (labels == k).astype(labels.dtype)) for k in range(len(classes))]


def columns_that_matter(runs: list[Run], objective: Objective, most: int) -> tuple[int, ...]:
    """The columns, `most` of them, that together lowered the objectives of all formulas most."""
    gain: dict[int, float] = {}
    for run in runs:
        before = run.costs(objective)[0]
        for step in run.grown.steps:
            for column in step.bit.columns:
                gain[column] = gain.get(column, 0.0) + before - step.after
            before = step.after
    return tuple(sorted(sorted(gain, key=lambda column: (-gain[column], column))[:most]))


def with_shared_columns(
    settings: GrowthSettings, problem: Problem, told: list[tuple[Any, npt.NDArray[np.int64]]], deadline: float
) -> GrowthSettings:
    """The columns that all formulas share, by what each lowers in formulas grown without the limit."""
    most, free = settings.sizes.features, replace(settings, sizes=NO_LIMITS)
    assert most is not None
    runs = []
    for label, positive in told:
        formula = replace(problem, labels=positive)
        grown = grow(formula, replace(free, n_units=min(free.n_units, 2 * most)), Limits(deadline))
        runs.append(Run(label, formula, grown, 0, None, grown.stopped))
        if grown.stopped:
            break
    return replace(settings, columns=columns_that_matter(runs, settings.search.objective, most))
