"""Cells in which sums of trees are at or above zero, found by branch and bound over boxes of cells, or shown not to be.

The parts of a group, such as the leaves of a tree, exclude each other and leave out no row. So in a box a group adds at
least and at most what those of its parts add that reach into the box. A box that no goal rules out is halved across the
column on which most of these bounds hang; the sums are exact, so that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Array, Bools
from rulekit.exactness import Span, span_of_sum
from rulekit.graph.nodes import Above, Linear, Node
from rulekit.graph.rules import conjuncts
from rulekit.limits import Deadline
from rulekit.logic.satisfying import Sought

MOST_BOXES = 400_000
FEWEST, MOST_RESTS = 3, 64  # if leaves of a tree are missing: its parts, and the regions of the missing leaves
MOST_TOGETHER, MOST_BOUNDS = 512, 1 << 22  # boxes, and bounds of parts, that are worked out at once
Region = tuple[tuple[int, int], ...]  # axes, ascending, and of each a set of cells, as bits
Group = tuple[tuple[Region, float], ...]


@dataclass(frozen=True, slots=True)
class TreeSum:
    """A constant, and of each group the number of that part in which a row lies. strict: of a goal, above zero."""

    constant: float
    groups: tuple[Group, ...]
    strict: bool = True

    def at(self, axis: int, cell: int) -> TreeSum:
        """The sum of the row with this cell in one column."""

        def rest(group: Group) -> Group:
            own = [(region, number) for region, number in group if dict(region).get(axis, -1) >> cell & 1]
            return tuple((tuple(side for side in region if side[0] != axis), number) for region, number in own)

        return TreeSum(self.constant, tuple(map(rest, self.groups)), self.strict)

    def contrary(self) -> TreeSum:
        """The goal that holds where this one does not."""
        groups = tuple(tuple((region, -number) for region, number in group) for group in self.groups)
        return TreeSum(-self.constant, groups, not self.strict)

    def less(self, other: TreeSum) -> TreeSum:
        """How much more this is than a sum of the same trees on the same row or with another cell, tree by tree."""
        pairs = [(a, b) for a, b in zip(self.groups, other.groups, strict=True) if a != b]
        groups = tuple(_differences(a, b) for a, b in pairs) or ((((), 0.0),),)  # the same sum
        return TreeSum(self.constant - other.constant, groups)


def _differences(first: Group, second: Group) -> Group:
    found = [(_meet(a, b), x - y) for a, x in first for b, y in second]
    return tuple((region, number) for region, number in found if region is not None)


def _meet(first: Region, second: Region) -> Region | None:
    sides = dict(first)
    for axis, mask in second:
        sides[axis] = sides.get(axis, -1) & mask
    return tuple(sorted(sides.items())) if all(sides.values()) else None


def _without(first: Region, second: Region, sizes: Sequence[int]) -> Iterator[Region]:
    """The first region without the second one, in parts."""
    if _meet(first, second) is None:
        yield first
        return
    for axis, mask in second:
        outside = _meet(first, ((axis, (1 << sizes[axis]) - 1 & ~mask),))
        if outside is not None:
            yield outside
        first = _meet(first, ((axis, mask),)) or ()


def tree_sum(node: Above, on_axis: Callable[[Node], tuple[int, Bools] | None], sizes: Sequence[int]) -> TreeSum | None:
    """What a sum of trees exceeds its threshold by; None of another sum, and of one that may be rounded."""
    span = span_of_sum(node.score) if isinstance(node.score, Linear) else None
    if not isinstance(node.score, Linear) or span is None or not (span + span + Span.of(node.threshold)).fits():
        return None
    groups: list[list[tuple[Region, float]]] = []
    for weight, child in node.score.terms:
        region: Region | None = ()
        for literal in conjuncts(child):
            found = on_axis(literal)
            if found is None:
                return None
            mask = sum(1 << int(cell) for cell in np.flatnonzero(found[1]))
            region = None if region is None else _meet(region, ((found[0], mask),))
        if region is not None:
            if not groups or any(_meet(region, other) is not None for other, _ in groups[-1]):
                groups.append([])
            groups[-1].append((region, weight))
    for group in groups:
        rest: list[Region] = [()]  # where rows lie in none of the parts
        for region, _ in group:
            rest = [piece for own in rest for piece in _without(own, region, sizes)][: MOST_RESTS + 1]
        if len(rest) > MOST_RESTS or (rest and len(group) < FEWEST):
            return None
        group += [(region, 0.0) for region in rest]
    return TreeSum(node.score.bias - node.threshold, tuple(map(tuple, groups))) if groups else None


def found_cells(goals: Sequence[TreeSum], sizes: Sequence[int], deadline: Deadline) -> Sought:
    """Cells in which all goals are reached."""
    bounds = _Bounds(goals, sizes)
    low = np.zeros((len(sizes), 1), dtype=np.int64)
    high = np.array(sizes, dtype=np.int64)[:, None] - 1
    looked_at = 0
    while low.shape[1]:
        deadline.check()
        looked_at += min(bounds.together, low.shape[1])
        if looked_at > MOST_BOXES:
            left = f"{low.shape[1]:,} boxes of cells are left after {MOST_BOXES:,}"
            return Sought(None, f"the trees meet in too many ways: {left}")
        first, last = low[:, -bounds.together :], high[:, -bounds.together :]
        may, must, axis, near = bounds.over(first, last)
        if must.any():
            return Sought(tuple(first[:, int(must.argmax())].tolist()))
        order = np.flatnonzero(may)[np.argsort(near[may], kind="stable")]
        first, last, axis, n = first[:, order], last[:, order], axis[order], np.arange(len(order))
        middle = (first[axis, n] + last[axis, n]) // 2
        below, above = last.copy(), first.copy()
        below[axis, n], above[axis, n] = middle, middle + 1
        pairs = [np.stack(pair, axis=2).reshape(len(sizes), -1) for pair in ((first, above), (below, last))]
        low, high = (
            np.concatenate([old[:, : -bounds.together], new], axis=1)
            for old, new in zip((low, high), pairs, strict=True)
        )
    return Sought(None)


class _Bounds:
    """Bounds of goals over boxes of cells."""

    def __init__(self, goals: Sequence[TreeSum], sizes: Sequence[int]) -> None:
        groups = [group for goal in goals for group in goal.groups]
        places: dict[Region, int] = {}
        self.region = np.array([places.setdefault(region, len(places)) for group in groups for region, _ in group])
        self.number = np.array([number for group in groups for _, number in group])[:, None]
        self.starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
        order = np.argsort(self.region, kind="stable")  # of the parts, by region
        self.users = np.repeat(np.arange(len(groups)), [len(group) for group in groups])[order]
        self.used = np.searchsorted(self.region[order], np.arange(len(places)))
        self.goals = np.cumsum([0, *(len(goal.groups) for goal in goals[:-1])])
        self.constant = np.array([goal.constant for goal in goals])[:, None]
        self.strict = np.array([goal.strict for goal in goals])[:, None]
        sides: list[dict[int, int]] = [{} for _ in sizes]  # by axis: by region its cells there
        for region, place in places.items():
            for axis, mask in region:
                sides[axis][place] = mask
        self.sides: list[tuple[Array, Array]] = []  # by axis: regions, and how many of their cells stand before each
        for size, own in zip(sizes, sides, strict=True):
            many = size // 8 + 1
            cells = b"".join((mask << 1).to_bytes(many, "little") for mask in own.values())
            bits = np.unpackbits(np.frombuffer(cells, np.uint8), bitorder="little").reshape(len(own), 8 * many)
            self.sides.append((np.array(list(own), dtype=np.int64), bits.cumsum(axis=1, dtype=np.int32)))
        self.together = max(1, min(MOST_TOGETHER, MOST_BOUNDS // len(self.region)))

    def over(self, first: Array, last: Array) -> tuple[Bools, Bools, Array, Array]:
        """By box whether the goals may be, and are, reached, which column to halve, and how near they are."""
        reach = np.ones((len(self.used), first.shape[1]), dtype=bool)
        parted = []
        for (regions, counts), low, high in zip(self.sides, first, last, strict=True):
            cells = counts[:, high + 1] - counts[:, low]
            reach[regions] &= cells > 0
            parted.append((regions, cells < high - low + 1))
        here = reach[self.region]
        most = np.maximum.reduceat(np.where(here, self.number, -np.inf), self.starts)
        least = np.minimum.reduceat(np.where(here, self.number, np.inf), self.starts)
        upper, lower = (np.add.reduceat(own, self.goals) + self.constant for own in (most, least))
        spread = np.where(reach, np.maximum.reduceat((most - least)[self.users], self.used), 0.0)
        hanging = np.array([np.where(part, spread[regions], 0.0).sum(axis=0) for regions, part in parted])
        may, must = (np.where(self.strict, end > 0.0, end >= 0.0).all(axis=0) for end in (upper, lower))
        return may, must, hanging.argmax(axis=0), (upper + lower).min(axis=0)
