"""Bounds of every node over boxes of rows, of truths and numbers, from the leaves to the decision.

A box has of each column a set of cells, or of a column whose very numbers count an interval of them: it is what a
search leaves open (a column that keeps its cell, one that changes to any other cell, one that may do either, one that
has gone to a certain cell). A node that reads one column is looked up by the cells of that column, so that what a sum
has on one column counts as one term. Other nodes are bounded by their operands; of a node without a rule nothing is
known. No row of a box has a value that is ruled out here; one that is not may still be that of none.

The operations are those of the evaluator in the same order, on the ends of the intervals. Rounding never turns an order
round, so that the ends bound what the evaluator computes; where an operation is no monotone one in floating point
(a mixture, an exponential), the interval is widened by more than its roundings can be. No number (infinity less
infinity) may be anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.axis import cleaned
from rulekit.cells.space import product
from rulekit.exactness import span_of_sum
from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import Family, Node, topological
from rulekit.graph.probability.circuits import Algebra, build_circuit, fold_circuit, inputs
from rulekit.schema import Feature
from rulekit.tables.table import Array, encoded_dtype

Bounds = tuple[Array, Array]
Terms = list[tuple[float, Node]]

_ROUNDING, _WIDER = 4e-16, 1e-14
CHANGED = 2  # behind the cells of a column, missing and unseen: any cell that it may change to
OPEN = 3  # any of these, or its own


@dataclass(frozen=True, slots=True)
class Boxes:
    """n boxes over C columns, of which Q are columns of plain numbers.

    ids [n, C]: the cell of a column, or its number of cells plus CHANGED or OPEN. lows, highs [n, Q]: the ends of the
    interval of a column of plain numbers, in order of the columns; none where low is above high. missing [n, Q]:
    whether it may be missing.
    """

    ids: Ints
    lows: Array
    highs: Array
    missing: Array

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Array) -> Boxes:
        """Some of the boxes."""
        return Boxes(self.ids[rows], self.lows[rows], self.highs[rows], self.missing[rows])

    @staticmethod
    def joined(parts: Sequence[Boxes]) -> Boxes:
        """The boxes of several batches."""
        return Boxes(*(np.concatenate([getattr(part, own.name) for part in parts]) for own in fields(Boxes)))


Place = tuple[int, int]
"""Where the bounds of a node are: 0 among the truths or 1 among the numbers, and the row there."""
Found = tuple[Bounds, Bounds]
"""The bounds over n boxes of truths [nodes, n], whether they must and can hold, and of numbers."""
_Bounding = Callable[[Found, Boxes], tuple[Any, Any]]


class BoxBounds:
    """Bounds of the nodes of some roots over boxes of some columns.

    shown: by column its feature and an encoded value of each cell, then of missing and of a level never seen. columns
    [C]: their names; plain [Q]: those whose very numbers count. size: how many bounds are worked out for a box.
    """

    def __init__(
        self, roots: Sequence[Node], shown: Mapping[str, tuple[Feature, Array]], plain: frozenset[str]
    ) -> None:
        self.columns, self._shown = tuple(shown), tuple(shown.values())
        self.plain = tuple(column for column in self.columns if column in plain)
        self._place: dict[Node, Place] = {}
        self._n = [0, 0]  # truths and numbers
        # by column the rows among truths and among numbers that its cells say, each with what they add up to there
        self._looked_up: list[tuple[dict[int, Terms], dict[int, Terms]]] = [({}, {}) for _ in self.columns]
        self._reads: dict[Node, frozenset[str]] = {}
        order = topological(roots, _operands)
        for node in order:
            own = column_of(node)
            below = frozenset[str]().union(*(self._reads[child] for child in _operands(node)))
            self._reads[node] = below if own is None else below | {own}
        depth: dict[Node, int] = {}
        layers: dict[int, _Layer] = defaultdict(_Layer)
        for node in order:
            if node.family is not Family.RANDOM and self._single(node) is None:
                depth[node] = 1 + max((depth.get(child, 0) for child in _operands(node)), default=0)
                self._add(node, layers[depth[node]])
        for root in roots:
            self.place(root)
        self._layers = [layers[d] for d in sorted(layers)]
        self._values = [[self._filled(c, kind) for kind in (0, 1)] for c in range(len(self.columns))]
        self.size = sum(self._n) + len(self.columns)

    def _single(self, node: Node) -> int | None:
        """The place of the only column that a node reads, where its cells say all (of none: any); None of others."""
        reads = self._reads[node]
        if len(reads) > 1 or not reads.isdisjoint(self.plain) or not self.columns:
            return None
        return self.columns.index(next(iter(reads))) if reads else 0

    def place(self, node: Node, column: int | None = None) -> Place:
        """Where the bounds of a node are; column: by whose cells a node that no root has is looked up."""
        if node not in self._place:
            column = self._single(node) if column is None else column
            self._place[node] = self._new(int(node.family is not Family.BOOLEAN), column, [(1.0, node)])
        return self._place[node]

    def _new(self, kind: int, column: int | None, terms: Terms) -> Place:
        self._n[kind] += 1
        if column is not None:
            self._looked_up[column][kind][self._n[kind] - 1] = terms
        return kind, self._n[kind] - 1

    def _add(self, node: Node, layer: _Layer) -> None:
        """Have a node bounded by its operands, of which those on one column are one."""
        if isinstance(node, rg.And | rg.Or) and node.children:
            others, by_column = self._parted([(1.0, child) for child in node.children])
            rows = [self.place(child)[1] for _, child in others]
            for column, own in by_column.items():
                parts = [child for _, child in own]
                rows.append(self.place(parts[0] if len(parts) == 1 else type(node)(parts), column)[1])
            (layer.ands if isinstance(node, rg.And) else layer.ors).append((self.place(node)[1], rows))
            return
        if isinstance(node, rg.WeightedSum):
            step = self._sum(node)
        elif (name := column_of(node)) is not None:
            step = self._leaf(node, name)
        else:
            step = self._ruled(node)
        layer.others.append((self.place(node), step))

    def _parted(self, terms: Sequence[tuple[float, Node]]) -> tuple[Terms, dict[int, Terms]]:
        others: Terms = []
        by_column: dict[int, Terms] = {}
        for weight, child in terms:
            column = self._single(child)
            (others if column is None else by_column.setdefault(column, [])).append((weight, child))
        return others, by_column

    def _sum(self, node: rg.WeightedSum) -> _Bounding:
        others, by_column = self._parted(node.terms)
        parts = [(weight, self.place(child)) for weight, child in others]
        parts += [(1.0, self._new(1, column, own)) for column, own in by_column.items()]
        span = span_of_sum(node)
        exact = not by_column or (span is not None and span.fits())  # added in the same order, or alike in any order
        slack = 0.0 if exact else _ROUNDING * (len(node.terms) + 2)

        def bounded(found: Found, boxes: Boxes) -> Bounds:
            terms = [(weight, _at(found, place)) for weight, place in parts]
            low, high = sum_bounds(node.bias, terms, len(boxes))
            if slack:
                size = np.full(len(boxes), abs(node.bias))
                for weight, (least, most) in terms:
                    largest = abs(weight) * np.maximum(np.abs(least), np.abs(most))
                    size += np.where(np.isfinite(largest), largest, 0.0)
                low, high = low - size * slack, high + size * slack
            return (low, high) if isinstance(node, rg.Linear) else (low >= 0.0, high >= 0.0)

        return bounded

    def _leaf(self, node: Node, column: str) -> _Bounding:
        feature, q = self._shown[self.columns.index(column)][0], self.plain.index(column)
        return lambda found, boxes: leaf_bounds(node, feature, boxes.lows[:, q], boxes.highs[:, q], boxes.missing[:, q])

    def _ruled(self, node: Node) -> _Bounding:
        rule, places = _RULES.get(type(node)), [self.place(child) for child in _operands(node)]
        if rule is None:
            nothing = (False, True) if node.family is Family.BOOLEAN else (-np.inf, np.inf)
            return lambda found, boxes: nothing
        return lambda found, boxes: rule(node, [_at(found, place) for place in places])

    def _filled(self, column: int, kind: int) -> Array:
        """What the nodes that are looked up by a column say of each of its cells [rows of these nodes, cells]."""
        (feature, shown), sums = self._shown[column], self._looked_up[column][kind].values()
        wanted = list(dict.fromkeys(node for terms in sums for _, node in terms))
        found = evaluate_nodes(wanted, product([feature], [shown])) if wanted else {}
        zero = np.zeros(len(shown))
        values = [sum((w * found[node].astype(np.float64) for w, node in terms), zero) for terms in sums]
        return np.array(values, dtype=np.float64 if kind else bool).reshape(-1, len(shown))

    def opened(self, allowed: Sequence[Array], own: Sequence[int]) -> list[list[Bounds]]:
        """By column the bounds of truths and of numbers by id, of rows whose columns are in their own cells [C].

        allowed [C][cells]: to which others they may go.
        """
        found: list[list[Bounds]] = []
        for tables, cells, cell in zip(self._values, allowed, own, strict=True):
            found.append([])
            for values in tables:
                here = values[:, [cell]]
                there = values[:, np.flatnonzero(cells)] if np.any(cells) else here
                least, most = there.min(axis=1, keepdims=True), there.max(axis=1, keepdims=True)
                low = np.concatenate([values, least, np.minimum(least, here)], axis=1)
                found[-1].append((low, np.concatenate([values, most, np.maximum(most, here)], axis=1)))
        return found

    def over(self, boxes: Boxes, opened: Sequence[Sequence[Bounds]]) -> Found:
        """The bounds of all nodes over some boxes."""
        truths, numbers = ((n, len(boxes)) for n in self._n)
        found = (np.empty(truths, bool), np.empty(truths, bool)), (np.empty(numbers), np.empty(numbers))
        for c, looked_up in enumerate(self._looked_up):
            for (low, high), sums, (least, most) in zip(found, looked_up, opened[c], strict=True):
                if sums:
                    low[list(sums)], high[list(sums)] = least[:, boxes.ids[:, c]], most[:, boxes.ids[:, c]]
        with np.errstate(all="ignore"):
            for layer in self._layers:
                layer.run(found, boxes)
        return found

    def numbers(self, found: Found, node: Node) -> Bounds:
        """The bounds of a number, of a truth as 0 and 1."""
        low, high = _at(found, self.place(node))
        return low.astype(np.float64), high.astype(np.float64)


def _at(found: Found, place: Place) -> Bounds:
    low, high = found[place[0]]
    return low[place[1]], high[place[1]]


def _operands(node: Node) -> tuple[Node, ...]:
    if isinstance(node, rg.Probability):
        return build_circuit(node.formula).causes
    return inputs(node) if isinstance(node, rg.Strength) else node.children


class _Layer:
    """Nodes of one depth: the row of each conjunction and disjunction with those of its children, and others."""

    def __init__(self) -> None:
        self.ands: list[tuple[int, list[int]]] = []
        self.ors: list[tuple[int, list[int]]] = []
        self.others: list[tuple[Place, _Bounding]] = []

    def run(self, found: Found, boxes: Boxes) -> None:
        """Fill in the bounds of the nodes."""
        for join, nodes in ((np.logical_and, self.ands), (np.logical_or, self.ors)):
            if nodes:
                children = np.array([child for _, own in nodes for child in own], dtype=np.intp)
                starts = np.cumsum([0, *(len(own) for _, own in nodes[:-1])])
                for truths in found[0]:
                    truths[[row for row, _ in nodes]] = join.reduceat(truths[children], starts, axis=0)
        for (kind, row), bounded in self.others:
            found[kind][0][row], found[kind][1][row] = bounded(found, boxes)


# What bounds of its operands say of a node ---------------------------------------------------------------------------


def sum_bounds(bias: float, terms: Sequence[tuple[float, Bounds]], n: int) -> Bounds:
    """Of a weighted sum, added from left to right."""
    low, high = np.full(n, bias), np.full(n, bias)
    for weight, (least, most) in terms:
        low = low + np.multiply(least if weight >= 0 else most, weight)
        high = high + np.multiply(most if weight >= 0 else least, weight)
    return _known(low, high)


def _known(low: Array, high: Array) -> Bounds:
    """The bounds, with any number where one of them is none."""
    nothing = np.isnan(low) | np.isnan(high)
    return (np.where(nothing, -np.inf, low), np.where(nothing, np.inf, high)) if nothing.any() else (low, high)


def _wider(low: Array, high: Array) -> Bounds:
    """The bounds, apart by more than a few roundings where they are not one number."""
    apart = np.where(low < high, _WIDER, 0.0)
    return low - apart * np.abs(low) - apart * 1e-300, high + apart * np.abs(high) + apart * 1e-300


def _chosen(truth: Bounds, on: float, off: float) -> Bounds:
    code = truth[0].view(np.uint8) + truth[1].view(np.uint8)  # never, perhaps, always
    return np.array([off, min(on, off), on]).take(code), np.array([off, max(on, off), on]).take(code)


def _times(a: Bounds, b: Bounds) -> Bounds:
    corners = np.stack([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]])
    return _known(corners.min(axis=0), corners.max(axis=0))


def _mixed(p: Bounds, high: Bounds, low: Bounds) -> Bounds:
    """P * high + (1 - p) * low: linear in p, so that an end of p makes each end of it."""
    ends = [[np.multiply(at, high[k]) + np.multiply(1.0 - at, low[k]) for at in p] for k in (0, 1)]
    return _wider(np.minimum(*ends[0]), np.maximum(*ends[1]))


def _probability(node: rg.Probability, operands: Sequence[Bounds]) -> Bounds:
    circuit = build_circuit(node.formula)
    given = dict(zip(circuit.causes, operands, strict=True))
    algebra: Algebra[Bounds] = Algebra(
        lambda cause, on, off: _chosen(given[cause], on, off),
        lambda value: (np.array(value), np.array(value)),
        lambda a: (1.0 - a[1], 1.0 - a[0]),
        _times,
        mix=_mixed,
    )
    return fold_circuit(circuit.steps, algebra)


def _strength(node: rg.Strength, operands: Sequence[Bounds]) -> Bounds:
    chosen = [(1.0, _chosen(truth, on, off)) for truth, (_, on, off) in zip(operands, node.terms, strict=True)]
    return sum_bounds(0.0, chosen, len(operands[0][0]) if operands else 1)


def _rescaled(node: rg.Rescaled, operands: Sequence[Bounds]) -> Bounds:
    low, high = (node.odds * end / (1.0 - end + node.odds * end) for end in operands[0])
    return _wider(*_known(low, high))


def _sided(node: rg.Sided, operands: Sequence[Bounds]) -> Bounds:
    (low, high), (must, can) = operands
    least = np.where(must, np.maximum(low, node.above), np.minimum(low, node.below))
    return least, np.where(can, np.maximum(high, node.above), np.minimum(high, node.below))


def _odd(node: rg.Odd, operands: Sequence[Bounds]) -> Bounds:
    low, high = (np.array(ends) for ends in zip(*operands, strict=True))
    odd, open_ = low.sum(axis=0) % 2 > 0, (low < high).any(axis=0)
    return odd & ~open_, odd | open_


def _difference(node: rg.Difference, operands: Sequence[Bounds]) -> Bounds:
    (low, high), (least, most) = operands
    return _known(np.maximum(low - most, 0.0), np.maximum(high - least, 0.0))


def _at_least(node: rg.AtLeast, operands: Sequence[Bounds]) -> Bounds:
    low, high = (sum(ends) >= node.k for ends in zip(*operands, strict=True))
    return low, high


_RULES: dict[type[Node], Callable[[Any, Sequence[Bounds]], Bounds]] = {
    rg.Not: lambda node, operands: (~operands[0][1], ~operands[0][0]),
    rg.AtLeast: _at_least,
    rg.Odd: _odd,
    rg.Above: lambda node, operands: (operands[0][0] > node.threshold, operands[0][1] > node.threshold),
    rg.Probability: _probability,
    rg.Strength: _strength,
    rg.Logistic: lambda node, operands: _wider(*(1.0 / (1.0 + np.exp(-end)) for end in operands[0])),
    rg.Rescaled: _rescaled,
    rg.Difference: _difference,
    rg.Sided: _sided,
}


# Leaves over intervals of numbers ----------------------------------------------------------------------------------


def _interval(node: Node, feature: Feature, low: Array, high: Array) -> Bounds:
    if isinstance(node, rg.Column):
        return cleaned(feature, node, low), cleaned(feature, node, high)
    if isinstance(node, rg.Compare):
        cut = float(encoded_dtype(feature).type(node.value))
        return (low > cut, high > cut) if node.op == ">" else (high <= cut, low <= cut)
    assert isinstance(node, rg.Step)
    cuts = np.asarray(node.cuts).astype(encoded_dtype(feature)).astype(np.float64)
    first, last = (np.searchsorted(cuts, end, side="left") for end in (low, high))
    values = np.asarray(node.values)
    reached = values[np.minimum(first + np.arange(len(values))[:, None], last)]
    return reached.min(axis=0), reached.max(axis=0)


def leaf_bounds(node: Node, feature: Feature, low: Array, high: Array, missing: Array) -> Bounds:
    """Of a leaf where its column is in an interval (in none where low is above high), or perhaps missing."""
    empty = low > high
    if isinstance(node, rg.Missing):
        return missing & empty, missing
    least, most = _interval(node, feature, np.where(empty, 0.0, low), np.where(empty, 0.0, high))
    there = getattr(node, "missing")  # noqa: B009 - of a node of any type
    if least.dtype == bool:
        return (least | empty) & (there | ~missing), (most & ~empty) | (missing & there)
    least, most = np.where(empty, np.inf, least), np.where(empty, -np.inf, most)
    return np.where(missing, np.minimum(least, there), least), np.where(missing, np.maximum(most, there), most)
