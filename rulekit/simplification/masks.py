"""The shortest formula of a set of cells of one column.

A set is an integer with one bit per cell (`rulekit.cells.axis.Cells`). Both values are allowed for cells that no row
shows (a level never seen, where the schema lets none through), which are no part of `full`.
"""

from __future__ import annotations

import math

from rulekit.cells.axis import Cells
from rulekit.graph.negation import much_longer
from rulekit.graph.nodes import FALSE, TRUE, Among, And, Compare, IsTrue, Missing, Node, Not, Or
from rulekit.numbers import canonical_threshold


def formula(cells: Cells, mask: int) -> Node:
    """The shortest formula that is true on exactly the reachable cells of `mask`; canonical."""
    mask &= cells.full
    name = cells.feature.name
    if mask in (0, cells.full):
        return TRUE if mask else FALSE
    if mask == cells.missing:
        return Missing(name)
    if mask == cells.full & ~cells.missing:
        return Not(Missing(name))
    if cells.feature.kind == "numeric":
        return _intervals(cells, mask)
    if cells.feature.kind == "categorical":
        return _levels(cells, mask)
    flag = bool(mask & cells.missing)
    return IsTrue(name, flag) if mask & 2 else Not(IsTrue(name, not flag))


def size(cells: Cells, mask: int) -> int:
    """The literals of `formula(cells, mask)`."""
    mask &= cells.full
    if mask in (0, cells.full):
        return 0
    if cells.feature.kind != "numeric" or mask in (cells.missing, cells.full & ~cells.missing):
        return 1
    return _changes(cells, mask).bit_count()


def _changes(cells: Cells, mask: int) -> int:
    """A bit for each cut at which the truth changes from one interval to the next."""
    inner = mask & (cells.missing - 1)
    if not cells.full >> len(cells.cuts) & 1:  # above an infinite cut lies nothing: as its neighbour
        inner |= (inner << 1) & (1 << len(cells.cuts))
    return (inner ^ (inner >> 1)) & ((1 << len(cells.cuts)) - 1)


def _intervals(cells: Cells, mask: int) -> Node:
    changes, flag = _changes(cells, mask), bool(mask & cells.missing)
    name, precision = cells.feature.name, cells.feature.precision
    values = []
    while changes:
        low_bit = changes & -changes
        values.append(canonical_threshold(cells.cuts[low_bit.bit_length() - 1], precision))
        changes ^= low_bit
    runs: list[Node] = []
    if mask & 1:
        runs.append(Compare(name, "<=", values[0], flag))
        values = values[1:]
    for low, high in zip(values[::2], [*values[1::2], math.inf], strict=False):
        above = Compare(name, ">", low, flag)
        runs.append(above if math.isinf(high) else And((above, Compare(name, "<=", high, flag))))
    return runs[0] if len(runs) == 1 else Or(tuple(runs))


def _levels(cells: Cells, mask: int) -> Node:
    """A level set by its own levels, or by those outside it where these are much fewer."""
    node = _set(cells, mask)
    inside = len(node.levels)
    outside = len(cells.levels) + len(cells.others) - inside
    return Not(_set(cells, cells.full & ~mask)) if much_longer(inside, outside) else node


def _set(cells: Cells, mask: int) -> Among:
    chosen = [level for i, level in enumerate(cells.levels) if mask >> i & 1]
    if mask >> len(cells.levels) & 1:
        chosen.extend(cells.others)
    unseen = bool(mask & cells.full & (cells.missing >> 1))
    return Among(cells.feature.name, tuple(chosen), bool(mask & cells.missing), unseen)
