"""To which values the columns of a model may go when one asks what counts: a known value of every cell of a column.

Of a text each word is a column of its own, and so is its being missing, from which one can only come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.cells.axis import Axis, cells_of
from rulekit.cells.space import CellSpace
from rulekit.graph.leaves import by_code, readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, Feature
from rulekit.search.row_search import RowSearch, is_known
from rulekit.tables.table import Array, Table, encoded_dtype


@dataclass(frozen=True)
class Place:
    """A column that may change: its name in the model (of a word that of its text), and a known value of each cell.

    values: encoded, in the order of the column where it has one. cells: the numbers of their cells in the axis.
    """

    column: str
    feature: Feature
    values: Array
    cells: tuple[int, ...] = ()


@dataclass(frozen=True)
class Places:
    """The columns that a decision reads.

    search: the cells; its graph is the model, with a column for each word of a text. whole: whether the values stand
    for all, so that what is found by trying them is true of every row.
    """

    search: RowSearch
    places: tuple[Place, ...]

    @cached_property
    def graph(self) -> RuleGraph:
        """The model without what it reports, which may read further columns."""
        return self.search.graph.with_(probability=(), required=())

    @property
    def space(self) -> CellSpace:
        return self.search.space

    @property
    def whole(self) -> bool:
        return self.space.whole

    def table(self, table: Table) -> Table:
        """Rows of the model as rows of the columns here."""
        apart = table if self.search.words is None else self.search.words.table(table)
        return apart.select(tuple(axis.feature.name for axis in self.space.axes))

    def number(self, place: int, own: float, after: Any) -> int:
        """Which value of a place stands for a plain one, to which a row goes from its own encoded one.

        Where values do not stand for all, that is the one at the end that it goes towards.
        """
        there = self.places[place]
        if there.feature.kind == "categorical":
            after = FIRST_LEVEL_CODE + there.feature.levels.index(after)
        if not there.cells:
            return len(there.values) - 1 if math.isnan(own) or after > own else 0
        return there.cells.index(int(self.cell(place, np.array([after], dtype=there.values.dtype))[0]))

    @cached_property
    def upper(self) -> dict[str, Array]:
        """By numeric column the largest value of each known cell."""
        return {
            axis.feature.name: axis.encoded[is_known(axis)].max(axis=1)
            for axis in self.space.axes
            if axis.feature.kind == "numeric"
        }

    def cell(self, place: int, values: Array) -> Array:
        """The number of the cell [n] that each value lies in; of a space that is whole."""
        axis = self.space.axes[place]
        if axis.feature.kind == "categorical":
            return _cells_by_code(axis)[values]
        known = np.flatnonzero(is_known(axis))
        (absent,) = np.flatnonzero(~is_known(axis))[:1] if (~is_known(axis)).any() else (-1,)
        if axis.feature.kind == "boolean":
            found = known[np.minimum((values > 0.5).astype(np.int64), len(known) - 1)]
        else:
            ends = self.upper[axis.feature.name]
            found = known[np.minimum(np.searchsorted(ends[:-1], values, side="left"), len(known) - 1)]
        return np.where(np.isnan(values), absent, found)


def places_of(graph: RuleGraph, *more: RowSearch) -> Places:
    """The columns that the decision of a model reads, with the cells that it tells apart."""
    search = more[0] if more else RowSearch(graph, graph.decision.roots)
    texts = {} if search.words is None else search.words.columns
    column = {name: text for text, names in texts.items() for name in names}
    first = {names[0] for names in texts.values()}
    read = readers(search.graph.decision.roots)
    found = []
    for axis in search.space.axes:
        feature = axis.feature
        cells = tuple(np.flatnonzero(is_known(axis)).tolist())
        values = axis.encoded[list(cells), 0]
        if feature.kind == "boolean" and len(cells) > 1:
            order = np.argsort(values, kind="stable")
            cells, values = tuple(cells[i] for i in order), values[order]
        if feature.name in first:
            cells, values = cells[:1], values[:1]
        if not axis.whole:
            cells, values = (), _ends(feature, read.get(feature.name, ()))
        found.append(Place(column.get(feature.name, feature.name), feature, values, cells))
    return Places(search, tuple(found))


def _ends(feature: Feature, nodes: Sequence[object]) -> Array:
    """Both ends of each interval of a column that is added up, where a sum is largest or smallest."""
    cuts = [cut for cut in cells_of(feature, nodes).cuts if math.isfinite(cut)]  # type: ignore[arg-type]
    dtype = encoded_dtype(feature)
    ends = np.array(cuts, dtype=dtype)
    beyond = np.nextafter(ends, dtype.type(np.inf))
    found: Array = np.unique(np.concatenate([ends, beyond]))
    return found if len(found) else np.zeros(1, dtype=dtype)


def _cells_by_code(axis: Axis) -> Array:
    """The number of the cell of each code of a category."""
    feature = axis.feature
    codes = np.arange(FIRST_LEVEL_CODE + len(feature.levels))
    kinds = np.minimum(codes, FIRST_LEVEL_CODE)
    own = np.minimum(axis.encoded[:, 0], FIRST_LEVEL_CODE)
    alike = kinds[:, None] == own[None, :]
    for node, reading in axis.readings.items():
        alike &= by_code(node, feature)[:, None] == reading[None, :]
    if feature.ordered:
        alike &= (codes[:, None] == axis.encoded[None, :, 0]) | (codes[:, None] <= UNSEEN_CODE)
    cells: Array = np.argmax(alike, axis=1)
    return cells
