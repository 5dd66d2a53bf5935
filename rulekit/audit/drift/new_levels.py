"""The levels of a table that a model has never seen, by name: encoded columns hold one code for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rulekit.schema import MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.raw.columns import RawTable, factorize, take_column
from rulekit.tables.table import Table

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
