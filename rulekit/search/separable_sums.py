"""Decisions by sums each term of which reads one column: what a value of a column gains, and what the fewest reach.

A decision by one sum turns where the sum passes its threshold; one by the largest of several where the sum of some
other class passes that of the class. Either is a *goal*: a difference of sums that must reach 0 (strict: exceed it).
The fewest columns that reach it are those with the largest gains; the nearest values are chosen by a small knapsack of
gains against distances (`cheapest`), which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from rulekit.exactness import DOUBLE_BITS, Span, span_of_sum
from rulekit.graph.decisions import Decision
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Above, Family, Linear, LinearThreshold, Node, Strength, WeightedSum
from rulekit.schema import Feature
from rulekit.tables.table import Array, Table

MOST_STATES = 20_000
NEAR = 1e-9  # of the numbers of a sum: more than their roundings


@dataclass(frozen=True, slots=True)
class SumGoal:
    """A difference of terms and its constant that must reach 0 (strict: exceed it).

    rounded: whether a total may be rounded.
    """

    terms: tuple[tuple[float, Node], ...]
    constant: float
    strict: bool
    rounded: bool

    @property
    def separable(self) -> bool:
        """Whether each term reads one column, by its cells."""
        return all(len(readers([node])) == 1 and not has_column(node) for _, node in self.terms)

    def contrary(self) -> SumGoal:
        """What must hold that the goal does not."""
        terms = tuple((-weight, node) for weight, node in self.terms)
        return SumGoal(terms, -self.constant, not self.strict, self.rounded)


def turning_goals(
    decision: Decision, default: int, label: int, above: Mapping[int, bool], units: bool = True
) -> list[SumGoal] | None:
    """The goals of which one must be reached that rows of a class are decided otherwise; None where no sums decide.

    above: by class (of a median by rank) whether its sum is above its threshold; units: whether linear thresholds count
    as sums. Every goal that is reached turns the decision where a single sum decides, and where all classes take part.
    """
    if not decision.ranked:
        reached = [_reached(root) for root in decision.roots if units or isinstance(root, Above)]
        sums = [goal for goal in reached if goal is not None]
        if len(sums) < len(decision.roots):
            return None
        return [goal.contrary() if above[k] else goal for k, goal in enumerate(sums, 1)]
    limits = {threshold for _, _, threshold in decision.ranked}
    if len(limits) > 1 or not all(_is_sum(score) for _, score, _ in decision.ranked):
        return None
    (limit,) = limits
    order = [k for k, _, _ in decision.ranked]
    over = {k: _over(score, 0.0 if limit == -np.inf else limit) for k, score, _ in decision.ranked}
    if not above[label]:  # the default: no class is above its threshold
        return [over[k] for k in order if k != label]
    goals = [over[label].contrary()] if label != default and limit > -np.inf else []
    for k in order:
        if k != label:
            terms = (*over[k].terms, *over[label].contrary().terms)
            strict = order.index(label) < order.index(k)
            rounded = over[k].rounded or over[label].rounded
            goals.append(SumGoal(terms, over[k].constant - over[label].constant, strict, rounded))
    return goals


def _reached(root: Node) -> SumGoal | None:
    if isinstance(root, LinearThreshold):
        return SumGoal(root.terms, root.bias, False, _may_round(root))
    return _over(root.score, root.threshold) if isinstance(root, Above) and _is_sum(root.score) else None


def _over(score: Node, threshold: float) -> SumGoal:
    terms, bias = (score.terms, score.bias) if isinstance(score, Linear) else (((1.0, score),), 0.0)
    live = tuple((weight, node) for weight, node in terms if weight)
    return SumGoal(live, bias - threshold, True, _may_round(score, threshold if math.isfinite(threshold) else 0.0))


def _is_sum(score: Node) -> bool:
    return score.family is Family.REAL and not isinstance(score, Strength)


def _may_round(score: Node, threshold: float = 0.0) -> bool:
    """Whether a sum, or what it lacks to a threshold, may depend on the order in which it is made."""
    span = span_of_sum(score) if isinstance(score, WeightedSum) else None
    return span is None or not (span + span + Span.of(Fraction(threshold))).fits(DOUBLE_BITS)


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """What values gain towards a goal.

    by_column: of each column what each value gains [n, values]; lacking [n]: what the rows lack to the goal; size [n]:
    how large the numbers are that are added.
    """

    by_column: list[Array]
    lacking: Array
    size: Array


def gains_of(goal: SumGoal, columns: Sequence[tuple[Feature, Array]], rows: Table) -> Gains:
    """The gains of some values of each of these columns, which are all that a separable goal reads."""
    terms: dict[str, list[tuple[float, Node]]] = {feature.name: [] for feature, _ in columns}
    for weight, node in goal.terms:
        (name,) = readers([node])
        terms[name].append((weight, node))
    gains, total, size = [], np.full(rows.n_rows, goal.constant), np.zeros(rows.n_rows)
    for feature, values in columns:
        here = _added(terms[feature.name], rows)
        there = _added(terms[feature.name], Table((feature,), (values,), len(values), source="values"))
        total = total + here
        size = size + np.abs(here) + np.abs(there).max(initial=0.0)
        gains.append(there[None, :] - here[:, None])
    return Gains(gains, -total, size)


def _added(terms: Sequence[tuple[float, Node]], rows: Table) -> Array:
    values = evaluate_nodes(list(dict.fromkeys(node for _, node in terms)), rows) if terms else {}
    found: Array = sum((w * values[node].astype(np.float64) for w, node in terms), np.zeros(rows.n_rows))
    return found


# The fewest columns -------------------------------------------------------------------------------------------------


def fewest(gains: Gains, strict: bool) -> tuple[Array, list[Array], Array]:
    """How few columns reach a goal [n] (0: it is out of reach), and which values leave fewer others to change.

    A value [n, values] does where its gain and the largest gains of one column fewer reach the goal. At last whether
    some total is so near to the goal [n] that rounding may decide.
    """
    lacking, reaches = gains.lacking, np.greater if strict else np.greater_equal
    most = np.column_stack([np.maximum(own.max(axis=1, initial=0.0), 0.0) for own in gains.by_column])
    order = np.argsort(-most, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(most, order, axis=1), axis=1)
    enough = reaches(sums, lacking[:, None])
    distance = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, 0)
    before = np.column_stack([np.zeros(len(sums)), sums])
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    k = np.maximum(distance, 1)
    rows = np.arange(len(sums))
    scale = NEAR * (1.0 + np.abs(lacking) + sums[:, -1])
    near = (np.abs(sums - lacking[:, None]) < scale[:, None]).any(axis=1)
    found = []
    for j, own in enumerate(gains.by_column):
        # the largest gains of k - 1 other columns
        others = np.where(rank[:, j] < k - 1, before[rows, k] - most[:, j], before[rows, k - 1])
        reached = others[:, None] + own
        near |= (np.abs(reached - lacking[:, None]) < scale[:, None]).any(axis=1)
        found.append(reaches(reached, lacking[:, None]) & (distance > 0)[:, None])
    return distance, found, near


# The nearest values -------------------------------------------------------------------------------------------------


class Offer(NamedTuple):
    """What an option gains and costs; of a group, one may be chosen."""

    gain: float
    cost: float
    what: Any


class CheapestChoice(NamedTuple):
    """The options that were chosen, as few as can be, and of those the cheapest; exact: whether that is proved."""

    chosen: tuple[Any, ...]
    cost: float
    exact: bool = True


def cheapest_values(goal: SumGoal, gains: Gains, i: int, distances: Sequence[Array]) -> CheapestChoice | None:
    """The nearest values (number of a column, and of a value) with which row i reaches a goal; None where none do.

    distances: of each column how far each value is [n, values], infinite where it may not be gone to. The graph, which
    may round in another order, need not reach the goal.
    """
    groups = []
    for c, (far, own) in enumerate(zip(distances, gains.by_column, strict=True)):
        places = np.flatnonzero((own[i] > 0.0) & np.isfinite(far[i]))
        if len(places):
            groups.append([Offer(float(own[i, j]), float(far[i, j]), (c, j)) for j in places.tolist()])
    lacking = float(gains.lacking[i])
    slack = NEAR * (1.0 + float(gains.size[i]) + abs(lacking)) if goal.rounded else 0.0
    return cheapest(groups, lacking - slack, goal.strict and not slack)


def cheapest(groups: Sequence[Sequence[Offer]], needed: float, strict: bool) -> CheapestChoice | None:
    """The options whose gains add up to `needed` (strict: to more), from the fewest groups, then at the least cost.

    Partial choices that another one beats in both gain and cost are dropped, and those that no rest can complete; so
    nothing is lost, unless more than `MOST_STATES` are left. None where all gains together are too few; nothing is
    chosen where none is needed.
    """

    def enough(gain: float) -> bool:
        return gain > needed if strict else gain >= needed

    order = sorted(groups, key=lambda group: -max(option.gain for option in group))
    sums = list(accumulate((max(option.gain for option in group) for group in order), initial=0.0))
    k = next((k for k, gain in enumerate(sums) if enough(gain)), None)
    if k is None:
        return None
    exact = True
    states: list[list[Offer]] = [[Offer(0.0, 0.0, ())], *([] for _ in range(k))]
    for place, group in enumerate(order):
        for size in range(min(k - 1, place), -1, -1):
            rest = k - size - 1  # groups that may follow, at best the next ones
            follow = sums[min(place + 1 + rest, len(order))] - sums[place + 1]
            further = [
                Offer(state.gain + option.gain, state.cost + option.cost, (*state.what, option.what))
                for state in states[size]
                for option in _undominated(group)
                if enough(state.gain + option.gain + follow)
            ]
            if further:
                kept = _undominated([*states[size + 1], *further])
                exact = exact and len(kept) <= MOST_STATES
                states[size + 1] = kept[:MOST_STATES]
    best = min((state for state in states[k] if enough(state.gain)), key=lambda state: state.cost, default=None)
    return None if best is None else CheapestChoice(best.what, best.cost, exact)


def _undominated(options: Iterable[Offer]) -> list[Offer]:
    kept: list[Offer] = []
    for option in sorted(options, key=lambda option: (-option.gain, option.cost)):
        if not kept or option.cost < kept[-1].cost:
            kept.append(option)
    return kept
