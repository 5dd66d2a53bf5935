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

from rulekit.arrays import Array, Bools, Floats, Hashes, Ints, rounded
from rulekit.graph.decisions import Decision
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import ClassLabel, RuleGraph, class_array
from rulekit.learners.contract import Question
from rulekit.learners.data import folds as dealing
from rulekit.learners.data.binning import BinnedColumn, MemoryCodes, bin_parts, code_type
from rulekit.learners.data.inputs import TrainingData, occurring, tell_left_out
from rulekit.learners.data.parts import LocalRows, Rows, added
from rulekit.learners.data.problem import Problem, unlike
from rulekit.learners.data.training_part import (
    ALL,
    ByPart,
    TrainingPart,
    View,
    bin_pass,
    class_sums,
    code,
    confusions,
    deal,
    deal_by_hash,
    hashed,
    keep_columns,
    places_of,
    rows_at,
    sums_of_rows,
    weigh,
)
from rulekit.learners.sums_of_rows.histograms import class_steps, share_equal
from rulekit.schema import Feature, Schema
from rulekit.tables.equal_rows import RowSums
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Table


class RowParts(Protocol):
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


@dataclass(frozen=True, slots=True, eq=False)
class PartedProblem(Problem):
    """A problem whose rows are elsewhere: it has no codes, labels or weights, but knows what they come to.

    counts, sums [P, K]: how many rows each part has of a class, and what they weigh; unequal: not all weigh the same.
    """

    parts: RowParts = field(kw_only=True)
    view: View = ALL
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

    @property
    def elsewhere(self) -> PartedProblem:
        return self

    def silencing(self, classes: Problem, silent: Bools) -> PartedProblem:
        return replace(self, view=replace(self.view, silent=tuple(silent.tolist())))

    def rows(self) -> Rows:
        """The rows, to be asked."""
        return self.parts.rows(self.view)

    def folds(self, n_folds: int, seed: int) -> PartedFolds:
        """The folds of the rows."""
        return PartedFolds(self, n_folds, None, seed)

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
        if isinstance(problem, PartedProblem):
            return problem.of_fold(k, True, self._dealt())
        return super().held(problem, k)

    def confusions(
        self, table: Table, classes: tuple[ClassLabel, ...], decisions: Sequence[Sequence[Decision]], default: int
    ) -> Ints:
        assert isinstance(self.problem, PartedProblem)
        schema = Schema(table.features)
        texts = [[to_json(RuleGraph(schema, classes, each)) for each in own] for own in decisions]
        found: Ints = self.problem.parts.sum(confusions, texts, default, len(classes))
        return found


def gathered(questions: Sequence[Question]) -> list[Question]:
    """The questions with all of their rows in memory."""
    first = questions[0].problem
    if not isinstance(first, PartedProblem):
        return list(questions)
    rows = replace(first, view=ALL).here()
    found = list[Question]()
    for question in questions:
        assert isinstance(question.problem, PartedProblem)
        found.append(replace(question, problem=rows.telling(np.array(question.problem.view.positive))))
    return found


# All rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PartedRows:
    """Labelled rows in parts; empty: their features, classes and target, and no row; sums: `class_sums`, if known."""

    parts: RowParts
    empty: LabelledTable
    sums: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PartedData(TrainingData):
    """What a learner is given of rows that are elsewhere; its table has the features, and no row.

    exact [K]: the weight of each class in units of 2^-1074; counts [P, K]: how many rows of it each part has. ranks: of
    the classes of the rows, their places among those that occur. weighted: not all rows weigh 1.
    """

    parts: RowParts = field(kw_only=True)
    exact: Sequence[int] = field(kw_only=True)
    counts: Ints = field(kw_only=True)
    ranks: Ints = field(kw_only=True)
    weighted: bool = field(kw_only=True)

    @classmethod
    def of_parts(cls, rows: PartedRows) -> PartedData:
        """The data of all parts; raises InputError where all rows are of one class."""
        empty, found = rows.empty, rows.sums or rows.parts.each(class_sums, len(rows.empty.classes))
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
        return LocalRows([part.view(view) for part in self.held])

    def alongside(self, learnings: Sequence[Iterator[Any]]) -> list[Iterator[Any]]:
        return list(learnings)


def _own(argument: Any, part: TrainingPart) -> Any:
    return argument.values[part.number] if isinstance(argument, ByPart) else argument
