"""Axes, cells of a column that nodes read alike joined, and the product of the cells of several columns, as tables.

Where a graph and an artifact reach their labels by some nodes alone, two rows of one combination of cells get the same
labels, so one row for each combination decides whether the two are equal everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Ints
from rulekit.cells.axis import Cells, cells_of, codes_of, has_few_steps, inferred_feature
from rulekit.errors import GraphError
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import by_code, readers
from rulekit.graph.nodes import Column, Node
from rulekit.limits import BLOCK_CELLS
from rulekit.numbers import float32, next_float32
from rulekit.schema import UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import Table, absent, encoded_dtype

MOST_SHOWN = 6
READ_AT_ONCE = 1024  # nodes whose readings are compared together


@dataclass(frozen=True, eq=False)
class Axis:
    """The raw cells of one column, those that every node reads alike joined.

    values: raw values [cells, shown] of each cell, the same one several times where it has few; encoded: the same as a
    table of the schema holds them. readings: by node its truth or number [cells]. whole: False where the values inside
    a cell differ for some node (a Column).
    one_by_one: the cells before they were joined; joined [cells one by one]: which cell of the axis each is part of, -1
    where it holds no value.
    """

    feature: Feature
    values: Array
    encoded: Array
    readings: Mapping[Node, Array]
    one_by_one: Cells
    joined: Ints
    whole: bool = True

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def missing(self) -> Bools:
        """Which cells are missing."""
        return absent(self.encoded[:, 0])

    @cached_property
    def known(self) -> Bools:
        """Which cells hold a value that is neither missing nor a level never seen."""
        first = self.encoded[:, 0]
        return ~self.missing & (True if first.dtype.kind == "f" else first != UNSEEN_CODE)

    @cached_property
    def cells(self) -> Cells:
        """The cells one by one, as a table of the schema holds their values."""
        cuts = tuple(_width_cut(self.feature, cut) for cut in self.one_by_one.cuts)
        return replace(self.one_by_one, cuts=cuts, raw=False)

    def of_values(self, values: Array) -> Ints:
        """The cell [n] of the encoded values [n] of a table; of an axis whose cells are `apart`."""
        return self.joined[self.cells.of_values(values)]

    def mask(self, chosen: Bools) -> int:
        """The cells one by one, as bits, of the chosen cells; one without a value goes with the one before."""
        found, before = 0, False
        for cell, place in enumerate(self.joined.tolist()):
            before = bool(chosen[place]) if place >= 0 else before
            found |= int(before) << cell
        return found & self.cells.full

    def truth(self, node: Node) -> Bools:
        """Where a Boolean node that reads this column alone holds [cells]."""
        table = Table((self.feature,), (self.encoded[:, 0],), len(self), source="cells")
        return evaluate_nodes([node], table)[node]


def _width_cut(feature: Feature, cut: float) -> float:
    """The largest number of the column's width up to a double; what is at most the one is at most the other."""
    near = cut if feature.precision == "float64" else float32(cut)
    return near if near <= cut else -next_float32(-near)


def axis_of(feature: Feature, nodes: Sequence[Node], texts: Sequence[str] = (), apart: bool = False) -> Axis:
    """The joined cells of one column; texts: further cells of a category, each for itself.

    apart: missing and unseen have cells of their own, and so has each level of an ordered category, so that the cells
    of known values stand in the column's order.
    """
    if feature.kind == "text":
        where, fix = f"column {feature.name!r}", "take its words apart (rulekit.cells.words)"
        raise GraphError("a text has too many cells to be one axis", where=where, fix=fix)
    cells = cells_of(feature, nodes, raw=True)
    if apart and feature.ordered and feature.kind == "categorical":
        cells = Cells(feature, (), feature.levels, (), raw=True)
    numeric = feature.kind == "numeric"
    loose = [node for node in nodes if numeric and isinstance(node, Column) and not has_few_steps(node)]
    readings = {node: cells.reading(node) for node in nodes if node not in loose}
    shown = cells.shown()
    there = [i for i, values in enumerate(shown) if values]
    ordered = feature.kind != "categorical" or feature.ordered
    n_known = len(cells) - 1 - (feature.kind == "categorical")
    # a number for each cell, the same for those that may be joined: if they stay apart, known values without an order
    numbers = [i if apart and (ordered or i >= n_known) else 0 for i in range(len(cells))]
    # what a Column yields differs from interval to interval, so none are joined
    groups = [[i] for i in there] if loose else _joined(readings, there, numbers)
    kept = [[value for i in group for value in shown[i]] for group in groups]
    most, last = 1 if loose else MOST_SHOWN, MOST_SHOWN - 1
    kept = [[v[i * (len(v) - 1) // last] for i in range(most)] if len(v) > most else v for v in kept]
    first = np.array([group[0] for group in groups], dtype=np.intp)
    joined = np.full(len(cells), -1, dtype=np.int64)
    for place, group in enumerate(groups):
        joined[group] = place
    merged = {node: row[first] for node, row in readings.items()}
    if feature.kind != "categorical":
        values = _padded(kept, np.float64)
        with np.errstate(over="ignore"):
            encoded = (values + 0.0).astype(encoded_dtype(feature))
        return Axis(feature, values, encoded, merged, cells, joined, not loose)
    known = {text for values in shown for text in values}
    further = [text for text in texts if text not in known]
    if feature.unseen == "error":  # such a column holds other spellings of a level, and no text that is no level
        found = codes_of(replace(feature, unseen="unseen"), further)
        further = [text for text, code in zip(further, found, strict=True) if code != UNSEEN_CODE]
    codes = codes_of(feature, further)
    merged = {node: np.append(row, by_code(node, feature)[codes]) if codes else row for node, row in merged.items()}
    values = _padded([*kept, *([text] for text in further)], object)
    encoded = np.array(codes_of(feature, values.reshape(-1).tolist()), dtype=encoded_dtype(feature))
    return Axis(feature, values, encoded.reshape(values.shape), merged, cells, joined)


def _joined(readings: Mapping[Node, Array], cells: Sequence[int], apart: Sequence[int]) -> list[list[int]]:
    """The cells in groups that every node reads alike; those with different numbers in `apart` stay apart."""
    alike = [apart[cell] for cell in cells]  # by cell a number, the same for those that the nodes so far read alike
    chosen = np.array(cells, dtype=np.intp)
    columns = [row[chosen].view(np.uint8).reshape(len(cells), -1) for row in readings.values()]
    for start in range(0, len(columns), READ_AT_ONCE):
        numbers: dict[tuple[int, bytes], int] = {}
        for i, row in enumerate(np.concatenate(columns[start : start + READ_AT_ONCE], axis=1)):
            alike[i] = numbers.setdefault((alike[i], row.tobytes()), len(numbers))
    groups: dict[int, list[int]] = {}
    for cell, number in zip(cells, alike, strict=True):
        groups.setdefault(number, []).append(cell)
    return list(groups.values())


def _padded(rows: list[list[Any]], dtype: Any) -> Array:
    """Rows of values as a table; a row of fewer has them several times."""
    width = math.lcm(*{len(row) for row in rows}) if rows else 1
    table = np.empty((len(rows), width), dtype=dtype)
    for i, row in enumerate(rows):
        table[i] = row * (width // len(row))
    return table


# The product of the cells of several columns -------------------------------------------------------------------------


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

    def blocks(self, times: int = 1) -> Iterator[Ints]:
        """The numbers of all cells in order, block by block; of more times from the size on once more."""
        for start in range(0, times * self.size, BLOCK_CELLS):
            yield np.arange(start, min(start + BLOCK_CELLS, times * self.size), dtype=np.int64)

    def rows(self, cells: Ints, later: Ints | int = 0) -> tuple[dict[str, Array], Table]:
        """Rows of these cells, raw and encoded; a cell is its number in the product, the last column fastest.

        later: how many times further to go among the values that show a cell, [n] or for all.
        """
        found = []
        rest = cells
        for axis in reversed(self.axes):
            rest, cell = np.divmod(rest, len(axis))
            found.append(cell)
        return self.rows_of(found[::-1], cells + later)

    def rows_of(self, places: list[Ints], turn: Ints) -> tuple[dict[str, Array], Table]:
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
