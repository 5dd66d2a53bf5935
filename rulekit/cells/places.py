"""The cells of a column one by one, and which cell of an axis each is: for rows of a table, and for words.

An `Axis` joins cells that every node reads alike; a table and a formula know the cells one by one (`Cells`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import Axis, Cells, cells_of
from rulekit.graph.leaves import by_code
from rulekit.graph.nodes import Node
from rulekit.numbers import float32, next_float32
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import Array, absent

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The cells of a column beside an axis of `apart` cells over the same nodes.

    of [cells]: the cell of the axis, -1 for one that holds no value.
    """

    axis: Axis
    cells: Cells
    of: Ints

    def of_rows(self, values: Array) -> Ints:
        """The cell of the axis [n] of the encoded values [n] of a table."""
        return self.of[self._one_by_one(values)]

    def _one_by_one(self, values: Array) -> Ints:
        cells, last = self.cells, len(self.cells) - 1
        if cells.feature.kind == "categorical":
            by = np.full(FIRST_LEVEL_CODE + len(cells.feature.levels), len(cells.levels), dtype=np.int64)
            place = {level: i for i, level in enumerate(cells.levels)}
            for code, level in enumerate(cells.feature.levels, FIRST_LEVEL_CODE):
                by[code] = place.get(level, len(cells.levels))
            by[MISSING_CODE], by[UNSEEN_CODE] = last, last - 1
            return by[values]
        missing = absent(values)
        if cells.feature.kind == "boolean":
            return np.where(missing, last, values > 0.5).astype(np.int64)
        cuts = np.array(cells.cuts, dtype=values.dtype)
        return np.where(missing, last, np.searchsorted(cuts, values, side="left")).astype(np.int64)

    def mask(self, chosen: npt.NDArray[np.bool_]) -> int:
        """The cells one by one, as bits, of the chosen cells [axis]; one without a value goes with the one before."""
        found, before = 0, False
        for cell, place in enumerate(self.of.tolist()):
            before = bool(chosen[place]) if place >= 0 else before
            found |= int(before) << cell
        return found & self.cells.full


def places_of(axis: Axis, nodes: Sequence[Node]) -> Places:
    """The places of an axis that `axis_of` made of these nodes with `apart`; of a column that is no text."""
    feature = axis.feature
    cells = cells_of(feature, nodes)
    if feature.kind == "numeric":  # raw cuts, those at which a column is rounded among them
        cells = Cells(feature, tuple(_cut(feature, cut) for cut in axis.cuts))
    if feature.ordered and feature.kind == "categorical":
        cells = Cells(feature, (), feature.levels, ())
    places = Places(axis, cells, np.arange(len(cells), dtype=np.int64))
    of = np.full(len(cells), -1, dtype=np.int64)
    if feature.kind != "categorical":
        of[places._one_by_one(axis.encoded[:, 0])] = np.arange(len(axis))
        return Places(axis, cells, of)
    read = [by_code(node, feature) for node in axis.readings]
    named = {level: code for code, level in enumerate(feature.levels, FIRST_LEVEL_CODE)}
    other = named[cells.others[0]] if cells.others else UNSEEN_CODE
    codes = [*(named[level] for level in cells.levels), other, UNSEEN_CODE, MISSING_CODE]
    by_reading = {_said(read, int(code), feature.ordered): i for i, code in enumerate(axis.encoded[:, 0].tolist())}
    for cell, code in enumerate(codes):
        of[cell] = by_reading.get(_said(read, code, feature.ordered), -1) if cells.full >> cell & 1 else -1
    return Places(axis, cells, of)


def _cut(feature: Feature, cut: float) -> float:
    """The largest number of the column's width up to a double; what is at most the one is at most the other."""
    if feature.precision == "float64":
        return cut
    near = float32(cut)
    return near if near <= cut else -next_float32(-near)


def _said(read: Sequence[Array], code: int, ordered: bool) -> tuple[object, ...]:
    """What tells the cells of a category apart: being known, the level where levels are ranks, and what nodes say."""
    known = FIRST_LEVEL_CODE if code >= FIRST_LEVEL_CODE and not ordered else code
    return (known, *(float(values[code]) for values in read))
