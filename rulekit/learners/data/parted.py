"""Training rows that lie in parts elsewhere: what a learner is given in their place.

The labels, bins and folds of all rows are decided from sums over the parts. A learner asks further sums, or for some
rows: of many those that are drawn or evenly spread, as it would take them where all rows are in memory. Below BY_HASH
rows a hash, the label and the weight of each row come together to be dealt to folds; from there on no row does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Hashes, Ints
from rulekit.graph.decisions import Decision
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import ClassLabel, RuleGraph, class_array
from rulekit.learners.contract import Question
from rulekit.learners.data import folds as dealing
from rulekit.learners.data.binning import Asked, BinnedColumn, MemoryCodes, answer, bin_parts, code_type
from rulekit.learners.data.inputs import TrainingData, occurring, tell_left_out
from rulekit.learners.data.parts import Answer, HeldRows, Rows, added, held_rows
from rulekit.learners.data.problem import Problem, mix, recoded, unlike
from rulekit.learners.data.quantiles import SortedPart
from rulekit.learners.sums_of_rows.histograms import class_steps, in_steps, lead_by_code, moderate, share_equal
from rulekit.schema import Feature, Schema
from rulekit.shown.exact_sums import ExactWeights, rounded
from rulekit.tables.equal_rows import RowSums, row_sums
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Table


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


@dataclass(frozen=True, slots=True, eq=False)
class ByPart:
    """An argument that each part gets its own of."""

    values: Sequence[Any]


class Parts(Protocol):
    """All parts of the rows, wherever they are; a function of a part has a name on every machine."""

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Let each part know more; what each answers, in the order of the rows."""

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What each part answers, in the order of the rows."""

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The sum of what the parts answer; see `added`."""

    def rows(self, view: View) -> Rows:
        """The rows of a view."""

    def alongside(self, learnings: Sequence[Iterator[Any]]) -> list[Iterator[Any]]:
        """The same learnings, which may ask together."""


# On a part -----------------------------------------------------------------------------------------------------------


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
                problem = silenced(problem, self.problem, np.array(view.silent))
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
    if part.weights.strides == (0,):
        return ExactWeights(None, len(part.y)).by(part.y, n_classes), counts, ends
    sums, step = [0] * n_classes, 1 << 24
    for a in range(0, len(part.y), step):
        weights = ExactWeights(part.weights[a : a + step], len(part.y[a : a + step]))
        sums = added(sums, weights.by(part.y[a : a + step], n_classes))
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


# Where the sums come together ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PartedProblem(Problem):
    """A problem whose rows are elsewhere: it has no codes, labels or weights, but knows what they come to.

    counts, sums [P, K]: how many rows each part has of a class, and what they weigh; unequal: not all weigh the same.
    """

    parts: Parts = field(kw_only=True)
    view: View = View()
    counts: Ints = field(kw_only=True)
    sums: Ints = field(kw_only=True)
    unequal: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    @property
    def total(self) -> float:
        return float(self._weights().sum()) * self.weight_unit

    @property
    def positive(self) -> float:
        return float(self._weights()[:, list(self.view.positive)].sum()) * self.weight_unit

    def _weights(self) -> Ints:
        """What the rows of each part and class weigh [P, K]."""
        return self.sums * ~np.array(self.view.silent) if self.view.silent else self.sums

    @property
    def weighted(self) -> bool:
        return self.unequal

    def class_weights(self, n_classes: int) -> Floats:
        return np.asarray(self._weights().sum(axis=0), dtype=np.float64)

    def telling(self, positive: Bools) -> PartedProblem:
        return replace(self, view=replace(self.view, positive=tuple(positive.tolist())))

    def here(self) -> Problem:
        return self.at(np.arange(self.n_rows))

    def at(self, numbers: Ints) -> Problem:
        """Some rows by their ascending numbers, as a problem in memory."""
        ends = np.cumsum(self.counts.sum(axis=1))
        own = np.split(numbers, np.searchsorted(numbers, ends[:-1]))
        return self._taken([each - start for each, start in zip(own, (0, *ends[:-1].tolist()), strict=True)])

    def _taken(self, places: Sequence[Ints]) -> Problem:
        found = self.parts.each(rows_at, self.view, ByPart(places))
        arrays = [np.concatenate(each) for each in zip(*(codes for codes, _, _ in found), strict=True)]
        together = len(arrays) == 1 and arrays[0].ndim == 2
        codes = MemoryCodes.of_matrix(arrays[0]) if together else MemoryCodes(tuple(arrays))
        labels, weights = (np.concatenate([each[k] for each in found]) for k in (1, 2))
        return Problem(self.columns, codes, labels, share_equal(weights), self.weight_unit)

    def drawn(self, most: int, seed: int) -> Problem:
        """Draw rows as `rulekit.learners.data.folds.drawn` does."""
        if self.n_rows < dealing.BY_HASH:
            hashes, _, weights = self.hashed(seed, labelled=True)
            numbers, times = dealing.drawn_rows(hashes, weights, most)
            return replace(self.at(numbers), weights=times, weight_unit=1.0)
        by_part = self._weights().sum(axis=1)
        below = np.cumsum(by_part)
        marks = dealing.marks_of(int(below[-1]), most)
        places = self.parts.each(places_of, self.view, ByPart((below - by_part).tolist()), marks)
        own = [np.unique(each, return_counts=True) for each in places]
        times = share_equal(np.concatenate([each for _, each in own]).astype(np.int64))
        return replace(self._taken([each for each, _ in own]), weights=times, weight_unit=1.0)

    def hashed(self, seed: int, *, labelled: bool) -> tuple[Hashes, Array, Ints]:
        """The hash, label and weight [n] of each row: of fewer than BY_HASH rows, and nothing else of them."""
        found = self.parts.each(hashed, self.view, seed, labelled)
        weights = [np.broadcast_to(own, len(hashes)) for hashes, _, own in found]
        hashes, labels = (np.concatenate([each[k] for each in found]) for k in (0, 1))
        return hashes, labels, share_equal(np.concatenate(weights))

    def of_fold(self, fold: int, held: bool, by_fold: Sequence[tuple[Ints, Ints]]) -> PartedProblem:
        """The rows of a fold, or those without it; by_fold: of each part the answer to `deal`."""
        chosen = (np.arange(len(by_fold[0][0])) == fold) == held
        counts, sums = (np.array([each[k][chosen].sum(axis=0) for each in by_fold]) for k in (0, 1))
        return replace(self, view=replace(self.view, fold=fold, held=held), counts=counts, sums=sums)

    def binned(
        self, features: Sequence[Feature], max_bins: int, least: int, named: Collection[str]
    ) -> tuple[PartedProblem, tuple[str, ...]]:
        """With the columns of the table, of those that part the rows alike one, and a note of these."""
        columns = bin_parts(features, lambda asked: self.parts.sum(bin_pass, asked), max_bins, least)
        starts = np.append(0, np.cumsum(self.counts.sum(axis=1)))[:-1]
        marks = reduce(added, self.parts.tell(code, columns, ByPart(starts.tolist())))
        alike = alike_by_marks(columns, marks)
        kept, remarks = unlike(columns, alike, named, lambda a, b: np.array_equal(marks[a], marks[b]))
        if remarks:
            self.parts.tell(keep_columns, kept)
        none = MemoryCodes(tuple(np.zeros(0, dtype=code_type(columns[j].n_codes)) for j in kept))
        return replace(self, columns=tuple(columns[j] for j in kept), codes=none), remarks


def alike_by_marks(columns: Sequence[BinnedColumn], marks: Sequence[Ints]) -> list[list[int]]:
    """The groups of columns that part the rows alike, by sums over the rows of each code that tell rows apart."""
    found = dict[tuple[Any, ...], list[int]]()
    for place, (column, own) in enumerate(zip(columns, marks, strict=True)):
        if column.n_codes > 2 and column.feature.atom is None and np.count_nonzero(own) > 1:
            known = own[column.first_known :].tolist()
            known = min(known, known[::-1]) if column.ordered else sorted(known)
            first = own[: column.first_known].tolist()
            found.setdefault((column.ordered, column.n_codes, *first, *known), []).append(place)
    return [group for group in found.values() if len(group) > 1]


class PartedFolds(dealing.Folds):
    """The folds of rows that are elsewhere."""

    by_fold: list[tuple[Ints, Ints]] | None = None

    def of_rows(self) -> Ints:
        """The fold [n] of each row, of fewer than BY_HASH, which may be in memory."""
        self._dealt()
        assert self.dealt is not None
        return self.dealt

    def _dealt(self) -> list[tuple[Ints, Ints]]:
        if self.by_fold is None:
            problem = self.problem
            assert isinstance(problem, PartedProblem)
            n_rows, parts, n_classes = problem.n_rows, problem.parts, problem.counts.shape[1]
            own: Any = None
            if n_rows >= dealing.BY_HASH:
                counts = sum(parts.tell(deal_by_hash, self.n_folds, self.seed, n_rows))
            else:
                hashes, labels, weights = problem.hashed(self.seed, labelled=False)
                rows = Problem((), MemoryCodes(()), labels, weights, problem.weight_unit)
                fold = dealing.fold_of_hashes(rows, hashes, self.n_folds, None)
                self.dealt, counts = fold.astype(np.uint8), np.bincount(fold)
                own = ByPart(np.split(self.dealt, np.cumsum(problem.counts.sum(axis=1))[:-1]))
            self.by_fold = parts.tell(deal, own, counts, n_classes)
        return self.by_fold

    def count(self) -> int:
        return len(self._dealt()[0][0])

    def training(self, problem: Problem, k: int) -> Problem:
        if isinstance(problem, PartedProblem):
            return problem.of_fold(k, False, self._dealt())
        return super().training(problem, k)

    def held(self, problem: Problem, k: int) -> Problem:
        return (
            problem.of_fold(k, True, self._dealt()) if isinstance(problem, PartedProblem) else super().held(problem, k)
        )

    def confusions(
        self, table: Table, classes: tuple[ClassLabel, ...], decisions: Sequence[Sequence[Decision]], default: int
    ) -> Ints:
        assert isinstance(self.problem, PartedProblem)
        schema = Schema(table.features)
        texts = [[to_json(RuleGraph(schema, classes, each)) for each in own] for own in decisions]
        found: Ints = self.problem.parts.sum(confusions, texts, default, len(classes))
        return found


def folds_of(problem: Problem, n_folds: int, groups: Any, seed: int) -> dealing.Folds:
    """The folds of the rows of a problem, wherever they are."""
    return (PartedFolds if isinstance(problem, PartedProblem) else dealing.Folds)(problem, n_folds, groups, seed)


def silenced(problem: Problem, classes: Problem, silent: Bools) -> Problem:
    """The problem in which the rows of some classes [K] weigh nothing; classes: the same rows, labels are classes."""
    if isinstance(problem, PartedProblem):
        return replace(problem, view=replace(problem.view, silent=tuple(silent.tolist())))
    return replace(problem, weights=np.where(silent[classes.labels], 0, problem.weights))


LIGHT = 8
"""How many times as many rows are few where they weigh little."""


def is_few(problem: Problem, most: int) -> bool:
    """Whether all rows are looked at, where at most so many are."""
    return max(problem.total, problem.n_rows / LIGHT) <= most


def gathered(questions: Sequence[Question]) -> list[Question]:
    """The questions with all of their rows in memory."""
    first = questions[0].problem
    if not isinstance(first, PartedProblem):
        return list(questions)
    rows = replace(first, view=View()).here()
    found = list[Question]()
    for question in questions:
        assert isinstance(question.problem, PartedProblem)
        found.append(replace(question, problem=rows.telling(np.array(question.problem.view.positive))))
    return found


def in_memory(problem: Problem) -> bool:
    """Whether the rows of a problem are here, and not on disk."""
    return isinstance(problem.codes, MemoryCodes) and not isinstance(problem, PartedProblem)


def rows_of(problem: Problem, n_threads: int) -> Rows:
    """The rows of a problem in parts: where they are, or one for each thread."""
    if isinstance(problem, PartedProblem):
        return problem.parts.rows(problem.view)
    return held_rows(problem, n_threads)


def drawn(problem: Problem, most: int, seed: int) -> Problem:
    """Draw so many rows, which are then in memory; see `rulekit.learners.data.folds.drawn`."""
    return problem.drawn(most, seed) if isinstance(problem, PartedProblem) else dealing.drawn(problem, most, seed)


# All rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PartedRows:
    """Labelled rows in parts; empty: their features, classes and target, and no row."""

    parts: Parts
    empty: LabelledTable


@dataclass(frozen=True, slots=True, eq=False)
class PartedData(TrainingData):
    """What a learner is given of rows that are elsewhere; its table has the features, and no row.

    exact [K]: the weight of each class in units of 2^-1074; counts [P, K]: how many rows of it each part has. ranks: of
    the classes of the rows, their places among those that occur. weighted: not all rows weigh 1.
    """

    parts: Parts = field(kw_only=True)
    exact: Sequence[int] = field(kw_only=True)
    counts: Ints = field(kw_only=True)
    ranks: Ints = field(kw_only=True)
    weighted: bool = field(kw_only=True)

    @classmethod
    def of_parts(cls, rows: PartedRows) -> PartedData:
        """The data of all parts; raises InputError where all rows are of one class."""
        empty, found = rows.empty, rows.parts.each(class_sums, len(rows.empty.classes))
        exact, both = reduce(added, (own for own, *_ in found)), np.array([own for _, own, _ in found])
        ends = [end for *_, own in found for end in own]
        counts, labels = both[:, 0], class_array(empty.classes)
        tell_left_out(labels, both[:, 1].sum(axis=0), counts.sum(axis=0))
        occurs = np.flatnonzero(counts.sum(axis=0))
        classes, ranks = occurring(labels, occurs)
        own = np.full(len(empty.classes), -1)
        own[occurs] = ranks
        prices = np.ones(len(empty.classes)) if empty.cost is None else np.array(empty.cost)
        first = occurs[np.argsort(ranks)]
        return cls(
            *(empty.table, classes, np.zeros(0, dtype=np.uint8), np.zeros(0), None, prices[first], empty.target),
            parts=rows.parts,
            exact=[exact[k] for k in first],
            counts=counts[:, first],
            ranks=own,
            weighted=min(ends) != 1.0 or max(ends) != 1.0,
        )

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def totals(self) -> Floats:
        return np.array([rounded(each) for each in self.exact])

    def row_sums(self) -> RowSums:
        found: RowSums = self.parts.sum(sums_of_rows, self.classes, self.ranks, self.weighted)
        return found

    def labelled(self, target: str) -> LabelledTable:
        labelled = TrainingData.labelled(self, target)
        return replace(labelled, weight=np.zeros(0) if self.weighted else None)

    def problem(self, order: Sequence[int], factors: Floats) -> Problem:
        factors, unit = class_steps(self.totals(), self.n_rows, factors)
        places = np.argsort(order)
        own = np.append(places, -1)[self.ranks], np.append(factors, 0.0)[self.ranks]
        found = self.parts.tell(weigh, *own, unit)
        ends = [end for each, _ in found for end in each]
        none = np.zeros(0, dtype=np.int64)
        return PartedProblem(
            *((), MemoryCodes(()), none, none, unit),
            parts=self.parts,
            counts=self.counts[:, list(order)],
            sums=np.array([each for _, each in found]),
            unequal=min(ends) < max(ends),
        )


@dataclass(slots=True, eq=False)
class HeldParts:
    """Parts that are here, asked one after the other."""

    held: Sequence[TrainingPart]

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        own = ((part, [_own(each, part) for each in arguments]) for part in self.held)
        found = {part.number: function(part, *given) for part, given in own}
        return [found[number] for number in sorted(found)]

    each = tell

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return reduce(added, self.tell(function, *arguments))

    def rows(self, view: View) -> Rows:
        return HeldRows([part.view(view) for part in self.held])

    def alongside(self, learnings: Sequence[Iterator[Any]]) -> list[Iterator[Any]]:
        return list(learnings)


def _own(argument: Any, part: TrainingPart) -> Any:
    return argument.values[part.number] if isinstance(argument, ByPart) else argument
