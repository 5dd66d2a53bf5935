"""The folds of the rows inside the training data.

Rows that are identical (in all binned columns) or of one group stay in one fold; the folds depend on the distinct rows
and their weights alone, not on the order of the rows, so a row of weight 2 counts like two rows. Only where there are
few kinds of rows, of a hundred or more each, those of one kind are dealt to all folds. Classes are spread evenly over
the folds: rows that stay together count for the class that has most of their weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Ints
from rulekit.learners.data.disk_codes import DiskCodes
from rulekit.learners.data.folds_on_disk import folds_on_disk, main_classes
from rulekit.learners.data.hashes import first_hash, mix
from rulekit.learners.data.in_order import InOrder
from rulekit.learners.data.problem import Problem
from rulekit.tables.splitting import in_pieces


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
    """Units that share a group become one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(unit.max()) + int(group.max()) + 2
    links = coo_array((np.ones(len(unit)), (unit, group + int(unit.max()) + 1)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][unit], dtype=np.int64)
