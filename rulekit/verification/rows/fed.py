"""Tables of cells as users hold them, in the forms in which they go into artifacts (`rulekit.targets.Feed`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature

Columns = Mapping[str, Any]

BY_ROW = {"unequal lengths": "rows have a cell for each column"}
"""By the family of tables why rows cannot hold them."""
_PLACED = ("renamed columns", "blanks around names", "clashing names", "further columns")
BY_PLACE = {**BY_ROW, **dict.fromkeys(_PLACED, "columns are known by place")}


def raw_rows(graph: RuleGraph, columns: Columns) -> list[list[Any]]:
    """The used cells of each row of what `run_raw` gets, in the order of `used_features`; None where one is missing."""
    cells = [[None if cell != cell else cell for cell in columns[name].tolist()] for name in graph.used_features]
    n_rows = len(next(iter(columns.values()), ()))
    return [list(row) for row in zip(*cells, strict=True)] if cells else [[] for _ in range(n_rows)]


def rows_by_name(table: Columns) -> list[dict[str, Any]]:
    """The rows of a table as mappings."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def rows_by_place(table: Columns) -> list[list[Any]]:
    """The rows of a table as sequences."""
    return [list(row) for row in zip(*table.values(), strict=True)]


def objects(table: Columns) -> dict[str, Any]:
    """The columns of a table as arrays of objects, which keep each cell as it is."""
    found = {}
    for name, cells in table.items():
        found[name] = np.empty(len(cells), dtype=object)
        for row, cell in enumerate(cells):
            found[name][row] = cell
    return found


def arrays(table: Columns) -> dict[str, Any]:
    """The columns of a table as arrays of the type that numpy gives them."""
    return {name: np.array(cells) for name, cells in table.items()}


def holds_array(feature: Feature, cell: Any) -> str:
    """What numpy changes when it makes an array of a cell; "" where it keeps it."""
    if isinstance(cell, str) and cell.endswith("\0"):
        return "numpy drops NULs at the end of a text"
    if isinstance(cell, Enum):
        return "numpy cuts the members of an enumeration"
    return "numpy unpacks an array within an array" if isinstance(cell, np.ndarray) and not cell.ndim else ""


def holds_text(feature: Feature, cell: Any) -> str:
    """Why a file of texts has no place for a cell, "" where it has one."""
    if not (cell is None or isinstance(cell, str)):
        return "a file of texts holds texts"
    return "a file of texts holds no NUL" if isinstance(cell, str) and "\0" in cell else ""
