"""Bounds of every node over boxes of rows: of truths and numbers, from the leaves to the decision.

A box has of each column a set of cells, or of a column whose very numbers count an interval of them: it is what a
search leaves open (a column that keeps its cell, one that changes to any other cell, one that may do either, one that
has gone to a certain cell). A node that reads one column is looked up by the cells of that column, so that what a sum
has on one column counts as one term. Other nodes are bounded by their operands (`node_bounds`); of a node that is not
known there nothing is. No row of a box has a value that is ruled out here; one that is not may still be that of none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.node_bounds import BOUNDS, Bounds, leaf_bounds, sum_bounds
from rulekit.cells.space import product
from rulekit.exactness import span_of_sum
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import (
    LOGIC,
    And,
    Constant,
    Family,
    Linear,
    LinearThreshold,
    Node,
    Or,
    Probability,
    Strength,
    topological,
)
from rulekit.graph.probability.circuits import build_circuit, inputs
from rulekit.schema import Feature
from rulekit.tables.table import Array, Table

_ROUNDING = 4e-16
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


@dataclass(frozen=True, slots=True)
class Opened:
    """What each column looks up for the rows of one pattern of cells: least and most [nodes, cells + 4]."""

    truths: tuple[Bounds, ...]
    numbers: tuple[Bounds, ...]


@dataclass(slots=True)
class BoxState:
    """The bounds over n boxes: of truths [nodes, n], and of numbers."""

    boxes: Boxes
    opened: Opened
    must: Array
    can: Array
    numbers: dict[Node, Bounds] = field(default_factory=dict)


@dataclass(slots=True)
class _Lookups:
    """What is looked up by the cells of one column: truths, each with its row among all, and sums of weighted nodes."""

    truths: dict[Node, int] = field(default_factory=dict)
    sums: list[Sequence[tuple[float, Node]]] = field(default_factory=list)
    values: tuple[Array, Array] = field(default_factory=lambda: (np.empty((0, 0), bool), np.empty((0, 0))))

    def fill(self, feature: Feature, shown: Array) -> None:
        """The truths and the sums of each cell."""
        size = len(shown)
        wanted = list(dict.fromkeys([*self.truths, *(node for terms in self.sums for _, node in terms)]))
        found = evaluate_nodes(wanted, product([feature], [shown])) if wanted else {}
        truths = np.array([found[node] for node in self.truths], dtype=bool).reshape(-1, size)
        sums = [sum((w * found[node].astype(np.float64) for w, node in terms), np.zeros(size)) for terms in self.sums]
        self.values = truths, np.array(sums, dtype=np.float64).reshape(-1, size)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A weighted sum: what is looked up, by column and place, other terms, and by how much the order may round it."""

    bias: float
    columns: tuple[tuple[int, int], ...]
    others: tuple[tuple[float, Node], ...]
    slack: float


class BoxBounds:
    """Bounds of the nodes of some roots over boxes of some columns.

    shown: by column its feature and an encoded value of each cell, then of missing and of a level never seen. columns
    [C]: their names; plain [Q]: those whose very numbers count. size: how many nodes are bounded for a box.
    """

    def __init__(
        self, roots: Sequence[Node], shown: Mapping[str, tuple[Feature, Array]], plain: frozenset[str]
    ) -> None:
        self.columns, self._shown = tuple(shown), tuple(shown.values())
        self.plain = tuple(column for column in self.columns if column in plain)
        self._place = {column: c for c, column in enumerate(self.columns)}
        self._lookups = [_Lookups() for _ in self.columns]
        self._row: dict[Node, int] = {}
        self._looked_up: dict[Node, tuple[int, int]] = {}
        self._sums: dict[Node, _Sum] = {}
        self._reads: dict[Node, frozenset[str]] = {}
        self._layers: dict[int, _Layer] = {}
        depth: dict[Node, int] = {}
        order = topological(roots, _operands)
        for node in order:
            own = column_of(node)
            below = frozenset[str]().union(*(self._reads[child] for child in _operands(node)))
            self._reads[node] = below if own is None else below | {own}
        for node in order:
            if node.family is not Family.RANDOM and self._single(node) is None:
                depth[node] = 1 + max((depth.get(child, 0) for child in _operands(node)), default=0)
                self._add(node, depth[node])
        for root in roots:
            self._use(root)
        for lookups, (feature, values) in zip(self._lookups, self._shown, strict=True):
            lookups.fill(feature, values)
        self._steps = [self._layers[d] for d in sorted(self._layers)]
        self.size = len(self._row) + len(self._sums) + len(self.columns)

    # Compilation -----------------------------------------------------------------------------------------------------

    def _single(self, node: Node) -> int | None:
        """The place of the only column that a node reads, where its cells say all; None of other nodes."""
        reads = self._reads[node]
        if len(reads) != 1 or not reads.isdisjoint(self.plain):
            return None
        return self._place[next(iter(reads))]

    def _use(self, node: Node) -> None:
        column = self._single(node) if node in self._reads else None
        if column is None or node in self._row or node in self._looked_up:
            return
        if node.family is Family.BOOLEAN:
            self._lookup(node, column)
        else:
            self._looked_up[node] = (column, len(self._lookups[column].sums))
            self._lookups[column].sums.append(((1.0, node),))

    def _lookup(self, node: Node, column: int) -> int:
        if node not in self._row:
            self._row[node] = self._lookups[column].truths[node] = len(self._row)
        return self._row[node]

    def _add(self, node: Node, depth: int) -> None:
        layer = self._layers.setdefault(depth, _Layer())
        if isinstance(node, And | Or) and node.children:
            rows = self._joined(node)
            self._row[node] = len(self._row)
            (layer.ands if isinstance(node, And) else layer.ors).append((self._row[node], rows))
            return
        if isinstance(node, Linear | LinearThreshold):
            self._sums[node] = self._sum(node)
        else:
            for child in _operands(node):
                self._use(child)
        if node.family is Family.BOOLEAN:
            self._row[node] = len(self._row)
        layer.others.append((node, self._step(node)))

    def _joined(self, node: And | Or) -> list[int]:
        by_column: dict[int, list[Node]] = {}
        rows = []
        for child in node.children:
            column = self._single(child)
            if column is None:
                rows.append(self._row[child])
            else:
                by_column.setdefault(column, []).append(child)
        for column, own in by_column.items():
            rows.append(self._lookup(own[0] if len(own) == 1 else type(node)(own), column))
        return rows

    def _sum(self, node: Linear | LinearThreshold) -> _Sum:
        terms = node.terms
        by_column: dict[int, list[tuple[float, Node]]] = {}
        others = []
        for weight, child in terms:
            column = self._single(child)
            if column is None:
                self._use(child)
                others.append((weight, child))
            else:
                by_column.setdefault(column, []).append((weight, child))
        places = []
        for column, own in by_column.items():
            places.append((column, len(self._lookups[column].sums)))
            self._lookups[column].sums.append(own)
        span = span_of_sum(node)
        exact = not places or (span is not None and span.fits())  # added in the same order, or the same in any order
        return _Sum(node.bias, tuple(places), tuple(others), 0.0 if exact else _ROUNDING * (len(terms) + 2))

    def _step(self, node: Node) -> Callable[[BoxState], Bounds]:
        """How a node is bounded that is neither a conjunction nor a disjunction."""
        column = column_of(node)
        if column is not None:
            feature, q = self._shown[self._place[column]][0], self.plain.index(column)

            def leaf(state: BoxState) -> Bounds:
                boxes = state.boxes
                return leaf_bounds(node, feature, boxes.lows[:, q], boxes.highs[:, q], boxes.missing[:, q])

            return leaf
        if isinstance(node, Linear):
            return lambda state: self._bounded_sum(state, self._sums[node])
        if isinstance(node, LinearThreshold):

            def reached(state: BoxState) -> Bounds:
                low, high = self._bounded_sum(state, self._sums[node])
                return low >= 0.0, high >= 0.0

            return reached
        if isinstance(node, (*LOGIC, Constant)) and not node.children:
            truth = bool(evaluate_nodes([node], Table((), (), 1))[node][0])
            return lambda state: (np.full(len(state.boxes), truth), np.full(len(state.boxes), truth))
        rule, operands = BOUNDS.get(type(node)), _operands(node)
        if rule is None:
            ends = (False, True) if node.family is Family.BOOLEAN else (-np.inf, np.inf)
            return lambda state: (np.full(len(state.boxes), ends[0]), np.full(len(state.boxes), ends[1]))
        return lambda state: rule(node, [self.bounds(state, child) for child in operands])

    # Evaluation ------------------------------------------------------------------------------------------------------

    def opened(self, allowed: Sequence[Array], own: Sequence[int]) -> Opened:
        """The tables for rows whose columns are in their own cells [C] and may go to others: allowed [C][cells]."""
        truths: list[Bounds] = []
        numbers: list[Bounds] = []
        for lookups, cells, cell in zip(self._lookups, allowed, own, strict=True):
            places = np.flatnonzero(cells)
            for values, tables in zip(lookups.values, (truths, numbers), strict=True):
                here = values[:, [cell]]
                there = values[:, places] if len(places) else here
                least, most = there.min(axis=1, keepdims=True), there.max(axis=1, keepdims=True)
                tables.append(
                    (
                        np.concatenate([values, least, np.minimum(least, here)], axis=1),
                        np.concatenate([values, most, np.maximum(most, here)], axis=1),
                    )
                )
        return Opened(tuple(truths), tuple(numbers))

    def state(self, boxes: Boxes, opened: Opened) -> BoxState:
        """The bounds of all nodes over some boxes."""
        shape = (len(self._row), len(boxes))
        state = BoxState(boxes, opened, np.empty(shape, dtype=bool), np.empty(shape, dtype=bool))
        for c, lookups in enumerate(self._lookups):
            if lookups.truths:
                rows = list(lookups.truths.values())
                least, most = opened.truths[c]
                state.must[rows], state.can[rows] = least[:, boxes.ids[:, c]], most[:, boxes.ids[:, c]]
        with np.errstate(all="ignore"):
            for layer in self._steps:
                layer.run(state, self._row)
        return state

    def bounds(self, state: BoxState, node: Node) -> Bounds:
        """The bounds of one node: of its truth, or of its number."""
        if node.family is Family.BOOLEAN:
            row = self._row[node]
            return state.must[row], state.can[row]
        if node in self._looked_up:
            column, place = self._looked_up[node]
            least, most = state.opened.numbers[column]
            ids = state.boxes.ids[:, column]
            return least[place, ids], most[place, ids]
        return state.numbers[node]

    def number(self, state: BoxState, node: Node) -> Bounds:
        """The bounds of a number, of a truth as 0 and 1."""
        low, high = self.bounds(state, node)
        return low.astype(np.float64), high.astype(np.float64)

    def _bounded_sum(self, state: BoxState, terms: _Sum) -> Bounds:
        parts = [(w, self.number(state, node)) for w, node in terms.others]
        for column, place in terms.columns:
            least, most = (ends[place].take(state.boxes.ids[:, column]) for ends in state.opened.numbers[column])
            parts.append((1.0, (least, most)))
        low, high = sum_bounds(terms.bias, parts, len(state.boxes))
        if not terms.slack:
            return low, high
        size = np.full(len(state.boxes), abs(terms.bias))
        for weight, (least, most) in parts:
            largest = abs(weight) * np.maximum(np.abs(least), np.abs(most))
            size += np.where(np.isfinite(largest), largest, 0.0)
        return low - size * terms.slack, high + size * terms.slack


def _operands(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Probability):
        return build_circuit(node.formula).causes
    return inputs(node) if isinstance(node, Strength) else node.children


@dataclass(slots=True)
class _Layer:
    """Nodes of one depth: the row of each conjunction and disjunction with those of its children, and others."""

    ands: list[tuple[int, list[int]]] = field(default_factory=list)
    ors: list[tuple[int, list[int]]] = field(default_factory=list)
    others: list[tuple[Node, Callable[[BoxState], Bounds]]] = field(default_factory=list)

    def run(self, state: BoxState, row: Mapping[Node, int]) -> None:
        """Fill in the bounds of the nodes."""
        for join, nodes in ((np.logical_and, self.ands), (np.logical_or, self.ors)):
            if nodes:
                rows = [place for place, _ in nodes]
                children = np.array([child for _, own in nodes for child in own], dtype=np.intp)
                starts = np.cumsum([0, *(len(own) for _, own in nodes[:-1])])
                for truths in (state.must, state.can):
                    truths[rows] = join.reduceat(truths[children], starts, axis=0)
        for node, bounded in self.others:
            if node.family is Family.BOOLEAN:
                state.must[row[node]], state.can[row[node]] = bounded(state)
            else:
                state.numbers[node] = bounded(state)
