"""Boxes of cells that cover where two models differ: a set of cells of each axis, grown as far as the models differ.

A box is grown from one cell, one axis after another, to all cells of the axis that keep it inside; so it is a prime
implicant of the difference but for the order of the axes, of which several are tried. Known cells of numbers and ranks
stay one interval, which is read more easily than a set with holes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.cells.space import Axis
from rulekit.limits import NO_LIMIT, Deadline

Cells = tuple[int, ...]
Box = tuple[Bools, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BoxCover:
    """Boxes, and whether they cover all of the difference."""

    boxes: tuple[Box, ...]
    complete: bool


NOWHERE = BoxCover((), False)
"""What is known where nothing is."""


@dataclass(slots=True, eq=False)
class RunField:
    """Where two models differ in one way, known for every cell; a box is inside where they do so in all of its cells.

    where [cells of each axis]: where the models differ; rows: of each cell, 0 where they are not known; plain: above 0,
    and most of cells that are taken first where there are no rows. exhausted: whether what was covered is known to be
    all, once there are no more seeds. many_orders: whether the axes may be tried in several orders.
    """

    where: Bools
    rows: Floats
    plain: Floats
    exhausted: bool = True
    many_orders: bool = True
    _left: Bools | None = None

    def extent(self, box: Box, axis: int, seed: int) -> Bools:
        """The cells of an axis with which, one by one, the box is inside; at least those that were looked at."""
        cut = self.where
        for j, own in enumerate(box):
            if j != axis:
                cut = np.compress(own, cut, axis=j)
        return np.asarray(cut.all(axis=tuple(j for j in range(cut.ndim) if j != axis)))

    def seeds(self) -> Iterator[Cells]:
        """Cells that no box covers so far, those of most rows first."""
        self._left = self.where.copy()
        while self._left.any():
            weighed = np.where(self._left, self.rows + self.plain, 0.0)
            yield tuple(int(i) for i in np.unravel_index(int(weighed.argmax()), weighed.shape))

    def cover(self, box: Box) -> None:
        """Take the cells of a box for covered."""
        assert self._left is not None
        self._left[np.ix_(*box)] = False

    def volume(self, box: Box) -> tuple[float, float]:
        """The rows in a box, and its cells."""
        return float(self.rows[np.ix_(*box)].sum()), float(np.prod([own.sum() for own in box]))


@dataclass(slots=True, eq=False)
class SearchedField:
    """The same of a difference that is known by questions.

    sizes: the cells of each axis. inside: whether a box is proved to be inside. outside: a cell of the difference
    outside of some boxes, None where none was found; its second value says whether it is proved that there is none.
    given: cells of rows where the models differ, the most frequent first, with their number. calls: how many questions
    are asked at most, none after the deadline. exhausted: whether it is proved that the boxes cover the difference.
    """

    sizes: Sequence[int]
    inside: Callable[[Box], bool]
    outside: Callable[[Sequence[Box]], tuple[Cells | None, bool]]
    given: Sequence[tuple[Cells, int]]
    calls: int
    deadline: Deadline = NO_LIMIT
    exhausted: bool = False
    many_orders: bool = False
    _boxes: list[Box] = field(default_factory=list)

    def _asked(self, box: Box) -> bool:
        self.calls -= 1
        return self.calls >= 0 and not self.deadline.over and self.inside(box)

    def extent(self, box: Box, axis: int, seed: int) -> Bools:
        size = self.sizes[axis]
        if self._asked((*box[:axis], np.ones(size, dtype=bool), *box[axis + 1 :])):
            return np.ones(size, dtype=bool)
        found: Bools = np.arange(size) == seed
        for step in (range(seed - 1, -1, -1), range(seed + 1, size)):
            for cell in step:
                if not self._asked((*box[:axis], np.arange(size) == cell, *box[axis + 1 :])):
                    break
                found[cell] = True
        return found

    def seeds(self) -> Iterator[Cells]:
        for cells, _ in self.given:
            if not any(_holds(box, cells) for box in self._boxes) and self._asked(self._box(cells)):
                yield cells
        while self.calls > 0 and not self.deadline.over:
            found, proved = self.outside(self._boxes)
            if found is None:
                self.exhausted = proved
                return
            if not self._asked(self._box(found)):
                return
            yield found

    def _box(self, cells: Cells) -> Box:
        return tuple(np.arange(size) == cell for size, cell in zip(self.sizes, cells, strict=True))

    def cover(self, box: Box) -> None:
        self._boxes.append(box)

    def volume(self, box: Box) -> tuple[float, float]:
        rows = sum(n for cells, n in self.given if _holds(box, cells))
        return float(rows), float(np.prod([float(own.sum()) for own in box]))


def _holds(box: Box, cells: Cells) -> bool:
    return all(own[cell] for own, cell in zip(box, cells, strict=True))


def grown(where: RunField | SearchedField, axes: Sequence[Axis], most: int) -> BoxCover:
    """At most so many boxes that cover a difference, as they were found."""
    n = list(range(len(axes)))
    few = sorted(n, key=lambda j: len(axes[j]))
    orders = list(dict.fromkeys((tuple(n), tuple(n[::-1]), tuple(few))) if where.many_orders else [tuple(few)])
    boxes: list[Box] = []

    def gain(box: Box) -> tuple[float, int, float]:
        """The rows, then the sides that are not said, then the cells."""
        rows, cells = where.volume(box)
        return rows, sum(bool(own.all()) for own in box), cells

    for seed in where.seeds():
        if len(boxes) == most:
            return BoxCover(tuple(boxes), False)
        best = max((_grow(where, axes, seed, order) for order in orders), key=gain)
        where.cover(best)
        boxes.append(best)
    return BoxCover(tuple(boxes), where.exhausted)


def _grow(where: RunField | SearchedField, axes: Sequence[Axis], seed: Cells, order: Sequence[int]) -> Box:
    box = tuple(np.arange(len(axis)) == cell for axis, cell in zip(axes, seed, strict=True))
    for j in order:
        allowed = where.extent(box, j, seed[j])
        box = (*box[:j], readable_part(axes[j], allowed, seed[j]), *box[j + 1 :])
    return box


def readable_part(axis: Axis, allowed: Bools, seed: int) -> Bools:
    """The part of some cells around one of them that is said in few words."""
    if allowed.all():
        return allowed
    known = axis.known
    if not known[seed]:
        return allowed if (allowed | ~known).all() else allowed & ~known
    if axis.feature.kind == "categorical" and not axis.feature.ordered:
        return allowed
    run = np.zeros(len(axis), dtype=bool)
    run[seed] = True
    places = np.flatnonzero(known)
    at = int(np.searchsorted(places, seed))
    for step in (range(at - 1, -1, -1), range(at + 1, len(places))):
        for place in step:
            if not allowed[places[place]]:
                break
            run[places[place]] = True
    return run | (allowed & ~known)
