"""Changes that turn the decision, found by chance and made smaller: bounds that cut a search short, never a proof.

Rows with random cells are decided by the graph; of those that turn, columns go back to what they were one by one, and
each column that stays changed goes to the nearest cell that does it still.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from rulekit.audit.nearest_change.boxes import Boxes, Ints
from rulekit.audit.nearest_change.numbers import rounded
from rulekit.audit.nearest_change.pattern import Pattern
from rulekit.tables.table import Array

_DRAWN = 1_024
_ROUNDS = 3
_NUMBERS = 33  # of an interval of plain numbers that are tried


class Guesses:
    """Changes of a row of a pattern; distances [C][cells]: how far its cells are. turned: as in `CellSearch`."""

    def __init__(self, pattern: Pattern, distances: tuple[Array, ...], turned: Callable[[Boxes], Array]) -> None:
        self.pattern, self.turned, self._distances = pattern, turned, distances
        self._random = np.random.default_rng(0)
        self.lines = dict(zip(pattern.plain, pattern.intervals, strict=True))

    def within(self, sets: Ints) -> Boxes | None:
        """A near change, not the nearest, of the columns of one of the sets [n, k]; None where none was met."""
        drawn = self._drawn(sets[self._random.integers(0, len(sets), _DRAWN)])
        turned = np.flatnonzero(self.turned(drawn))
        if not len(turned):
            return None
        best = drawn.take(turned[[np.argmin(self.far(drawn.take(turned)))]])
        for _ in range(_ROUNDS):
            before = self.far(best)[0]
            for c in self.changed(best):
                tried = self._tried(best, c)
                tried = tried.take(np.flatnonzero(self.turned(tried)))
                if len(tried):
                    best = tried.take(np.array([np.argmin(self.far(tried))]))
            if not self.far(best)[0] < before:
                break
        return best

    def with_few(self, sets: Iterable[Ints]) -> Boxes | None:
        """A change of the columns of the first of some sets that has one, with as few of them as go back."""
        best = next((found for one in sets if (found := self.within(one)) is not None), None)
        own = self.pattern.boxes(1)
        while best is not None and len(changed := self.changed(best)) > 1:
            fewer = best.take(np.zeros(len(changed), dtype=np.int64))
            for row, c in enumerate(changed):
                self._put(fewer, row, own, c)
            met = np.flatnonzero(self.turned(fewer))
            if not len(met):
                break
            best = fewer.take(met[[np.argmin(self.far(fewer.take(met)))]])
        if best is None:
            return None
        near = self.within(np.array([self.changed(best)], dtype=np.int64))
        return best if near is None or self.far(best)[0] <= self.far(near)[0] else near

    def changed(self, box: Boxes) -> list[int]:
        """The columns that a box of one row changes."""
        own, plain = self.pattern.boxes(1), self.pattern.plain
        cells = [c for c in range(box.ids.shape[1]) if c not in plain and box.ids[0, c] != own.ids[0, c]]
        numbers = [
            c for q, c in enumerate(plain) if box.lows[0, q] != own.lows[0, q] or box.missing[0, q] != own.missing[0, q]
        ]
        return sorted([*cells, *numbers])

    def far(self, boxes: Boxes) -> Array:
        """How far boxes of one row each are [n]."""
        total = np.zeros(len(boxes))
        for c, distances in enumerate(self._distances):
            if c in self.pattern.plain:
                q = self.pattern.plain.index(c)
                value, there = np.array(self.pattern.values[c]), boxes.lows[:, q] <= boxes.highs[:, q]
                apart = self.pattern.problem.moves[c].apart(value, np.where(there, boxes.lows[:, q], value))
                total += np.where(there, apart, 0.0)
            else:
                moved = boxes.ids[:, c] != self.pattern.own[c]
                total[moved] += distances[boxes.ids[moved, c]]
        return total

    def _drawn(self, sets: Ints) -> Boxes:
        """Random cells of the columns of sets, a row for each."""
        boxes = self.pattern.boxes(len(sets))
        for c in self.pattern.movable:
            rows = np.flatnonzero((sets == c).any(axis=1))
            if c in self.lines:
                low, high = np.array(self.lines[c]).T
                line = self._random.integers(0, len(low), len(rows))
                share = self._random.random(len(rows)) ** 2
                self._number(boxes, rows, c, self._between(c, low[line], high[line], share))
            else:
                cells = np.flatnonzero(self.pattern.allowed[c])
                boxes.ids[rows, c] = cells[self._random.integers(0, len(cells), len(rows))]
        return boxes

    def _tried(self, box: Boxes, c: int) -> Boxes:
        """A row with each cell of one column, or with numbers from all over its intervals."""
        if c not in self.lines:
            cells = np.flatnonzero(self.pattern.allowed[c])
            made = box.take(np.zeros(len(cells), dtype=np.int64))
            made.ids[:, c] = cells
            return made
        q, value = self.pattern.plain.index(c), self.pattern.values[c]
        own = np.array([0.0 if math.isnan(value) else value])
        numbers = self._between(c, own, box.lows[[0], q], np.linspace(0.0, 1.0, _NUMBERS))
        numbers = numbers[numbers != value]
        made = box.take(np.zeros(len(numbers), dtype=np.int64))
        self._number(made, np.arange(len(numbers)), c, numbers)
        return made

    def _between(self, c: int, low: Array, high: Array, share: Array) -> Array:
        return rounded(self.pattern.problem.moves[c], low * (1.0 - share) + high * share)

    def _number(self, boxes: Boxes, rows: Ints, c: int, numbers: Array) -> None:
        q = self.pattern.plain.index(c)
        boxes.lows[rows, q] = boxes.highs[rows, q] = numbers
        boxes.missing[rows, q] = False

    def _put(self, boxes: Boxes, row: int, own: Boxes, c: int) -> None:
        """Give a column of a row its own value back."""
        if c in self.lines:
            q = self.pattern.plain.index(c)
            boxes.lows[row, q], boxes.highs[row, q] = own.lows[0, q], own.highs[0, q]
            boxes.missing[row, q] = own.missing[0, q]
        else:
            boxes.ids[row, c] = own.ids[0, c]
