"""Trees of linear threshold units over numbers, before they are rounded; and the shape of a tree.

A row begins at unit 0. Where a unit fires, it goes to the right child, and where there is none, is answered by yes;
where the unit does not fire, it goes to the left child, and where there is none, is answered by no (Sahami, section 2).
So a tree is a DNF: one conjunction for each unit without a right child, of the answers on the way and of the unit
itself (section 4, Figures 1 to 4). The paper has one for each unit "without two children", which loses paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints

NONE = -1


@dataclass(frozen=True, eq=False)
class Shape:
    """left, right [m]: the children of each unit, NONE where there is none; a child comes after its parent.

    One with no unit is not a shape: a constant has no need of a tree.
    """

    left: Ints
    right: Ints

    @classmethod
    def of(cls, left: Sequence[int], right: Sequence[int]) -> Shape:
        return cls(np.array(left, dtype=np.int64), np.array(right, dtype=np.int64))

    @classmethod
    def chain(cls, size: int, by_left: bool = True) -> Shape:
        """Units one after another: by their left children, the or of all of them; by their right children, the and."""
        following, none = [*range(1, size), NONE], [NONE] * size
        return cls.of(following, none) if by_left else cls.of(none, following)

    @property
    def size(self) -> int:
        return len(self.left)

    @cached_property
    def parents(self) -> Ints:
        """The parent [m] of each unit, NONE of the root."""
        found = np.full(self.size, NONE, dtype=np.int64)
        for children in (self.left, self.right):
            real = children != NONE
            found[children[real]] = np.flatnonzero(real)
        return found

    @cached_property
    def ways(self) -> Ints:
        """The answers [m, m] on the way to each unit: 1 where a row must have made the other one fire, -1 where not."""
        found = np.zeros((self.size, self.size), dtype=np.int64)
        for unit in range(1, self.size):
            parent = self.parents[unit]
            found[unit] = found[parent]
            found[unit, parent] = 1 if self.right[parent] == unit else -1
        return found

    @cached_property
    def yes(self) -> Ints:
        """The units that answer by yes: those without a right child, which are the gates of the network."""
        return np.flatnonzero(self.right == NONE)

    @cached_property
    def no(self) -> Ints:
        """The units that answer by no: those without a left child."""
        return np.flatnonzero(self.left == NONE)

    @cached_property
    def gates(self) -> Ints:
        """The conjunctions [len(yes), m] of the network: 1 where a unit must fire, -1 where it must not."""
        return self.ways[self.yes] + np.eye(self.size, dtype=np.int64)[self.yes]

    def ends(self, fires: Bools) -> tuple[Ints, Bools]:
        """Where rows are answered and by what [n]; fires [n, m]: which units fire on which rows."""
        n = len(fires)
        at, yes = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
        for unit in range(self.size):  # children come after their parents
            rows = np.flatnonzero(at == unit)
            own = fires[rows, unit]
            following = np.where(own, self.right[unit], self.left[unit])
            yes[rows] = own
            at[rows] = np.where(following == NONE, unit, following)
            # one that stays is not looked at again, as its unit has been passed
        return at, yes

    def decides(self, fires: Bools) -> Bools:
        return self.ends(fires)[1]

    def without(self, child: int) -> tuple[Shape, Ints]:
        """The shape without a child and all below it, and the units [k] that are left."""
        gone = self.ways[:, child] != 0
        return self._of_kept(~gone, child, NONE)

    def in_place_of(self, unit: int, child: int) -> tuple[Shape, Ints]:
        """The same with a child, and all below it, in the place of its parent."""
        kept = (self.ways[:, unit] == 0) | (self.ways[:, child] != 0)
        kept[child] = True
        return self._of_kept(kept, unit, child)

    def passing(self, unit: int, fires: bool) -> tuple[Shape, Ints] | None:
        """The shape without a unit that always (or never) fires, and the units [k] that are left.

        None where it cannot be left out: it is all that there is, or its parent would give the other answer.
        """
        child = int(self.right[unit] if fires else self.left[unit])
        if child != NONE:
            return self.in_place_of(unit, child)
        parent = int(self.parents[unit])
        # It always gives one answer, which its parent gives itself where it answers so on that side; else it stays.
        if parent != NONE and fires == bool(self.right[parent] == unit):
            return self.without(unit)
        return None

    def _of_kept(self, which: Bools, gone: int, instead: int) -> tuple[Shape, Ints]:
        """The units that are kept but for one, in the place of which another comes, or NONE."""
        kept = np.flatnonzero(which & (np.arange(self.size) != gone))
        number = {NONE: NONE} | {int(unit): i for i, unit in enumerate(kept)}
        number[gone] = number[instead]
        children = (self.left[kept].tolist(), self.right[kept].tolist())
        return Shape.of(*([number[child] for child in side] for side in children)), kept


@dataclass(frozen=True, slots=True, eq=False)
class LTUTree:
    """Unit k fires where biases[k] + weights[k] @ inputs >= 0; weights [m, d], biases [m]; shape: of the m units."""

    shape: Shape
    weights: Floats
    biases: Floats

    @classmethod
    def of(cls, shape: Shape, units: npt.NDArray[np.floating]) -> LTUTree:
        """From the units [m, d + 1], the bias of each last."""
        own = np.asarray(units, dtype=np.float64).reshape(shape.size, -1)
        return cls(shape, own[:, :-1].copy(), own[:, -1].copy())

    @classmethod
    def of_no_unit(cls, n_inputs: int) -> LTUTree:
        """What a tree over so many inputs grows from; see `with_unit`."""
        return cls(Shape.of([], []), np.zeros((0, n_inputs)), np.zeros(0))

    def with_unit(self, unit: Floats, parent: int, right: bool) -> LTUTree:
        """With one unit more, weights [d] and the bias behind them, at the right or the left of its parent."""
        children = [np.append(side, NONE) for side in (self.shape.left, self.shape.right)]
        if parent != NONE:
            children[right][parent] = self.size
        return LTUTree.of(Shape(*children), np.vstack([self.units, unit]))

    @property
    def units(self) -> Floats:
        return np.hstack([self.weights, self.biases[:, None]])

    @property
    def size(self) -> int:
        return self.shape.size

    @property
    def live(self) -> Ints:
        return np.flatnonzero(self.weights.any(axis=0))

    def margins(self, inputs: Floats) -> Floats:
        return np.asarray(inputs @ self.weights.T + self.biases)

    def decides(self, inputs: Floats) -> Bools:
        return self.shape.decides(self.margins(inputs) >= 0.0)

    def kept(self, shape: Shape, units: Ints) -> LTUTree:
        return LTUTree(shape, self.weights[units], self.biases[units])

    def without_idle(self, fires: Bools) -> LTUTree:
        """The tree without units that all rows that come to them pass on the same side; the root stays.

        fires [n, m]: which units fire on which rows.
        """
        tree, unit = self, 0
        while unit < tree.size:
            way = tree.shape.ways[unit]
            here = ((way == 0) | (way == np.where(fires, 1, -1))).all(axis=1)
            own = fires[here, unit]
            passing = None if own.any() and not own.all() else tree.shape.passing(unit, bool(own.any()))
            if passing is None:
                unit += 1
            else:
                tree, fires = tree.kept(*passing), fires[:, passing[1]]
        return tree

    def over(self, inputs: Ints, n_inputs: int) -> LTUTree:
        """The tree over all inputs, so many, of which it has seen some, by their numbers [d]."""
        weights = np.zeros((self.size, n_inputs))
        weights[:, inputs] = self.weights
        return replace(self, weights=weights)
