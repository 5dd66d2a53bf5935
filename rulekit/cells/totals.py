"""The totals that a sum can have: what its points add up to on some row.

Columns are read one after another. What matters of those that were read is how many points they gave and which rules
may still hold, so that rows alike in both are one state. A rule is a conjunction of conditions on single columns; any
other condition is taken to hold or not, whatever the others do.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.axis import cells_of
from rulekit.cells.space import product
from rulekit.exactness import ZERO_GRID, span_of_sum
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import FALSE, TRUE, Family, Linear, Node
from rulekit.graph.rules import conjuncts
from rulekit.numbers import threshold_between
from rulekit.schema import Feature, Schema

MOST_TOTALS = 200
_MOST_STATES = 1 << 20
_MOST_RULES = 62


def attainable_totals(node: Linear, schema: Schema, most: int = MOST_TOTALS) -> tuple[float, ...] | None:
    """The values that a sum has on some row, ascending; None where they are more than `most`, or not known.

    Where the rules meet in too many ways to go through, those are among them that the rules would add up to if any of
    them could hold together.
    """
    span = span_of_sum(node)
    if span is None or not span.fits() or has_column(node):
        return None
    grid = 2.0**span.grid if span.grid < ZERO_GRID else 1.0
    parts = _SumParts(grid)
    for weight, child in node.terms:
        parts.add(weight, child)
    totals = _totals(parts, parts.columns(schema))
    if totals is None or len(totals) > most:
        return None
    return tuple((totals * grid + node.bias).tolist())


def half_way(node: Linear, schema: Schema, bound: float) -> float:
    """The threshold that parts the totals up to a bound from those above it, half-way between two of them.

    Where the totals are not known it is the bound itself, or half-way between two multiples of their grid. One that
    would have many digits is a shorter decimal in the middle half of the gap.
    """
    totals = attainable_totals(node, schema)
    span = span_of_sum(node)
    if totals is None and (span is None or not span.fits() or has_column(node)):
        return bound
    if totals is None:
        assert span is not None
        grid = 2.0 ** min(span.grid, 1000)
        low = math.floor(bound / grid) * grid
        return _middle(low, low + grid)
    place = bisect_right(totals, bound)
    if not 0 < place < len(totals):
        # beyond all totals: every row, or none, is above
        end = totals[0] - 1.0 if place == 0 else totals[-1] + 1.0
        return _middle(*sorted((end, totals[0] if place == 0 else totals[-1])))
    return _middle(totals[place - 1], totals[place])


def _middle(low: float, high: float) -> float:
    middle = low + (high - low) / 2.0
    if (2.0 * middle).is_integer():
        return middle
    quarter = (high - low) / 4.0
    return threshold_between(low + quarter, high - quarter, "float64")


@dataclass(slots=True)
class _SumParts:
    """The terms of a sum, in multiples of its grid: rules, values of columns, and conditions that are no conjunctions.

    points: of each rule. literals: by column the number of a rule and its condition. values: by column a weight and a
    node. loose: points of what holds or not, whatever the others do. always: what every row gets.
    """

    grid: float
    points: list[int] = field(default_factory=list)
    literals: dict[str, list[tuple[int, Node]]] = field(default_factory=dict)
    values: dict[str, list[tuple[float, Node]]] = field(default_factory=dict)
    loose: list[int] = field(default_factory=list)
    always: int = 0

    def add(self, weight: float, child: Node) -> None:
        """One term more."""
        if child.family is Family.REAL:
            (name,) = readers([child])
            self.values.setdefault(name, []).append((weight, child))
        elif child is TRUE:
            self.always += round(weight / self.grid)
        elif child is not FALSE and weight:
            own = [(tuple(readers([part])), part) for part in conjuncts(child)]
            if len(self.points) == _MOST_RULES or any(len(names) != 1 for names, _ in own):
                self.loose.append(round(weight / self.grid))
                return
            for (name,), part in own:
                self.literals.setdefault(name, []).append((len(self.points), part))
            self.points.append(round(weight / self.grid))

    def columns(self, schema: Schema) -> dict[str, _Column]:
        """The columns that the sum reads."""
        names = [name for name in schema.names if name in self.literals or name in self.values]
        return {name: self._column(schema[name]) for name in names}

    def _column(self, feature: Feature) -> _Column:
        literals, values = self.literals.get(feature.name, []), self.values.get(feature.name, [])
        nodes = [node for _, node in [*literals, *values]]
        cells = cells_of(feature, readers(nodes)[feature.name]).encoded()
        found = evaluate_nodes(list(dict.fromkeys(nodes)), product([feature], [cells]))
        rules = np.full(len(cells), (1 << len(self.points)) - 1, dtype=np.int64)
        for k, node in literals:
            rules &= ~np.where(found[node], 0, np.int64(1) << k)
        points = np.zeros(len(cells), dtype=np.int64)
        for weight, node in values:
            points += np.rint(weight * found[node] / self.grid).astype(np.int64)
        return _Column(frozenset(k for k, _ in literals), *_different(rules, points))


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """What the values of a column tell apart: read, the rules with a condition on it; of each cell which rules it lets
    hold, as bits [cells], and its points [cells].
    """

    read: frozenset[int]
    rules: Ints
    points: Ints


def _totals(parts: _SumParts, columns: Mapping[str, _Column]) -> Ints | None:
    totals = _reached(parts, columns)
    loose = list(parts.loose)
    if totals is None:
        totals, loose = _apart([np.unique(column.points) for column in columns.values()]), [*loose, *parts.points]
    for points in loose:
        if totals is None or len(totals) > _MOST_STATES:
            return None
        totals = np.unique(np.concatenate([totals, totals + points]))
    return None if totals is None else np.unique(totals + parts.always)


def _apart(points: Sequence[Ints]) -> Ints | None:
    totals = np.zeros(1, dtype=np.int64)
    for own in points:
        if len(totals) * len(own) > _MOST_STATES:
            return None
        totals = np.unique(totals[:, None] + own)
    return totals


def _reached(parts: _SumParts, columns: Mapping[str, _Column]) -> Ints | None:
    """The totals of some row, but for what is loose; None where there are too many states."""
    totals, rules = np.zeros(1, dtype=np.int64), np.full(1, (1 << len(parts.points)) - 1, dtype=np.int64)
    left = dict(columns)
    opened: set[int] = set()
    while left:
        name = min(left, key=lambda each: _price(left, each, opened))
        column = left.pop(name)
        if len(totals) * len(column.points) > _MOST_STATES:
            return None
        totals = (totals[:, None] + column.points).ravel()
        rules = (rules[:, None] & column.rules).ravel()
        opened |= column.read
        for k in sorted(opened - _read(left)):
            totals = totals + (rules >> k & 1) * parts.points[k]
            rules = rules & ~(np.int64(1) << k)
        opened &= _read(left)
        rules, totals = _different(rules, totals)
    return np.unique(totals)


def _read(columns: Mapping[str, _Column]) -> set[int]:
    return {k for column in columns.values() for k in column.read}


def _price(left: Mapping[str, _Column], name: str, opened: set[int]) -> tuple[int, int]:
    """How many rules are open after a column, and how many cells it has: the smallest goes first."""
    rest = _read({other: column for other, column in left.items() if other != name})
    return len((opened | left[name].read) & rest), len(left[name].points)


def _different(rules: Ints, points: Ints) -> tuple[Ints, Ints]:
    order = np.lexsort((points, rules))
    rules, points = rules[order], points[order]
    first = np.ones(len(rules), dtype=bool)
    first[1:] = (rules[1:] != rules[:-1]) | (points[1:] != points[:-1])
    return rules[first], points[first]
