"""Rows of cells: the product of the cells of several columns, as tables, and the cells of a row.

Where a graph and an artifact reach their labels by some nodes alone, two rows of one combination of cells get the same
labels, so one row for each combination decides whether the two are equal everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import Axis, axis_of, cells_of, inferred_feature
from rulekit.errors import GraphError
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Node
from rulekit.limits import BLOCK_CELLS
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Array, Table


def cell_rows(nodes: Iterable[Node], schema: Schema | None, most: int) -> Table | None:
    """A row of every combination of the cells of the columns that the nodes read; None where these are above `most`."""
    found = readers(nodes)
    features = features_read(found, schema)
    cells = [cells_of(feature, found[feature.name]) for feature in features]
    if any(one.feature.kind == "text" and len(one) > most for one in cells):
        return None
    columns = [one.encoded() for one in cells]
    return product(features, columns) if math.prod(map(len, columns)) <= most else None


def features_read(found: Mapping[str, Sequence[Node]], schema: Schema | None) -> list[Feature]:
    """The features of some `readers`: of the schema, in its order, or inferred where there is none."""
    if schema is None:
        return [inferred_feature(name, leaves) for name, leaves in found.items()]
    return [schema[name] for name in schema.names if name in found]


def product(features: Sequence[Feature], columns: Sequence[Array]) -> Table:
    """The table of every combination of the columns' values; the last column runs fastest."""
    n = inner = math.prod(map(len, columns))
    arrays = []
    for column in columns:
        inner //= len(column)
        arrays.append(column[np.tile(np.repeat(np.arange(len(column)), inner), n // (inner * len(column)))])
    return Table(tuple(features), tuple(arrays), n, source="cells")


@dataclass(frozen=True, slots=True, eq=False)
class CellSpace:
    """The axes of all columns that the nodes read, in schema order; a space without any has one cell."""

    axes: tuple[Axis, ...]

    @property
    def whole(self) -> bool:
        return all(axis.whole for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of combinations of cells."""
        return math.prod(map(len, self.axes))

    def blocks(self, times: int = 1) -> Iterator[npt.NDArray[np.int64]]:
        """The numbers of all cells in order, block by block; of more times from the size on once more."""
        for start in range(0, times * self.size, BLOCK_CELLS):
            yield np.arange(start, min(start + BLOCK_CELLS, times * self.size), dtype=np.int64)

    def rows(
        self, cells: npt.NDArray[np.int64], later: npt.NDArray[np.int64] | int = 0
    ) -> tuple[dict[str, npt.NDArray[Any]], Table]:
        """Rows of these cells, raw and encoded; a cell is its number in the product, the last column fastest.

        later: how many times further to go among the values that show a cell, [n] or for all.
        """
        found = []
        rest = cells
        for axis in reversed(self.axes):
            rest, cell = np.divmod(rest, len(axis))
            found.append(cell)
        return self.rows_of(found[::-1], cells + later)

    def rows_of(
        self, places: list[npt.NDArray[np.int64]], turn: npt.NDArray[np.int64]
    ) -> tuple[dict[str, npt.NDArray[Any]], Table]:
        """Rows by the cell of each axis; `turn` [n] picks among the values that show a cell."""
        columns, arrays = {}, []
        for j, (axis, cell) in enumerate(zip(self.axes, places, strict=True)):
            shown = (turn // (3 * j + 1) + 7 * turn) % axis.values.shape[1]
            columns[axis.feature.name] = axis.values[cell, shown]
            arrays.append(axis.encoded[cell, shown])
        features = tuple(axis.feature for axis in self.axes)
        return columns, Table(features, tuple(arrays), len(turn), source="cells")


def cell_space(
    schema: Schema,
    nodes: Iterable[Node],
    texts: Mapping[str, tuple[str, ...]] | None = None,
    also: Collection[str] = (),
    made: dict[Any, Axis] | None = None,
    apart: Collection[str] = (),
) -> CellSpace:
    """The cells of the columns that are read below `nodes`.

    texts: further cells of categories, each for itself; also: columns that rows must have, though no node tells their
    values apart: they have one cell. made: axes of earlier spaces, which are used again for the same nodes. apart:
    columns whose cells stay apart as `axis_of` says.

    Raises GraphError where a node reads no column of the schema, or one of another kind.
    """
    found = readers(nodes)
    unknown = sorted(set(found) - set(schema.names))
    if unknown:
        raise GraphError(f"no column {unknown[0]!r}")
    names = [name for name in schema.names if name in found or name in also] or list(schema.names[:1])
    axes, extra = {} if made is None else made, texts or {}
    for name in names:
        key = name, frozenset(found.get(name, ()))
        if key not in axes:
            axes[key] = axis_of(schema[name], found.get(name, []), extra.get(name, ()), name in apart)
    return CellSpace(tuple(axes[name, frozenset(found.get(name, ()))] for name in names))
