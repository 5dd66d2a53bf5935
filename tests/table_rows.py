"""Rows of an encoded table as a person would write them."""

from __future__ import annotations

from rulekit.tables.table import Table


def row_of(table: Table, i: int) -> dict[str, float | str | None]:
    """Row i as a mapping from column names to numbers (NaN: missing), levels (None: missing) or a level never seen."""
    row: dict[str, float | str | None] = {}
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            code = int(array[i])
            row[feature.name] = (None, "a level never seen")[code] if code < 2 else feature.levels[code - 2]
        else:
            row[feature.name] = float(array[i])
    return row
