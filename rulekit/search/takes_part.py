"""Which values of which columns take part in the smallest changes that turn a decision, exactly, for every decision.

The *distance* of a row is the fewest columns whose change turns its decision: afterwards another class is decided. A
value may be changed to every known one, not to missing, nor to a level that training never saw. **A column counts in
the decision of a row where some known value of it, in the place of the row's own, makes the distance smaller**: where
it turns the decision at once, or leaves fewer other columns to change. So the columns that count are those of the
smallest changes (the minimum contrastive explanations of Ignatiev et al., 2020, "From contrastive to abductive
explanations and back again"): each of these changes is made of columns that count, and every column that counts is in
one of them. Every decision that some change turns has such a column. Of a text each word is a column here, and so is
its being missing, from which one can only come.

A proved nearest change (`rulekit.search.nearest`) is one of the smallest, so its columns count, whatever else is found.

Where the cells are at most `RUN_CELLS` the distance of every cell is known at once: cells that are decided otherwise
have distance 0, and those that one change brings to distance k have k + 1. Where a single sum decides, or the largest
of several, each term of which reads one column, the distance follows from what each column can gain. Else all changes
of one column are tried, then of two, up to `MOST_TRIED` rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rulekit.arrays import Bools
from rulekit.cells.axis import cells_of
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import RUN_CELLS
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.search.nearest import NearestChange
from rulekit.search.row_search import RowSearch
from rulekit.search.separable_sums import SumGoal, fewest, gains_of, turning_goals
from rulekit.tables.table import Array, Table, encoded_dtype

MOST_TRIED = 50_000
_FAR = 127


@dataclass(frozen=True)
class Place:
    """A column that may change: its name in the model (of a word that of its text), and a known value of each cell.

    values: encoded, in the order of the column where it has one. cells: the numbers of their cells in the axis.
    """

    column: str
    feature: Feature
    values: Array
    cells: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Nearer:
    """Of some rows [n] that are decided as one class.

    distance [n]: 0 where no change turns the decision, or where it is not known. nearer: for each of the places whether
    each of its values [n, values] makes the distance smaller. exact [n]: whether that is all that counts.
    """

    distance: Array
    nearer: tuple[Bools, ...]
    exact: Bools


class Counting:
    """Answers for the rows of one model which values make the distance smaller.

    search: the cells that the decision tells apart, and perhaps more; its graph is the model with a column for each
    word of a text. places: the columns that may change, by axis of the space. few: cells that are all run.
    """

    def __init__(self, graph: RuleGraph, search: RowSearch | None = None, few: int = RUN_CELLS) -> None:
        search = RowSearch(graph, graph.decision.roots) if search is None else search
        self.words, self.space, self._few = search.words, search.space, few
        self.graph = search.graph.with_(probability=(), required=())  # what it reports may read further columns
        self._distances: dict[int, Array] = {}
        self.places = tuple(self._places())

    def _places(self) -> Iterator[Place]:
        texts = {} if self.words is None else self.words.columns
        column = {name: text for text, names in texts.items() for name in names}
        first = {names[0] for names in texts.values()}
        read = readers(self.graph.decision.roots)
        for axis in self.space.axes:
            feature = axis.feature
            cells = tuple(np.flatnonzero(axis.known).tolist())
            values = axis.encoded[list(cells), 0]
            if feature.name in first:
                cells, values = cells[:1], values[:1]
            if not axis.whole:  # both ends of each interval, where a sum is largest or smallest
                dtype, cuts = encoded_dtype(feature), cells_of(feature, read.get(feature.name, ())).cuts
                ends = np.array([cut for cut in cuts if math.isfinite(cut)], dtype=dtype)
                beside = np.unique(np.concatenate([ends, np.nextafter(ends, dtype.type(np.inf))]))
                cells, values = (), beside if len(ends) else np.zeros(1, dtype=dtype)
            yield Place(column.get(feature.name, feature.name), feature, values, cells)

    @property
    def whole(self) -> bool:
        """Whether the values stand for all, so that what is found by trying them is true of every row."""
        return self.space.whole

    def table(self, table: Table) -> Table:
        """Rows of the model as rows of the columns here."""
        apart = table if self.words is None else self.words.table(table)
        return apart.select(tuple(axis.feature.name for axis in self.space.axes))

    def of(self, table: Table, class_index: int) -> Nearer:
        """Of rows of the model, each of which is decided as the class."""
        rows = self.table(table)
        if self.whole and self.space.size <= self._few:
            return self._by_cells(rows, class_index)
        decision, ranked = self.graph.decision, self.graph.decision.ranked
        goals = None  # each of which turns the decisions of the class, where nothing but such sums decides
        if self.whole and not any(least > -np.inf for _, _, least in ranked) and not decision.ordered:
            above = dict.fromkeys(range(decision.n_classes), bool(ranked) or class_index == 1)
            goals = turning_goals(decision, self.graph.default, class_index, above)
        if goals is None or not all(goal.separable for goal in goals):
            return self._by_trying(rows, class_index)
        found = self._by_gains(rows, goals)
        unsure = np.flatnonzero(~found.exact)  # a total lies so near to its goal that rounding may decide
        if len(unsure):
            tried = self._by_trying(rows.take(unsure), class_index)
            known = unsure[tried.exact]
            found.distance[known], found.exact[known] = tried.distance[tried.exact], True
            for mine, other in zip(found.nearer, tried.nearer, strict=True):
                mine[known] = other[tried.exact]
        return found

    def with_changes(self, near: Nearer, table: Table, changes: Sequence[NearestChange | None]) -> Nearer:
        """The same, with the columns of those nearest changes [n] that are proved, by the values that they go to."""
        rows = self.table(table)
        for i, change in enumerate(changes):
            if change is None or not change.proved or not change.columns:
                continue
            near.distance[i] = len(change.columns)
            moved = {column.column: column.after for column in change.columns}
            for j, place in enumerate(self.places):
                if place.feature.name in moved:
                    own = float(np.asarray(rows.arrays[j])[i])
                    near.nearer[j][i, self._number(j, own, moved[place.feature.name])] = True
        return near

    def _number(self, place: int, own: float, after: Any) -> int:
        """Which value of a place stands for a plain one, to which a row goes from its own encoded one.

        Where values do not stand for all, that is the one at the end that it goes towards.
        """
        there = self.places[place]
        if there.feature.kind == "categorical":
            after = FIRST_LEVEL_CODE + there.feature.levels.index(after)
        if not there.cells:
            return len(there.values) - 1 if math.isnan(own) or after > own else 0
        cells = self.space.axes[place].of_values(np.array([after], dtype=there.values.dtype))
        return there.cells.index(int(cells[0]))

    # All cells -----------------------------------------------------------------------------------------------------

    def distances(self, class_index: int) -> Array:
        """The distance of every cell, in the shape of the space; `_FAR` where no change turns the decision."""
        if class_index not in self._distances:
            shape = tuple(map(len, self.space.axes))
            found = np.where(self._all_labels.reshape(shape) == class_index, _FAR, 0).astype(np.int8)
            for k in range(1, len(shape) + 1):
                before = found < k
                reached = np.zeros(shape, dtype=bool)
                for axis, place in enumerate(self.places):
                    reached |= before.take(place.cells, axis=axis).any(axis=axis, keepdims=True)
                new = reached & (found == _FAR)
                if not new.any():
                    break
                found[new] = k
            self._distances[class_index] = found
        return self._distances[class_index]

    @cached_property
    def _all_labels(self) -> Array:
        return np.concatenate([decide(self.graph, self.space.rows(block)[1]) for block in self.space.blocks()])

    def _by_cells(self, rows: Table, class_index: int) -> Nearer:
        grid, axes = self.distances(class_index), self.space.axes
        cells = [axis.of_values(np.asarray(array)) for axis, array in zip(axes, rows.arrays, strict=True)]
        own = grid[tuple(cells)].astype(np.int64)
        nearer = []
        for j, place in enumerate(self.places):
            others = [cell[:, None] for cell in cells]
            others[j] = np.array(place.cells, dtype=np.int64)[None, :]
            nearer.append((grid[tuple(others)] < own[:, None]) & (own < _FAR)[:, None])
        return Nearer(np.where(own < _FAR, own, 0), tuple(nearer), np.ones(rows.n_rows, dtype=bool))

    # Gains of sums -------------------------------------------------------------------------------------------------

    def _by_gains(self, rows: Table, goals: Sequence[SumGoal]) -> Nearer:
        far = len(self.places) + 1
        best, exact = np.full(rows.n_rows, far, dtype=np.int64), np.ones(rows.n_rows, dtype=bool)
        columns = [(place.feature, place.values) for place in self.places]
        by_goal = []
        for goal in goals:
            distance, reached, near = fewest(gains_of(goal, columns, rows), goal.strict)
            by_goal.append((distance, reached))
            exact &= ~(near & goal.rounded)
            best = np.where(distance > 0, np.minimum(best, distance), best)
        nearer = [
            np.logical_or.reduce([reached[j] & (distance == best)[:, None] for distance, reached in by_goal])
            for j in range(len(columns))
        ]
        return Nearer(np.where(best == far, 0, best), tuple(nearer), exact)

    # One row after the other -----------------------------------------------------------------------------------------

    def _by_trying(self, rows: Table, class_index: int) -> Nearer:
        places = self.places
        nearer = tuple(np.zeros((rows.n_rows, len(place.values)), dtype=bool) for place in places)
        distance, exact = np.zeros(rows.n_rows, dtype=np.int64), np.zeros(rows.n_rows, dtype=bool)
        for i in range(rows.n_rows):
            distance[i], exact[i] = self._tried(rows, i, class_index, [own[i] for own in nearer])
        return Nearer(distance, nearer, exact & self.whole)

    def _tried(self, rows: Table, i: int, class_index: int, nearer: Sequence[Bools]) -> tuple[int, bool]:
        """The distance of a row and whether it is known; marks what makes it smaller."""
        places = self.places
        tried = 0
        for k in range(1, len(places) + 1):
            for some in combinations(range(len(places)), k):
                tried += int(np.prod([len(places[j].values) for j in some]))
                if tried > MOST_TRIED:
                    return 0, False
            turned = False
            for some in combinations(range(len(places)), k):
                chosen = np.indices([len(places[j].values) for j in some]).reshape(k, -1)
                arrays = [np.repeat(np.asarray(array)[i : i + 1], chosen.shape[1]) for array in rows.arrays]
                for j, values in zip(some, chosen, strict=True):
                    arrays[j] = places[j].values[values]
                labels = decide(self.graph, Table(rows.features, tuple(arrays), chosen.shape[1], source="tried"))
                for j, values in zip(some, chosen[:, labels != class_index], strict=True):
                    nearer[j][values] = True
                turned = turned or bool((labels != class_index).any())
            if turned:
                return k, True
        return 0, True
