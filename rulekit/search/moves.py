"""What a row may be changed to: which columns, which way, the nearest known value of each cell, and how far that is.

The distance of a number is its difference, in units of the spread of the column over the training rows (their
interquartile range, else their range), where the model knows it, else of the range of the cuts; it is 1 from a missing
number, and of another level or truth value. Nothing is changed to missing, or to a level that training never saw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Ints
from rulekit.cells.axis import Cells, cells_of, cleaned
from rulekit.cells.bounds import leaf_bounds
from rulekit.errors import InputError
from rulekit.graph.language.words import WHOLE, amount, name
from rulekit.graph.nodes import Column, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema, require_column
from rulekit.tables.table import Array, encoded_dtype

FARTHEST = 1e18
"""The distance of what is infinitely far, such as any number from an infinite one."""

Direction = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which changes of a row count.

    immutable: columns that must not change. directions: by column whether it may only go up or down; up is from false
    to true, and to a higher level of an ordered category. A missing value may become any other one.
    """

    immutable: frozenset[str] = frozenset()
    directions: Mapping[str, Direction] = field(default_factory=dict)

    def check(self, schema: Schema) -> None:
        """Raises InputError for a column that there is not, for one without an order, and for another direction."""
        for column in (*sorted(self.immutable), *self.directions):
            require_column(column, schema.names, "the model")
        for column, direction in self.directions.items():
            where = f"column {column!r}"
            if direction not in ("up", "down"):
                raise InputError(f"no direction {direction!r}", where=where, fix="write up or down")
            if not has_order(schema[column]):
                kind = "a text" if schema[column].kind == "text" else "a category without ranks"
                fix = "name a column of numbers, dates, truth values or ordered levels, or make it immutable"
                raise InputError(f"{kind} goes neither up nor down", where=where, fix=fix)


def has_order(feature: Feature) -> bool:
    """Whether values of a column lie above each other."""
    return feature.kind in ("numeric", "boolean") or (feature.kind == "categorical" and feature.ordered)


ANY = Wishes()


@dataclass(frozen=True)
class Moves:
    """The cells of a column and what it means to go to them.

    cells: with missing and unseen. lows, highs [known cells]: the interval of a cell, above `low` up to `high`; of a
    truth value or a level both are it. width: the spread of a numeric column.
    """

    cells: Cells
    lows: Array
    highs: Array
    width: float = 1.0

    def __len__(self) -> int:
        return len(self.highs)

    @property
    def feature(self) -> Feature:
        return self.cells.feature

    @cached_property
    def numeric(self) -> bool:
        return self.feature.kind == "numeric"

    @cached_property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return self.feature.display in WHOLE

    @cached_property
    def shown(self) -> Array:
        """A value of each cell, then of missing and of a level never seen [cells + 2], in the type of the column."""
        if self.feature.kind == "categorical":
            return np.append(self.highs, [MISSING_CODE, UNSEEN_CODE]).astype(encoded_dtype(self.feature))
        known = self.moved(np.full(len(self), np.nan), np.arange(len(self)))
        return np.append(known, [math.nan, math.nan]).astype(known.dtype)

    def cell(self, values: Array) -> Ints:
        """The cell of each value [n] of the column's array: behind the known ones missing, then a level never seen."""
        found = self.cells.of_values(values)
        if self.feature.kind != "categorical":
            return found
        places = np.arange(len(self.cells))
        places[-2:] = len(self) + 1, len(self)
        return places[found]

    def moved(self, values: Array, cells: Array) -> Array:
        """The value [n] of each of these cells that is nearest to the values [n]."""
        if not self.numeric:
            return self.highs[cells].astype(encoded_dtype(self.feature))
        least, most = (ends[cells] for ends in self._ends)
        known = np.where(np.isnan(values), np.where(np.isfinite(self.lows[cells]), least, most), values)
        known = np.where(np.isfinite(known), known, np.clip(0.0, least, most))
        return np.clip(known, least, most).astype(encoded_dtype(self.feature))

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The least and the largest value of each cell, of a column of whole numbers whole ones where it has some."""
        dtype = encoded_dtype(self.feature)
        with np.errstate(over="ignore"):
            least = np.nextafter(self.lows.astype(dtype), dtype.type(np.inf)).astype(np.float64)
        least, most = np.where(np.isfinite(self.lows), least, -np.inf), self.highs
        if self.whole:
            low, high = np.ceil(least).astype(dtype).astype(np.float64), np.floor(most)
            some = (low <= high) & (low >= least)
            least, most = np.where(some, low, least), np.where(some, high, most)
        return least, most

    def distance(self, values: Array) -> Array:
        """How far each cell is from the values [n, cells]."""
        if not self.numeric:
            return np.ones((len(values), len(self)))
        columns = [self.moved(values, np.full(len(values), j)) for j in range(len(self))]
        return self.apart(values[:, None], np.column_stack(columns))

    def apart(self, values: Array, others: Array) -> Array:
        """How far numbers are from each other."""
        with np.errstate(all="ignore"):
            apart = np.abs(others.astype(np.float64) - values.astype(np.float64)) / self.width
        return np.where(np.isnan(values), 1.0, np.where(apart < FARTHEST, apart, FARTHEST))

    def allowed(self, value: float, cell: int, direction: Direction | None) -> Array:
        """To which cells [cells] a value may go that is in a cell, that one left out."""
        places = np.arange(len(self))
        there: Array = places != cell
        if direction is not None and cell < len(self):
            order, own = (self.highs, value) if self.feature.kind == "categorical" else (places, cell)
            there = order > own if direction == "up" else order < own
        return there & (self._ends[0] < np.inf) if self.numeric else there

    # The numbers of a column one after the other: floats of its precision, or whole ones ----------------------------

    def next_above(self, values: Any) -> Array:
        """The next number of the column above each of some."""
        dtype = encoded_dtype(self.feature).type
        given = np.asarray(values, dtype=np.float64)
        with np.errstate(over="ignore"):
            found: Array = np.nextafter(given.astype(dtype), dtype(np.inf)).astype(np.float64)
            if self.whole:
                whole = (np.floor(given) + 1.0).astype(dtype).astype(np.float64)
                found = np.where(np.isfinite(given) & (whole > given), whole, found)
        return found

    def rounded(self, values: Array) -> Array:
        """The numbers of the column that are nearest to some values; of whole numbers the next ones below."""
        kept: Array = (np.floor(values) if self.whole else values).astype(encoded_dtype(self.feature))
        return kept.astype(np.float64)

    def settled(self, leaves: Sequence[Node], lows: Array, highs: Array) -> Array:
        """Whether each node has one value all over each of some intervals [n]."""
        nowhere = np.zeros(len(lows), dtype=bool)
        bounds = [leaf_bounds(node, self.feature, lows, highs, nowhere) for node in leaves]
        return np.asarray(np.logical_and.reduce([least == most for least, most in bounds]))

    def last_alike(self, leaves: Sequence[Node], values: Array) -> Array:
        """The largest numbers that the finest steps round as they round some values; of no steps the values."""
        steps = [node for node in leaves if isinstance(node, Column) and node.step]
        if not steps:
            return values
        finest = min(steps, key=lambda node: node.step)
        kept = cleaned(self.feature, finest, values)
        edge = self.rounded(kept + finest.step / 2.0)
        edge = np.where(edge > kept + finest.step / 2.0, -self.next_above(-edge), edge)
        edge = np.where(cleaned(self.feature, finest, edge) == kept, edge, -self.next_above(-edge))
        return np.where((cleaned(self.feature, finest, edge) == kept) & (edge > values), edge, values)

    # Words -----------------------------------------------------------------------------------------------------------

    def held(self, value: float) -> Any:
        """A value as JSON holds it: a number, a truth value, a level; None of what is missing."""
        if self.feature.kind == "categorical":
            return self.feature.levels[int(value) - FIRST_LEVEL_CODE] if value >= FIRST_LEVEL_CODE else None
        if math.isnan(value):
            return None
        return bool(value) if self.feature.kind == "boolean" else value

    def said(self, value: float, before: float = math.nan) -> str:
        """A value in words; `above 25000` where it is no plain number but the next one above a cut."""
        if self.feature.kind == "categorical":
            known = {MISSING_CODE: "missing", UNSEEN_CODE: "a level never seen"}
            return known.get(int(value)) or name(self.feature.levels[int(value) - FIRST_LEVEL_CODE])
        if math.isnan(value):
            return "missing"
        if self.feature.kind == "boolean":
            return "true" if value else "false"
        if math.isinf(value):
            return "infinity" if value > 0 else "-infinity"
        low = float(self.lows[self.cell(np.array([value]))[0]])
        with np.errstate(over="ignore"):
            bare = value > low and float(np.nextafter(encoded_dtype(self.feature).type(low), np.inf)) == value
        if bare and before != value and math.isfinite(low) and not self.whole:
            return f"above {amount(low, self.feature)}"
        return amount(value, self.feature)


def moves_of(graph: RuleGraph, column: str, nodes: Iterable[Node], ranked: bool = False) -> Moves:
    """The moves of a column among the cells that these nodes tell apart; ranked: each level has a cell of its own."""
    feature, cells = graph.schema[column], cells_of(graph.schema[column], nodes)
    if feature.kind == "boolean":
        return Moves(cells, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    if feature.kind == "categorical":
        cells = Cells(feature, (), feature.levels) if ranked else cells
        codes = {level: code for code, level in enumerate(feature.levels, FIRST_LEVEL_CODE)}
        known = np.array([codes[level] for level in (*cells.levels, *cells.others[:1])], dtype=np.int64)
        return Moves(cells, known, known)
    cuts = [cut for cut in cells.cuts if math.isfinite(cut)]
    lows, highs = np.array([-math.inf, *cuts]), np.array([*cuts, math.inf])
    columns = graph.statistics.get("columns")
    stated = columns.get(column) if isinstance(columns, dict) else None
    stated = stated if isinstance(stated, dict) else {}
    spread, low, high = (
        value if isinstance(value := stated.get(key), int | float) else math.nan for key in ("spread", "low", "high")
    )
    apart = cuts[-1] - cuts[0] if cuts else 0.0
    widths = (float(spread), float(high - low), apart, max(1.0, abs(cuts[0]) if cuts else 1.0))
    width = next(width for width in widths if 0.0 < width < math.inf)
    return Moves(Cells(feature, tuple(cuts)), lows, highs, width)
