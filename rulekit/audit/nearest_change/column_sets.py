"""The sets of columns whose change may turn a decision, by size: all of them, or those that hit every obstacle.

An obstacle is a set of columns that forbids the wish as long as none of them changes, whatever the others do (bounds
show it). So every change that turns the decision hits every obstacle, and sets need only grow by the columns of one
that they do not hit yet: Reiter's hitting-set tree (A theory of diagnosis from first principles, 1987).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rulekit.audit.nearest_change.boxes import OPEN, Ints
from rulekit.audit.nearest_change.pattern import Pattern, columns_of

_ALL_TRIED = 3_000  # sets of one size that are all looked at, without obstacles


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
        """The last sets, each with one more column of an obstacle that it does not hit."""
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
