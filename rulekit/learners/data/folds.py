"""The folds of the rows inside the training data.

Rows that are identical (in all binned columns) or of one group stay in one fold; the folds depend on the distinct rows
and their weights alone, not on the order of the rows, so a row of weight 2 counts like two rows. Only where there are
few kinds of rows, of a hundred or more each, those of one kind are dealt to all folds. Classes are spread evenly over
the folds: rows that stay together count for the class that has most of their weight.

From 2^24 rows on the hash of a row, or of its group, says its fold, so that whoever has some of the rows knows theirs.
What is lost: folds and classes are even on average only, equal rows of several groups may part, and rows of one kind
stay in one fold even where kinds are few. Folds in order of time are the same as ever.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rulekit.arrays import Array, Floats, Hashes, Ints, distinct_rows
from rulekit.errors import InputError
from rulekit.graph.decisions import Decision
from rulekit.graph.evaluation.evaluator import decide_each
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import ClassLabel
from rulekit.learners.data.binning import DiskCodes, MemoryCodes
from rulekit.learners.data.problem import Problem, mix, without_mute_words
from rulekit.learners.sums_of_rows.histograms import share_equal
from rulekit.tables.equal_rows import FEW_KINDS, in_pieces
from rulekit.tables.table import Store, StoredColumn, Table


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
        return cls(equal_rows(values))

    def __getitem__(self, rows: Any) -> InOrder:
        return InOrder(self.moment[rows])

    def folds(self, weights: Array, n_folds: int) -> Ints:
        """The fold [n] of each row of these weights [n]: blocks of about the same weight, the earliest first."""
        mass = np.bincount(self.moment, weights)
        middle = (np.cumsum(mass) - mass / 2.0) / max(float(mass.sum()), 1e-300)
        block = np.minimum((middle * n_folds).astype(np.int64), n_folds - 1)[self.moment]
        return equal_rows(block)


@dataclass(slots=True, eq=False)
class Folds:
    """The folds of all questions about the rows of a problem, whose labels are class indices.

    groups [n]: rows of one group share a fold; in order of time: folds are blocks. The rows are dealt out when
    that is first asked for.
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

    def count(self) -> int:
        """How many folds there are."""
        return int(self.of_rows().max()) + 1

    def training(self, problem: Problem, k: int) -> Problem:
        """The rows of a problem outside a fold."""
        kept = np.asarray(self.of_rows() != k)
        kept_labels = self.problem.labels[kept] if len(self.problem.labels) else kept[:0].astype(np.uint8)
        return without_mute_words(problem.take(kept), kept_labels)

    def held(self, problem: Problem, k: int) -> Problem:
        """The rows of a problem in a fold."""
        return problem.take(self.of_rows() == k)

    def confusions(
        self, table: Table, classes: tuple[ClassLabel, ...], decisions: Sequence[Sequence[Decision]], default: int
    ) -> Ints:
        """By fold and model the weight of its rows by class and decision; see `confusions`."""
        return confusions(table, self.problem, self.of_rows(), decisions, default, len(classes))


def folds_of(problem: Problem, n_folds: int, groups: Array | InOrder | None, seed: int) -> Folds:
    """The folds of the rows of a problem, wherever they are."""
    if problem.elsewhere is not None:
        found: Folds = problem.elsewhere.folds(n_folds, seed)
        return found
    return Folds(problem, n_folds, groups, seed)


def confusions(
    table: Table, problem: Problem, fold: Array, decisions: Sequence[Sequence[Decision]], default: int, n_classes: int
) -> Ints:
    """The weight of rows [F, M, K, K] by fold, model, class and decision; decisions: by fold those of its models.

    table: the rows of the problem, whose labels are classes; fold [n]: of each row; default: where no rule holds.
    """
    found = np.zeros((len(decisions), len(decisions[0]), n_classes, n_classes), dtype=np.int64)
    used = tuple(sorted(readers([root for each in decisions for decision in each for root in decision.roots])))
    start = 0
    for block in table.select(used).blocks():
        part = slice(start, start + block.n_rows)
        start += block.n_rows
        for k, own in enumerate(decisions):
            held = fold[part] == k
            labels, weights = problem.labels[part][held].astype(np.int64), problem.weights[part][held]
            for row, decided in enumerate(decide_each(own, default, block.take(held))):
                pairs_of = np.bincount(n_classes * labels + decided, weights, n_classes * n_classes)
                found[k, row] += pairs_of.astype(np.int64).reshape(n_classes, n_classes)
    return found


BY_HASH = 1 << 24
"""The least number of rows, in all parts together, whose folds are those of their hashes."""


def fold_of_rows(problem: Problem, n_folds: int, groups: Array | InOrder | None, seed: int) -> Ints:
    """The fold [n] of each row, 0 .. at most n_folds - 1."""
    if isinstance(groups, InOrder):
        return groups.folds(problem.weights, n_folds)
    if len(problem.labels) >= BY_HASH:
        fold = fold_by_hash(problem, n_folds, groups, seed, len(problem.labels))
        return without_gaps(fold, np.bincount(fold))
    if groups is None and isinstance(problem.codes, DiskCodes) and problem.codes.rows is None:
        files = _hashes_on_disk(problem, seed)
        kinds = itertools.accumulate(len(np.unique(hashes.read())) for hashes, _ in files)
        pieces = n_folds if all(n <= FEW_KINDS for n in kinds) else 1
        fold = _dealt(problem, n_folds, lambda: (_units(problem, h.read(), rows.read(), pieces) for h, rows in files))
        for each in itertools.chain(*files):
            each.remove()
        return fold
    return fold_of_hashes(problem, row_hashes(problem, seed), n_folds, groups)


def fold_by_hash(rows: Problem, n_folds: int, groups: Array | None, seed: int, n_rows: int) -> Array:
    """The fold [n] of some of n_rows rows, which depends on none of the others; some folds may be empty.

    n_rows: so that the rows outside a fold are dealt to folds of their own in another way than all rows.
    """
    told = rows if groups is None else replace(rows, codes=MemoryCodes((groups,)), texts=None)
    fold = np.empty(len(rows.labels), dtype=np.min_scalar_type(n_folds))
    for some, hashes in _hashes(told, seed + n_rows):
        fold[some] = hashes % np.uint64(n_folds)
    return fold


def without_gaps(fold: Array, counts: Ints) -> Ints:
    """Number the folds [n] anew, so that none is empty. counts: how many rows each fold has, in all parts together."""
    return (np.cumsum(counts > 0) - 1).astype(fold.dtype)[fold]


def fold_of_hashes(rows: Problem, hashes: Hashes, n_folds: int, groups: Array | None) -> Ints:
    """Deal fewer than BY_HASH rows to folds [n] by their hashes, labels and weights [n], whatever their order."""
    unit = hashes if groups is None else _joined(equal_rows(hashes), equal_rows(groups))
    units = _units(rows, unit, np.arange(len(unit)), n_folds if groups is None else 1)
    return _dealt(rows, n_folds, lambda: [units])


_Units = tuple[Array, Ints, Ints]
"""Row numbers [n], the unit of each, numbered from 0, and of each unit its key: its main class, the heaviest first."""


def _units(problem: Problem, unit: Array, rows: Array, pieces: int) -> _Units:
    """The units [n] of some rows, which stay together, or large ones in so many pieces; in the order of their numbers.

    A unit counts for the class that has most of its weight.
    """
    weights, labels = problem.weights[rows], problem.labels[rows].astype(np.int64)
    number = equal_rows(unit)
    number = in_pieces(number, labels, weights, pieces) if pieces > 1 else number
    n_units, n_classes = int(number.max(initial=-1)) + 1, int(problem.labels.max(initial=0)) + 1
    # whole numbers, of which no sum is above 2^53: exact in any order
    by_class = np.bincount(number * n_classes + labels, weights, n_units * n_classes).reshape(n_units, n_classes)
    return rows, number, by_class.argmax(axis=1) * _HEAVIEST - by_class.sum(axis=1).astype(np.int64)


def _dealt(problem: Problem, n_folds: int, units: Callable[[], Iterable[_Units]]) -> Ints:
    """The fold [n] of each row: units are dealt out by main class, then weight, then in the order in which they come.

    That is the order of their hashes, which is as good as random. units: some at a time, counted first, then numbered.
    """
    keys, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for _, _, key in units():
        keys, place = np.unique(np.concatenate([keys, key]), return_inverse=True)
        counts = np.bincount(place, np.append(counts, np.ones(len(key))), len(keys)).astype(np.int64)
    begin = np.cumsum(np.append(0, counts))
    fold = np.empty(len(problem.labels), dtype=np.min_scalar_type(n_folds))
    for rows, number, key in units():
        which = np.searchsorted(keys, key)
        order = np.argsort(which, kind="stable")
        place = np.empty(len(key), dtype=np.int64)
        place[order] = np.arange(len(key)) - np.searchsorted(which[order], which[order])
        fold[rows] = ((begin[which] + place) % n_folds)[number]
        begin[:-1] += np.bincount(which, minlength=len(keys))
    return fold


_HEAVIEST = 1 << 44
_BITS = 6


def _hashes_on_disk(problem: Problem, seed: int) -> list[tuple[StoredColumn, StoredColumn]]:
    """The hashes of all rows and their numbers, those of equal rows in one of 64 files, in the order of the hashes."""
    codes = problem.codes
    assert isinstance(codes, DiskCodes)
    store = next((column.store for column in codes.columns if isinstance(column, StoredColumn)), None) or Store()
    dtypes = (np.dtype(np.uint64), np.dtype(np.uint32))
    writers = [(StoredColumn(store, dtypes[0]), StoredColumn(store, dtypes[1])) for _ in range(1 << _BITS)]
    for rows, h in _hashes(problem, seed):
        file = (h >> np.uint64(64 - _BITS)).astype(np.uint8)
        order = np.argsort(file, kind="stable")
        ends = np.cumsum(np.bincount(file, minlength=len(writers)))
        for (hashes, numbers), low, high in zip(writers, np.concatenate([[0], ends[:-1]]), ends, strict=True):
            hashes.add(h[order[low:high]])
            numbers.add(order[low:high] + rows.start)
    return writers


def drawn(problem: Problem, most: int, seed: int) -> Problem:
    """A problem of so many rows, each of weight 1, that are drawn evenly from the weight of all; some come repeatedly.

    Of fewer than BY_HASH rows they depend on the distinct rows, their labels and weights alone, not on the order of the
    rows, and a row of weight 2 is drawn as two rows are. Of more they are at equal distances in the order of the rows.
    """
    if problem.elsewhere is not None:
        found: Problem = problem.elsewhere.drawn(most, seed)
        return found
    hashes = None if problem.n_rows >= BY_HASH else row_hashes(problem, seed, problem.labels)
    rows, times = drawn_rows(hashes, problem.weights, most)
    return Problem(problem.columns, problem.codes.take(rows), problem.labels[rows], times, 1.0)


def drawn_rows(hashes: Hashes | None, weights: Ints, most: int) -> tuple[Ints, Ints]:
    """The numbers of rows with these hashes [n] and weights [n], ascending, and how often each is drawn."""
    # whatever it does with equal ones, the same row
    order = np.arange(len(weights)) if hashes is None else np.argsort(hashes)
    below = np.cumsum(weights[order])
    rows, times = np.unique(order[np.searchsorted(below, marks_of(int(below[-1]), most))], return_counts=True)
    return rows, share_equal(times.astype(np.int64))


def marks_of(total: int, most: int) -> Floats:
    """So many marks at equal distances in the weight of all rows."""
    return np.asarray((np.arange(most) + 0.5) * (float(total) / most))


def row_hashes(problem: Problem, seed: int, *beside: Array) -> Hashes:
    """A 64-bit hash [n] of the codes of each row, of all words of its texts, and of what else counts [n]."""
    found = np.concatenate([np.zeros(0, dtype=np.uint64), *(hashes for _, hashes in _hashes(problem, seed))])
    for codes in beside:
        mix(found, codes)
    return found


def _hashes(problem: Problem, seed: int) -> Iterator[tuple[slice, Hashes]]:
    """Those of the codes, some rows at a time, which stay in a cache."""
    first = (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64
    for rows, codes in problem.codes.parts(len(problem.labels)):
        hashes = np.full(rows.stop - rows.start, first, dtype=np.uint64)
        if problem.texts is not None:
            mix(hashes, problem.texts[rows])
        for column in range(len(codes)):
            mix(hashes, codes[column])
        yield rows, hashes


def equal_rows(marks: Array) -> Ints:
    """The number [n] of the kind of each row, of marks [n] that equal rows share; kinds are in their order.

    Or of rows of marks [n, k], whole numbers from 0 on.
    """
    if marks.ndim == 1:
        return np.unique(marks, return_inverse=True)[1].astype(np.int64)
    word = np.min_scalar_type(int(marks.max(initial=0))).newbyteorder(">")
    return distinct_rows(np.ascontiguousarray(marks.astype(word)).view(np.uint8))[1].astype(np.int64)


def _joined(unit: Ints, group: Ints) -> Ints:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(unit.max()) + int(group.max()) + 2
    links = coo_array((np.ones(len(unit)), (unit, group + int(unit.max()) + 1)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][unit], dtype=np.int64)
