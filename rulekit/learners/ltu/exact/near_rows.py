"""The rows that a rounding must leave on their side of a unit, the nearest to its plane first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.codes import Codes
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.ltu.exact.parts import RealUnit
from rulekit.learners.ltu.units import Unit

_NEAREST = 2048
_ADDED = 512


@dataclass(frozen=True, slots=True, eq=False)
class ComingRows:
    """The rows that come to a unit: n of them, which have the numbers `which` among those of codes (None: all)."""

    codes: Codes
    n: int
    which: Ints | None = None

    def column(self, column: int) -> npt.NDArray[Any]:
        """Their codes [n] in a column."""
        own = self.codes[column]
        return own if self.which is None else own[self.which]

    def take(self, rows: Ints) -> ComingRows:
        """Some of them, by their numbers."""
        return ComingRows(self.codes, len(rows), rows if self.which is None else self.which[rows])

    def sums(self, unit: Unit) -> Floats:
        """The sums [n] of an exact unit."""
        total = np.full(self.n, unit.bias)
        for term in unit.terms:
            total += term.points[self.column(term.column)]
        return total


@dataclass(frozen=True, slots=True, eq=False)
class SidedRows:
    """Rows that come to a unit, and whether it fires on each [n]; near: numbers of those that are tried first."""

    rows: ComingRows
    fires: Bools
    near: Ints

    @classmethod
    def of(cls, unit: RealUnit, rows: ComingRows, doubt: float = 0.0) -> SidedRows:
        """The rows by their side of a real unit; one on the plane is above it, as far as rounding tells.

        Rows within `doubt` of the plane, if it is above 0, are left out.
        """
        margins = np.full(rows.n, unit.bias)
        for column, table in unit.tables:
            margins += table[rows.column(column)]
        if doubt > 0.0:
            kept = np.flatnonzero(np.abs(margins) > doubt)
            rows, margins = rows.take(kept), margins[kept]
        fires = margins >= -unit.tolerance
        near = [_least(np.abs(margins), side, _NEAREST) for side in (np.flatnonzero(fires), np.flatnonzero(~fires))]
        return cls(rows, fires, np.concatenate(near))

    def with_crossing(self, sums: Floats) -> SidedRows:
        """The same, near being also rows that these sums [n] do not part from rows of the other side."""
        low, high = gap(sums, self.fires)
        below, above = np.flatnonzero(self.fires & (sums <= low)), np.flatnonzero(~self.fires & (sums >= high))
        furthest = (_least(sums, below, _ADDED), _least(-sums, above, _ADDED))
        return replace(self, near=np.unique(np.concatenate([self.near, *furthest])))


def gap(sums: Floats, fires: Bools) -> tuple[float, float]:
    """The largest sum of rows where a unit does not fire, and the least of those where it does."""
    return float(sums[~fires].max(initial=-np.inf)), float(sums[fires].min(initial=np.inf))


def _least(values: Floats, which: Ints, most: int) -> Ints:
    """Of some places those with the least values, at most so many, the least first."""
    own = values[which]
    if len(which) > most:
        kept = np.argpartition(own, most)[:most]
        which, own = which[kept], own[kept]
    return which[np.argsort(own, kind="stable")]
