"""Reachable cells of whole graphs, and whether two graphs decide alike on them (rulekit.cells)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from rulekit.cells.axis import cells_of
from rulekit.cells.space import cell_rows, features_read
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Node, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.table import Array, Table

MAX_CELLS = 1 << 20
SAMPLES = 1 << 16


def cells(graphs: Iterable[RuleGraph], limit: int) -> Table | None:
    """Every combination of the cells of the columns that the graphs read, or None where these are more than `limit`."""
    listed = tuple(graphs)
    return cell_rows([root for graph in listed for root in graph.roots], listed[0].schema, limit)


def sampled_cells(graphs: Iterable[RuleGraph], n_rows: int, seed: int = 0) -> Table:
    """Cells drawn independently for each column, after the product of every pair of columns that fits in n rows."""
    features, columns = _columns(tuple(graphs))
    rng = np.random.default_rng(seed)
    arrays = [rng.choice(column, n_rows) for column in columns]
    start = 0
    for i, first in enumerate(columns):
        for j, second in enumerate(columns[:i]):
            stop = start + len(first) * len(second)
            if stop <= n_rows // 2:
                arrays[i][start:stop] = np.repeat(first, len(second))
                arrays[j][start:stop] = np.tile(second, len(first))
                start = stop
    return Table(tuple(features), tuple(arrays), n_rows, source="cells")


def _columns(graphs: Sequence[RuleGraph]) -> tuple[list[Feature], list[Array]]:
    """The features that any of the graphs reads, and their cells."""
    roots = [root for graph in graphs for root in graph.roots]
    features = features_read(readers(roots), graphs[0].schema)
    return features, [representatives(feature, roots) for feature in features]


def representatives(feature: Feature, nodes: Iterable[Node]) -> Array:
    """One encoded value for each cell of a column that leaves below the nodes tell apart."""
    return cells_of(feature, topological(nodes)).encoded()


def equal_on_cells(one: RuleGraph, other: RuleGraph, limit: int = MAX_CELLS) -> bool:
    """Whether both decide the same on the product of all cells, or on a sample where that is above `limit`."""
    return not isinstance(equivalent(one, other, limit), Table)


def equivalent(one: RuleGraph, other: RuleGraph, limit: int = MAX_CELLS) -> Literal["proved", "tested"] | Table:
    """Whether both graphs decide alike.

    "proved" where they do on every reachable cell and no raw column value enters a sum, "tested" where they do on all
    rows that were tried; else the first row on which they differ, as a table of one row.
    """
    table = cells((one, other), limit)
    complete = table is not None and not any(has_column(root) for graph in (one, other) for root in graph.roots)
    if table is None:
        table = sampled_cells((one, other), SAMPLES)
    differ = np.flatnonzero(decide(one, table) != decide(other, table))
    if len(differ):
        return table.take(differ[:1])
    return "proved" if complete else "tested"


__all__ = ["cells", "equal_on_cells", "equivalent", "representatives", "sampled_cells"]
