"""The numbers of a column, one after the other: floats of its precision, of a column of whole numbers whole ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.audit.nearest_change.moves import Moves
from rulekit.tables.table import Array, encoded_dtype


def next_above(moves: Moves, values: Any) -> Array:
    """The next number of a column above each of some."""
    dtype = encoded_dtype(moves.feature).type
    given = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        found = np.nextafter(given.astype(dtype), dtype(np.inf)).astype(np.float64)
        if moves.whole:
            whole = (np.floor(given) + 1.0).astype(dtype).astype(np.float64)
            found = np.where(np.isfinite(given) & (whole > given), whole, found)
    return found


def rounded(moves: Moves, values: Array) -> Array:
    """The numbers of a column that are nearest to some values; of whole numbers the next ones below."""
    dtype = encoded_dtype(moves.feature).type
    return (np.floor(values) if moves.whole else values).astype(dtype).astype(np.float64)
