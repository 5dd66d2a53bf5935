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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.bounds import CHANGED, OPEN, BoxBounds, Boxes, BoxState, Opened
from rulekit.graph.decisions import Decision
from rulekit.graph.nodes import Linear, Node
from rulekit.search.moves import Moves, Wishes
from rulekit.tables.table import Array

_MOST_COMPARED = 8  # classes whose sums are compared pair by pair
_ALL_TRIED = 3_000  # sets of one size that are all looked at, without obstacles
_TOGETHER = 4096  # boxes whose bounds are computed together


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wished of a decision. own: the class that is decided now; to: the wanted one, None for any other."""

    own: int
    to: int | None = None

    def met(self, labels: Any) -> Any:
        """Whether a class, or each of some [n], is what is wished."""
        return labels != self.own if self.to is None else labels == self.to


def score_differences(decision: Decision) -> dict[tuple[int, int], Node]:
    """Of an arg-max of sums, by pair of classes the first score less the second; what both have in common falls out."""
    ranked = decision.ranked
    if not 1 < len(ranked) <= _MOST_COMPARED or any(not isinstance(score, Linear) for _, score, _ in ranked):
        return {}
    scores = {k: score for k, score, _ in ranked if isinstance(score, Linear)}
    return {
        (i, j): Linear((*a.terms, *((-weight, child) for weight, child in b.terms)), a.bias - b.bias)
        for i, a in scores.items()
        for j, b in scores.items()
        if i < j
    }


def classes_within(
    decision: Decision, default: int, pairs: Mapping[tuple[int, int], Node], reach: BoxBounds, state: BoxState
) -> Array:
    """Which classes [K, n] the rows of each box may be decided as."""
    n = len(state.boxes)
    found = np.zeros((decision.n_classes, n), dtype=bool)
    if not decision.ranked:
        bounds = [reach.bounds(state, root) for root in decision.roots]
        least, most = (sum(bound[end].astype(np.int64) for bound in bounds) for end in (0, 1))
        for k in range(decision.n_classes):
            found[k] = (least <= k) & (k <= most)
        return found
    ranked = decision.ranked
    scores = {k: reach.number(state, score) for k, score, _ in ranked}
    in_part = {k: scores[k][0] > threshold for k, _, threshold in ranked}
    nobody = np.ones(n, dtype=bool)
    for place, (k, _, threshold) in enumerate(ranked):
        most = scores[k][1]
        may = most > threshold
        nobody &= scores[k][0] <= threshold
        for other_place, (j, _, _) in enumerate(ranked):
            if j == k:
                continue
            least = scores[j][0]
            beaten = (least > most) | ((least == most) & (other_place < place))
            pair = pairs.get((min(j, k), max(j, k)))
            if pair is not None:  # the first less the second
                low, high = reach.number(state, pair)
                beaten |= low > 0.0 if j < k else high < 0.0
            may &= ~(beaten & in_part[j])
        found[k] |= may
    found[default] |= nobody
    return found


@dataclass(frozen=True, slots=True)
class TurnQuestion:
    """A decision, what bounds it (`reach`, with the differences of its sums, `pairs`), and what must be kept.

    leaves: by plain column the nodes that read it.
    """

    decision: Decision
    default: int
    reach: BoxBounds
    pairs: Mapping[tuple[int, int], Node]
    moves: tuple[Moves, ...]
    leaves: tuple[tuple[Node, ...], ...]
    wishes: Wishes


@dataclass(frozen=True)
class Pattern:
    """Rows of one combination of cells, and of the very numbers of plain columns.

    own [C]: their cells; values [C]: the values of one of them; wish: what is wished of them.
    """

    question: TurnQuestion
    own: tuple[int, ...]
    values: tuple[float, ...]
    wish: Wish

    @cached_property
    def sizes(self) -> Ints:
        return np.array([len(moves) for moves in self.question.moves], dtype=np.int64)

    @cached_property
    def plain(self) -> tuple[int, ...]:
        """The places of the columns of plain numbers."""
        columns = self.question.reach.columns
        return tuple(columns.index(column) for column in self.question.reach.plain)

    @cached_property
    def allowed(self) -> tuple[Array, ...]:
        """To which cells each column may be changed [C][cells]; of plain columns this is not asked."""
        question = self.question
        found = []
        for column, moves, value, cell in zip(
            question.reach.columns, question.moves, self.values, self.own, strict=True
        ):
            direction = question.wishes.directions.get(column)
            free = column not in question.wishes.immutable
            found.append(moves.allowed(value, cell, direction) if free else np.zeros(len(moves), dtype=bool))
        return tuple(found)

    @cached_property
    def intervals(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Of each plain column the intervals that it may be changed to: below its value and above it."""
        return tuple(self._intervals(c) for c in self.plain)

    def _intervals(self, c: int) -> tuple[tuple[float, float], ...]:
        question, moves, value = self.question, self.question.moves[c], self.values[c]
        column = question.reach.columns[c]
        cuts = moves.highs[:-1]
        if column in question.wishes.immutable or not len(cuts):
            return ()
        low, high = float(cuts[0]), float(moves.next_above(cuts[-1]))
        if moves.whole:
            low = math.floor(low)
        if math.isnan(value):
            return ((low, high),)
        direction = question.wishes.directions.get(column)
        below, above = (low, -float(moves.next_above(-value))), (float(moves.next_above(value)), high)
        found = [below] * (direction != "up") + [above] * (direction != "down")
        return tuple((a, b) for a, b in found if a <= b < math.inf)

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """The columns that may be changed."""
        lines = dict(zip(self.plain, self.intervals, strict=True))
        return tuple(c for c in range(len(self.own)) if (lines[c] if c in lines else self.allowed[c].any()))

    @cached_property
    def _opened(self) -> Opened:
        return self.question.reach.opened(self.allowed, self.own)

    def boxes(self, n: int) -> Boxes:
        """The rows themselves, n times."""
        numbers = np.array([self.values[c] for c in self.plain], dtype=np.float64)
        gone = np.isnan(numbers)
        lows, highs = np.where(gone, np.inf, numbers), np.where(gone, -np.inf, numbers)
        wide = (n, len(numbers))
        return Boxes(
            np.tile(np.array(self.own, dtype=np.int64), (n, 1)),
            np.broadcast_to(lows, wide).copy(),
            np.broadcast_to(highs, wide).copy(),
            np.broadcast_to(gone, wide).copy(),
        )

    def opened(self, sets: Ints, kind: int = CHANGED) -> Boxes:
        """Boxes in which the columns of sets [n, k] are changed, or (OPEN) may be; -1 stands for no column."""
        boxes = self.boxes(len(sets))
        for own in sets.T:
            rows = np.flatnonzero(own >= 0)
            boxes.ids[rows, own[rows]] = self.sizes[own[rows]] + kind
        for q, (c, intervals) in enumerate(zip(self.plain, self.intervals, strict=True)):
            rows = np.flatnonzero((sets == c).any(axis=1))
            for low, high in intervals:
                boxes.lows[rows, q] = np.minimum(boxes.lows[rows, q], low)
                boxes.highs[rows, q] = np.maximum(boxes.highs[rows, q], high)
            if kind == CHANGED:
                boxes.missing[rows, q] = False
        return boxes

    def changing(self, boxes: Boxes) -> Array:
        """Which plain columns of the boxes [n, Q] change."""
        plain = list(self.plain)
        return np.asarray(boxes.ids[:, plain] == self.sizes[plain] + CHANGED)

    def open(self, boxes: Boxes) -> Array:
        """Which columns of the boxes [n, C] have still any of their cells."""
        changed: Array = boxes.ids == self.sizes + CHANGED
        changed[:, list(self.plain)] = False
        return changed

    def may_turn(self, boxes: Boxes) -> Array:
        """Whether some row of each box [n] may be decided as is wished."""
        question, parts = self.question, []
        for start in range(0, len(boxes), _TOGETHER):
            part = boxes.take(np.arange(start, min(start + _TOGETHER, len(boxes))))
            state = question.reach.state(part, self._opened)
            within = classes_within(question.decision, question.default, question.pairs, question.reach, state)
            if self.wish.to is not None:
                parts.append(within[self.wish.to])
            else:
                within[self.wish.own] = False
                parts.append(within.any(axis=0))
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    def everything(self) -> Boxes:
        """One box in which every column may be changed."""
        return self.opened(np.array([self.movable], dtype=np.int64), OPEN)


def columns_of(sets: Sequence[Sequence[int]], k: int) -> Ints:
    """Sets of k columns as an array [n, k]."""
    return np.array(sets, dtype=np.int64).reshape(-1, k)


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
            grown = self._grown()
            if grown is None:
                return None
            found = grown
        self._last = found
        if self.looked_at + len(found) > self.most:
            return None
        self.looked_at += len(found)
        sets = columns_of(found, k)
        return sets[self.pattern.may_turn(self.pattern.opened(sets))]

    def _grown(self) -> list[tuple[int, ...]] | None:
        found: set[tuple[int, ...]] = set()
        for own in self._last:
            for column in self._obstacle(frozenset(own)):
                found.add(tuple(sorted((*own, column))))
            if self.looked_at + len(found) > self.most:
                return None
        return sorted(found)

    def greedy(self) -> Iterator[Ints]:
        """Larger and larger sets [1, k] that may turn the decision: each column is one that most obstacles have."""
        own: frozenset[int] = frozenset()
        while len(own) < len(self.pattern.movable):
            met = self._obstacle(own)
            if len(met) == len(self.pattern.movable) - len(own):  # no obstacle is left
                yield columns_of([sorted(own)], len(own))
            own |= {max(sorted(met), key=lambda c: sum(c in obstacle for obstacle in self._obstacles))}
        yield columns_of([sorted(own)], len(own))

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
