"""Sums of every size as candidates: as they grew, and as rules leave the last one again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rulekit.learners.additive.corrective import Weights
from rulekit.learners.additive.growth import Sum, grown, polished
from rulekit.learners.additive.known import Known, outweighing
from rulekit.learners.additive.layout import Layout
from rulekit.learners.additive.literals import Penalties
from rulekit.learners.additive.models import AdditiveRules
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Candidate, Watch
from rulekit.learners.fitting.additive import finest_unit

_FINEST = 20
_FEW = 3
_LOSS = 1e-3
_COST_OF_A_LITERAL = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How one question is learned: what may stand in a rule, the complexities that are compared, and how hard to look.

    complexities: the first one is learned while the folds are; most: rules; known: rules that are there before.
    """

    layout: Layout
    complexities: tuple[Penalties, ...]
    most: int
    width: int
    passes: int
    known: tuple[Known, ...] = ()


def sums_of(problem: Problem, plan: Plan, penalties: Penalties, n_threads: int, watch: Watch) -> Iterator[Candidate]:
    """The sums of 1, 2, .. rules as they grow."""
    for found in grown(problem, plan.layout, penalties, plan.most, n_threads, watch, plan.width, plan.known):
        yield candidate_of(found, found.at, problem)


def best_sums(
    problem: Problem, plan: Plan, penalties: Penalties, n_threads: int, watch: Watch
) -> tuple[Candidate, ...]:
    """The candidates of all sizes: of each the better one of two, as it grew and as it is left of the last one.

    The last one's rules are looked at once more; then those leave it one by one without which the loss is least.
    """
    path = list[Sum]()
    for found in grown(problem, plan.layout, penalties, plan.most, n_threads, watch, plan.width, plan.known):
        if len(path) > _FEW:
            path[-1] = path[-1].without_rows()
        path.append(found)
    if not path:
        return ()
    if plan.passes:
        path[-1] = polished(path[-1], problem, plan.layout, penalties, n_threads, watch, plan.passes, plan.width)
    left = path[-1]
    for n in range(len(path) - 2, -1, -1):
        watch.check()
        left = _without_least(left, problem, penalties)
        if left.at.loss < path[n].at.loss:
            path[n] = left if n < _FEW else left.without_rows()
        if plan.passes and n < _FEW:  # where each rule carries much; costs little
            path[n] = polished(path[n], problem, plan.layout, penalties, n_threads, watch, 1, plan.width)
    return tuple(candidate_of(found, _shortened(found, problem, penalties), problem) for found in path)


def _without_least(found: Sum, problem: Problem, penalties: Penalties) -> Sum:
    """The sum without the rule whose leaving raises the loss least, as far as its curvatures tell."""
    loss = found.loss(problem, penalties)
    curvatures = loss.curvatures(found.at)
    curvatures[np.diag_indices_from(curvatures)] += 1e-9 * (1.0 + curvatures.diagonal())
    rise = found.at.weights**2 / np.maximum(np.linalg.inv(curvatures).diagonal()[1:], 1e-12)
    rise[[rule.role != "free" for rule in found.rules]] = np.inf
    return found.without(int(np.argmin(rise))).fitted(problem, penalties, 2)


def candidate_of(found: Sum, at: Weights, problem: Problem) -> Candidate:
    """A sum with these weights, on a grid that leaves every sum exact; its objective is the log loss with the ridge."""
    weights = outweighing(found.rules, at.weights, at.bias)
    unit = finest_unit([at.bias, *weights.tolist()])
    bias, weights = round(at.bias / unit) * unit, np.rint(weights / unit) * unit
    at = replace(at, bias=bias, weights=outweighing(found.rules, weights, bias))
    scores, counts = at.scores(found.cells.holds), found.cells.counts
    error = float(np.where(scores > 0.0, counts[:, 0], counts[:, 1]).sum()) * problem.weight_unit
    clauses = tuple(rule.clause for rule in found.rules)
    model = AdditiveRules(clauses, tuple(at.weights.tolist()), at.bias)
    literals = sum(len(rule.literals) for rule in found.rules)
    return Candidate(len(found.rules), at.loss, error, model, found.stays, _COST_OF_A_LITERAL * literals)


def _shortened(found: Sum, problem: Problem, penalties: Penalties) -> Weights:
    """The weights on the coarsest grid of a power of two that changes no decision of a training row.

    And that raises the loss by less than a thousandth, and takes no rule that stays its weight.
    """
    loss = found.loss(problem, penalties)
    decided = found.at.scores(found.cells.holds) > 0.0
    stays = np.array([rule.role != "free" for rule in found.rules]) & (found.at.weights != 0.0)
    for bits in range(_FINEST):
        grid = 2.0**-bits
        tried = loss.at(round(found.at.bias / grid) * grid, np.rint(found.at.weights / grid) * grid)
        same = np.array_equal(tried.scores(found.cells.holds) > 0.0, decided) and bool(tried.weights[stays].all())
        if same and tried.loss <= found.at.loss * (1.0 + _LOSS):
            return tried
    return found.at
