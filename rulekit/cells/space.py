"""Reachable cells of rows: for each column the kinds of values that some nodes tell apart, and rows that show them.

The nodes are those of a graph and of an artifact together. Two values of a column that give every node the same truth
(or number) are one cell; a row of the space is one cell of every column. Where a graph and an artifact reach their
labels by these nodes alone, two rows of one cell get the same labels, so one row for each cell decides whether the two
are equal everywhere.

Values are raw: doubles that were not rounded, so that a cell of a float32 column holds all doubles that round into it,
texts, None. A cell is shown by several values in turn: both ends of an interval, an infinity, missing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import GraphError
from rulekit.graph.nodes import Among, Column, Compare, IsTrue, Missing, Node, Step
from rulekit.graph.traversal import topological
from rulekit.numbers import double_crossing, float32, next_float32
from rulekit.program.nodes import RawCompare
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Array, Table, encoded_dtype

READS = (Compare, Among, IsTrue, Missing, Column, Step, RawCompare)
OVERFLOW = 2.0**128 - 2.0**103  # doubles from here on round to the infinity of float32
MOST_SHOWN = 6
MOST_STEPS = 1024  # of a cleaned column whose every value is a cell


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The cells of one column.

    values: raw values [cells, shown] of each cell, the same one several times where it has few; encoded: the same as a
    table of the schema holds them. readings: by node its truth or number [cells]. cuts: the doubles at which a
    numeric column's cells part. whole: False where the values inside a cell differ for some node (a Column).
    """

    feature: Feature
    values: npt.NDArray[Any]
    encoded: Array
    readings: Mapping[Node, Array]
    cuts: tuple[float, ...] = ()
    whole: bool = True

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class CellSpace:
    """The axes of all columns that the nodes read, in schema order; a space without any has one cell."""

    axes: tuple[Axis, ...]

    @property
    def whole(self) -> bool:
        return all(axis.whole for axis in self.axes)

    def __len__(self) -> int:
        """The number of cells; of more than `len` can hold, the largest that it can."""
        return min(math.prod(map(len, self.axes)), sys.maxsize)

    def rows(self, cells: npt.NDArray[np.int64]) -> tuple[dict[str, npt.NDArray[Any]], Table]:
        """Rows of these cells, raw and encoded; a cell is its number in the product, the last column fastest."""
        found = []
        rest = cells
        for axis in reversed(self.axes):
            rest, cell = np.divmod(rest, len(axis))
            found.append(cell)
        return self.rows_of(found[::-1], cells)

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
) -> CellSpace:
    """The cells of the columns that are read below `nodes`.

    texts: further cells of categories, each for itself; also: columns that rows must have, though no node tells their
    values apart: they have one cell.

    Raises GraphError where a node reads no column of the schema, or one of another kind.
    """
    readers: dict[str, list[Node]] = {}
    for node in topological(nodes):
        if isinstance(node, READS):
            readers.setdefault(node.feature, []).append(node)
    names = [name for name in schema.names if name in readers or name in also] or list(schema.names[:1])
    unknown = sorted(set(readers) - set(schema.names))
    if unknown:
        raise GraphError(f"no column {unknown[0]!r}")
    extra = texts or {}
    return CellSpace(tuple(axis_of(schema[name], readers.get(name, []), extra.get(name, ())) for name in names))


def axis_of(feature: Feature, nodes: list[Node], texts: tuple[str, ...] = ()) -> Axis:
    """The cells of one column, told apart by the nodes that read it."""
    build = {"numeric": _numeric, "boolean": _boolean, "categorical": _categorical}[feature.kind]
    return build(feature, nodes, texts)


def cut_of(feature: Feature, node: Compare | RawCompare) -> float:
    """The double c such that a raw value is above the node's threshold exactly where it is above c."""
    if isinstance(node, RawCompare) or feature.precision == "float64":
        return node.value
    return crossing(node.value)


def crossing(threshold: float) -> float:
    """The double c such that, for every double x, x > c iff float32(x) > float32(threshold), which may be infinite."""
    if threshold == math.inf or float32(threshold) == math.inf:
        return math.inf
    if float32(threshold) == -math.inf:
        return -OVERFLOW
    return double_crossing(threshold)


def cuts_of(feature: Feature, nodes: Iterable[Node]) -> list[float]:
    """The doubles at which some node changes its value, ascending."""
    found: set[float] = set()
    for node in nodes:
        if isinstance(node, Compare | RawCompare):
            found.add(cut_of(feature, node))
        elif isinstance(node, Step):
            found.update(cut_of(feature, Compare(feature.name, ">", cut)) for cut in node.cuts)
        elif isinstance(node, Column) and has_few_steps(node):
            found.update(_rounding_cuts(feature, node))
    return sorted(found)


def has_few_steps(column: Column) -> bool:
    """Whether a cleaned column takes so few values that each is a cell."""
    return column.step > 0.0 and column.high - column.low <= MOST_STEPS * column.step


def _rounding_cuts(feature: Feature, column: Column) -> list[float]:
    """The doubles at which a column is rounded to the next step: half-way, which goes to the even one."""
    first, last = math.floor(column.low / column.step), math.ceil(column.high / column.step)
    single = feature.precision == "float32"
    cuts = []
    for k in range(first, last):
        half = (k + 0.5) * column.step
        if single:
            below = float32(half)
            below = below if below <= half else -next_float32(-below)
            if k % 2 and below == half:
                below = -next_float32(-below)
            cuts.append(crossing(below))
        else:
            cuts.append(math.nextafter(half, -math.inf) if k % 2 else half)
    return cuts


def cleaned(feature: Feature, column: Column, values: Array) -> Array:
    """What a Column makes of raw values, as `rulekit.graph.evaluation.node_values` does."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = np.clip(values.astype(encoded_dtype(feature)).astype(np.float64), column.low, column.high)
        if column.step:
            result = np.rint(result / column.step) * column.step
    return np.where(np.isnan(values), column.missing, result)


def _numeric(feature: Feature, nodes: list[Node], texts: tuple[str, ...]) -> Axis:
    """Intervals between cuts, and missing."""
    cuts = cuts_of(feature, nodes)
    count = len(cuts)
    place = {cut: i for i, cut in enumerate(cuts)}
    above = np.arange(count + 1)
    readings: dict[Node, Array] = {}
    for node in nodes:
        if isinstance(node, Compare | RawCompare):
            truth = above > place[cut_of(feature, node)]
            readings[node] = np.append(truth == (node.op == ">"), node.missing)
        elif isinstance(node, Missing):
            readings[node] = np.append(np.zeros(count + 1, dtype=bool), True)
        elif isinstance(node, Step):
            index = np.zeros(count + 1, dtype=np.int64)
            for cut in node.cuts:
                index += above > place[cut_of(feature, Compare(feature.name, ">", cut))]
            readings[node] = np.append(np.asarray(node.values)[index], node.missing)
        elif not isinstance(node, Column):
            raise _misfit(node, feature)
    shown: list[list[float]] = []
    for i in range(count + 1):
        low = -math.inf if i == 0 else math.nextafter(cuts[i - 1], math.inf)
        high = math.inf if i == count else cuts[i]
        ends = [low, high, *([min(cuts[0] - 1.0, cuts[0])] if i == 0 and count else [])]
        if low < 0.0 < high or not count:
            ends += [0.0, -0.0]
        if i == count and count and cuts[-1] < math.inf:
            ends.append(math.nextafter(cuts[-1] + 1.0, math.inf))
        shown.append(list(dict.fromkeys(ends)) if low <= high else [])
    shown.append([math.nan])
    for node in nodes:
        if isinstance(node, Column) and has_few_steps(node):
            readings[node] = cleaned(feature, node, np.array([values[0] if values else math.nan for values in shown]))
    whole = all(node in readings for node in nodes)
    merged, kept = _merge(readings, shown)
    if not whole:  # what a Column yields differs from interval to interval
        reachable = [i for i, found in enumerate(shown) if found]
        merged = {node: row[reachable] for node, row in readings.items()}
        kept = [shown[i][:1] for i in reachable]
    values = _padded(kept, np.float64)
    with np.errstate(over="ignore"):
        encoded = (values + 0.0).astype(encoded_dtype(feature))
    return Axis(feature, values, encoded, merged, tuple(cuts), whole)


def _boolean(feature: Feature, nodes: list[Node], texts: tuple[str, ...]) -> Axis:
    """False, true, missing."""
    readings: dict[Node, Array] = {}
    for node in nodes:
        if isinstance(node, IsTrue):
            readings[node] = np.array([False, True, node.missing])
        elif isinstance(node, Missing):
            readings[node] = np.array([False, False, True])
        elif isinstance(node, Column):
            readings[node] = cleaned(feature, node, np.array([0.0, 1.0, math.nan]))
        else:
            raise _misfit(node, feature)
    merged, kept = _merge(readings, [[0.0], [1.0], [math.nan]])
    values = _padded(kept, np.float64)
    return Axis(feature, values, values.astype(encoded_dtype(feature)), merged)


def _categorical(feature: Feature, nodes: list[Node], texts: tuple[str, ...]) -> Axis:
    """Levels, a level never seen, missing."""
    size = FIRST_LEVEL_CODE + len(feature.levels)
    readings: dict[Node, Array] = {}
    for node in nodes:
        truth = np.zeros(size, dtype=bool)
        if isinstance(node, Among):
            members = set(node.levels)
            truth[MISSING_CODE], truth[UNSEEN_CODE] = node.missing, node.unseen
            truth[FIRST_LEVEL_CODE:] = [level in members for level in feature.levels]
        elif isinstance(node, Missing):
            truth[MISSING_CODE] = True
        else:
            raise _misfit(node, feature)
        readings[node] = truth
    unseen = unseen_text(feature)
    candidates: list[str | None] = [None, "", unseen, *feature.levels]
    if feature.unseen == "error":
        candidates.remove(unseen)
    codes = codes_of(feature, candidates)
    shown: list[list[Any]] = [[] for _ in range(size)]
    for text, code in zip(candidates, codes, strict=True):
        shown[code].append(text)
    merged, kept = _merge(readings, shown)
    known = dict(zip(candidates, codes, strict=True))
    apart = [text for text in texts if text not in known]
    if feature.unseen == "error":  # such a table holds no text that is no level
        apart = []
    for text, code in zip(apart, codes_of(feature, apart), strict=True):
        known[text] = code
        kept.append([text])
        merged = {node: np.append(row, readings[node][code]) for node, row in merged.items()}
    values = _padded(kept, object)
    encoded = np.array([[known[text] for text in row] for row in values.tolist()], dtype=encoded_dtype(feature))
    return Axis(feature, values, encoded.reshape(values.shape), merged)


def unseen_text(feature: Feature) -> str:
    """A text that means neither a level nor missing."""
    text = "never seen"
    while text in feature.levels or text in feature.missing_tokens:
        text += "."
    return text


def codes_of(feature: Feature, texts: Iterable[str | None]) -> list[int]:
    """The code that the schema gives to each text of a category."""
    cells = np.empty(len(given := list(texts)), dtype=object)
    cells[:] = given
    if not given:
        return []
    codes: list[int] = encode({feature.name: cells}, Schema((feature,))).arrays[0].tolist()
    return codes


def _merge(readings: dict[Node, Array], shown: list[list[Any]]) -> tuple[dict[Node, Array], list[list[Any]]]:
    """One cell for all values that every node reads alike; cells that no value shows are left out."""
    reachable = [i for i, values in enumerate(shown) if values]
    groups: dict[bytes, list[int]] = {}
    rows = [np.asarray(row) for row in readings.values()]
    for i in reachable:
        groups.setdefault(b"".join(row[i].tobytes() for row in rows), []).append(i)
    first = [members[0] for members in groups.values()]
    kept = [_few([value for i in members for value in shown[i]]) for members in groups.values()]
    return {node: np.asarray(row)[first] for node, row in readings.items()}, kept


def _few(values: list[Any]) -> list[Any]:
    """At most `MOST_SHOWN` values, from all over the list."""
    if len(values) <= MOST_SHOWN:
        return values
    return [values[i * (len(values) - 1) // (MOST_SHOWN - 1)] for i in range(MOST_SHOWN)]


def _padded(rows: list[list[Any]], dtype: Any) -> npt.NDArray[Any]:
    """[cells, shown]: each row repeated to the length of the longest."""
    width = math.lcm(*{len(row) for row in rows}) if rows else 1
    table = np.empty((len(rows), width), dtype=dtype)
    for i, row in enumerate(rows):
        for j in range(width):
            table[i, j] = row[j % len(row)]
    return table


def _misfit(node: Node, feature: Feature) -> GraphError:
    return GraphError(f"{type(node).__name__} does not fit a {feature.kind} column", where=f"column {feature.name!r}")
