"""The folds of the rows inside the training data.

Rows that are identical (in all binned columns) or of one group stay in one fold; the folds depend on the distinct rows
and their weights alone, not on the order of the rows, so a row of weight 2 counts like two rows. Only where there are
few kinds of rows, of a hundred or more each, those of one kind are dealt to all folds. Classes are spread evenly over
the folds: rows that stay together count for the class that has most of their weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Ints
from rulekit.errors import InputError
from rulekit.learners.data.codes import DiskCodes
from rulekit.learners.data.problem import Problem
from rulekit.tables.splitting import FEW_KINDS, in_pieces
from rulekit.tables.table import Store, StoredColumn


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """The rank [n] of the moment of each row; rows of one moment share a fold."""

    moment: Ints

    @classmethod
    def of(cls, time: Any, n_rows: int) -> Self:
        """Of numbers, dates, moments, or their ISO texts; raises InputError for what is none of these, or missing."""
        values = np.asarray(time)
        try:
            dated = values.dtype.kind in "OUM" and not all(isinstance(v, int | float) for v in values.tolist())
            values = values.astype("datetime64[us]" if dated else np.float64)
        except (TypeError, ValueError):
            raise InputError("these are no times", where="time", fix="give numbers, dates or ISO texts") from None
        if values.shape != (n_rows,):
            raise InputError(f"times of shape {values.shape} for {n_rows} rows", where="time", fix="give one a row")
        if (missing := np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)).any():
            raise InputError(f"the time of row {int(np.argmax(missing))} is missing", where="time", fix="fill it in")
        return cls(np.unique(values, return_inverse=True)[1].astype(np.int64))

    def __getitem__(self, rows: Any) -> InOrder:
        return InOrder(self.moment[rows])

    def folds(self, weights: Array, n_folds: int) -> Ints:
        """The fold [n] of each row of these weights [n]: blocks of about the same weight, the earliest first."""
        mass = np.bincount(self.moment, weights)
        middle = (np.cumsum(mass) - mass / 2.0) / max(float(mass.sum()), 1e-300)
        block = np.minimum((middle * n_folds).astype(np.int64), n_folds - 1)[self.moment]
        return np.unique(block, return_inverse=True)[1].astype(np.int64)


def first_hash(seed: int) -> int:
    """What the hash of every row begins with."""
    return int((seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64)


def mix(h: npt.NDArray[np.uint64], codes: Array) -> None:
    """Take another column of codes [n] into the hashes [n], in place."""
    h ^= codes.astype(np.uint64)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(32)


@dataclass(slots=True, eq=False)
class Folds:
    """The folds of all questions about the rows of a problem, whose labels are class indices.

    groups [n]: rows of one group share a fold; in order of time: folds are blocks. The rows
    are dealt out when that is first asked for.
    """

    problem: Problem
    n_folds: int
    groups: Array | InOrder | None
    seed: int
    dealt: Ints | None = None

    def of_rows(self) -> Ints:
        """The fold [n] of each row."""
        if self.dealt is None:
            dealt = fold_of_rows(self.problem, self.n_folds, self.groups, self.seed)
            self.dealt = dealt.astype(np.min_scalar_type(self.n_folds))
        return self.dealt


def fold_of_rows(problem: Problem, n_folds: int, groups: Array | InOrder | None, seed: int) -> Ints:
    """The fold [n] of each row, 0 .. at most n_folds - 1."""
    if isinstance(groups, InOrder):
        return groups.folds(problem.weights, n_folds)
    if groups is None and isinstance(problem.codes, DiskCodes) and problem.codes.rows is None:
        return folds_on_disk(problem, n_folds, seed)
    _, unit = np.unique(row_hashes(problem, seed), return_inverse=True)
    if groups is not None:
        unit = _joined(unit, np.unique(groups, return_inverse=True)[1])
    else:
        unit = in_pieces(unit, problem.labels, problem.weights, n_folds)
    weight = np.bincount(unit, problem.weights)
    # Units come in the order of their hashes, which is as good as random; heavy ones are dealt out first.
    dealt = np.lexsort((np.arange(len(weight)), -weight, main_classes(unit, problem.labels, problem.weights)))
    fold = np.empty(len(weight), dtype=np.int64)
    fold[dealt] = np.arange(len(weight)) % n_folds
    return fold[unit]


def drawn(problem: Problem, most: int, seed: int) -> Problem:
    """A problem of so many rows, each of weight 1, that are drawn evenly from the weight of all; some come repeatedly.

    They depend on the distinct rows, their labels and weights alone, not on the order of the rows, and a row of weight
    2 is drawn as two rows are.
    """
    hashes = row_hashes(problem, seed)
    mix(hashes, problem.labels)
    order = np.argsort(hashes)  # whatever it does with equal ones, which are the same row
    below = np.cumsum(problem.weights[order])
    marks = (np.arange(most) + 0.5) * (float(below[-1]) / most)  # at equal distances
    rows, times = np.unique(order[np.searchsorted(below, marks)], return_counts=True)
    weights = times.astype(np.int64) if times.max() > 1 else np.broadcast_to(np.ones(1, dtype=np.int64), rows.shape)
    return Problem(problem.columns, problem.codes.take(rows), problem.labels[rows], weights, 1.0)


def row_hashes(problem: Problem, seed: int) -> npt.NDArray[np.uint64]:
    """A 64-bit hash [n] of the codes of each row, and of all words of its texts."""
    hashes = np.full(len(problem.labels), first_hash(seed), dtype=np.uint64)
    if problem.texts is not None:
        mix(hashes, problem.texts)
    for rows, codes in problem.codes.parts(len(hashes)):  # which stay in a cache
        for column in range(len(codes)):
            mix(hashes[rows], codes[column])
    return hashes


def _joined(unit: Ints, group: Ints) -> Ints:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(unit.max()) + int(group.max()) + 2
    links = coo_array((np.ones(len(unit)), (unit, group + int(unit.max()) + 1)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][unit], dtype=np.int64)


_BITS = 6


def folds_on_disk(problem: Problem, n_folds: int, seed: int) -> Array:
    """The fold [n] of each row, the same as `fold_of_rows` finds in memory."""
    codes = problem.codes
    assert isinstance(codes, DiskCodes)
    files = _dealt(codes, seed)
    pieces = n_folds if _are_few_kinds(files) else 1
    # Sets of equal rows are dealt to the folds by majority, then weight, then hash: counted first, then numbered.
    keys = np.zeros((0, 2), dtype=np.int64)
    counts = np.zeros(0, dtype=np.int64)
    for hashes, rows in files:
        _, _, key = _sets(problem, hashes.read(), rows.read(), pieces)
        keys, counts = _counted(np.concatenate([keys, key]), np.concatenate([counts, np.ones(len(key), np.int64)]))
    begin = np.concatenate([[0], np.cumsum(counts)[:-1]])
    fold = np.empty(len(problem.labels), dtype=np.min_scalar_type(n_folds - 1))
    for hashes, rows in files:
        row, number, key = _sets(problem, hashes.read(), rows.read(), pieces)
        which = _positions(keys, key)
        order = np.argsort(which, kind="stable")
        first = np.searchsorted(which[order], np.arange(len(keys)))
        place = np.empty(len(key), dtype=np.int64)
        place[order] = np.arange(len(key)) - first[which[order]]
        fold[row] = ((begin[which] + place) % n_folds)[number]
        begin += np.bincount(which, minlength=len(keys))
        hashes.remove()
        rows.remove()
    return fold


def _dealt(codes: DiskCodes, seed: int) -> list[tuple[StoredColumn, StoredColumn]]:
    store = codes.columns[0].store if codes.columns else Store()
    writers = [(store.writer(np.uint64), store.writer(np.uint32)) for _ in range(1 << _BITS)]
    for part, own in codes.parts(codes.n_rows):
        h = np.full(part.stop - part.start, first_hash(seed), dtype=np.uint64)
        for column in range(len(codes)):
            mix(h, own[column])
        file = (h >> np.uint64(64 - _BITS)).astype(np.uint8)
        order = np.argsort(file, kind="stable")
        ends = np.cumsum(np.bincount(file, minlength=len(writers)))
        for (hashes, rows), low, high in zip(writers, np.concatenate([[0], ends[:-1]]), ends, strict=True):
            hashes.add(h[order[low:high]])
            rows.add(order[low:high] + part.start)
    return writers


def _are_few_kinds(files: Sequence[tuple[StoredColumn, StoredColumn]]) -> bool:
    kinds = 0
    for hashes, _ in files:
        kinds += len(np.unique(hashes.read()))
        if kinds > FEW_KINDS:
            return False
    return True


def _sets(problem: Problem, hashes: Array, rows: Array, pieces: int) -> tuple[Array, Array, Array]:
    """The rows of one file, the number of each row's set of equal rows, and of each set its key [sets, 2].

    The key: the class that has most of its weight, and its weight, negated, since heavy ones are dealt out first.
    """
    weights = problem.weights[rows]
    _, number = np.unique(hashes, return_inverse=True)
    number = in_pieces(number, problem.labels[rows], weights, pieces) if pieces > 1 else number
    n_sets = int(number.max(initial=-1)) + 1
    # whole numbers, of which no sum is above 2^53: exact in any order
    weight = np.bincount(number, weights, n_sets).astype(np.int64)
    main = main_classes(number, problem.labels[rows], weights, n_sets)
    return rows, number, np.column_stack([main, -weight]).astype(np.int64)


def main_classes(unit: Array, labels: Array, weights: Array, n_units: int = 0) -> Array:
    """The class [units] that has most of the weight of each unit, the first of equals; unit [n]: of each row."""
    n_units = n_units or int(unit.max(initial=-1)) + 1
    n_classes = int(labels.max(initial=0)) + 1
    by_class = np.bincount(unit * n_classes + labels.astype(np.int64), weights, n_units * n_classes)
    return np.asarray(by_class.reshape(n_units, n_classes).argmax(axis=1))


def _counted(keys: Array, counts: Array) -> tuple[Array, Array]:
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys, counts = keys[order], counts[order]
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.concatenate([[True], np.any(keys[1:] != keys[:-1], axis=1)]))
    return keys[first], np.add.reduceat(counts, first)


def _positions(keys: Array, wanted: Array) -> Array:
    found = np.empty(len(wanted), dtype=np.int64)
    for main in np.unique(wanted[:, 0]):
        low, high = np.searchsorted(keys[:, 0], (main, main + 1))
        among = wanted[:, 0] == main
        found[among] = low + np.searchsorted(keys[low:high, 1], wanted[among, 1])
    return found
