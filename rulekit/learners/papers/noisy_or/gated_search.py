"""Causes and inhibitors one after another: what gains most joins, and all strengths are fitted anew.

A cause may be a joint one; an inhibitor is a condition on one column. A condition that several causes need may leave
them all, and its contrary then inhibits. Until something inhibits, this is a noisy-or, whose strengths have one
maximum; a gated noisy-or is fitted from the strengths that it had before (`gated_fit`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Floats
from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause, Causes
from rulekit.learners.noisy_or.growth import LEAST_GAIN, FittedCauses, HeldRows, JointSearch, has_both_classes
from rulekit.learners.noisy_or.joint_causes import (
    Breadth,
    JointCause,
    Rise,
    best_joint_cause,
    cost_of_literal,
    ordered_columns,
)
from rulekit.learners.noisy_or.likelihood import Strengths, cells_held
from rulekit.learners.papers.noisy_or.gated_fit import fit_gated, log_likelihoods
from rulekit.schema import FIRST_LEVEL_CODE

PRIOR_OF_INHIBITORS = 0.25
"""The prior against an inhibitor, of that against a cause."""
_LEAST = 1e-4
"""Strengths below it are none: L-BFGS-B does not come to rest on every bound."""
_SEVERAL = 2
_SINGLE = Breadth(literals=1, conjunctions=1)
_NOTHING = FittedCauses((), (), 0.0)

JointCauses = Sequence[JointCause]


@dataclass(frozen=True, slots=True, eq=False)
class GatedFit:
    """Causes and inhibitors with their strengths and leaks; the likelihood and objective are those of both."""

    causes: FittedCauses
    inhibitors: FittedCauses

    @property
    def size(self) -> int:
        """How many causes and inhibitors there are."""
        return len(self.causes.causes) + len(self.inhibitors.causes)


def _joint(fit: FittedCauses) -> tuple[JointCause, ...]:
    return tuple(cause for cause in fit.causes if isinstance(cause, JointCause))


def grown_gated(
    problem: Problem, search: JointSearch, conditions: Sequence[Causes], watch: Watch
) -> Iterator[GatedFit]:
    """The best causes and inhibitors, one more each time; conditions: those that may inhibit."""
    if not has_both_classes(problem):
        return
    rows = HeldRows(problem)
    ordered, cost = ordered_columns(search.causes), cost_of_literal(search.causes)

    def reached(fit: GatedFit) -> float:
        return fit.causes.objective - cost * sum(cause.literals(ordered) - 1 for cause in _joint(fit.causes))

    fit, largest = GatedFit(rows.fitted((), search.prior, search.descent(watch)), _NOTHING), 0
    while fit.size < search.most:
        watch.check()
        found = [
            _fitted(rows, causes, inhibitors, fit, search, watch)
            for causes, inhibitors in _next(rows, fit, search, conditions, watch)
        ]
        best = max(found, key=reached, default=fit)
        if reached(best) - reached(fit) <= LEAST_GAIN:
            return
        fit = best
        if fit.size > largest:
            largest = fit.size
            yield fit


def _next(
    rows: HeldRows, fit: GatedFit, search: JointSearch, conditions: Sequence[Causes], watch: Watch
) -> Iterator[tuple[JointCauses, JointCauses]]:
    """The causes and inhibitors with one more of either."""
    problem, positive, weights = rows.problem, rows.problem.labels == 1, rows.weights
    s, h = rows.activations(fit.causes), rows.activations(fit.inhibitors)
    own, others = _joint(fit.causes), _joint(fit.inhibitors)
    rise = Rise.of(lambda strength: log_likelihoods(s + strength, h, positive), weights, search.prior)
    best = best_joint_cause(problem, search.causes, rise, search.least, search.breadth, watch)
    if best is not None and not _is_among(best[1], own):
        yield (*own, best[1]), others
    if not own:
        return
    prior = PRIOR_OF_INHIBITORS * search.prior
    rise = Rise.of(lambda strength: log_likelihoods(s, h + strength, positive), weights, prior)
    best = best_joint_cause(problem, conditions, rise, search.least, _SINGLE, watch)
    if best is not None and not _is_among(best[1], others):
        yield own, (*others, best[1])
    yield from _factored(problem, own, others, conditions)


def _factored(
    problem: Problem, own: JointCauses, others: JointCauses, conditions: Sequence[Causes]
) -> Iterator[tuple[JointCauses, JointCauses]]:
    """Causes without a condition that several of them need, of which the contrary inhibits all of them instead."""
    usable = {each.column for each in conditions}
    needed: list[tuple[Cause, int]] = []
    for cause in own:
        for part in cause.parts if len(cause.parts) > 1 else ():
            place = next((k for k, (known, _) in enumerate(needed) if known.same(part)), None)
            if place is None:
                needed.append((part, 1))
            else:
                needed[place] = part, needed[place][1] + 1
    for part, count in needed:
        if count < _SEVERAL or part.column not in usable:
            continue
        contrary = ~part.condition
        contrary[: FIRST_LEVEL_CODE if problem.columns[part.column].feature.kind == "categorical" else 1] = False
        inhibitor = JointCause((Cause(part.column, contrary),))
        shorter = [cause.without(part) if len(cause.parts) > 1 else cause for cause in own]
        distinct = [cause for k, cause in enumerate(shorter) if not _is_among(cause, shorter[:k])]
        if not _is_among(inhibitor, others):
            yield distinct, (*others, inhibitor)


def _is_among(cause: JointCause, known: JointCauses) -> bool:
    return any(cause.same(other) for other in known)


def _fitted(
    rows: HeldRows, causes: JointCauses, inhibitors: JointCauses, start: GatedFit, search: JointSearch, watch: Watch
) -> GatedFit:
    """The strengths of causes and inhibitors that fit the rows best, from those of a smaller model."""
    descent = search.descent(watch)
    if not inhibitors:
        return GatedFit(rows.fitted(causes, search.prior, descent, start.causes), _NOTHING)
    problem, n, k = rows.problem, len(causes), len(causes) + len(inhibitors)
    is_cause, prior, other = np.arange(k) < n, search.prior, PRIOR_OF_INHIBITORS * search.prior
    found = fit_gated(
        cells_held([rows.holds(cause) for cause in (*causes, *inhibitors)], len(problem.labels)),
        problem.labels,
        _begun(causes, start.causes, 0, k),
        start_of_inhibitors=_begun(inhibitors, start.inhibitors, n, k),
        prior=prior,
        prior_of_inhibitors=other,
        causes=is_cause,
        inhibitors=~is_cause,
        weights=rows.weights,
        check=watch.check,
    )
    own = _kept(causes, found.causes.cells[:n], found.causes.leak)
    gate = _kept(inhibitors, found.inhibitors.cells[n:], found.inhibitors.leak)
    if not gate.causes:
        return GatedFit(rows.fitted(own.causes, prior, descent, own), _NOTHING)
    s, h = rows.activations(own), rows.activations(gate)
    likelihood = float(rows.weights @ log_likelihoods(s, h, problem.labels == 1))
    penalty = prior * sum(own.strengths) + other * sum(gate.strengths)
    own = FittedCauses(own.causes, own.strengths, own.leak, likelihood, likelihood - penalty)
    return GatedFit(own, gate)


def _begun(causes: JointCauses, start: FittedCauses, first: int, k: int) -> Strengths:
    """Strengths [k] to start from, those of some cells from the first one on; of what is new a tenth."""
    cells = np.zeros(k)
    cells[first : first + len(causes)] = start.begin(causes).cells
    return Strengths(cells, max(start.leak, 1e-3))


def _kept(causes: JointCauses, strengths: Floats, leak: float) -> FittedCauses:
    kept = np.flatnonzero(strengths > _LEAST).tolist()
    return FittedCauses(tuple(causes[i] for i in kept), tuple(float(strengths[i]) for i in kept), leak)
