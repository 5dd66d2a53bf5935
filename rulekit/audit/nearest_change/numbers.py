"""The numbers of a column, one after the other: floats of its precision, of a column of whole numbers whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rulekit.audit.nearest_change.moves import Moves
from rulekit.audit.nearest_change.node_bounds import leaf_bounds
from rulekit.cells.axis import cleaned
from rulekit.graph.nodes import Column, Node
from rulekit.tables.table import Array, encoded_dtype


def next_above(moves: Moves, values: Any) -> Array:
    """The next number of a column above each of some."""
    dtype = encoded_dtype(moves.feature).type
    given = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        found: Array = np.nextafter(given.astype(dtype), dtype(np.inf)).astype(np.float64)
        if moves.whole:
            whole = (np.floor(given) + 1.0).astype(dtype).astype(np.float64)
            found = np.where(np.isfinite(given) & (whole > given), whole, found)
    return found


def rounded(moves: Moves, values: Array) -> Array:
    """The numbers of a column that are nearest to some values; of whole numbers the next ones below."""
    dtype = encoded_dtype(moves.feature).type
    kept: Array = (np.floor(values) if moves.whole else values).astype(dtype).astype(np.float64)
    return kept


def settled(moves: Moves, leaves: Sequence[Node], lows: Array, highs: Array) -> Array:
    """Whether each node has one value all over each of some intervals [n]."""
    found = np.ones(len(lows), dtype=bool)
    for node in leaves:
        least, most = leaf_bounds(node, moves.feature, lows, highs, np.zeros(len(lows), dtype=bool))
        found &= least == most
    return found


def last_alike(moves: Moves, leaves: Sequence[Node], values: Array) -> Array:
    """The largest numbers of a column that the finest steps round as they round some values; of no steps the values."""
    steps = [node for node in leaves if isinstance(node, Column) and node.step]
    if not steps:
        return values
    finest = min(steps, key=lambda node: node.step)
    kept = cleaned(moves.feature, finest, values)
    edge = rounded(moves, kept + finest.step / 2.0)
    edge = np.where(edge > kept + finest.step / 2.0, -next_above(moves, -edge), edge)
    edge = np.where(cleaned(moves.feature, finest, edge) == kept, edge, -next_above(moves, -edge))
    return np.where((cleaned(moves.feature, finest, edge) == kept) & (edge > values), edge, values)
