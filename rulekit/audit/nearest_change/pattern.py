"""Rows that a search treats alike: their own cells, what each column may be changed to, and boxes around them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rulekit.audit.nearest_change.boxes import CHANGED, OPEN, Boxes, Ints
from rulekit.audit.nearest_change.goals import Goal, classes_within
from rulekit.audit.nearest_change.moves import Moves
from rulekit.audit.nearest_change.numbers import next_above
from rulekit.audit.nearest_change.reach import Opened, Reach
from rulekit.audit.nearest_change.wishes import Direction
from rulekit.graph.decisions import Decision
from rulekit.graph.nodes import Node
from rulekit.tables.table import Array

_TOGETHER = 4096  # boxes whose bounds are computed together


@dataclass(frozen=True, slots=True)
class Problem:
    """A decision, what bounds it (`reach`, with the differences of its sums, `pairs`), and what must be kept.

    leaves: by plain column the nodes that read it.

    fixed: columns that stay as they are; directions: of columns that go one way only.
    """

    decision: Decision
    default: int
    reach: Reach
    pairs: Mapping[tuple[int, int], Node]
    moves: tuple[Moves, ...]
    leaves: tuple[tuple[Node, ...], ...]
    fixed: frozenset[str]
    directions: Mapping[str, Direction]


@dataclass(frozen=True)
class Pattern:
    """Rows of one combination of cells, and of the very numbers of plain columns.

    own [C]: their cells; values [C]: the values of one of them; goal: what is wished of them.
    """

    problem: Problem
    own: tuple[int, ...]
    values: tuple[float, ...]
    goal: Goal

    @cached_property
    def sizes(self) -> Ints:
        return np.array([len(moves) for moves in self.problem.moves], dtype=np.int64)

    @cached_property
    def plain(self) -> tuple[int, ...]:
        """The places of the columns of plain numbers."""
        columns = self.problem.reach.columns
        return tuple(columns.index(column) for column in self.problem.reach.plain)

    @cached_property
    def allowed(self) -> tuple[Array, ...]:
        """To which cells each column may be changed [C][cells]; of plain columns this is not asked."""
        problem = self.problem
        found = []
        for column, moves, value, cell in zip(problem.reach.columns, problem.moves, self.values, self.own, strict=True):
            direction = problem.directions.get(column)
            free = column not in problem.fixed
            found.append(moves.allowed(value, cell, direction) if free else np.zeros(len(moves), dtype=bool))
        return tuple(found)

    @cached_property
    def intervals(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Of each plain column the intervals that it may be changed to: below its value and above it."""
        return tuple(self._intervals(c) for c in self.plain)

    def _intervals(self, c: int) -> tuple[tuple[float, float], ...]:
        problem, moves, value = self.problem, self.problem.moves[c], self.values[c]
        column = problem.reach.columns[c]
        cuts = moves.highs[:-1]
        if column in problem.fixed or not len(cuts):
            return ()
        low, high = float(cuts[0]), float(next_above(moves, cuts[-1]))
        if moves.whole:
            low = math.floor(low)
        if math.isnan(value):
            return ((low, high),)
        direction = problem.directions.get(column)
        below, above = (low, -float(next_above(moves, -value))), (float(next_above(moves, value)), high)
        found = [below] * (direction != "up") + [above] * (direction != "down")
        return tuple((a, b) for a, b in found if a <= b < math.inf)

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """The columns that may be changed."""
        lines = dict(zip(self.plain, self.intervals, strict=True))
        return tuple(c for c in range(len(self.own)) if (lines[c] if c in lines else self.allowed[c].any()))

    @cached_property
    def _opened(self) -> Opened:
        return self.problem.reach.opened(self.allowed, self.own)

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

    def may_turn(self, boxes: Boxes) -> Array:
        """Whether some row of each box [n] may be decided as is wished."""
        problem, parts = self.problem, []
        for start in range(0, len(boxes), _TOGETHER):
            part = boxes.take(np.arange(start, min(start + _TOGETHER, len(boxes))))
            state = problem.reach.state(part, self._opened)
            within = classes_within(problem.decision, problem.default, problem.pairs, problem.reach, state)
            if self.goal.to is not None:
                parts.append(within[self.goal.to])
            else:
                within[self.goal.own] = False
                parts.append(within.any(axis=0))
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    def everything(self) -> Boxes:
        """One box in which every column may be changed."""
        return self.opened(np.array([self.movable], dtype=np.int64), OPEN)


def columns_of(sets: Sequence[Sequence[int]], k: int) -> Ints:
    """Sets of k columns as an array [n, k]."""
    return np.array(sets, dtype=np.int64).reshape(-1, k)
