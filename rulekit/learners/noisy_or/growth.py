"""Causes one after another: the one that raises the likelihood most joins, and all strengths are fitted anew.

What a further cause is worth is not estimated by a slope: the log-likelihood of the rows is added up for a few
strengths that it may have, by code of each column, and the sums of all conditions on a column follow from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause, Causes
from rulekit.learners.noisy_or.coordinate_descent import coordinate_descent
from rulekit.learners.noisy_or.joint_causes import Breadth, JointCause, Rise, best_joint_cause
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, cells_held, log_positive
from rulekit.learners.noisy_or.model import CausePart

LEAST_GAIN = 0.01
"""The least number of nats that a further cause gains, beyond its prior."""
NO_STRENGTH = 1e-7
"""What is not stronger is no cause."""

Descent = Callable[[Incidence, Strengths], Strengths]
"""What fits strengths to rows, from a start."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedCauses:
    """Causes with their strengths, and the leak's.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior.
    """

    causes: tuple[Cause | JointCause, ...]
    strengths: tuple[float, ...]
    leak: float
    likelihood: float = 0.0
    objective: float = 0.0

    def part(self, total: float, cut: int = -1) -> CausePart:
        """As a part of a model; total: the weight of the rows."""
        return CausePart.of(self.causes, self.strengths, self.leak, total, cut)

    def begin(self, causes: Sequence[Cause | JointCause]) -> Strengths:
        """Strengths of causes to start from: its own, and a tenth for causes that it has not."""
        known = {id(cause): strength for cause, strength in zip(self.causes, self.strengths, strict=True)}
        cells = np.array([known.get(id(cause), 0.1) for cause in causes], dtype=np.float64)
        return Strengths(cells, max(self.leak, 1e-6))


NOTHING_KNOWN = FittedCauses((), (), 0.1)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """The rows of a problem as the causes see them, with the rows [n] on which each cause that was asked for holds."""

    problem: Problem
    holding: dict[int, tuple[Cause | JointCause, Bools]] = field(default_factory=dict)

    def holds(self, cause: Cause | JointCause) -> Bools:
        """The rows [n] on which a cause holds."""
        if id(cause) not in self.holding:
            self.holding[id(cause)] = cause, cause.holds(self.problem.codes)
        return self.holding[id(cause)][1]

    @property
    def weights(self) -> Floats:
        """The weights [n] of the rows."""
        return np.asarray(self.problem.weights * self.problem.weight_unit, dtype=np.float64)

    def incidence(self, cells: Sequence[Bools]) -> Incidence:
        """The rows by the cells that hold [n]."""
        labels = self.problem.labels
        return Incidence.of(cells_held(cells, len(labels)), labels, self.weights)

    def activations(self, fit: FittedCauses, least: float = 0.0) -> Floats:
        """The sums of strengths [n]; least: of the leak."""
        total = np.full(len(self.problem.labels), max(fit.leak, least))
        for cause, strength in zip(fit.causes, fit.strengths, strict=True):
            total += strength * self.holds(cause)
        return total

    def fitted(
        self,
        causes: Sequence[Cause | JointCause],
        prior: float,
        descent: Descent,
        start: FittedCauses = NOTHING_KNOWN,
        further: Sequence[Bools] = (),
    ) -> FittedCauses:
        """The strengths of the causes that fit the rows best; those of which none is left are dropped.

        further: cells [n] behind the causes, of which the prior does not ask.
        """
        incidence = self.incidence([*(self.holds(cause) for cause in causes), *further])
        found = descent(incidence, start.begin(causes))
        own = found.cells[: len(causes)]
        kept = np.flatnonzero(own > NO_STRENGTH).tolist()
        likelihood = incidence.likelihood(found)
        objective = likelihood - prior * float(own.sum())
        chosen, strengths = tuple(causes[k] for k in kept), tuple(float(own[k]) for k in kept)
        return FittedCauses(chosen, strengths, found.leak, likelihood, objective)


@dataclass(frozen=True, slots=True, eq=False)
class JointSearch:
    """What is looked for: conditions that are joined to causes, at most how many causes, and of how many rows.

    prior: against causes, as rows on which each did not act; least: the weight of the rows on which a cause holds.
    """

    causes: Sequence[Causes]
    prior: float
    most: int
    least: float
    breadth: Breadth

    def descent(self, watch: Watch) -> Descent:
        """Coordinate descent from a start."""
        return lambda incidence, start: (
            coordinate_descent(incidence, start, prior=self.prior, sweeps=_SWEEPS, check=watch.check).strengths
        )


_SWEEPS = 200


def has_both_classes(problem: Problem) -> bool:
    """Whether there is anything to tell apart."""
    return bool(np.any((problem.labels == 1) & (problem.weights > 0))) and problem.positive < problem.total


def grown(problem: Problem, search: JointSearch, watch: Watch) -> Iterator[FittedCauses]:
    """The best causes, one more each time; fewer where the strengths of some became 0."""
    if not has_both_classes(problem):
        return
    rows, descent = HeldRows(problem), search.descent(watch)
    fit, largest = rows.fitted((), search.prior, descent), 0
    while len(fit.causes) < search.most:
        watch.check()
        found = _best(rows, fit, search, watch)
        if found is None:
            return
        before, fit = fit, rows.fitted((*fit.causes, found), search.prior, descent, fit)
        if fit.objective - before.objective <= LEAST_GAIN:
            return
        if len(fit.causes) > largest:
            largest = len(fit.causes)
            yield fit


def _best(rows: HeldRows, fit: FittedCauses, search: JointSearch, watch: Watch) -> JointCause | None:
    """The joint cause that gains most likelihood, None where none gains enough."""
    s, positive = rows.activations(fit, 1e-9), rows.problem.labels == 1
    rise = Rise.of(lambda strength: _log_likelihoods(s + strength, positive), rows.weights, search.prior)
    found = best_joint_cause(rows.problem, search.causes, rise, search.least, search.breadth, watch)
    if found is None or found[0] <= LEAST_GAIN:
        return None
    known = [cause for cause in fit.causes if isinstance(cause, JointCause)]
    return None if any(found[1].same(other) for other in known) else found[1]


def _log_likelihoods(s: Floats, positive: Bools) -> Floats:
    return np.where(positive, log_positive(s), -s)
