"""Holding rows out: identical rows and rows of one group stay on one side, the classes are spread evenly.

Only where there are few kinds of rows, of a hundred or more each, those of one kind go to both sides: held-out rows
without some of the kinds would say nothing about these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Ints
from rulekit.errors import InputError
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets

SPLIT_BYTES = 60
"""What a row takes while equal rows are looked for."""
_TOLERANCE = 0.005
_PIECES = 30
FEW_KINDS, _MANY_ROWS = 60, 100
"""Where there are more kinds, and of those of fewer rows, none is in pieces."""


def held_out(
    table: Table,
    y: Ints,
    share: float,
    *,
    group: npt.NDArray[Any] | None = None,
    time: npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> Bools:
    """True [n] for `share` of the rows of each class y [n], drawn by `seed`; see `share_note` where that cannot be.

    time [n]: the last rows are held out, of whichever class; rows of one moment stay on one side.

    What one class has too few or too many is made up for by the next larger one, so that the share of all is right; a
    class that then has no row there gets the smallest set that holds one. Of a class in one set alone all rows are for
    training. Raises InputError where the training rows would lack a class.
    """
    if time is not None:
        moments, moment = np.unique(time, return_inverse=True)
        if len(moments) < 2:
            raise InputError("all rows are of one time", where="--time", fix="name a column that tells them apart")
        after = len(time) - np.cumsum(np.bincount(moment))[:-1]  # rows later than each moment but the last
        return _complete(np.asarray(moment > int(np.argmin(np.abs(after - share * len(time))))), y)
    number = _sets(table, y, group)
    sizes = np.bincount(number)
    draws = np.random.default_rng(seed).random(len(sizes))
    first = np.full(len(sizes), len(y), dtype=np.int64)
    np.minimum.at(first, number, np.arange(len(y)))
    label = y[first]  # a set is counted with the class of its first row
    sets = np.zeros(len(sizes), dtype=bool)
    owed = 0.0
    for k in np.argsort(np.bincount(label, sizes), kind="stable"):
        of_class = np.flatnonzero(label == k)
        if not len(of_class):
            continue
        order = of_class[np.argsort(draws[of_class], kind="stable")]
        owed += share * int(sizes[order].sum())
        taken = order[_filling(sizes[order], round(owed))]
        owed -= int(sizes[taken].sum())
        sets[taken] = True
    alone = list[int]()
    for k in np.unique(y):
        holding = np.unique(number[y == k])
        if len(holding) == 1:
            alone.append(int(holding[0]))
        elif not sets[holding].any():
            sets[holding[np.lexsort((draws[holding], sizes[holding]))[0]]] = True
    sets[alone] = False
    return _complete(sets[number], y)


def _complete(chosen: Bools, y: Ints) -> Bools:
    """The rows held out [n], if those left for training have every class and some are held out."""
    if len(np.unique(y[~chosen])) < len(np.unique(y)):
        raise InputError("the training rows would lack a class", fix="give more rows or a smaller --holdout")
    if not chosen.any():
        raise InputError("no row can be held out without the last of a class", fix="give more rows")
    return chosen


def lacking(chosen: Bools, y: Ints) -> list[int]:
    """The classes y [n] that none of the rows held out [n] has."""
    return [int(k) for k in np.setdiff1d(y, y[chosen])]


def rows_together(table: Table, y: Ints, group: npt.NDArray[Any] | None = None) -> float:
    """How many rows go one way with a row [n] when rows are held out, itself among them, on average over the rows.

    So many rows that are held out say about as much of shares as one row that is drawn by itself (L. Kish's design
    effect of clusters, 1965, of rows in a cluster that are alike).
    """
    sizes = np.bincount(_sets(table, y, group)).astype(np.float64)
    return float((sizes**2).sum() / sizes.sum())


def _sets(table: Table, y: Ints, group: npt.NDArray[Any] | None) -> Ints:
    """The set of each row [n]: a draw belongs to equal rows, or a group, and not to a row, so that these go one way."""
    if group is not None:
        return np.asarray(np.unique(group, return_inverse=True)[1], dtype=np.int64)
    unit = np.zeros(table.n_rows, dtype=np.int64)
    for array in table.arrays:
        known = array.hashes() if isinstance(array, TokenSets) else array
        values = np.unique(known, return_inverse=True)[1].astype(np.int64)
        unit = np.unique(unit * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].astype(np.int64)
    return in_pieces(unit, y, np.ones(len(y), dtype=np.int64), _PIECES)


def in_pieces(unit: Ints, labels: npt.NDArray[Any], weights: Ints, pieces: int) -> Ints:
    """Units [n] of equal rows, numbered from 0, those of many rows in so many pieces where units are few.

    The pieces of a unit have the same rows but for one, and stand where it stood.
    """
    sizes = np.bincount(unit)
    rows = np.flatnonzero((sizes >= _MANY_ROWS)[unit])
    if len(sizes) > FEW_KINDS or not len(rows):
        return unit
    order = rows[np.lexsort((weights[rows], labels[rows], unit[rows]))]
    piece = np.zeros(len(unit), dtype=np.int64)
    piece[order] = (np.arange(len(order)) - np.searchsorted(unit[order], unit[order])) % pieces
    return np.asarray(np.unique(unit * pieces + piece, return_inverse=True)[1], dtype=np.int64)


def share_note(chosen: Bools, share: float, grouped: bool = False, timed: bool = False) -> str | None:
    """One line where the rows held out [n] are not the share that was asked for, else None."""
    actual = float(chosen.mean())
    if abs(actual - share) <= max(_TOLERANCE, 2 / len(chosen)):
        return None
    together = "rows of one group" if grouped else "rows of one time" if timed else "equal rows"
    why = f"{together} stay on one side"
    if actual > share and not timed:  # what is drawn stays below the share
        why += ", and every class needs one there"
    return f"{actual:.1%} of the rows are held out in place of {share:.1%}, since {why}"


def _filling(sizes: Ints, wanted: int) -> Ints:
    """The places of sets, the first ones that together have at most `wanted` rows."""
    taken, left = [np.zeros(0, dtype=np.int64)], np.arange(len(sizes))
    while len(left := left[sizes[left] <= wanted]):
        fitting = int(np.searchsorted(np.cumsum(sizes[left]), wanted, side="right"))
        taken.append(left[:fitting])
        wanted -= int(sizes[left[:fitting]].sum())
        left = left[fitting:]
    return np.concatenate(taken)
