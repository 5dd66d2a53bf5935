"""A sum as a score card: which points each value of a column, and each condition on several columns, brings to a total.

A card has a line for every piece of every term: of a step function one for each interval and one for missing, of other
terms the term itself. The total of a row is the bias and the points of all lines that hold for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rulekit.graph.leaves import levels_of_leaf, readers
from rulekit.graph.nodes import (
    Among,
    And,
    Column,
    Compare,
    Family,
    LevelPoints,
    Linear,
    Logistic,
    Missing,
    Node,
    Rescaled,
    Sided,
    Step,
    Strength,
)
from rulekit.graph.rules import inner_sum, segments
from rulekit.schema import Schema


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a card: its points, and the condition for which they count; a number counts `points` times."""

    points: float
    node: Node


@dataclass(frozen=True, slots=True)
class PointGroup:
    """The lines on one column in the order of its values, or ("") those on several columns, the largest points first.

    reach: the most by which the lines can move the total.
    """

    column: str
    entries: tuple[Entry, ...]
    reach: float


@dataclass(frozen=True)
class Card:
    """A sum by columns, those first that can move the total most.

    terms: the weighted parts of the sum as the graph has them, of which the lines are made.
    """

    bias: float
    terms: tuple[tuple[float, Node], ...]
    groups: tuple[PointGroup, ...]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for group in self.groups for entry in group.entries)

    @cached_property
    def whole(self) -> bool:
        """Whether every total is a whole number."""
        numbers = [entry for entry in self.entries if entry.node.family is not Family.BOOLEAN]
        return not numbers and all(v.is_integer() for v in (self.bias, *(entry.points for entry in self.entries)))

    def least_above(self, threshold: float) -> float | None:
        """The least whole total above a threshold; None where totals are no whole numbers."""
        return math.floor(threshold) + 1.0 if self.whole and math.isfinite(threshold) else None


def card_of(score: Node, schema: Schema) -> Card | None:
    """The card of a sum, or of the logistic of one or of some times one; None of any other score."""
    while isinstance(score, Sided | Logistic | Rescaled):
        score = next(inner_sum(child) if isinstance(child, Linear) else child for child in score.children)
    if score.family is not Family.REAL or isinstance(score, Strength):
        return None
    bias = score.bias if isinstance(score, Linear) else 0.0
    terms = score.terms if isinstance(score, Linear) else ((1.0, score),)
    live = tuple((weight, node) for weight, node in terms if weight != 0)
    return Card(bias, live, _groups(live, schema))


def _groups(terms: Sequence[tuple[float, Node]], schema: Schema) -> tuple[PointGroup, ...]:
    by_column: dict[str, list[tuple[float, Node]]] = {}
    for weight, node in terms:
        columns = list(readers([node]))
        by_column.setdefault(columns[0] if len(columns) == 1 else "", []).append((weight, node))
    found = []
    for column, own in by_column.items():
        entries = [entry for weight, node in own for entry in _entries(weight, node, schema)]
        order = sorted(entries, key=_by_value(schema, column)) if column else sorted(entries, key=_by_size)
        reaches = [_reach(weight, node) for weight, node in own]
        found.append(PointGroup(column, tuple(order), sum(reaches) if column else max(reaches)))
    return tuple(sorted(found, key=lambda group: (not group.column, -group.reach)))


def _entries(weight: float, node: Node, schema: Schema) -> list[Entry]:
    """The lines of a term; points of what is missing or unseen only where they are some."""
    if isinstance(node, LevelPoints):
        lines = [Entry(weight * points, Among(node.feature, levels)) for points, levels in node.groups]
        lines += [Entry(weight * node.missing, Missing(node.feature))] * (node.missing != 0)
        reached = node.unseen != 0 and schema[node.feature].unseen == "unseen"
        return lines + [Entry(weight * node.unseen, Among(node.feature, (), False, True))] * reached
    if not isinstance(node, Step):
        return [Entry(weight, node)]
    lines = [Entry(weight * v, segment) for segment, v in zip(segments(node), node.values, strict=True)]
    return lines + [Entry(weight * node.missing, Missing(node.feature))] * (node.missing != 0)


def _reach(weight: float, node: Node) -> float:
    """By how much a term can move a sum."""
    if isinstance(node, Step):
        values = (*node.values, node.missing)
        return abs(weight) * (max(values) - min(values))
    if isinstance(node, LevelPoints):
        points = (0.0, *(value for _, value in node.points), node.missing, node.unseen)
        return abs(weight) * (max(points) - min(points))
    if isinstance(node, Column):
        return abs(weight) * (max(node.high, node.missing) - min(node.low, node.missing))
    return abs(weight)


def _by_size(entry: Entry) -> float:
    return -abs(entry.points)


def _by_value(schema: Schema, column: str) -> Callable[[Entry], tuple[float, float, float]]:
    """The order of lines on a column: of numbers and ranks from below, of levels by points; missing comes last."""
    feature = schema[column]

    def key(entry: Entry) -> tuple[float, float, float]:
        node = entry.node
        if isinstance(node, Missing):
            return 2.0, 0.0, 0.0
        parts = node.children if isinstance(node, And) else (node,)
        bounds = [part for part in parts if isinstance(part, Compare)]
        if bounds and len(bounds) == len(parts):
            low = max((bound.value for bound in bounds if bound.op == ">"), default=-math.inf)
            return 0.0, low, min((bound.value for bound in bounds if bound.op == "<="), default=math.inf)
        levels = levels_of_leaf(node)
        if feature.ordered and levels:
            return 0.0, float(feature.levels.index(levels[0])), float(len(levels))
        return 1.0, -entry.points, 0.0

    return key
