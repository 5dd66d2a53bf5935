"""A tree grown from the root by units of moments, judged by held-out rows; a tree that is there may be grown on.

Where too many rows on one side of a unit are wrong, the side gets a unit of its own, with the tolerances of Sahami's
paper; here a unit must also split the held-out rows that come to it, and sides are taken up where a tree that was
fitted ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.ltu.candidates import FitOptions
from rulekit.learners.ltu.loss import FitRows, TreeTraining
from rulekit.learners.ltu.moments import best_unit, entropies, split_entropy
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape

_TOLERANCES = ((25.0, 0.25), (100.0, 0.12), (float("inf"), 0.06))
"""Pairs (n, share): the first whose n is at least the weight of a side says which share of it may be wrong."""


def tolerated(wrong: float, total: float) -> bool:
    """Whether a side that weighs `total`, of which `wrong` is answered wrongly, needs no child."""
    return wrong <= next(share for n, share in _TOLERANCES if total <= n) * total


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Rows, and held-out ones, below `parent` on its right or left side, where no unit is yet; depth: units above."""

    at: Bools
    held: Bools
    parent: int
    right: bool
    depth: int


def grown(
    rows: FitRows,
    held: FitRows,
    options: FitOptions,
    training: TreeTraining,
    check: Callable[[], None],
    tree: LTUTree | None = None,
) -> LTUTree | None:
    """The grown tree; None where no unit splits the rows.

    A unit below the root must split the held-out rows that come to it by more than chance would. tree: one to go on
    from, each side of which gets a unit where a few rows are wrong: one that the first units left no place for.
    """
    growing = _Growing.of(tree)
    everywhere = np.ones(len(rows.targets), dtype=bool), np.ones(len(held.targets), dtype=bool)
    if tree is None:
        waiting = [_Side(*everywhere, NONE, False, 0)]
    else:
        waiting = [side for side in _open_sides(tree, rows, held) if rows.at(side.at).wrong_if(side.right) >= _WRONG]
    while waiting and len(growing.units) < options.max_nodes:
        side = waiting.pop(0)
        unit = best_unit(rows.at(side.at), training, check)
        if unit is None or (side.depth and not _tells(held.at(side.held), unit)):
            continue
        number = growing.add(unit, side)
        fires, held_fires = _fires(rows, unit), _fires(held, unit)
        for yes in (True, False):
            at = side.at & (fires == yes)
            here = rows.at(at)
            enough = side.depth + 1 < options.max_depth and 0.0 < here.share < 1.0
            if enough and not tolerated(here.wrong_if(yes), here.total):
                waiting.append(_Side(at, side.held & (held_fires == yes), number, yes, side.depth + 1))
    return growing.tree


_WRONG = 4.0


@dataclass(slots=True, eq=False)
class _Growing:
    """A tree that is being grown: its units [d + 1] and their children."""

    units: list[Floats]
    left: list[int]
    right: list[int]

    @classmethod
    def of(cls, tree: LTUTree | None) -> _Growing:
        if tree is None:
            return cls([], [], [])
        units = np.hstack([tree.weights, tree.biases[:, None]])
        return cls(list(units), tree.shape.left.tolist(), tree.shape.right.tolist())

    @property
    def tree(self) -> LTUTree | None:
        if not self.units:
            return None
        found = np.array(self.units)
        return LTUTree(Shape.of(self.left, self.right), found[:, :-1], found[:, -1])

    def add(self, unit: Floats, side: _Side) -> int:
        """A unit on a side; its number."""
        number = len(self.units)
        self.units.append(unit)
        self.left.append(NONE)
        self.right.append(NONE)
        if side.parent != NONE:
            (self.right if side.right else self.left)[side.parent] = number
        return number


def _open_sides(tree: LTUTree, rows: FitRows, held: FitRows) -> list[_Side]:
    """The sides of a tree where rows are answered."""
    ends, yes = tree.shape.ends(rows.fires(tree.weights, tree.biases))
    held_ends, held_yes = tree.shape.ends(held.fires(tree.weights, tree.biases))
    depths = np.abs(tree.shape.ways).sum(axis=1) + 1
    return [
        _Side(
            (ends == unit) & (yes == right), (held_ends == unit) & (held_yes == right), unit, right, int(depths[unit])
        )
        for unit in range(tree.size)
        for right, children in ((True, tree.shape.right), (False, tree.shape.left))
        if children[unit] == NONE
    ]


def _fires(rows: FitRows, unit: Floats) -> Bools:
    return rows.fires(unit[None, :-1], unit[-1:])[:, 0]


_CHANCE = 2.0
"""Nats: a split that means nothing tells more in one case of twenty."""


def _tells(rows: FitRows, unit: Floats) -> bool:
    yes = np.array([rows.weights @ rows.targets])
    before = float(entropies(yes, rows.total - yes)[0])
    return before - float(split_entropy(rows, _fires(rows, unit)[None])[0]) > _CHANCE
