"""What a column of a row may be changed to: the nearest known value of each of its cells, and how far that is.

The distance of a number is its difference, as a share of the range of the column: that of the training rows, where the
model knows it, else that of the cuts; it is 1 from a missing number, and of another level or truth value. Nothing is
changed to missing, or to a level that training never saw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rulekit.cells.axis import cells_of
from rulekit.graph.language.bounds import WHOLE
from rulekit.graph.language.readable import amount
from rulekit.graph.language.words import name
from rulekit.graph.nodes import Node
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import Array, encoded_dtype

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph

ELSEWHERE = -1
"""The cell of a value that nothing is changed to: missing, or a level never seen (that is -2)."""


@dataclass(frozen=True)
class Moves:
    """The cells of a column and what it means to go to them.

    lows, highs [cells]: the interval of a cell, above `low` up to `high`; of a truth value or a level both are it.
    width: the range of a numeric column.
    """

    feature: Feature
    lows: Array
    highs: Array
    width: float = 1.0

    def __len__(self) -> int:
        return len(self.highs)

    @cached_property
    def numeric(self) -> bool:
        return self.feature.kind == "numeric"

    @cached_property
    def shown(self) -> Array:
        """A value of each cell [cells], in the type of the column's array."""
        return self.moved(np.full(len(self), np.nan), np.arange(len(self)))

    def cell(self, values: Array) -> Array:
        """The cell of each value [n] of the column's array."""
        if self.feature.kind == "categorical":
            own = {code: place for place, code in enumerate(self.highs.tolist())}
            other = {MISSING_CODE: ELSEWHERE, UNSEEN_CODE: ELSEWHERE - 1}
            rest = len(self) - 1  # the levels that no condition names share the last cell
            return np.array([own.get(code, other.get(code, rest)) for code in values.tolist()], dtype=np.int64)
        found = np.searchsorted(self.highs[:-1], values, side="left")
        return np.where(np.isnan(values), ELSEWHERE, found)

    def moved(self, values: Array, cells: Array) -> Array:
        """The value [n] of each of these cells that is nearest to the values [n]."""
        if not self.numeric:
            return self.highs[cells].astype(encoded_dtype(self.feature))
        low, high = self.lows[cells], self.highs[cells]
        dtype = encoded_dtype(self.feature)
        least = np.nextafter(low.astype(dtype), dtype.type(np.inf)).astype(np.float64)
        if self.feature.display in WHOLE:
            whole = np.floor(low) + 1.0
            least = np.where((low < whole.astype(dtype)) & (whole <= high), whole, least)
        known = np.where(np.isnan(values), np.where(np.isfinite(low), least, high), values)
        known = np.where(np.isfinite(known), known, 0.0)  # a column without cuts has one cell
        return np.where(known > high, high, np.where(known <= low, least, known)).astype(dtype)

    def distance(self, values: Array) -> Array:
        """How far each cell is from the values [n, cells]."""
        if not self.numeric:
            return np.ones((len(values), len(self)))
        columns = [self.moved(values, np.full(len(values), j)) for j in range(len(self))]
        apart = np.abs(np.column_stack(columns).astype(np.float64) - values[:, None].astype(np.float64)) / self.width
        return np.where(np.isnan(values)[:, None], 1.0, apart)

    def said(self, value: float, before: float = math.nan) -> str:
        """A value in words; `above 25000` where it is no plain number but the next one above a cut."""
        if self.feature.kind == "categorical":
            known = {MISSING_CODE: "missing", UNSEEN_CODE: "a level never seen"}
            return known.get(int(value)) or name(self.feature.levels[int(value) - FIRST_LEVEL_CODE])
        if math.isnan(value):
            return "missing"
        if self.feature.kind == "boolean":
            return "true" if value else "false"
        low = float(self.lows[self.cell(np.array([value]))[0]])
        bare = value > low and float(np.nextafter(encoded_dtype(self.feature).type(low), np.inf)) == value
        if bare and before != value and math.isfinite(low) and self.feature.display not in WHOLE:
            return f"above {amount(low, self.feature)}"
        return amount(value, self.feature)


def moves_of(graph: RuleGraph, column: str, nodes: Iterable[Node]) -> Moves:
    """The moves of a column among the cells that these nodes tell apart."""
    feature, cells = graph.schema[column], cells_of(graph.schema[column], nodes)
    if feature.kind == "boolean":
        return Moves(feature, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    if feature.kind == "categorical":
        codes = {level: code for code, level in enumerate(feature.levels, FIRST_LEVEL_CODE)}
        known = np.array([codes[level] for level in (*cells.levels, *cells.others[:1])], dtype=np.int64)
        return Moves(feature, known, known)
    cuts = [cut for cut in cells.cuts if math.isfinite(cut)]
    lows, highs = np.array([-math.inf, *cuts]), np.array([*cuts, math.inf])
    return Moves(feature, lows, highs, _width(graph, column, cuts))


def _width(graph: RuleGraph, column: str, cuts: list[float]) -> float:
    columns = graph.statistics.get("columns")
    known = columns.get(column) if isinstance(columns, dict) else None
    low, high = (known.get(end) if isinstance(known, dict) else None for end in ("low", "high"))
    if isinstance(low, int | float) and isinstance(high, int | float) and 0.0 < high - low < math.inf:
        return float(high - low)
    width = cuts[-1] - cuts[0] if cuts else 0.0
    return width if 0.0 < width < math.inf else max(1.0, abs(cuts[0]) if cuts else 1.0)
