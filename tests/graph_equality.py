"""Reachable cells of whole graphs, and whether two graphs decide alike on them (rulekit.cells)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rulekit.cells.axis import cells_of
from rulekit.cells.space import cell_rows, features_read
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Node, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Schema
from rulekit.tables.table import Table

MAX_CELLS = 1 << 20
SAMPLES = 1 << 16


def sampled_cells(roots: Sequence[Node], schema: Schema, n_rows: int) -> Table:
    """Cells drawn independently for each column, after the product of every pair of columns that fits in n rows."""
    features = features_read(readers(roots), schema)
    columns = [cells_of(feature, topological(roots)).encoded() for feature in features]
    rng = np.random.default_rng(0)
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


def equal_on_cells(one: RuleGraph, other: RuleGraph, limit: int = MAX_CELLS) -> bool:
    """Whether both decide the same on the product of all cells, or on a sample where that is above `limit`."""
    return not isinstance(equivalent(one, other, limit), Table)


def equivalent(one: RuleGraph, other: RuleGraph, limit: int = MAX_CELLS) -> Literal["proved", "tested"] | Table:
    """Whether both graphs decide alike.

    "proved" where they do on every reachable cell and no raw column value enters a sum, "tested" where they do on all
    rows that were tried; else the first row on which they differ, as a table of one row.
    """
    roots = (*one.roots, *other.roots)
    table = cell_rows(roots, one.schema, limit)
    complete = table is not None and not any(map(has_column, roots))
    if table is None:
        table = sampled_cells(roots, one.schema, SAMPLES)
    differ = np.flatnonzero(decide(one, table) != decide(other, table))
    if len(differ):
        return table.take(differ[:1])
    return "proved" if complete else "tested"
