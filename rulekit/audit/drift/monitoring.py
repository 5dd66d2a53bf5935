"""Rows in memory beside those that trained a model, and the levels among them that it has never seen, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.audit.drift.comparing import compare
from rulekit.audit.drift.findings import Drift
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.classes import class_key
from rulekit.tables.kinds.encoding import encode_columns
from rulekit.tables.raw.columns import RawTable, factorize, take_column
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table


def monitor(graph: RuleGraph, data: Any, y: Any = None) -> Drift:
    """Compare rows with those that trained the model.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table
        The rows; only the columns that the model reads must be there, in any order where they have names.
    y : array [n] or None
        Their labels.

    Returns
    -------
    Drift
        What changed, by column, rule and class (rulekit.audit.drift.findings); print it, or take `as_dict()`.

    Raises
    ------
    InputError
        Where the model has no statistics of the rows that trained it.

    """
    if isinstance(data, Table):  # new levels have no names any more
        table, new = graph.table(data), None
    else:
        raw = raw_table(data)
        table = encode_columns(raw, graph.schema, graph.used_features)
        new = new_levels(raw, table, graph.schema, graph.used_features)
    drift = compare(graph, table, y=None if y is None else _indices(graph, y, table.n_rows), new=new)
    if drift is None:
        raise InputError("the model does not say what trained it", fix="count its statistics on the training rows")
    return drift


def _indices(graph: RuleGraph, y: Any, n_rows: int) -> Ints:
    place = {class_key(label): k for k, label in enumerate(graph.classes)}
    cells = np.asarray(y).tolist()
    strange = next((cell for cell in cells if class_key(cell) not in place), None)
    if strange is not None or len(cells) != n_rows:
        what = f"{len(cells)} labels for {n_rows} rows" if strange is None else f"{strange!r} is no class of the model"
        raise InputError(what, where="y", fix=f"classes are {', '.join(map(repr, graph.classes[:8]))}")
    return np.array([place[class_key(cell)] for cell in cells], dtype=np.int64)


NewLevels = Mapping[str, Mapping[str, int]]
"""By column how many rows have each level that training never saw, the most frequent first."""


def new_levels(raw: RawTable, table: Table, schema: Schema, used: tuple[str, ...]) -> NewLevels:
    """What the rows of a raw table that was encoded as `table` hold beside the levels of the schema."""
    found = {}
    for name in used:
        if schema[name].kind == "categorical":
            levels = _of_column(raw, table, schema[name], schema.positions[name])
            if levels:
                found[name] = levels
    return found


def _of_column(raw: RawTable, table: Table, feature: Feature, position: int) -> dict[str, int]:
    code = MISSING_CODE if feature.unseen == "missing" else UNSEEN_CODE
    rows = np.flatnonzero(table.array(feature.name) == code)
    if not len(rows):
        return {}
    by_name = {column.name: column for column in raw.columns}
    column = raw.columns[position] if raw.positional else by_name[feature.name]
    keys, index = factorize(take_column(column, rows), feature.missing_tokens)
    counts = np.bincount(index[index >= 0], minlength=len(keys)).tolist()
    named = sorted(zip(keys, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return {key: count for key, count in named if count}
