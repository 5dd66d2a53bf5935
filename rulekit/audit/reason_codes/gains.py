"""What counts where sums decide, each term of which reads one column: by what each column can gain.

A decision by one sum turns where the sum passes its threshold; one by the largest of several where the sum of some
other class passes that of the class. Either is a *goal*: a difference of sums that must reach 0 (strict: exceed it).
The fewest columns that reach it are those with the largest gains, and a value counts where its gain and the largest
gains of one column fewer reach it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rulekit.audit.reason_codes.places import Places
from rulekit.exactness import DOUBLE_BITS, Span, span_of_sum
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Above, Family, Linear, LinearThreshold, Node, Strength
from rulekit.tables.table import Array, Table

_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Goal:
    """A difference of terms and its constant that must reach 0 (strict: exceed it).

    rounded: whether a total may be rounded.
    """

    terms: tuple[tuple[float, Node], ...]
    constant: float
    strict: bool
    rounded: bool


def gain_goals(places: Places, class_index: int) -> list[Goal] | None:
    """The goals of which one turns the decisions of a class; None where other things than such sums decide."""
    decision = places.graph.decision
    if isinstance(decision, Fires):
        single = _single(decision.formula)
        goals = None if single is None else [single if class_index == 0 else _contrary(single)]
    elif decision.ranked and all(least == -np.inf for _, _, least in decision.ranked):
        goals = _rivals(places, class_index)
    else:
        return None
    if goals is None or not places.whole:
        return None
    one = all(len(readers([node])) == 1 and not has_column(node) for goal in goals for _, node in goal.terms)
    return goals if one else None


def _single(root: Node) -> Goal | None:
    """What is reached where the positive class is decided."""
    if isinstance(root, LinearThreshold):
        return Goal(root.terms, root.bias, False, may_round(root))
    if isinstance(root, Above) and _is_sum(root.score):
        terms, bias = _terms(root.score)
        return Goal(terms, bias - root.threshold, True, may_round(root.score, root.threshold))
    return None


def _contrary(goal: Goal) -> Goal:
    return Goal(tuple((-weight, node) for weight, node in goal.terms), -goal.constant, not goal.strict, goal.rounded)


def _rivals(places: Places, class_index: int) -> list[Goal] | None:
    ranked = places.graph.decision.ranked
    if not all(_is_sum(score) for _, score, _ in ranked):
        return None
    order = [k for k, _, _ in ranked]
    scores = {k: score for k, score, _ in ranked}
    terms, bias = _terms(scores[class_index])
    own = tuple((-weight, node) for weight, node in terms)
    goals = []
    for k in order:
        if k != class_index:
            others, constant = _terms(scores[k])
            rounded = may_round(scores[k]) or may_round(scores[class_index])
            strict = order.index(class_index) < order.index(k)
            goals.append(Goal((*others, *own), constant - bias, strict, rounded))
    return goals


def _is_sum(score: Node) -> bool:
    return score.family is Family.REAL and not isinstance(score, Strength)


def _terms(score: Node) -> tuple[tuple[tuple[float, Node], ...], float]:
    return (score.terms, score.bias) if isinstance(score, Linear) else (((1.0, score),), 0.0)


def may_round(score: Node, threshold: float = 0.0) -> bool:
    """Whether a sum, or what it lacks to a threshold, may depend on the order in which it is made."""
    span = span_of_sum(score) if isinstance(score, Linear | LinearThreshold) else None
    return span is None or not (span + span + Span.of(Fraction(threshold))).fits(DOUBLE_BITS)


def nearer_by_gains(places: Places, goals: list[Goal], rows: Table) -> tuple[Array, tuple[Array, ...], Array]:
    """The distance [n], by place which values make it smaller [n, values], and whether that is sure [n]."""
    n = rows.n_rows
    far = len(places.places) + 1
    best = np.full(n, far, dtype=np.int64)
    exact = np.ones(n, dtype=bool)
    by_goal = []
    for goal in goals:
        gains, lacking = _gains(places, goal, rows)
        distance, reached, near = _fewest(gains, lacking, goal.strict)
        by_goal.append((distance, reached))
        exact &= ~(near & goal.rounded)
        best = np.where(distance > 0, np.minimum(best, distance), best)
    nearer = []
    for j in range(len(places.places)):
        own = [reached[j] & (distance == best)[:, None] for distance, reached in by_goal]
        nearer.append(np.logical_or.reduce(own))
    return np.where(best == far, 0, best), tuple(nearer), exact


def _gains(places: Places, goal: Goal, rows: Table) -> tuple[list[Array], Array]:
    """By place what each value gains [n, values], and what the row lacks to the goal [n]."""
    columns: dict[str, list[tuple[float, Node]]] = {axis.feature.name: [] for axis in places.space.axes}
    for weight, node in goal.terms:
        (name,) = readers([node])
        columns[name].append((weight, node))
    nodes = list(dict.fromkeys(node for _, node in goal.terms))
    values = evaluate_nodes(nodes, rows) if nodes else {}
    gains, total = [], np.full(rows.n_rows, goal.constant)
    for place in places.places:
        terms = columns[place.feature.name]
        own = sum((weight * values[node].astype(np.float64) for weight, node in terms), np.zeros(rows.n_rows))
        table = Table((place.feature,), (place.values,), len(place.values), source="values")
        known = evaluate_nodes(list(dict.fromkeys(node for _, node in terms)), table) if terms else {}
        there = sum((weight * known[node].astype(np.float64) for weight, node in terms), np.zeros(len(place.values)))
        total = total + own
        gains.append(there[None, :] - own[:, None])
    return gains, -total


def _fewest(gains: list[Array], lacking: Array, strict: bool) -> tuple[Array, list[Array], Array]:
    """The distance [n] (0: the goal is out of reach), what makes it smaller, and whether a total is near the goal."""
    most = np.column_stack([np.maximum(own.max(axis=1, initial=0.0), 0.0) for own in gains])
    order = np.argsort(-most, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(most, order, axis=1), axis=1)
    enough = _reaches(sums, lacking[:, None], strict)
    distance = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, 0)
    before = np.column_stack([np.zeros(len(sums)), sums])
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    k = np.maximum(distance, 1)
    rows = np.arange(len(sums))
    near = np.zeros(len(sums), dtype=bool)
    scale = _NEAR * (1.0 + np.abs(lacking) + sums[:, -1])
    near |= (np.abs(sums - lacking[:, None]) < scale[:, None]).any(axis=1)
    found = []
    for j, own in enumerate(gains):
        # the largest gains of k - 1 other columns
        others = np.where(rank[:, j] < k - 1, before[rows, k] - most[:, j], before[rows, k - 1])
        reached = others[:, None] + own
        near |= (np.abs(reached - lacking[:, None]) < scale[:, None]).any(axis=1)
        found.append(_reaches(reached, lacking[:, None], strict) & (distance > 0)[:, None])
    return distance, found, near


def _reaches(value: Array, needed: Array, strict: bool) -> Array:
    found: Array = value > needed if strict else value >= needed
    return found
