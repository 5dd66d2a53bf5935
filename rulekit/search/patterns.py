"""Rows that a search for the nearest change treats alike, and which sets of their columns may turn the decision.

A pattern has the rows' own cells, what each column may be changed to, and boxes around them. Sets of columns are looked
at by size: all of them, or those that hit every obstacle. An obstacle is a set of columns that forbids the wish as long
as none of them changes, whatever the others do (bounds show it). So every change that turns the decision hits every
obstacle, and sets need only grow by the columns of one that they do not hit yet: Reiter's hitting-set tree (A theory of
diagnosis from first principles, 1987).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.cells.bounds import CHANGED, OPEN, Bounds, BoxBounds, Boxes, Found
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Column, Linear, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.search.moves import Wishes, moves_of
from rulekit.tables.table import Array, Table

_MOST_COMPARED = 8  # classes whose sums are compared pair by pair
_ALL_TRIED = 3_000  # sets of one size that are all looked at, without obstacles
_TOGETHER = 1 << 23  # bounds that are computed together


class TurnQuestion:
    """How the decisions of some rows turn, as is wished; to: the class that is wanted, None for any other one.

    By number of a column: moves, the cells that it may go to, values [C][n] and cells [C][n] of the rows; leaves: by
    number of a plain column, whose very numbers count, the nodes that read it.
    """

    def __init__(self, graph: RuleGraph, table: Table, wishes: Wishes, to: int | None) -> None:
        self.wishes, self.to = wishes, to
        # what decides, alone: what is reported may read other columns
        self.graph = RuleGraph(graph.schema, graph.classes, graph.decision, (), graph.default, {}, graph.statistics)
        self.decision = graph.decision
        self.table = table.select(self.graph.used_features)
        self.names = self.table.names
        read = readers(graph.decision.roots)
        self.moves = [moves_of(self.graph, name, read[name], name in wishes.directions) for name in self.names]
        self.leaves = {
            c: read[moves.feature.name]
            for c, moves in enumerate(self.moves)
            if moves.numeric and any(isinstance(node, Column) for node in read[moves.feature.name])
        }
        self.values = [np.asarray(array) for array in self.table.arrays]
        self.cells = [moves.cell(values) for moves, values in zip(self.moves, self.values, strict=True)]
        self.labels = decide(self.graph, self.table)

    def allowed(self, c: int, i: int) -> Bools:
        """To which of its cells a column of a row may be changed."""
        moves, wishes = self.moves[c], self.wishes
        if self.names[c] in wishes.immutable:
            return np.zeros(len(moves), dtype=bool)
        return moves.allowed(float(self.values[c][i]), int(self.cells[c][i]), wishes.directions.get(self.names[c]))

    def met(self, own: int, labels: Any) -> Any:
        """Whether a class, or each of some [n], is what is wished of rows that are decided as another."""
        return labels != own if self.to is None else labels == self.to

    def decided(self, arrays: Sequence[Array]) -> Ints:
        """The classes of other rows [n], of which there is the array of each column."""
        return decide(self.graph, Table(self.table.features, arrays, len(arrays[0]), source="changes"))

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], Node]:
        """Of an arg-max of sums by two classes the first score less the second: what both have in common falls out."""
        ranked = self.decision.ranked
        if not 1 < len(ranked) <= _MOST_COMPARED:
            return {}
        scores = {k: score for k, score, _ in ranked if isinstance(score, Linear)}
        if len(scores) < len(ranked):
            return {}
        return {
            (i, j): Linear((*a.terms, *((-weight, child) for weight, child in b.terms)), a.bias - b.bias)
            for i, a in scores.items()
            for j, b in scores.items()
            if i < j
        }

    @cached_property
    def reach(self) -> BoxBounds:
        """What bounds the decision."""
        shown = {name: (moves.feature, moves.shown) for name, moves in zip(self.names, self.moves, strict=True)}
        plain = frozenset(self.names[c] for c in self.leaves)
        return BoxBounds((*self.decision.roots, *self._pairs.values()), shown, plain)

    def classes_within(self, found: Found, n: int) -> Bools:
        """Which classes [K, n] the rows of each box may be decided as, by the bounds of the nodes."""
        classes = np.zeros((self.decision.n_classes, n), dtype=bool)
        ranked = self.decision.ranked
        if not ranked:
            bounds = [self.reach.numbers(found, root) for root in self.decision.roots]
            least, most = (sum(bound[end] for bound in bounds) for end in (0, 1))
            for k in range(len(classes)):
                classes[k] = (least <= k) & (k <= most)
            return classes
        scores = {k: self.reach.numbers(found, score) for k, score, _ in ranked}
        in_part = {k: scores[k][0] > threshold for k, _, threshold in ranked}
        nobody = np.ones(n, dtype=bool)
        for place, (k, _, threshold) in enumerate(ranked):
            most = scores[k][1]
            may = most > threshold
            nobody &= ~in_part[k]
            for other_place, (j, _, _) in enumerate(ranked):
                if j == k:
                    continue
                least = scores[j][0]
                beaten = (least > most) | ((least == most) & (other_place < place))
                pair = self._pairs.get((min(j, k), max(j, k)))
                if pair is not None:  # the first less the second
                    low, high = self.reach.numbers(found, pair)
                    beaten |= low > 0.0 if j < k else high < 0.0
                may &= ~(beaten & in_part[j])
            classes[k] |= may
        classes[self.graph.default] |= nobody
        return classes


class Pattern:
    """Rows of one combination of cells, and of the very numbers of plain columns, that are decided alike.

    own, values [C]: the cell and the value of each column of the first row, which `box` holds; plain: the columns of
    plain numbers; sizes [C]: how many known cells there are. allowed [C][cells]: to which of them each column may be
    changed, which is not asked of plain columns; lines: by plain column the intervals that it may be changed to, below
    its value and above it; movable: the columns that may be changed.
    """

    def __init__(self, question: TurnQuestion, rows: Sequence[int]) -> None:
        self.question, self.rows, first = question, rows, rows[0]
        self.label = int(question.labels[first])
        self.own = [int(cells[first]) for cells in question.cells]
        self.values = [float(values[first]) for values in question.values]
        self.plain = list(question.leaves)
        self.sizes = np.array([len(moves) for moves in question.moves], dtype=np.int64)
        self.allowed = [question.allowed(c, first) for c in range(len(self.own))]
        self.lines = {c: self._intervals(c) for c in self.plain}
        self.movable = [
            c for c, allowed in enumerate(self.allowed) if (self.lines[c] if c in self.lines else allowed.any())
        ]
        numbers = np.array([[self.values[c] for c in self.plain]], dtype=np.float64)
        gone, own = np.isnan(numbers), np.array([self.own], dtype=np.int64)
        self.box = Boxes(own, np.where(gone, np.inf, numbers), np.where(gone, -np.inf, numbers), gone)

    def _intervals(self, c: int) -> list[tuple[float, float]]:
        wishes, moves, value = self.question.wishes, self.question.moves[c], self.values[c]
        cuts = moves.highs[:-1]
        if moves.feature.name in wishes.immutable or not len(cuts):
            return []
        low, high = float(cuts[0]), float(moves.next_above(cuts[-1]))
        if moves.whole:
            low = math.floor(low)
        if math.isnan(value):
            return [(low, high)]
        direction = wishes.directions.get(moves.feature.name)
        below, above = (low, -float(moves.next_above(-value))), (float(moves.next_above(value)), high)
        found = [below] * (direction != "up") + [above] * (direction != "down")
        return [(a, b) for a, b in found if a <= b < math.inf]

    # Boxes -----------------------------------------------------------------------------------------------------------

    def opened(self, sets: Ints, kind: int = CHANGED) -> Boxes:
        """Boxes in which the columns of sets [n, k] are changed, or (OPEN) may be; -1 stands for no column."""
        boxes = self.box.take(np.zeros(len(sets), dtype=np.int64))
        for own in sets.T:
            rows = np.flatnonzero(own >= 0)
            boxes.ids[rows, own[rows]] = self.sizes[own[rows]] + kind
        for q, (c, intervals) in enumerate(self.lines.items()):
            rows = np.flatnonzero((sets == c).any(axis=1))
            for low, high in intervals:
                boxes.lows[rows, q] = np.minimum(boxes.lows[rows, q], low)
                boxes.highs[rows, q] = np.maximum(boxes.highs[rows, q], high)
            if kind == CHANGED:
                boxes.missing[rows, q] = False
        return boxes

    def changing(self, boxes: Boxes) -> Bools:
        """Which plain columns of the boxes [n, Q] change."""
        return np.asarray(boxes.ids[:, self.plain] == self.sizes[self.plain] + CHANGED)

    def open(self, boxes: Boxes) -> Bools:
        """Which columns of the boxes [n, C] have still any of their cells."""
        changed: Bools = boxes.ids == self.sizes + CHANGED
        changed[:, self.plain] = False
        return changed

    @cached_property
    def _opened(self) -> list[list[Bounds]]:
        return self.question.reach.opened(self.allowed, self.own)

    def may_turn(self, boxes: Boxes) -> Bools:
        """Whether some row of each box [n] may be decided as is wished."""
        question, parts = self.question, [np.zeros(0, dtype=bool)]
        many = max(64, _TOGETHER // question.reach.size)
        for start in range(0, len(boxes), many):
            part = boxes.take(np.arange(start, min(start + many, len(boxes))))
            within = question.classes_within(question.reach.over(part, self._opened), len(part))
            parts.append(within[question.met(self.label, np.arange(len(within)))].any(axis=0))
        return np.concatenate(parts)

    def turned(self, boxes: Boxes) -> Bools:
        """Whether rows, boxes of one row each [n], are decided as is wished, by the graph."""
        question, arrays = self.question, []
        for c, values in enumerate(question.values):
            value = values[self.rows[0]]
            if c in self.lines:
                q = self.plain.index(c)
                numbers = np.where(boxes.lows[:, q] <= boxes.highs[:, q], boxes.lows[:, q], np.nan)
                arrays.append(numbers.astype(value.dtype))
            else:
                shown = question.moves[c].shown.take(boxes.ids[:, c])
                arrays.append(np.where(boxes.ids[:, c] == self.own[c], value, shown).astype(value.dtype))
        return np.asarray(question.met(self.label, question.decided(arrays)))

    def everything(self) -> Boxes:
        """One box in which every column may be changed."""
        return self.opened(np.array([self.movable], dtype=np.int64), OPEN)

    # Distances -------------------------------------------------------------------------------------------------------

    @cached_property
    def _by_id(self) -> dict[int, Array]:
        """By column how far each id of a box is [R, cells + CHANGED + 1]: 0 of its own cell, the least of any cell."""
        found = {}
        for c in self.movable:
            if c not in self.lines:
                far = self.question.moves[c].distance(self.question.values[c][list(self.rows)])
                found[c] = np.zeros((len(self.rows), far.shape[1] + CHANGED + 1))
                found[c][:, : far.shape[1]] = far
                found[c][:, -1] = far[:, self.allowed[c]].min(axis=1)
                found[c][:, self.own[c]] = 0.0
        return found

    def far(self, boxes: Boxes) -> Array:
        """How far the nearest row of each box is from each of the rows [R, n]."""
        total = np.zeros((len(self.rows), len(boxes)))
        for c, known in self._by_id.items():
            total += known[:, boxes.ids[:, c]]
        for q, c in enumerate(self.plain):
            value, low, high = self.values[c], boxes.lows[:, q], boxes.highs[:, q]
            moved = (low <= high) & ~((low == value) & (high == value))
            apart = self.question.moves[c].apart(np.array(value), self.nearest_numbers(boxes, q))
            total += np.where(moved, apart, 0.0)
        return total

    def nearest_numbers(self, boxes: Boxes, q: int) -> Array:
        """The number of each box [n] that is nearest to the rows' own, of a plain column."""
        value = self.values[self.plain[q]]
        nearest: Array = np.clip(0.0 if math.isnan(value) else value, boxes.lows[:, q], boxes.highs[:, q])
        return nearest

    def changes(self, box: Boxes, i: int) -> dict[int, float]:
        """By column the value that one of the rows gets by going to the one row of a box."""
        found = {}
        for c, cell in enumerate(box.ids[0].tolist()):
            if c in self.lines:
                q = self.plain.index(c)
                if box.lows[0, q] <= box.highs[0, q] and box.lows[0, q] != self.values[c]:
                    found[c] = float(box.lows[0, q])
            elif cell != self.own[c]:
                moved = self.question.moves[c].moved(self.question.values[c][[i]], np.array([cell]))
                found[c] = float(moved[0])
        return found


@dataclass(slots=True)
class ColumnSets:
    """The sets of columns of one pattern; looked_at: how many boxes were bounded, most: how many may be."""

    pattern: Pattern
    most: int
    looked_at: int = 0
    _obstacles: list[frozenset[int]] = field(default_factory=list)
    _last: list[tuple[int, ...]] = field(default_factory=lambda: [()])

    def of_size(self, k: int) -> Ints | None:
        """The sets [n, k] of so many columns that may turn the decision; sizes are asked for in their order.

        None where they are too many to look at.
        """
        movable = self.pattern.movable
        if math.comb(len(movable), k) <= _ALL_TRIED:
            found = list(itertools.combinations(movable, k))
        else:
            grown: set[tuple[int, ...]] = set()
            for own in self._last:
                grown.update(tuple(sorted((*own, column))) for column in self._obstacle(frozenset(own)))
                if self.looked_at + len(grown) > self.most:
                    return None
            found = sorted(grown)
        self._last = found
        if self.looked_at + len(found) > self.most:
            return None
        self.looked_at += len(found)
        sets = np.array(found, dtype=np.int64).reshape(-1, k)
        return sets[self.pattern.may_turn(self.pattern.opened(sets))]

    def greedy(self) -> Iterator[Ints]:
        """Larger and larger sets [1, k] that may turn the decision: each column is one that most obstacles have."""
        own: frozenset[int] = frozenset()
        while len(own) < len(self.pattern.movable):
            met = self._obstacle(own)
            if len(met) == len(self.pattern.movable) - len(own):  # no obstacle is left
                yield np.array([sorted(own)], dtype=np.int64)
            own |= {max(sorted(met), key=lambda c: sum(c in obstacle for obstacle in self._obstacles))}
        yield np.array([sorted(own)], dtype=np.int64)

    def _obstacle(self, own: frozenset[int]) -> frozenset[int]:
        """An obstacle that a set does not hit; all other columns where none is known."""
        for place, obstacle in enumerate(self._obstacles):
            if own.isdisjoint(obstacle):
                if place:  # what was of use is tried first
                    self._obstacles.insert(0, self._obstacles.pop(place))
                return obstacle
        found = self._new_obstacle(own)
        if found is None:
            return frozenset(self.pattern.movable) - own
        self._obstacles.insert(0, found)
        return found

    def _new_obstacle(self, own: frozenset[int]) -> frozenset[int] | None:
        """Columns that keep the others from turning the decision; None where those of the set alone may turn it.

        Others are freed one by one, as long as the decision stays ruled out; the one that ends this is of the obstacle.
        """
        rest = [c for c in self.pattern.movable if c not in own]
        freed, kept, start = sorted(own), [], 0
        while start <= len(rest):
            wide = len(freed) + len(rest) - start
            sets = np.full((len(rest) - start + 1, max(1, wide)), -1, dtype=np.int64)
            for row in range(len(sets)):
                columns = [*freed, *rest[start : start + row]]
                sets[row, : len(columns)] = columns
            may = self.pattern.may_turn(self.pattern.opened(sets, OPEN))
            self.looked_at += len(sets)
            if may[0]:
                return None
            if not may.any():
                break
            first = int(may.argmax())  # with so many more it may turn
            freed += rest[start : start + first - 1]
            kept.append(rest[start + first - 1])
            start += first
        return frozenset(kept)
