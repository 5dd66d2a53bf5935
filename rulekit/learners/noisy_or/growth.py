"""Causes one after another: the one that raises the likelihood most joins, and all strengths are fitted anew.

What a further cause is worth is not estimated by a slope: the log-likelihood of the rows is added up for a few
strengths that it may have, by code of each column, and the sums of all conditions on a column follow from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import AnyCause, Breadth, Causes, JointCause, Rise, best_joint_cause
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, cells_held, coordinate_descent, log_positive
from rulekit.learners.noisy_or.model import CausePart

LEAST_GAIN = 0.01
"""The least number of nats that a further cause gains, beyond its prior."""
NO_STRENGTH = 1e-7
"""What is not stronger is no cause."""
_SWEEPS = 200

Descent = Callable[[Incidence, Strengths], Strengths]
"""What fits strengths to rows, from a start."""


def ever_longer(
    fit: Any,
    longer: Callable[[Any], Any],
    most: int,
    check: Callable[[], None],
    reached: Callable[[Any], float] = attrgetter("objective"),
    least: float = LEAST_GAIN,
) -> Iterator[Any]:
    """The fits of more causes than any before: those that `longer` makes of the last one, while each gains enough."""
    largest = fit.size
    while fit.size < most:
        check()
        found = longer(fit)
        if found is None or reached(found) - reached(fit) <= least:
            return
        fit = found
        if fit.size > largest:  # the strengths of some may have become 0
            largest = fit.size
            yield fit


@dataclass(frozen=True, slots=True, eq=False)
class FittedCauses:
    """Causes with their strengths, and the leak's.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior.
    """

    causes: tuple[Any, ...]  # Cause or JointCause, all alike
    strengths: tuple[float, ...]
    leak: float
    likelihood: float = 0.0
    objective: float = 0.0

    @property
    def size(self) -> int:
        return len(self.causes)

    def part(self, total: float, cut: int = -1) -> CausePart:
        return CausePart.of(self.causes, self.strengths, self.leak, total, cut)

    def begin(self, causes: Sequence[AnyCause]) -> Strengths:
        """Strengths of causes to start from: its own, and a tenth for causes that it has not."""
        known = {id(cause): strength for cause, strength in zip(self.causes, self.strengths, strict=True)}
        cells = np.array([known.get(id(cause), 0.1) for cause in causes], dtype=np.float64)
        return Strengths(cells, max(self.leak, 1e-6))


NOTHING_KNOWN = FittedCauses((), (), 0.1)


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """The rows of a problem as the causes see them, with the rows [n] on which each cause that was asked for holds."""

    problem: Problem
    holding: dict[int, tuple[AnyCause, Bools]] = field(default_factory=dict)

    def holds(self, cause: AnyCause) -> Bools:
        if id(cause) not in self.holding:
            self.holding[id(cause)] = cause, cause.holds(self.problem.codes)
        return self.holding[id(cause)][1]

    @property
    def weights(self) -> Floats:
        return np.asarray(self.problem.weights * self.problem.weight_unit, dtype=np.float64)

    def activations(self, fit: FittedCauses, least: float = 0.0) -> Floats:
        """The sums of strengths [n]; least: of the leak."""
        total = np.full(len(self.problem.labels), max(fit.leak, least))
        for cause, strength in zip(fit.causes, fit.strengths, strict=True):
            total += strength * self.holds(cause)
        return total

    def fitted(
        self,
        causes: Sequence[AnyCause],
        prior: float,
        descent: Descent,
        start: FittedCauses = NOTHING_KNOWN,
        further: Sequence[Bools] = (),
    ) -> FittedCauses:
        """The strengths of the causes that fit the rows best; those of which none is left are dropped.

        further: cells [n] behind the causes, of which the prior does not ask.
        """
        labels = self.problem.labels
        cells = cells_held([*(self.holds(cause) for cause in causes), *further], len(labels))
        incidence = Incidence.of(cells, labels, self.weights)
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
        return lambda incidence, start: (
            coordinate_descent(incidence, start, prior=self.prior, sweeps=_SWEEPS, check=watch.check).strengths
        )


def has_both_classes(problem: Problem) -> bool:
    return bool(np.any((problem.labels == 1) & (problem.weights > 0))) and problem.positive < problem.total


def grown(problem: Problem, search: JointSearch, watch: Watch) -> Iterator[FittedCauses]:
    """The best causes, one more each time."""
    if not has_both_classes(problem):
        return
    rows, descent = HeldRows(problem), search.descent(watch)

    def longer(fit: FittedCauses) -> FittedCauses | None:
        found = _best(rows, fit, search, watch)
        return None if found is None else rows.fitted((*fit.causes, found), search.prior, descent, fit)

    yield from ever_longer(rows.fitted((), search.prior, descent), longer, search.most, watch.check)


def _best(rows: HeldRows, fit: FittedCauses, search: JointSearch, watch: Watch) -> JointCause | None:
    s, positive = rows.activations(fit, 1e-9), rows.problem.labels == 1

    def reached(strength: float) -> Floats:
        return np.where(positive, log_positive(s + strength), -(s + strength))

    rise = Rise.of(reached, rows.weights, search.prior)
    found = best_joint_cause(rows.problem, search.causes, rise, search.least, search.breadth, watch)
    if found is None or found[0] <= LEAST_GAIN or any(found[1].same(other) for other in fit.causes):
        return None
    return found[1]
