"""Columns that say the same, as kilometres and miles do: all but one are left out before anything is learned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b

import numpy as np

from rulekit.arrays import Ints
from rulekit.graph.language.words import listed
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import MemoryCodes
from rulekit.learners.data.disk_codes import DiskCodes
from rulekit.schema import FIRST_LEVEL_CODE

_LOOKED_AT = 2048
_MOST_NAMED = 3


def without_twins(
    columns: tuple[BinnedColumn, ...], codes: MemoryCodes | DiskCodes, named: Collection[str]
) -> tuple[tuple[BinnedColumn, ...], MemoryCodes | DiskCodes, tuple[str, ...]]:
    """The columns and their codes without those that part all rows as one that stays does, and a note that names them.

    named: columns that stay, whatever they say. Atoms of a structure stay, and columns of one value.
    """
    kept, pairs, same = list(range(len(columns))), list[str](), True
    for group in _alike(columns, codes):
        first = min(group, key=lambda place: (columns[place].feature.name not in named, place))
        begun = f"{columns[first].feature.name!r} and "
        for place in group:
            if place != first and columns[place].feature.name not in named:
                kept.remove(place)
                pairs.append(f"{begun}not {columns[place].feature.name!r}")
                begun = ""
                same = same and columns[place].ordered and np.array_equal(codes[first], codes[place])
    if not pairs:
        return columns, codes, ()
    shown = [*pairs[:_MOST_NAMED], f"{len(pairs) - _MOST_NAMED} more"] if len(pairs) > _MOST_NAMED + 1 else pairs
    why = "they put the rows in the same order" if same else "they part the rows alike"
    return tuple(columns[place] for place in kept), codes.of_columns(kept), (f"rulekit uses {listed(shown)}: {why}",)


def _alike(columns: Sequence[BinnedColumn], codes: MemoryCodes | DiskCodes) -> list[list[int]]:
    """The groups of columns that part the rows alike; most differ in the first rows, and no other row is looked at."""
    places = [place for place, column in enumerate(columns) if column.n_codes > 2 and column.feature.atom is None]
    _, head = next(codes.parts(_LOOKED_AT), (slice(0), codes))
    groups = [places]
    for rows in (head, codes):
        found: dict[tuple[int, bool, int, bytes], list[int]] = {}
        for number, group in enumerate(groups):
            for place in group:
                own = rows[place][:_LOOKED_AT] if rows is head else rows[place]
                if rows is head or own.min() != own.max():
                    column = columns[place]
                    said = blake2b(_pattern(own, column).tobytes(), digest_size=16).digest()
                    found.setdefault((number, column.ordered, column.n_codes, said), []).append(place)
        groups = [group for group in found.values() if len(group) > 1]
    return groups


def _pattern(codes: Ints, column: BinnedColumn) -> Ints:
    """The codes [n] in the order that is the first of its two, or by first appearance where they have none."""
    n, new = column.n_codes, np.arange(column.n_codes, dtype=codes.dtype)
    if column.ordered:
        known = codes[(codes > 0) & (codes != n - codes.astype(np.int64))]
        new[1:] = new[:0:-1] if len(known) and 2 * int(known[0]) > n else new[1:]
    else:
        levels, first = np.unique(codes[codes >= FIRST_LEVEL_CODE], return_index=True)
        new[levels[np.argsort(first)]] = np.arange(FIRST_LEVEL_CODE, FIRST_LEVEL_CODE + len(levels))
    return np.asarray(new[codes])
