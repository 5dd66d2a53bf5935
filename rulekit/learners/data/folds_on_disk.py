"""The folds of `rulekit.learners.data.folds` for rows that do not fit into memory.

Equal rows have equal hashes, so the rows are dealt out, by the first bits of their hashes, to files that are small
enough to be sorted one after the other; and in the order of these files the hashes ascend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array
from rulekit.learners.data.disk_codes import DiskCodes
from rulekit.learners.data.hashes import first_hash, mix
from rulekit.learners.data.problem import Problem
from rulekit.tables.splitting import FEW_KINDS, in_pieces
from rulekit.tables.table import Store, StoredColumn, Writer

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
    """Hashes and row numbers by the first bits of the hashes."""
    store = codes.columns[0].store if codes.columns else Store()
    writers = [(store.writer(np.uint64), store.writer(np.uint32)) for _ in range(1 << _BITS)]
    for start, h in _hashes(codes, seed):
        _deal(writers, h, start)
    return [(hashes.column(), rows.column()) for hashes, rows in writers]


def _hashes(codes: DiskCodes, seed: int) -> Iterator[tuple[int, npt.NDArray[np.uint64]]]:
    """The hashes of the rows, a part at a time, and where the part begins."""
    for rows, part in codes.parts(codes.n_rows):
        h = np.full(rows.stop - rows.start, first_hash(seed), dtype=np.uint64)
        for column in range(len(codes)):
            mix(h, part[column])
        yield rows.start, h


def _deal(writers: list[tuple[Writer, Writer]], h: npt.NDArray[np.uint64], start: int) -> None:
    file = (h >> np.uint64(64 - _BITS)).astype(np.uint8)
    order = np.argsort(file, kind="stable")
    ends = np.cumsum(np.bincount(file, minlength=len(writers)))
    for (hashes, rows), low, high in zip(writers, np.concatenate([[0], ends[:-1]]), ends, strict=True):
        hashes.add(h[order[low:high]])
        rows.add(order[low:high] + start)


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
    """Distinct keys in ascending order and the sums of their counts."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys, counts = keys[order], counts[order]
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.concatenate([[True], np.any(keys[1:] != keys[:-1], axis=1)]))
    return keys[first], np.add.reduceat(counts, first)


def _positions(keys: Array, wanted: Array) -> Array:
    """Where each wanted key stands among ascending keys that hold it."""
    found = np.empty(len(wanted), dtype=np.int64)
    for main in np.unique(wanted[:, 0]):
        low, high = np.searchsorted(keys[:, 0], (main, main + 1))
        among = wanted[:, 0] == main
        found[among] = low + np.searchsorted(keys[low:high, 1], wanted[among, 1])
    return found
