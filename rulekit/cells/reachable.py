"""Reachable cells: one value of a column for each way in which the nodes of a graph can tell its values apart.

A cell of a numeric column is a non-empty interval of representable values (float32 or float64) between neighbouring
thresholds; the infinities and missing are cells of their own. A cell of a category is each mentioned level, one other
known level, a level never seen (where the schema lets one through), and missing. A Boolean column has true, false and
missing. Two formulas that agree on every combination of cells agree on every row, unless a `Column` is added up: its
values inside an interval differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rulekit.graph.nodes import Among, Column, Compare, IsTrue, Missing, Node, Step
from rulekit.graph.traversal import topological
from rulekit.numbers import float32, next_float32
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import Array, Table, encoded_dtype

READS = (Compare, Among, IsTrue, Missing, Column, Step)


def readers(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The nodes below `nodes` that read a column, by the column's name, in order of first use."""
    found: dict[str, list[Node]] = {}
    for node in topological(nodes):
        if isinstance(node, READS):
            found.setdefault(node.feature, []).append(node)
    return found


def inferred_feature(name: str, leaves: Sequence[Node]) -> Feature:
    """A feature that tells apart at least as much as any column that these leaves could read.

    For use where no schema is known: float64 separates every two thresholds that float32 separates, and a category
    has one level beyond those that are mentioned.
    """
    if any(isinstance(leaf, Among) for leaf in leaves):
        levels = sorted({level for leaf in leaves if isinstance(leaf, Among) for level in leaf.levels})
        other = "other"
        while other in levels:
            other += "'"
        return Feature(name, "categorical", (*levels, other))
    if any(isinstance(leaf, Compare | Column | Step) for leaf in leaves):
        return Feature(name, "numeric", precision="float64")
    return Feature(name, "boolean")


def thresholds(feature: Feature, leaves: Iterable[Node]) -> list[float]:
    """The distinct values between which the leaves tell a numeric column apart, ascending, in its precision."""
    found: set[float] = set()
    for leaf in leaves:
        if isinstance(leaf, Compare):
            found.add(leaf.value)
        elif isinstance(leaf, Step):
            found.update(leaf.cuts)
        elif isinstance(leaf, Column):
            found.update((leaf.low, leaf.high))
    if feature.precision == "float32":
        found = {float32(value) for value in found}
    return sorted({value + 0.0 for value in found})


def representatives(feature: Feature, nodes: Iterable[Node]) -> Array:
    """One encoded value [cells] for each cell of a column as the leaves of `nodes` tell its values apart.

    Numeric cells are shown by their largest value, the last one by the value just above the last threshold, and the
    infinities and NaN follow; nodes that read other columns are passed over.
    """
    leaves = readers(nodes).get(feature.name, [])
    dtype = encoded_dtype(feature)
    if feature.kind == "categorical":
        codes = {level: FIRST_LEVEL_CODE + i for i, level in enumerate(feature.levels)}
        mentioned = {level for leaf in leaves if isinstance(leaf, Among) for level in leaf.levels if level in codes}
        shown = [codes[level] for level in feature.levels if level in mentioned]
        shown += [codes[level] for level in feature.levels if level not in mentioned][:1]
        unseen = [UNSEEN_CODE] if feature.unseen == "unseen" else []
        return np.array([*sorted(shown), *unseen, MISSING_CODE], dtype=dtype)
    if feature.kind == "boolean":
        return np.array([0.0, 1.0, math.nan], dtype=dtype)
    cuts = thresholds(feature, leaves)
    finite = [cut for cut in cuts if math.isfinite(cut)]
    if finite:
        last = finite[-1]
        finite.append(next_float32(last) if feature.precision == "float32" else math.nextafter(last, math.inf))
    else:
        finite = [0.0]
    values = [*(value for value in finite if math.isfinite(value)), math.inf, -math.inf, math.nan]
    return np.array(values, dtype=dtype)


def count_cells(columns: Sequence[Array]) -> int:
    """The number of rows of the full product."""
    return math.prod(len(column) for column in columns)


def product(features: Sequence[Feature], columns: Sequence[Array]) -> Table:
    """The table of every combination of the columns' values; the last column runs fastest."""
    n = count_cells(columns)
    arrays, inner = [], n
    for column in columns:
        inner //= len(column)
        arrays.append(np.tile(np.repeat(column, inner), n // (inner * len(column))))
    return Table(tuple(features), tuple(arrays), n, source="cells")


def features_read(nodes: Iterable[Node], schema: Schema | None) -> Mapping[str, Feature]:
    """The features that the nodes read, by name: from the schema, or inferred where there is none."""
    found = readers(nodes)
    if schema is None:
        return {name: inferred_feature(name, leaves) for name, leaves in found.items()}
    return {name: schema[name] for name in schema.names if name in found}


def has_column(node: Node) -> bool:
    """Whether the values of a `Column` enter a sum below `node`, so that cells do not decide it."""
    return any(isinstance(below, Column) for below in topological((node,)))
