"""When a column counts in a decision, exactly, for every form of decision.

The *distance* of a row is the fewest columns whose change turns its decision: afterwards another class is decided. A
value may be changed to every known one, not to missing, nor to a level that training never saw. **A column counts in
the decision of a row where some known value of it, in the place of the row's own, makes the distance smaller**: where
it turns the decision at once, or leaves fewer other columns to change. So the columns that count are those of the
smallest changes (the minimum contrastive explanations of Ignatiev et al., 2020, "From contrastive to abductive
explanations and back again"): each of these changes is made of columns that count, and every column that counts is in
one of them. Every decision that some change turns has such a column. Of a text each word is a column here.

A proved nearest change (`rulekit.audit.nearest_change`) is one of the smallest, so its columns count, whatever else is
found.

Where the cells are at most `MOST_CELLS` the distance of every cell is known at once: cells that are decided otherwise
have distance 0, and those that one change brings to distance k have k + 1. Where a single sum decides, or the largest
of several, each term of which reads one column, the distance follows from what each column can gain. Else all changes
of one column are tried, then of two, up to `MOST_TRIED` rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rulekit.audit.reason_codes.gains import gain_goals, nearer_by_gains
from rulekit.audit.reason_codes.places import Places
from rulekit.graph.evaluation.evaluator import decide
from rulekit.tables.table import Array, Table

if TYPE_CHECKING:
    from rulekit.audit.nearest_change.nearest import NearestChange

MOST_CELLS = 1 << 20
MOST_TRIED = 50_000
_BLOCK = 1 << 16
_FAR = 127

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nearer:
    """Of some rows [n] that are decided as one class.

    distance [n]: 0 where no change turns the decision, or where it is not known. nearer: for each of the places whether
    each of its values [n, values] makes the distance smaller. exact [n]: whether that is all that counts.
    """

    distance: Array
    nearer: tuple[Truths, ...]
    exact: Truths


class Counting:
    """Answers for the rows of one model which values make the distance smaller; few: cells that are all run."""

    def __init__(self, places: Places, few: int = MOST_CELLS) -> None:
        self.places = places
        self._few = few
        self._labels: Array | None = None
        self._distances: dict[int, Array] = {}

    def of(self, table: Table, class_index: int) -> Nearer:
        """Of rows of the model, each of which is decided as the class."""
        rows = self.places.table(table)
        if self.places.whole and self.places.space.size <= self._few:
            return self._by_cells(rows, class_index)
        goals = gain_goals(self.places, class_index)
        if goals is None:
            return self._by_trying(rows, class_index)
        found = Nearer(*nearer_by_gains(self.places, goals, rows))
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
        rows = self.places.table(table)
        for i, change in enumerate(changes):
            if change is None or not change.proved or not change.columns:
                continue
            near.distance[i] = len(change.columns)
            moved = {column.column: column.after for column in change.columns}
            for j, place in enumerate(self.places.places):
                if place.feature.name in moved:
                    own = float(np.asarray(rows.arrays[j])[i])
                    near.nearer[j][i, self.places.number(j, own, moved[place.feature.name])] = True
        return near

    # All cells -----------------------------------------------------------------------------------------------------

    def distances(self, class_index: int) -> Array:
        """The distance of every cell, in the shape of the space; `_FAR` where no change turns the decision."""
        if class_index not in self._distances:
            shape = tuple(map(len, self.places.space.axes))
            found = np.where(self._all_labels().reshape(shape) == class_index, _FAR, 0).astype(np.int8)
            for k in range(1, len(shape) + 1):
                before = found < k
                reached = np.zeros(shape, dtype=bool)
                for axis, place in enumerate(self.places.places):
                    reached |= before.take(place.cells, axis=axis).any(axis=axis, keepdims=True)
                new = reached & (found == _FAR)
                if not new.any():
                    break
                found[new] = k
            self._distances[class_index] = found
        return self._distances[class_index]

    def _all_labels(self) -> Array:
        if self._labels is None:
            space = self.places.space
            starts = range(0, space.size, _BLOCK)
            blocks = (np.arange(start, min(start + _BLOCK, space.size), dtype=np.int64) for start in starts)
            self._labels = np.concatenate([decide(self.places.graph, space.rows(block)[1]) for block in blocks])
        return self._labels

    def _by_cells(self, rows: Table, class_index: int) -> Nearer:
        grid = self.distances(class_index)
        cells = [self.places.cell(j, np.asarray(array)) for j, array in enumerate(rows.arrays)]
        own = grid[tuple(cells)].astype(np.int64)
        nearer = []
        for j, place in enumerate(self.places.places):
            others = [cell[:, None] for cell in cells]
            others[j] = np.array(place.cells, dtype=np.int64)[None, :]
            nearer.append((grid[tuple(others)] < own[:, None]) & (own < _FAR)[:, None])
        return Nearer(np.where(own < _FAR, own, 0), tuple(nearer), np.ones(rows.n_rows, dtype=bool))

    # One row after the other -----------------------------------------------------------------------------------------

    def _by_trying(self, rows: Table, class_index: int) -> Nearer:
        places = self.places.places
        nearer = tuple(np.zeros((rows.n_rows, len(place.values)), dtype=bool) for place in places)
        distance, exact = np.zeros(rows.n_rows, dtype=np.int64), np.zeros(rows.n_rows, dtype=bool)
        for i in range(rows.n_rows):
            distance[i], exact[i] = self._tried(rows, i, class_index, [own[i] for own in nearer])
        return Nearer(distance, nearer, exact & self.places.whole)

    def _tried(self, rows: Table, i: int, class_index: int, nearer: Sequence[Truths]) -> tuple[int, bool]:
        """The distance of a row and whether it is known; marks what makes it smaller."""
        places = self.places.places
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
                labels = decide(self.places.graph, Table(rows.features, tuple(arrays), chosen.shape[1], source="tried"))
                for j, values in zip(some, chosen[:, labels != class_index], strict=True):
                    nearer[j][values] = True
                turned = turned or bool((labels != class_index).any())
            if turned:
                return k, True
        return 0, True
