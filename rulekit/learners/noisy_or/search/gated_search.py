"""Causes and inhibitors one after another: what gains most joins, and all strengths are fitted anew.

A cause may be a joint one; an inhibitor is a condition on one column. A condition that several causes need may leave
them all, and its contrary then inhibits. Until something inhibits, this is a noisy-or, whose strengths have one
maximum; a gated noisy-or is fitted from the strengths that it had before (rulekit.learners.noisy_or.fitting.gated).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.fitting.gated import fit_gated
from rulekit.learners.noisy_or.fitting.strengths import Strengths
from rulekit.learners.noisy_or.search.causes import Cause, Causes
from rulekit.learners.noisy_or.search.fits import Fit, Rows, cells_of, fitted
from rulekit.learners.noisy_or.search.gains import gains_of_cause, gains_of_inhibitor, log_likelihoods
from rulekit.learners.noisy_or.search.joint_causes import (
    Breadth,
    JointCause,
    Rise,
    best_joint_cause,
    cost_of_literal,
    ordered_columns,
)
from rulekit.learners.noisy_or.search.single_causes import LEAST_GAIN, Search
from rulekit.learners.sums_of_rows.histograms import Floats
from rulekit.schema import FIRST_LEVEL_CODE

PRIOR_OF_INHIBITORS = 0.25
"""The prior against an inhibitor, of that against a cause."""
_LEAST = 1e-4
"""Strengths below it are none: L-BFGS-B does not come to rest on every bound."""
_SEVERAL = 2
_SINGLE = Breadth(literals=1, conjunctions=1)


@dataclass(frozen=True, slots=True, eq=False)
class GatedFit:
    """Causes and inhibitors with their strengths and leaks; the likelihood and objective are those of both."""

    causes: Fit
    inhibitors: Fit

    @property
    def size(self) -> int:
        """How many causes and inhibitors there are."""
        return len(self.causes.causes) + len(self.inhibitors.causes)

    @property
    def objective(self) -> float:
        """The likelihood less the prior."""
        return self.causes.objective

    @property
    def joint_causes(self) -> tuple[JointCause, ...]:
        """The causes."""
        return tuple(cause for cause in self.causes.causes if isinstance(cause, JointCause))

    @property
    def joint_inhibitors(self) -> tuple[JointCause, ...]:
        """The inhibitors."""
        return tuple(cause for cause in self.inhibitors.causes if isinstance(cause, JointCause))


@dataclass(frozen=True, slots=True, eq=False)
class GatedSearch:
    """What is looked for: causes as a search says, and which conditions may inhibit."""

    search: Search
    inhibitors: Sequence[Causes]


NOTHING = Fit((), (), 0.0)


Parts = Sequence[JointCause]


def grown_gated(problem: Problem, gated: GatedSearch, watch: Watch) -> Iterator[GatedFit]:
    """The best causes and inhibitors, one more each time."""
    search = gated.search
    if not np.any((problem.labels == 1) & (problem.weights > 0)) or problem.positive >= problem.total:
        return
    rows = Rows(problem, search.summed)
    ordered, cost = ordered_columns(search.causes), cost_of_literal(search.causes)

    def reached(fit: GatedFit) -> float:
        return fit.objective - cost * sum(cause.literals(ordered) - 1 for cause in fit.joint_causes)

    fit, largest = GatedFit(fitted(rows, (), search.method, watch), NOTHING), 0
    while fit.size < search.most:
        watch.check()
        found = [
            _fitted(rows, causes, inhibitors, fit, search, watch)
            for causes, inhibitors in _next(problem, rows, fit, gated, watch)
        ]
        best = max(found, key=reached, default=fit)
        if reached(best) - reached(fit) <= LEAST_GAIN:
            return
        fit = best
        if fit.size > largest:
            largest = fit.size
            yield fit


def _next(
    problem: Problem, rows: Rows, fit: GatedFit, gated: GatedSearch, watch: Watch
) -> Iterator[tuple[Parts, Parts]]:
    """The causes and inhibitors with one more of either."""
    search, positive = gated.search, problem.labels == 1
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    s, h = _activations(rows, fit.causes), _activations(rows, fit.inhibitors)
    assert search.joint is not None
    own, others = fit.joint_causes, fit.joint_inhibitors
    rise = Rise.of(gains_of_cause(s, h, positive), weights, search.method.prior)
    best = best_joint_cause(problem, search.causes, rise, search.least, search.joint, watch)
    if best is not None and not _is_among(best[1], own):
        yield (*own, best[1]), others
    if not own:
        return
    rise = Rise.of(gains_of_inhibitor(s, h, positive), weights, PRIOR_OF_INHIBITORS * search.method.prior)
    best = best_joint_cause(problem, gated.inhibitors, rise, search.least, _SINGLE, watch)
    if best is not None and not _is_among(best[1], others):
        yield own, (*others, best[1])
    yield from _factored(problem, own, others, gated)


def _factored(problem: Problem, own: Parts, others: Parts, gated: GatedSearch) -> Iterator[tuple[Parts, Parts]]:
    """Causes without a condition that several of them need, of which the contrary inhibits all of them instead."""
    usable = {each.column for each in gated.inhibitors}
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


def _is_among(cause: JointCause, known: Parts) -> bool:
    return any(cause.same(other) for other in known)


def _activations(rows: Rows, fit: Fit) -> Floats:
    """The sums of strengths [n]."""
    total = np.full(len(rows.problem.labels), fit.leak)
    for cause, strength in zip(fit.causes, fit.strengths, strict=True):
        total += np.where(rows.holds(cause), strength, 0.0)
    return total


def _fitted(rows: Rows, causes: Parts, inhibitors: Parts, start: GatedFit, search: Search, watch: Watch) -> GatedFit:
    """The strengths of causes and inhibitors that fit the rows best, from those of a smaller model."""
    if not inhibitors:
        return GatedFit(fitted(rows, causes, search.method, watch, start.causes), NOTHING)
    problem, n, k = rows.problem, len(causes), len(causes) + len(inhibitors)
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    cells = cells_of([rows.holds(cause) for cause in (*causes, *inhibitors)], len(problem.labels))
    prior, other = search.method.prior, PRIOR_OF_INHIBITORS * search.method.prior
    is_cause = np.arange(k) < n
    found = fit_gated(
        cells,
        problem.labels,
        _begun(causes, start.causes, 0, k),
        start_of_inhibitors=_begun(inhibitors, start.inhibitors, n, k),
        prior=prior,
        prior_of_inhibitors=other,
        causes=is_cause,
        inhibitors=~is_cause,
        weights=weights,
        check=watch.check,
    )
    own = _kept(causes, found.causes.present[:n], found.causes.leak)
    gate = _kept(inhibitors, found.inhibitors.present[n:], found.inhibitors.leak)
    if not gate.causes:
        return GatedFit(fitted(rows, own.causes, search.method, watch, own), NOTHING)
    s, h = _activations(rows, own), _activations(rows, gate)
    likelihood = float(weights @ log_likelihoods(s, h, problem.labels == 1))
    penalty = prior * sum(own.strengths) + other * sum(gate.strengths)
    own = Fit(own.causes, own.strengths, own.leak, (), likelihood, likelihood - penalty)
    return GatedFit(own, gate)


def _begun(parts: Parts, start: Fit, first: int, k: int) -> Strengths:
    """Strengths [k] to start from, those of some cells from the first one on; of what is new a tenth."""
    known = {id(cause): strength for cause, strength in zip(start.causes, start.strengths, strict=True)}
    present = np.zeros(k)
    present[first : first + len(parts)] = [known.get(id(part), 0.1) for part in parts]
    return Strengths(present, None, max(start.leak, 1e-3))


def _kept(parts: Parts, strengths: Floats, leak: float) -> Fit:
    kept = np.flatnonzero(strengths > _LEAST).tolist()
    return Fit(tuple(parts[i] for i in kept), tuple(float(strengths[i]) for i in kept), leak)
