"""The cells to which the columns of a set go: the nearest change of some columns that turns the decision.

Boxes are taken up in the order of their least distance: a column that has still any cell is given each of its cells, an
interval of plain numbers is halved, and what the bounds rule out is dropped. The row of a box that is nearest to the
row itself is decided by the graph. So the first change that is as near as all that is left is the nearest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rulekit.audit.nearest_change.boxes import CHANGED, Boxes, Ints
from rulekit.audit.nearest_change.guesses import Guesses
from rulekit.audit.nearest_change.numbers import last_alike, next_above, rounded, settled
from rulekit.audit.nearest_change.pattern import Pattern
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.table import Array

_TOGETHER = 8192  # boxes that are made at once
_FEW, _MOST_PARTS = 512, 64  # boxes of plain numbers that are bounded at no cost, and parts of an interval at once
_WORTH_A_GUESS = 4096  # rows of cells
_LITTLE = 1e-12
PLAIN_TOLERANCE = 1e-9
"""The share of its distance by which a change of several plain numbers may be farther than the nearest."""


@dataclass(slots=True)
class Found:
    """The nearest changes of R rows: their distances, and the box of each, which holds one row; None of none."""

    distances: Array
    boxes: list[Boxes | None]
    proved: bool = True


@dataclass(slots=True)
class CellSearch:
    """The search over the cells of the columns of one pattern.

    distances [C][R, cells]: how far the cells of each column are from the R rows. turned: whether rows (boxes of one
    row each) are decided as is wished [n], by the graph. looked_at: how many boxes were bounded, most: how many may be.
    """

    pattern: Pattern
    distances: tuple[Array, ...]
    turned: Callable[[Boxes], Array]
    most: int
    deadline: Deadline = NO_LIMIT
    looked_at: int = 0
    _flat: tuple[Ints, Ints, Ints, Array] = field(init=False)

    def __post_init__(self) -> None:
        cells = [np.flatnonzero(cells) for cells in self.pattern.allowed]
        counts = np.array([len(own) for own in cells], dtype=np.int64)
        starts = np.cumsum([0, *counts[:-1]])
        far = np.concatenate([d[:, own] for d, own in zip(self.distances, cells, strict=True)], axis=1)
        self._flat = np.concatenate(cells), counts, starts, far

    def nearest(self, sets: Ints) -> Found:
        """The nearest change of each row by the columns of one of the sets [n, k]."""
        n_rows = len(self.distances[0])
        found = Found(np.full(n_rows, math.inf), [None] * n_rows)
        self._guess(found, sets)
        boxes, far, parts = self._first(sets)
        while len(boxes):
            order = self._order(found, boxes, (far + self._line(boxes, parts)).min(axis=0))[: self._many()]
            rest = np.ones(len(boxes), dtype=bool)
            rest[order] = False
            made = self._split(boxes.take(order), far[:, order], parts[order])
            self.looked_at += len(made[0])
            if self.looked_at > self.most or self.deadline.over:
                found.proved = False
                break
            made = self._kept(found, made)
            joined = Boxes.joined([boxes.take(rest), made[0]])
            far, parts = np.concatenate([far[:, rest], made[1]], axis=1), np.concatenate([parts[rest], made[2]])
            better = self._better(found, joined, far, parts)
            boxes, far, parts = joined.take(better), far[:, better], parts[better]
        return found

    def _guess(self, found: Found, sets: Ints) -> None:
        """Where there are many rows of cells, a near change is found by chance first, so that farther boxes fall."""
        counts = self._flat[1].astype(np.float64)
        counts[list(self.pattern.plain)] = _FEW
        if counts[sets].prod(axis=1).sum() < _WORTH_A_GUESS:
            return
        guesses = [
            Guesses(self.pattern, tuple(d[r] for d in self.distances), self.turned) for r in range(len(found.boxes))
        ]
        near = guesses[0].within(sets)
        if near is not None:
            for r, guess in enumerate(guesses):
                found.distances[r], found.boxes[r] = float(guess.far(near)[0]), near

    def _first(self, sets: Ints) -> tuple[Boxes, Array, Array]:
        """A box for each set, with the distance of its nearest cells [R, n], and which plain columns it opens [n, Q].

        Where a plain column may go down or up, there is a box for each.
        """
        pattern = self.pattern
        boxes = pattern.opened(sets)
        least = self._least()
        changed = boxes.ids == pattern.sizes + CHANGED
        changed[:, list(pattern.plain)] = False
        far = np.where(changed.T[:, None, :], least[:, :, None], 0.0).sum(axis=0)
        parts = np.stack([(sets == c).any(axis=1) for c in pattern.plain] or [np.zeros(len(sets), bool)], axis=1)
        parts = parts[:, : len(pattern.plain)]
        for q, intervals in enumerate(pattern.intervals):
            rows, others = np.flatnonzero(parts[:, q]), np.flatnonzero(~parts[:, q])
            order = np.concatenate([others, *([rows] * len(intervals))])
            boxes, far, parts = boxes.take(order), far[:, order], parts[order]
            for place, (low, high) in enumerate(intervals):
                own = slice(len(others) + place * len(rows), len(others) + (place + 1) * len(rows))
                boxes.lows[own, q], boxes.highs[own, q] = low, high
        return boxes, far, parts

    def _least(self) -> Array:
        """How far the nearest cell of each column is [C, R]."""
        _, counts, starts, flat = self._flat
        ends = zip(starts.tolist(), counts.tolist(), strict=True)
        return np.stack([flat[:, start : start + many].min(axis=1, initial=math.inf) for start, many in ends])

    def _changed(self, boxes: Boxes) -> Array:
        """Which columns of the boxes [n, C] have still any of their cells."""
        changed: Array = boxes.ids == self.pattern.sizes + CHANGED
        changed[:, list(self.pattern.plain)] = False
        return changed

    def _order(self, found: Found, boxes: Boxes, near: Array) -> Ints:
        """The boxes, the nearest first; while none turns for long those first that have the fewest columns open."""
        if self.looked_at > self.most // 4 and not np.isfinite(found.distances).any():
            return np.lexsort((near, self._changed(boxes).sum(axis=1)))
        return np.argsort(near, kind="stable")

    def _many(self) -> int:
        """How many boxes are taken up at once."""
        widest = max(2, int(self._flat[1].max(initial=2)))
        return max(1, _TOGETHER // widest)

    def _better(self, found: Found, boxes: Boxes, far: Array, parts: Array) -> Array:
        """Which boxes [n] may hold a nearer change of some row than was found."""
        slack = np.where(parts.sum(axis=1) > 1, PLAIN_TOLERANCE, _LITTLE)
        limit = found.distances[:, None] * (1.0 - slack)
        near: Array = far + self._line(boxes, parts) < limit
        return np.asarray(near.any(axis=0))

    def _line(self, boxes: Boxes, parts: Array) -> Array:
        """How far the nearest plain numbers of boxes [n] are."""
        total = np.zeros(len(boxes))
        for q, c in enumerate(self.pattern.plain):
            value = np.array(self.pattern.values[c])
            ends = self._nearest_numbers(boxes, q)
            total += np.where(parts[:, q], self.pattern.problem.moves[c].apart(value, ends), 0.0)
        return total

    def _nearest_numbers(self, boxes: Boxes, q: int) -> Array:
        value = self.pattern.values[self.pattern.plain[q]]
        value = 0.0 if math.isnan(value) else value
        nearest: Array = np.clip(value, boxes.lows[:, q], boxes.highs[:, q])
        return nearest

    def _split(self, boxes: Boxes, far: Array, parts: Array) -> tuple[Boxes, Array, Array]:
        """Boxes with one column more in each of its cells, or with half an interval."""
        cells, counts, starts, flat = self._flat
        changed = self._changed(boxes)
        whole: Array = np.asarray(changed.any(axis=1))
        rows = np.flatnonzero(whole)
        column = np.where(changed[rows], counts, 1 << 40).argmin(axis=1)
        many = counts[column]
        source = np.repeat(np.arange(len(rows)), many)
        place = starts[column][source] + np.arange(len(source)) - np.repeat(np.cumsum(many) - many, many)
        made = boxes.take(rows[source])
        made.ids[np.arange(len(source)), column[source]] = cells[place]
        nearer = far[:, rows[source]] + flat[:, place] - self._least()[column[source]].T
        parted, origin = self._parted(boxes.take(~whole), parts[~whole])
        plain = np.flatnonzero(~whole)[origin]
        return (
            Boxes.joined([made, parted]),
            np.concatenate([nearer, far[:, plain]], axis=1),
            np.concatenate([parts[rows[source]], parts[plain]]),
        )

    def _parted(self, boxes: Boxes, parts: Array) -> tuple[Boxes, Ints]:
        """Boxes of plain numbers in a few parts each, across the widest interval, and of which box each is.

        The fewer boxes there are, the more parts are made of each: what it takes to bound them hardly grows.
        """
        if not len(boxes):
            return boxes, np.zeros(0, dtype=np.int64)
        moves = [self.pattern.problem.moves[c] for c in self.pattern.plain]
        widths = np.array([own.width for own in moves])
        with np.errstate(all="ignore"):
            wide = np.where(self._unsettled(boxes, parts), (boxes.highs - boxes.lows) / widths, 0.0)
            q = np.where(parts, wide, -1.0).argmax(axis=1)
        pieces, source = [], []
        many = int(np.clip(_FEW // len(boxes), 2, _MOST_PARTS))
        share = np.arange(1, many) / many
        for k in np.unique(q).tolist():
            rows = np.flatnonzero(q == k)
            low, high = boxes.lows[rows, k][:, None], boxes.highs[rows, k][:, None]
            ends = rounded(moves[k], low * (1.0 - share) + high * share)
            alike = last_alike(moves[k], self.pattern.problem.leaves[k], ends)
            ends = np.where(alike < high, alike, ends)
            ends = np.maximum(np.minimum(ends, -next_above(moves[k], -high)), low)
            ends = np.concatenate([ends, high], axis=1)
            starts = np.concatenate([low, next_above(moves[k], ends[:, :-1])], axis=1)
            own, piece = np.nonzero(starts <= ends)
            made = boxes.take(rows[own])
            made.lows[:, k], made.highs[:, k] = starts[own, piece], ends[own, piece]
            pieces.append(made)
            source.append(rows[own])
        return Boxes.joined(pieces), np.concatenate(source)

    def _unsettled(self, boxes: Boxes, parts: Array) -> Array:
        """Which intervals of the boxes [n, Q] are open and hold numbers that some node tells apart."""
        found = parts.copy()
        for q, c in enumerate(self.pattern.plain):
            rows = np.flatnonzero(parts[:, q])
            problem = self.pattern.problem
            ends = boxes.lows[rows, q], boxes.highs[rows, q]
            found[rows, q] = ~settled(problem.moves[c], problem.leaves[q], *ends)
        return found

    def _kept(self, found: Found, made: tuple[Boxes, Array, Array]) -> tuple[Boxes, Array, Array]:
        """The boxes that are to be split further; of others, which are one row, the nearest that turn are found."""
        boxes, far, parts = made
        better = self._better(found, boxes, far, parts)
        boxes, far, parts = boxes.take(better), far[:, better], parts[better]
        may = self.pattern.may_turn(boxes)
        boxes, far, parts = boxes.take(may), far[:, may], parts[may]
        changed = self._changed(boxes)
        celled = ~changed.any(axis=1)
        rows = np.flatnonzero(celled)
        if not len(rows):
            return boxes, far, parts
        ends = boxes.take(rows)
        for q in range(len(self.pattern.plain)):
            numbers = np.where(parts[rows, q], self._nearest_numbers(ends, q), ends.lows[:, q])
            ends.lows[:, q] = numbers
            ends.highs[:, q] = np.where(parts[rows, q], numbers, ends.highs[:, q])
        turned = self.turned(ends)
        total = far[:, rows] + self._line(ends, parts[rows])
        total = np.where(turned, total, math.inf)
        if turned.any():
            best = total.argmin(axis=1)
            for r, j in enumerate(best.tolist()):
                if total[r, j] < found.distances[r]:
                    found.distances[r], found.boxes[r] = total[r, j], ends.take(np.array([j]))
        wide = (
            (boxes.highs[rows] > boxes.lows[rows]).any(axis=1, where=parts[rows]) if parts.shape[1] else turned & False
        )
        going = np.ones(len(boxes), dtype=bool)
        going[rows] = ~turned & wide
        return boxes.take(going), far[:, going], parts[going]
