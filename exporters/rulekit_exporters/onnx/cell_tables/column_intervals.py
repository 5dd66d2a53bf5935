"""What is known of a column on a path of a decision tree: a set of its cells.

Every test of the tree is `x > bound`, with a stated side for missing. A category stands in the tree as its code, 0
missing, 1 unseen, 2 and up the levels; bounds lie between codes, and its missing is a code, never NaN. Fed as codes, a
category has a cell of its own below and above all codes: out of range is unseen.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rulekit.cells.axis import cells_of
from rulekit.graph.nodes import Node
from rulekit.schema import UNSEEN_CODE, Feature
from rulekit_exporters.onnx.conditions import Bit, Membership, bound_of, is_wide, next_above


@dataclass(frozen=True, slots=True)
class Test:
    """x > bound; NaN passes where `missing`."""

    feature: str
    bound: float
    missing: bool


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """Intervals between ascending bounds, each a bit of a set from the lowest on, and after them missing (NaN).

    coded: a category is fed as codes, any integer, and not as text.
    """

    feature: Feature
    bounds: tuple[float, ...]
    coded: bool

    @cached_property
    def missing(self) -> int:
        return 1 << (len(self.bounds) + 1)

    @cached_property
    def full(self) -> int:
        """All cells that hold a value."""
        if self.feature.kind == "categorical":
            return (self.missing - 1) if self.coded else (self.missing >> 1) - 2
        full = 2 * self.missing - 1
        return full & ~(self.missing >> 1) if self.bounds and self.bounds[-1] == math.inf else full

    def truth(self, bit: Bit, known: int) -> bool | None:
        """The truth value of a bit on a set of cells, None where it is not the same on all of it."""
        held = self._mask(bit) & known
        return None if held and held != known else bool(held)

    def test_for(self, bit: Bit, known: int) -> Test:
        """A test that decides a bit of unknown truth, or brings nearer its decision."""
        present = known & (self.missing - 1)
        low, high = (present & -present).bit_length() - 1, present.bit_length() - 1
        if isinstance(bit, Membership):
            mask = self._mask(bit)
            changes = [i for i in range(low, high) if (mask >> i ^ mask >> (i + 1)) & 1]
            return Test(bit.feature, self.bounds[changes[len(changes) // 2]], False)
        if bit.relation != "missing":
            return Test(bit.feature, bound_of(bit, self.feature), bit.relation == "<")
        if high == len(self.bounds) and low > 0:
            return Test(bit.feature, self.bounds[low - 1], False)
        return Test(bit.feature, math.inf if high == len(self.bounds) else self.bounds[high], True)

    def branches(self, test: Test, known: int) -> tuple[int, int]:
        """The cells where a test holds, and where it does not."""
        passed = self._above(test.bound) | (self.missing if test.missing else 0)
        return known & passed, known & ~passed

    def value(self, known: int) -> float:
        """An encoded value of the highest cell of a set: a number, NaN for missing, or the code of a category."""
        present = known & (self.missing - 1)
        place = present.bit_length() - 1
        if self.feature.kind == "categorical":
            return float(place - 1 if 1 <= place <= len(self.bounds) - 1 else UNSEEN_CODE)
        if not present:
            return math.nan
        if self.feature.kind == "boolean":
            return float(place)
        if place < len(self.bounds):
            return self.bounds[place]
        return next_above(self.bounds[-1], is_wide(self.feature)) if self.bounds else 0.0

    def _mask(self, bit: Bit) -> int:
        if isinstance(bit, Membership):
            unseen = bit.table[UNSEEN_CODE]
            return sum(1 << i for i, holds in enumerate((unseen, *bit.table, unseen)) if holds)
        if bit.relation == "missing":
            return self.missing
        above = self._above(bound_of(bit, self.feature))
        return above if bit.relation == ">" else (self.missing - 1) & ~above

    def _above(self, bound: float) -> int:
        """The intervals above a bound; all lie below infinity."""
        place = len(self.bounds) if bound == math.inf else bisect_left(self.bounds, bound)
        return (self.missing - 1) & ~((1 << (place + 1)) - 1)


def column_cells(feature: Feature, leaves: Sequence[Node], coded: bool) -> ColumnCells:
    """The cells of a column that these leaves tell apart; of a category a cell for each code."""
    if feature.kind == "boolean":
        return ColumnCells(feature, (0.5,), coded)
    if feature.kind == "numeric":
        return ColumnCells(feature, cells_of(feature, leaves).cuts, coded)
    return ColumnCells(feature, tuple(code - 0.5 for code in range(len(feature.levels) + 3)), coded)
