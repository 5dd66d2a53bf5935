"""Holding rows out: identical rows and rows of one group stay on one side, the classes are spread evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.tables.table import Table

SPLIT_BYTES = 60
"""What a row takes while equal rows are looked for."""


def held_out(
    table: Table,
    y: npt.NDArray[np.int64],
    share: float,
    *,
    group: npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> npt.NDArray[np.bool_]:
    """True [n] for about `share` of the rows of each class y [n], drawn by `seed`.

    Raises InputError where either side would have a class too few.
    """
    # A draw belongs to a unit (equal rows, or a group), not to a row, so that equal rows go one way.
    unit = _equal_rows(table) if group is None else np.unique(group, return_inverse=True)[1]
    draw = np.random.default_rng(seed).random(int(unit.max()) + 1)[unit]
    chosen = np.zeros(len(y), dtype=bool)
    first = np.full(int(unit.max()) + 1, len(y), dtype=np.int64)
    np.minimum.at(first, unit, np.arange(len(y)))
    side = y[first][unit]  # a unit is counted with the class of its first row
    for k in np.unique(side):
        rows = np.flatnonzero(side == k)
        order = rows[np.argsort(draw[rows], kind="stable")]
        last = min(max(round(share * len(rows)), 1), len(rows)) - 1
        chosen[rows[draw[rows] <= draw[order[last]]]] = True
    for part, name in ((chosen, "held-out"), (~chosen, "training")):
        if len(np.unique(y[part])) < len(np.unique(y)):
            raise InputError(f"the {name} rows would lack a class", fix="give more rows or another --holdout")
    return chosen


def _equal_rows(table: Table) -> npt.NDArray[np.int64]:
    """The number [n] of each row's set of equal rows."""
    unit = np.zeros(table.n_rows, dtype=np.int64)
    for array in table.arrays:
        values = np.unique(array, return_inverse=True)[1].astype(np.int64)
        unit = np.unique(unit * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].astype(np.int64)
    return unit
