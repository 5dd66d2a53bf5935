"""The cells to which the columns of a set go: the nearest change of some columns that turns the decision.

Boxes are taken up in the order of their least distance: a column that has still any cell is given each of its cells, an
interval of plain numbers is halved, and what the bounds rule out is dropped. The row of a box that is nearest to the
row itself is decided by the graph. So the first change that is as near as all that is left is the nearest one.

Some changes are found by chance and made smaller before: they cut a search short, and never prove anything. Rows with
random cells are decided by the graph; of those that turn, columns go back to what they were one by one, and each column
that stays changed goes to the nearest cell that does it still.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.bounds import CHANGED, Boxes
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.search.patterns import Pattern
from rulekit.tables.table import Array

_TOGETHER = 8192  # boxes that are made at once
_FEW, _MOST_PARTS = 512, 64  # boxes of plain numbers that are bounded at no cost, and parts of an interval at once
_WORTH_A_GUESS = 4096  # rows of cells
_LITTLE = 1e-12
PLAIN_TOLERANCE = 1e-9
"""The share of its distance by which a change of several plain numbers may be farther than the nearest."""
_DRAWN = 1_024
_ROUNDS = 3
_NUMBERS = 33  # of an interval of plain numbers that are tried


@dataclass(frozen=True)
class Nearby:
    """R rows of a pattern and how far others are from them.

    distances [C][R, cells]: how far the cells of each column are from the rows. turned: whether rows (boxes of one row
    each) are decided as is wished [n], by the graph.
    """

    pattern: Pattern
    distances: tuple[Array, ...]
    turned: Callable[[Boxes], Array]

    @property
    def n_rows(self) -> int:
        return len(self.distances[0])

    @cached_property
    def _by_id(self) -> dict[int, Array]:
        """By column how far each id of a box is [R, cells + CHANGED + 1]: 0 of its own cell, the least of any cell."""
        found = {}
        for c in self.pattern.movable:
            if c not in self.pattern.plain:
                far, allowed = self.distances[c], self.pattern.allowed[c]
                known = np.zeros((self.n_rows, far.shape[1] + CHANGED + 1))
                known[:, : far.shape[1]] = far
                known[:, -1] = far[:, allowed].min(axis=1)
                known[:, self.pattern.own[c]] = 0.0
                found[c] = known
        return found

    def far(self, boxes: Boxes) -> Array:
        """How far the nearest row of each box is [R, n]."""
        total = np.zeros((self.n_rows, len(boxes)))
        for c, known in self._by_id.items():
            total += known[:, boxes.ids[:, c]]
        for q, c in enumerate(self.pattern.plain):
            value, low, high = self.pattern.values[c], boxes.lows[:, q], boxes.highs[:, q]
            moved = (low <= high) & ~((low == value) & (high == value))
            apart = self.pattern.question.moves[c].apart(np.array(value), self.nearest_numbers(boxes, q))
            total += np.where(moved, apart, 0.0)
        return total

    def nearest_numbers(self, boxes: Boxes, q: int) -> Array:
        """The number of each box [n] that is nearest to the rows' own, of a plain column."""
        value = self.pattern.values[self.pattern.plain[q]]
        nearest: Array = np.clip(0.0 if math.isnan(value) else value, boxes.lows[:, q], boxes.highs[:, q])
        return nearest


@dataclass(slots=True)
class NearestBoxes:
    """The nearest changes of R rows: their distances, and the box of each, which holds one row; None of none."""

    distances: Array
    boxes: list[Boxes | None]
    proved: bool = True


class CellSearch:
    """The search over the cells of the columns of one pattern; most: how many boxes may be bounded."""

    def __init__(self, near: Nearby, most: int, deadline: Deadline = NO_LIMIT) -> None:
        self.near, self.pattern, self.most, self.deadline = near, near.pattern, most, deadline
        self._looked_at = 0
        cells = [np.flatnonzero(allowed) for allowed in self.pattern.allowed]
        self._counts = np.array([len(own) for own in cells], dtype=np.int64)
        self._starts = np.cumsum([0, *self._counts[:-1]])
        self._cells = np.concatenate(cells)

    def nearest(self, sets: Ints) -> NearestBoxes:
        """The nearest change of each row by the columns of one of the sets [n, k]."""
        found = NearestBoxes(np.full(self.near.n_rows, math.inf), [None] * self.near.n_rows)
        self._guess(found, sets)
        boxes = self._first(sets)
        far = self.near.far(boxes)
        while len(boxes):
            order = self._order(found, boxes, far.min(axis=0))[: self._many()]
            rest = np.ones(len(boxes), dtype=bool)
            rest[order] = False
            made = self._split(boxes.take(order))
            self._looked_at += len(made)
            if self._looked_at > self.most or self.deadline.over:
                found.proved = False
                break
            made, made_far = self._kept(found, made)
            boxes = Boxes.joined([boxes.take(rest), made])
            far = np.concatenate([far[:, rest], made_far], axis=1)
            better = self._better(found, boxes, far)
            boxes, far = boxes.take(better), far[:, better]
        return found

    def _guess(self, found: NearestBoxes, sets: Ints) -> None:
        """Where there are many rows of cells, a near change is found by chance first, so that farther boxes fall."""
        counts = self._counts.astype(np.float64)
        counts[list(self.pattern.plain)] = _FEW
        if counts[sets].prod(axis=1).sum() < _WORTH_A_GUESS:
            return
        box = Guesses(self.near).within(sets)
        if box is not None:
            found.distances, found.boxes = self.near.far(box)[:, 0], [box] * self.near.n_rows

    def _first(self, sets: Ints) -> Boxes:
        """A box for each set; where a plain column may go down or up, one for each way."""
        boxes = self.pattern.opened(sets)
        for q, intervals in enumerate(self.pattern.intervals):
            parts = self.pattern.changing(boxes)[:, q]
            rows, others = np.flatnonzero(parts), np.flatnonzero(~parts)
            boxes = boxes.take(np.concatenate([others, *([rows] * len(intervals))]))
            for place, (low, high) in enumerate(intervals):
                own = slice(len(others) + place * len(rows), len(others) + (place + 1) * len(rows))
                boxes.lows[own, q], boxes.highs[own, q] = low, high
        return boxes

    def _order(self, found: NearestBoxes, boxes: Boxes, near: Array) -> Ints:
        """The boxes, the nearest first; while none turns for long those first that have the fewest columns open."""
        if self._looked_at > self.most // 4 and not np.isfinite(found.distances).any():
            return np.lexsort((near, self.pattern.open(boxes).sum(axis=1)))
        return np.argsort(near, kind="stable")

    def _many(self) -> int:
        return max(1, _TOGETHER // max(2, int(self._counts.max(initial=2))))

    def _better(self, found: NearestBoxes, boxes: Boxes, far: Array) -> Array:
        """Which boxes [n] may hold a nearer change of some row than was found."""
        slack = np.where(self.pattern.changing(boxes).sum(axis=1) > 1, PLAIN_TOLERANCE, _LITTLE)
        return np.asarray((far < found.distances[:, None] * (1.0 - slack)).any(axis=0))

    def _split(self, boxes: Boxes) -> Boxes:
        """Boxes with one column more in each of its cells, or with a part of an interval."""
        changed = self.pattern.open(boxes)
        whole: Array = np.asarray(changed.any(axis=1))
        rows = np.flatnonzero(whole)
        column = np.where(changed[rows], self._counts, 1 << 40).argmin(axis=1)
        many = self._counts[column]
        source = np.repeat(np.arange(len(rows)), many)
        place = self._starts[column][source] + np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
        made = boxes.take(rows[source])
        made.ids[np.arange(len(source)), column[source]] = self._cells[place]
        return Boxes.joined([made, self._parted(boxes.take(~whole))])

    def _parted(self, boxes: Boxes) -> Boxes:
        """Boxes of plain numbers in a few parts each, across the widest interval.

        The fewer boxes there are, the more parts are made of each: what it takes to bound them hardly grows.
        """
        if not len(boxes):
            return boxes
        moves = [self.pattern.question.moves[c] for c in self.pattern.plain]
        widths = np.array([own.width for own in moves])
        parts = self.pattern.changing(boxes)
        with np.errstate(all="ignore"):
            wide = np.where(self._unsettled(boxes, parts), (boxes.highs - boxes.lows) / widths, 0.0)
            q = np.where(parts, wide, -1.0).argmax(axis=1)
        pieces = []
        many = int(np.clip(_FEW // len(boxes), 2, _MOST_PARTS))
        share = np.arange(1, many) / many
        for k in np.unique(q).tolist():
            rows = np.flatnonzero(q == k)
            low, high = boxes.lows[rows, k][:, None], boxes.highs[rows, k][:, None]
            ends = moves[k].rounded(low * (1.0 - share) + high * share)
            alike = moves[k].last_alike(self.pattern.question.leaves[k], ends)
            ends = np.where(alike < high, alike, ends)
            ends = np.maximum(np.minimum(ends, -moves[k].next_above(-high)), low)
            ends = np.concatenate([ends, high], axis=1)
            starts = np.concatenate([low, moves[k].next_above(ends[:, :-1])], axis=1)
            own, piece = np.nonzero(starts <= ends)
            made = boxes.take(rows[own])
            made.lows[:, k], made.highs[:, k] = starts[own, piece], ends[own, piece]
            pieces.append(made)
        return Boxes.joined(pieces)

    def _unsettled(self, boxes: Boxes, parts: Array) -> Array:
        """Which intervals of the boxes [n, Q] are open and hold numbers that some node tells apart."""
        found, question = parts.copy(), self.pattern.question
        for q, c in enumerate(self.pattern.plain):
            rows = np.flatnonzero(parts[:, q])
            found[rows, q] = ~question.moves[c].settled(question.leaves[q], boxes.lows[rows, q], boxes.highs[rows, q])
        return found

    def _kept(self, found: NearestBoxes, boxes: Boxes) -> tuple[Boxes, Array]:
        """The boxes that are to be split further; of others, which are one row, the nearest that turn are found."""
        far = self.near.far(boxes)
        better = self._better(found, boxes, far)
        boxes, far = boxes.take(better), far[:, better]
        may = self.pattern.may_turn(boxes)
        boxes, far = boxes.take(may), far[:, may]
        rows = np.flatnonzero(~self.pattern.open(boxes).any(axis=1))
        if not len(rows):
            return boxes, far
        ends, parts = boxes.take(rows), self.pattern.changing(boxes)[rows]
        for q in range(len(self.pattern.plain)):
            numbers = np.where(parts[:, q], self.near.nearest_numbers(ends, q), ends.lows[:, q])
            ends.lows[:, q] = numbers
            ends.highs[:, q] = np.where(parts[:, q], numbers, ends.highs[:, q])
        turned = self.near.turned(ends)
        total = np.where(turned, far[:, rows], math.inf)
        for r, j in enumerate(total.argmin(axis=1).tolist()):
            if total[r, j] < found.distances[r]:
                found.distances[r], found.boxes[r] = total[r, j], ends.take(np.array([j]))
        wide = ((boxes.highs[rows] > boxes.lows[rows]) & parts).any(axis=1)
        going = np.ones(len(boxes), dtype=bool)
        going[rows] = ~turned & wide
        return boxes.take(going), far[:, going]


class Guesses:
    """Changes by chance, of the first of some rows."""

    def __init__(self, near: Nearby) -> None:
        self.near, self.pattern = near, near.pattern
        self._random = np.random.default_rng(0)
        self._lines = dict(zip(self.pattern.plain, self.pattern.intervals, strict=True))

    def far(self, boxes: Boxes) -> Array:
        """How far boxes of one row each are [n]."""
        nearest: Array = self.near.far(boxes)[0]
        return nearest

    def _nearest(self, boxes: Boxes) -> Boxes | None:
        turned = boxes.take(np.flatnonzero(self.near.turned(boxes)))
        return turned.take(np.array([np.argmin(self.far(turned))])) if len(turned) else None

    def within(self, sets: Ints) -> Boxes | None:
        """A near change, not the nearest, of the columns of one of the sets [n, k]; None where none was met."""
        best = self._nearest(self._drawn(sets[self._random.integers(0, len(sets), _DRAWN)]))
        for _ in range(_ROUNDS):
            if best is None:
                break
            before = self.far(best)[0]
            for c in self._changed(best):
                best = self._nearest(self._tried(best, c)) or best
            if not self.far(best)[0] < before:
                break
        return best

    def with_few(self, sets: Iterable[Ints]) -> Boxes | None:
        """A change of the columns of the first of some sets that has one, with as few of them as go back."""
        best = next((found for one in sets if (found := self.within(one)) is not None), None)
        while best is not None and len(changed := self._changed(best)) > 1:
            fewer = best.take(np.zeros(len(changed), dtype=np.int64))
            for row, c in enumerate(changed):
                self._put_back(fewer, row, c)
            nearest = self._nearest(fewer)
            if nearest is None:
                break
            best = nearest
        if best is None:
            return None
        near = self.within(np.array([self._changed(best)], dtype=np.int64))
        return best if near is None or self.far(best)[0] <= self.far(near)[0] else near

    def _changed(self, box: Boxes) -> list[int]:
        own, plain = self.pattern.boxes(1), self.pattern.plain
        cells = [c for c in range(box.ids.shape[1]) if c not in plain and box.ids[0, c] != own.ids[0, c]]
        numbers = [
            c for q, c in enumerate(plain) if box.lows[0, q] != own.lows[0, q] or box.missing[0, q] != own.missing[0, q]
        ]
        return sorted([*cells, *numbers])

    def _drawn(self, sets: Ints) -> Boxes:
        boxes = self.pattern.boxes(len(sets))
        for c in self.pattern.movable:
            rows = np.flatnonzero((sets == c).any(axis=1))
            if c in self._lines:
                low, high = np.array(self._lines[c]).T
                line = self._random.integers(0, len(low), len(rows))
                share = self._random.random(len(rows)) ** 2
                self._number(boxes, rows, c, self._between(c, low[line], high[line], share))
            else:
                cells = np.flatnonzero(self.pattern.allowed[c])
                boxes.ids[rows, c] = cells[self._random.integers(0, len(cells), len(rows))]
        return boxes

    def _tried(self, box: Boxes, c: int) -> Boxes:
        if c not in self._lines:
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
        return self.pattern.question.moves[c].rounded(low * (1.0 - share) + high * share)

    def _number(self, boxes: Boxes, rows: Ints, c: int, numbers: Array) -> None:
        q = self.pattern.plain.index(c)
        boxes.lows[rows, q] = boxes.highs[rows, q] = numbers
        boxes.missing[rows, q] = False

    def _put_back(self, boxes: Boxes, row: int, c: int) -> None:
        own = self.pattern.boxes(1)
        boxes.ids[row, c] = own.ids[0, c]
        if c in self._lines:
            q = self.pattern.plain.index(c)
            boxes.lows[row, q], boxes.highs[row, q] = own.lows[0, q], own.highs[0, q]
            boxes.missing[row, q] = own.missing[0, q]
