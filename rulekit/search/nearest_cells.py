"""The cells to which the columns of a set go: the nearest change of some columns that turns the decision.

Boxes are taken up in the order of their least distance: a column that has still any cell is given each of its cells, an
interval of plain numbers is halved, and what the bounds rule out is dropped. The row of a box that is nearest to the
row itself is decided by the graph. So the first change that is as near as all that is left is the nearest one.

Where there are many rows of cells, a change is found by chance and made smaller before: it cuts the search short, and
never proves anything. Rows with random cells are decided by the graph; of those that turn, columns go back to what they
were one by one, and each column that stays changed goes to the nearest cell that does it still.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.cells.bounds import Boxes
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


class CellSearch:
    """The nearest changes of the R rows of a pattern: their distances, and the box of each, of one row; None of none.

    most: how many boxes may be bounded; proved: whether nothing was left out.
    """

    def __init__(self, pattern: Pattern, most: int, deadline: Deadline = NO_LIMIT) -> None:
        self.pattern, self.most, self.deadline = pattern, most, deadline
        self.distances = np.full(len(pattern.rows), math.inf)
        self.boxes: list[Boxes | None] = [None] * len(pattern.rows)
        self.proved, self._looked_at = True, 0
        cells = [np.flatnonzero(allowed) for allowed in pattern.allowed]
        self._counts = np.array([len(own) for own in cells], dtype=np.int64)
        self._starts = np.cumsum([0, *self._counts[:-1]])
        self._cells = np.concatenate(cells)

    def search(self, sets: Ints) -> None:
        """Look for the nearest change of each row by the columns of one of the sets [n, k]."""
        counts = self._counts.astype(np.float64)
        counts[self.pattern.plain] = _FEW
        if counts[sets].prod(axis=1).sum() >= _WORTH_A_GUESS:
            box = Guesses(self.pattern).within(sets)
            if box is not None:
                self.distances, self.boxes = self.pattern.far(box)[:, 0], [box] * len(self.boxes)
        boxes = self._first(sets)
        far = self.pattern.far(boxes)
        many = max(1, _TOGETHER // max(2, int(self._counts.max(initial=2))))
        while len(boxes):
            near = far.min(axis=0)
            order = np.argsort(near, kind="stable")[:many]
            if self._looked_at > self.most // 4 and not np.isfinite(self.distances).any():
                # while none turns for long those first that have the fewest columns open
                order = np.lexsort((near, self.pattern.open(boxes).sum(axis=1)))[:many]
            rest = np.ones(len(boxes), dtype=bool)
            rest[order] = False
            made = self._split(boxes.take(order))
            self._looked_at += len(made)
            if self._looked_at > self.most or self.deadline.over:
                self.proved = False
                break
            made, made_far = self._kept(made)
            boxes = Boxes.joined([boxes.take(rest), made])
            far = np.concatenate([far[:, rest], made_far], axis=1)
            better = self._better(boxes, far)
            boxes, far = boxes.take(better), far[:, better]

    def _first(self, sets: Ints) -> Boxes:
        """A box for each set; where a plain column may go down or up, one for each way."""
        boxes = self.pattern.opened(sets)
        for q, intervals in enumerate(self.pattern.lines.values()):
            parts = self.pattern.changing(boxes)[:, q]
            rows, others = np.flatnonzero(parts), np.flatnonzero(~parts)
            boxes = boxes.take(np.concatenate([others, *([rows] * len(intervals))]))
            for place, (low, high) in enumerate(intervals):
                own = slice(len(others) + place * len(rows), len(others) + (place + 1) * len(rows))
                boxes.lows[own, q], boxes.highs[own, q] = low, high
        return boxes

    def _better(self, boxes: Boxes, far: Array) -> Bools:
        """Which boxes [n] may hold a nearer change of some row than was found."""
        slack = np.where(self.pattern.changing(boxes).sum(axis=1) > 1, PLAIN_TOLERANCE, _LITTLE)
        return np.asarray((far < self.distances[:, None] * (1.0 - slack)).any(axis=0))

    def _split(self, boxes: Boxes) -> Boxes:
        """Boxes with one column more in each of its cells, or with a part of an interval."""
        changed = self.pattern.open(boxes)
        whole: Bools = np.asarray(changed.any(axis=1))
        rows = np.flatnonzero(whole)
        column = np.where(changed[rows], self._counts, 1 << 40).argmin(axis=1)
        many = self._counts[column]
        source = np.repeat(np.arange(len(rows)), many)
        place = self._starts[column][source] + np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
        made = boxes.take(rows[source])
        made.ids[np.arange(len(source)), column[source]] = self._cells[place]
        return made if whole.all() else Boxes.joined([made, self._parted(boxes.take(~whole))])

    def _parted(self, boxes: Boxes) -> Boxes:
        """Boxes of plain numbers in a few parts each, across the widest interval that some node tells apart.

        The fewer boxes there are, the more parts are made of each: what it takes to bound them hardly grows.
        """
        question, parts = self.pattern.question, self.pattern.changing(boxes)
        wide = np.zeros(parts.shape)
        for q, (c, leaves) in enumerate(question.leaves.items()):
            lows, highs = boxes.lows[:, q], boxes.highs[:, q]
            with np.errstate(all="ignore"):
                width = np.where(question.moves[c].settled(leaves, lows, highs), 0.0, highs - lows)
                wide[:, q] = np.where(parts[:, q], width / question.moves[c].width, -1.0)
        widest = wide.argmax(axis=1)
        pieces = []
        many = int(np.clip(_FEW // len(boxes), 2, _MOST_PARTS))
        share = np.arange(1, many) / many
        for q in np.unique(widest).tolist():
            moves, leaves = question.moves[self.pattern.plain[q]], question.leaves[self.pattern.plain[q]]
            rows = np.flatnonzero(widest == q)
            low, high = boxes.lows[rows, q][:, None], boxes.highs[rows, q][:, None]
            ends = moves.rounded(low * (1.0 - share) + high * share)
            alike = moves.last_alike(leaves, ends)
            ends = np.where(alike < high, alike, ends)
            ends = np.maximum(np.minimum(ends, -moves.next_above(-high)), low)
            ends = np.concatenate([ends, high], axis=1)
            starts = np.concatenate([low, moves.next_above(ends[:, :-1])], axis=1)
            own, piece = np.nonzero(starts <= ends)
            made = boxes.take(rows[own])
            made.lows[:, q], made.highs[:, q] = starts[own, piece], ends[own, piece]
            pieces.append(made)
        return Boxes.joined(pieces)

    def _kept(self, boxes: Boxes) -> tuple[Boxes, Floats]:
        """The boxes that are to be split further; of others, which are one row, the nearest that turn are found."""
        far = self.pattern.far(boxes)
        better = self._better(boxes, far)
        boxes, far = boxes.take(better), far[:, better]
        may = self.pattern.may_turn(boxes)
        boxes, far = boxes.take(may), far[:, may]
        rows = np.flatnonzero(~self.pattern.open(boxes).any(axis=1))
        if not len(rows):
            return boxes, far
        ends, parts = boxes.take(rows), self.pattern.changing(boxes)[rows]
        for q in range(len(self.pattern.plain)):
            numbers = self.pattern.nearest_numbers(ends, q)
            ends.lows[:, q] = np.where(parts[:, q], numbers, ends.lows[:, q])
            ends.highs[:, q] = np.where(parts[:, q], numbers, ends.highs[:, q])
        turned = self.pattern.turned(ends)
        total = np.where(turned, far[:, rows], math.inf)
        for r, j in enumerate(total.argmin(axis=1).tolist()):
            if total[r, j] < self.distances[r]:
                self.distances[r], self.boxes[r] = total[r, j], ends.take(np.array([j]))
        wide = ((boxes.highs[rows] > boxes.lows[rows]) & parts).any(axis=1)
        going = np.ones(len(boxes), dtype=bool)
        going[rows] = ~turned & wide
        return boxes.take(going), far[:, going]


class Guesses:
    """Changes by chance, of the first row of a pattern."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern, self._random = pattern, np.random.default_rng(0)

    def _nearest(self, boxes: Boxes) -> Boxes | None:
        turned = boxes.take(np.flatnonzero(self.pattern.turned(boxes)))
        return turned.take(np.array([np.argmin(self.pattern.far(turned)[0])])) if len(turned) else None

    def _far(self, box: Boxes) -> float:
        return float(self.pattern.far(box)[0, 0])

    def within(self, sets: Ints) -> Boxes | None:
        """A near change, not the nearest, of the columns of one of the sets [n, k]; None where none was met."""
        best = self._nearest(self._drawn(sets[self._random.integers(0, len(sets), _DRAWN)]))
        for _ in range(_ROUNDS):
            if best is None:
                break
            before = self._far(best)
            for c in self._changed(best):
                best = self._nearest(self._tried(best, c)) or best
            if not self._far(best) < before:
                break
        return best

    def with_few(self, sets: Iterable[Ints]) -> Boxes | None:
        """A change of the columns of the first of some sets that has one, with as few of them as go back."""
        best = next((found for one in sets if (found := self.within(one)) is not None), None)
        if best is None:
            return None
        while len(changed := self._changed(best)) > 1:
            fewer = best.take(np.zeros(len(changed), dtype=np.int64))
            for row, c in enumerate(changed):
                self._put(fewer, row, c, self.pattern.box)
            nearest = self._nearest(fewer)
            if nearest is None:
                break
            best = nearest
        near = self.within(np.array([self._changed(best)], dtype=np.int64))
        return best if near is None or self._far(best) <= self._far(near) else near

    def _changed(self, box: Boxes) -> list[int]:
        own, plain = self.pattern.box, self.pattern.plain
        changed = box.ids[0] != own.ids[0]
        changed[plain] = (box.lows[0] != own.lows[0]) | (box.missing[0] != own.missing[0])
        found: list[int] = np.flatnonzero(changed).tolist()
        return found

    def _drawn(self, sets: Ints) -> Boxes:
        boxes = self.pattern.box.take(np.zeros(len(sets), dtype=np.int64))
        for c in self.pattern.movable:
            rows = np.flatnonzero((sets == c).any(axis=1))
            if c in self.pattern.lines:
                low, high = np.array(self.pattern.lines[c]).T
                line = self._random.integers(0, len(low), len(rows))
                share = self._random.random(len(rows)) ** 2
                self._number(boxes, rows, c, self._between(c, low[line], high[line], share))
            else:
                cells = np.flatnonzero(self.pattern.allowed[c])
                boxes.ids[rows, c] = cells[self._random.integers(0, len(cells), len(rows))]
        return boxes

    def _tried(self, box: Boxes, c: int) -> Boxes:
        if c not in self.pattern.lines:
            cells = np.flatnonzero(self.pattern.allowed[c])
            made = box.take(np.zeros(len(cells), dtype=np.int64))
            made.ids[:, c] = cells
            return made
        value = self.pattern.values[c]
        own = np.array([0.0 if math.isnan(value) else value])
        numbers = self._between(c, own, box.lows[[0], self.pattern.plain.index(c)], np.linspace(0.0, 1.0, _NUMBERS))
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

    def _put(self, boxes: Boxes, row: int, c: int, other: Boxes) -> None:
        """Have a column as it is in another box."""
        boxes.ids[row, c] = other.ids[0, c]
        if c in self.pattern.lines:
            q = self.pattern.plain.index(c)
            for mine, theirs in ((boxes.lows, other.lows), (boxes.highs, other.highs), (boxes.missing, other.missing)):
                mine[row, q] = theirs[0, q]
