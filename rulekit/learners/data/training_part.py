"""A part of the training rows where it is: what it is told of all rows, and what it answers.

What it knows is a function of its rows and of what it was told, so that whoever loses it can make it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, ExactWeights, Floats, Hashes, Ints
from rulekit.graph.files.model_files import from_json
from rulekit.graph.rule_graph import ClassLabel
from rulekit.learners.data import folds as dealing
from rulekit.learners.data.binning import Asked, BinnedColumn, MemoryCodes, answer
from rulekit.learners.data.parts import Answer, added
from rulekit.learners.data.problem import Problem, mix
from rulekit.learners.data.quantiles import SortedPart
from rulekit.learners.data.recoding import recoded
from rulekit.learners.sums_of_rows.histograms import in_steps, lead_by_code, moderate, share_equal
from rulekit.tables.equal_rows import RowSums, row_sums
from rulekit.tables.labels import LabelledTable


@dataclass(frozen=True, slots=True)
class View:
    """Some rows of a part, and what is to be told of them: label 1 of which classes (none: the labels are classes).

    fold: without the rows of that fold, or, held, these alone (None: all rows). silent: the classes whose rows weigh
    nothing.
    """

    positive: tuple[bool, ...] = ()
    silent: tuple[bool, ...] = ()
    fold: int | None = None
    held: bool = False


ALL = View()


@dataclass(frozen=True, slots=True, eq=False)
class ByPart:
    """An argument that each part gets its own of."""

    values: Sequence[Any] | Mapping[int, Any]


class TrainingPart:
    """A part of the rows where it is: those of positive weight, and what it was told of all parts."""

    def __init__(self, rows: LabelledTable, number: int, largest: float = 0.0) -> None:
        self.rows, self.number = rows, number
        weights = np.broadcast_to(np.ones(1), (len(rows),)) if rows.weight is None else rows.weight
        used = weights > 0
        self.table, self.y = (rows.table, rows.y) if used.all() else (rows.table.take(used), rows.y[used])
        if rows.weight is not None:  # moderated as all rows together are
            weights = moderate(np.append(weights[used], largest))[:-1]
        self.weights: Floats = weights
        self.problem = Problem((), MemoryCodes(()), self.y, np.zeros(0, dtype=np.int64), 1.0)
        self.fold: Array | None = None
        self.sorted = dict[int, SortedPart]()
        self.views = dict[View, Problem]()

    def view(self, view: View) -> Problem:
        """Some of the rows as a problem; kept, since each step asks it."""
        if view not in self.views:
            problem = self.problem if not view.positive else self.problem.telling(np.array(view.positive))
            if view.silent:
                problem = problem.silencing(self.problem, np.array(view.silent))
            if view.fold is not None:
                assert self.fold is not None
                problem = problem.take(self.fold == view.fold if view.held else self.fold != view.fold)
            self.views[view] = problem
        return self.views[view]


def class_sums(part: TrainingPart, n_classes: int) -> tuple[list[int], Ints, list[float]]:
    """The weight of each class, in units of 2^-1074; its rows of positive weight, and all of them [2, K].

    And the least and the largest weight.
    """
    ends = [float(part.weights.min()), float(part.weights.max())] if len(part.y) else []
    counts = np.array([np.bincount(y, minlength=n_classes) for y in (part.y, part.rows.y)])
    sums, step, one = [0] * n_classes, 1 << 24, part.weights.strides == (0,)
    for a in range(0, len(part.y), step):
        y, weights = part.y[a : a + step], None if one else part.weights[a : a + step]
        sums = added(sums, ExactWeights(weights, len(y)).by(y, n_classes))
    return sums, counts, ends


def weigh(part: TrainingPart, places: Ints, factors: Floats, unit: float) -> tuple[list[int], Ints]:
    """Give the rows their classes [n] and weights [n]; the least and the largest weight, and the weight of classes.

    places [K]: the number of each class, -1 without a row; factors [K]: what a row of it counts.
    """
    n_classes = int(places.max()) + 1
    labels = places[part.y].astype(np.min_scalar_type(n_classes - 1))
    weights = share_equal(in_steps(part.weights, part.y, factors, unit))
    part.problem = Problem((), MemoryCodes(()), labels, weights, unit)
    ends = [int(weights.min()), int(weights.max())] if len(weights) else []
    return ends, np.bincount(labels, weights, n_classes).astype(np.int64)


def bin_pass(part: TrainingPart, asked: Asked) -> Answer:
    """Answer a pass of the binning."""
    return answer(part.table, part.problem.weights, asked, part.sorted)


def code(part: TrainingPart, columns: tuple[BinnedColumn, ...], start: int) -> Answer:
    """Give the rows their codes; by column and code a sum of what tells their numbers, from `start` on, apart."""
    found = recoded(replace(part.problem, columns=(), codes=MemoryCodes(())), columns, part.table)
    arrays = [found.codes[j] for j in range(len(columns))]
    together = arrays and all(each.dtype == np.uint8 for each in arrays)
    codes = MemoryCodes.of_matrix(np.stack(arrays, axis=1)) if together else MemoryCodes(tuple(arrays))
    part.problem, part.sorted = replace(found, codes=codes), {}
    marks = np.full(len(part.y), 0x9E3779B97F4A7C15, dtype=np.uint64)
    mix(marks, np.arange(start, start + len(part.y)))
    own, sums = np.ones(len(part.y), dtype=np.uint8), list[Ints]()
    for column, each in zip(columns, arrays, strict=True):
        sums.append(np.zeros(column.n_codes, dtype=np.int64))
        lead_by_code(each.reshape(-1, 1), np.zeros(1, dtype=np.int64), own, marks.view(np.int64), sums[-1])
    return sums


def keep_columns(part: TrainingPart, kept: Sequence[int]) -> None:
    """Leave out the other columns."""
    codes = part.problem.codes
    assert isinstance(codes, MemoryCodes)
    part.problem = replace(
        part.problem, columns=tuple(part.problem.columns[j] for j in kept), codes=codes.of_columns(kept)
    )


def hashed(part: TrainingPart, view: View, seed: int, labelled: bool) -> tuple[Hashes, Array, Ints]:
    """The hash, the label and the weight (one of all, where they are equal) of each row of a view.

    labelled: whether the label counts in the hash.
    """
    problem = part.view(view)
    beside = (problem.labels,) if labelled else ()
    weights = problem.weights[:1] if problem.weights.strides == (0,) else problem.weights
    return dealing.row_hashes(problem, seed, *beside), problem.labels, weights


def deal_by_hash(part: TrainingPart, n_folds: int, seed: int, n_rows: int) -> Ints:
    """Deal the rows to folds by their hashes; how many rows each fold has."""
    part.fold = dealing.fold_by_hash(part.problem, n_folds, None, seed, n_rows)
    return np.bincount(part.fold, minlength=n_folds)


def deal(part: TrainingPart, fold: Array | None, counts: Ints, n_classes: int) -> tuple[Ints, Ints]:
    """Give the rows their folds, or number those they have; by fold and class [F, K] the rows and their weight.

    counts: how many rows of all parts each fold has.
    """
    if fold is None:
        assert part.fold is not None
        fold = dealing.without_gaps(part.fold, counts)
    part.fold, problem, n_folds = fold, part.problem, int(np.count_nonzero(counts))
    keys = fold.astype(np.int64) * n_classes + problem.labels
    both = (np.bincount(keys, each, n_folds * n_classes) for each in (None, problem.weights))
    rows, weights = (each.astype(np.int64).reshape(n_folds, n_classes) for each in both)
    return rows, weights


def sums_of_rows(part: TrainingPart, classes: tuple[ClassLabel, ...], ranks: Ints, weighted: bool) -> RowSums:
    """What tells the rows apart from others; ranks: of the classes of the part, their places among these."""
    weights = part.weights if weighted else None
    return row_sums(LabelledTable(part.table, ranks[part.y], classes, weights))


def rows_at(part: TrainingPart, view: View, places: Ints) -> tuple[list[Array], Array, Ints]:
    """Some rows of a view, by their places in this part: codes, labels, weights."""
    found = part.view(view).take(places)
    codes = found.codes
    own = [codes.matrix] if isinstance(codes, MemoryCodes) and codes.matrix is not None else list(codes)  # type: ignore
    return own, found.labels, np.ascontiguousarray(found.weights)


def places_of(part: TrainingPart, view: View, before: int, marks: Floats) -> Ints:
    """The rows of a view on which marks lie, where the rows of the parts before this one weigh so much."""
    below = np.cumsum(part.view(view).weights) + before
    inside = marks[(marks > before) & (marks <= (below[-1] if len(below) else before))]
    return np.searchsorted(below, inside)


def confusions(part: TrainingPart, decisions: Sequence[Sequence[str]], default: int, n_classes: int) -> Ints:
    """By fold and model the weight of its rows by class and decision; decisions: as the texts of models."""
    assert part.fold is not None
    read = [[from_json(text).decision for text in own] for own in decisions]
    return dealing.confusions(part.table, part.problem, part.fold, read, default, n_classes)
