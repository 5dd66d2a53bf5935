"""The nearest changes of the rows of a table: by points where a knapsack finds them, else by sets of columns.

Sets of columns are looked at by their size (`column_sets`), and the cells to which those go that bounds do not rule out
(`cell_search`); so the first size at which a change turns the decision is the fewest columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rulekit.audit.nearest_change.boxes import Boxes
from rulekit.audit.nearest_change.cell_search import CellSearch
from rulekit.audit.nearest_change.column_sets import ColumnSets
from rulekit.audit.nearest_change.goals import Goal, differences
from rulekit.audit.nearest_change.guesses import Guesses
from rulekit.audit.nearest_change.moves import Moves, moves_of
from rulekit.audit.nearest_change.pattern import Pattern, Problem
from rulekit.audit.nearest_change.points import point_search, separate_cards
from rulekit.audit.nearest_change.reach import Reach
from rulekit.audit.nearest_change.wishes import Direction
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Column
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.table import Array, Table

MOST_LOOKED_AT = 15_000_000
"""How many bounds of nodes may be computed for a row before the search says that nothing is proved."""
_OF_A_BOX = 300  # what a box takes beside its bounds, in bounds
_GUESSES = 3  # sets of columns among whose cells a change is looked for by chance
_FEWEST_LOOKED_AT = 500
_TOGETHER = 64  # rows of one pattern


@dataclass(frozen=True, slots=True)
class Change:
    """Values that turn the decision of a row, by column; none where none were found.

    proved: that no smaller change does it; looked_at: where that is not known, the size up to which every change was
    looked at; stopped: why the search ended before, where a limit of time did it.
    """

    values: Mapping[str, float]
    distance: float = math.inf
    proved: bool = True
    looked_at: int = 0
    stopped: str = ""


class Search:
    """The columns of some rows, the cells that they may go to, and how far these are."""

    def __init__(
        self,
        graph: RuleGraph,
        table: Table,
        fixed: frozenset[str],
        directions: Mapping[str, Direction],
        to: int | None,
        deadline: Deadline = NO_LIMIT,
    ) -> None:
        self.deadline = deadline
        # what decides, alone: what is reported may read other columns
        self.graph = RuleGraph(graph.schema, graph.classes, graph.decision, (), graph.default, {}, graph.statistics)
        self.to = to
        self.table = table.select(self.graph.used_features)
        read = readers(graph.decision.roots)
        self.moves: dict[str, Moves] = {
            column: moves_of(self.graph, column, read[column], column in directions) for column in self.table.names
        }
        self.plain = frozenset(
            column
            for column, moves in self.moves.items()
            if moves.numeric and any(isinstance(node, Column) for node in read[column])
        )
        self.values = {column: np.asarray(self.table.array(column)) for column in self.moves}
        self.cells = {column: moves.cell(self.values[column]) for column, moves in self.moves.items()}
        self.labels = decide(self.graph, self.table)
        self.fixed, self.directions = fixed, directions

    def changes(self) -> list[Change]:
        """The nearest change of each row [n]; of rows that are decided as wished one of nothing."""
        found: dict[int, Change] = {}
        rest = list(range(self.table.n_rows))
        if self.to is not None:
            found = {i: Change({}, 0.0) for i in rest if self.labels[i] == self.to}
            rest = [i for i in rest if i not in found]
        if rest:
            found |= self.by_points(rest)
        found |= self.by_sets([i for i in rest if i not in found])
        return [found[i] for i in range(self.table.n_rows)]

    # Points ----------------------------------------------------------------------------------------------------------

    def by_points(self, rows: list[int]) -> dict[int, Change]:
        """The changes that a knapsack finds, but of rows whose sums are rounded so that the graph says otherwise."""
        cards = separate_cards(self.graph, self.to)
        if cards is None:
            return {}
        part = self.table.take(np.array(rows, dtype=np.int64))
        distances = {column: self._distances(column, rows) for column in self.moves}
        search = point_search(self.graph, cards, part, self.moves, distances)
        found = {}
        for place, i in enumerate(rows):
            self.deadline.tell("the nearest changes", place / len(rows))
            if self.deadline.over:
                break
            best = Change({})
            for chosen in search.best(place, int(self.labels[i])):
                values = {
                    column: float(self.moves[column].moved(self.values[column][[i]], np.array([cell]))[0])
                    for column, cell in chosen.chosen
                }
                if not self._turned(i, values):
                    break
                best = min(best, Change(values, chosen.cost, chosen.exact), key=_size)
            else:
                found[i] = best
        return found

    def _distances(self, column: str, rows: list[int]) -> Array:
        """How far each cell of a column is from some rows [n, cells], infinitely where it may not be gone to."""
        moves, values = self.moves[column], self.values[column][rows]
        far = moves.distance(values)
        for place, i in enumerate(rows):
            far[place, ~self._allowed(column, i)] = math.inf
        return far

    def _allowed(self, column: str, i: int) -> Array:
        moves = self.moves[column]
        if column in self.fixed:
            return np.zeros(len(moves), dtype=bool)
        return moves.allowed(float(self.values[column][i]), int(self.cells[column][i]), self.directions.get(column))

    def _turned(self, i: int, values: Mapping[str, float]) -> bool:
        arrays = [
            np.array([values[f.name]], dtype=self.values[f.name].dtype)
            if f.name in values
            else self.values[f.name][[i]]
            for f in self.table.features
        ]
        decided = decide(self.graph, Table(self.table.features, arrays, 1, source="change"))
        return bool(Goal(int(self.labels[i]), self.to).met(decided[0]))

    # Sets of columns -------------------------------------------------------------------------------------------------

    def by_sets(self, rows: list[int]) -> dict[int, Change]:
        """The changes that the search by sets of columns finds; rows whose columns are in the same cells share it."""
        if not rows:
            return {}
        pairs = differences(self.graph.decision)
        reach = Reach((*self.graph.decision.roots, *pairs.values()), self.moves, self.plain)
        problem = Problem(
            self.graph.decision,
            self.graph.default,
            reach,
            pairs,
            tuple(self.moves.values()),
            tuple(tuple(readers(self.graph.decision.roots)[column]) for column in reach.plain),
            self.fixed,
            self.directions,
        )
        patterns: dict[tuple[float | str, ...], list[int]] = {}
        for i in rows:
            key = [self.values[c][i] if c in self.plain else self.cells[c][i] for c in self.moves]
            known = tuple("missing" if math.isnan(value) else float(value) for value in key)
            patterns.setdefault((*known, float(self.labels[i])), []).append(i)
        found: dict[int, Change] = {}
        for own in patterns.values():
            self.deadline.tell("the nearest changes", len(found) / len(rows))
            found |= self._of_pattern(problem, own)
        return found

    def _of_pattern(self, problem: Problem, rows: list[int]) -> dict[int, Change]:
        first = rows[0]
        if self.deadline.over:
            return dict.fromkeys(rows, self._stopped(0))
        pattern = Pattern(
            problem,
            tuple(int(cells[first]) for cells in self.cells.values()),
            tuple(float(values[first]) for values in self.values.values()),
            Goal(int(self.labels[first]), self.to),
        )
        if not pattern.movable or not pattern.may_turn(pattern.everything())[0]:
            return dict.fromkeys(rows, Change({}))
        most = max(_FEWEST_LOOKED_AT, MOST_LOOKED_AT // (problem.reach.size + _OF_A_BOX))
        sets = ColumnSets(pattern, most)
        for k in range(1, len(pattern.movable) + 1):
            own = sets.of_size(k)
            if self.deadline.over:
                return dict.fromkeys(rows, self._stopped(k - 1))
            if own is None:
                return {i: self._guessed(pattern, sets, i, k) for i in rows}
            if not len(own):
                continue
            found: dict[int, Change] = {}
            for start in range(0, len(rows), _TOGETHER):
                found |= self._by_cells(pattern, rows[start : start + _TOGETHER], own, sets)
            if not all(change.proved and not change.values for change in found.values()):
                return found
        return dict.fromkeys(rows, Change({}))

    def _by_cells(self, pattern: Pattern, rows: list[int], own: Array, sets: ColumnSets) -> dict[int, Change]:
        """The nearest changes of rows by the columns of one of their sets [n, k]."""
        k = own.shape[1]
        distances = tuple(moves.distance(self.values[column][rows]) for column, moves in self.moves.items())
        turned = lambda boxes: self._decided(pattern, rows[0], boxes)  # noqa: E731
        search = CellSearch(pattern, distances, turned, sets.most, self.deadline)
        nearest = search.nearest(own)
        found = {}
        for place, i in enumerate(rows):
            box = nearest.boxes[place]
            if box is None:
                found[i] = Change({}) if nearest.proved else self._guessed(pattern, sets, i, k)
                continue
            values, looked_at = self._values(pattern, i, box), 0 if nearest.proved else k - 1
            why = self.deadline.reason if not nearest.proved and self.deadline.over else ""
            found[i] = Change(values, float(nearest.distances[place]), nearest.proved, looked_at, why)
        return found

    def _stopped(self, looked_at: int) -> Change:
        return Change({}, proved=False, looked_at=looked_at, stopped=self.deadline.reason)

    def _guessed(self, pattern: Pattern, sets: ColumnSets, i: int, k: int) -> Change:
        """Some change of a row, where the search ends before changes of k columns are all looked at."""
        if self.deadline.over:
            return self._stopped(k - 1)
        distances = tuple(moves.distance(self.values[column][[i]])[0] for column, moves in self.moves.items())
        guesses = Guesses(pattern, distances, lambda boxes: self._decided(pattern, i, boxes))
        box = guesses.with_few(itertools.islice(sets.greedy(), _GUESSES))
        if box is None:
            return Change({}, proved=False, looked_at=k - 1)
        return Change(self._values(pattern, i, box), float(guesses.far(box)[0]), proved=False, looked_at=k - 1)

    def _values(self, pattern: Pattern, i: int, box: Boxes) -> dict[str, float]:
        """The values of the columns that a box of one row changes."""
        values = {}
        for c, column in enumerate(self.moves):
            value, cell = self.values[column][i], int(box.ids[0, c])
            if c in pattern.plain:
                q = pattern.plain.index(c)
                if box.lows[0, q] <= box.highs[0, q] and box.lows[0, q] != float(value):
                    values[column] = float(box.lows[0, q])
            elif cell != pattern.own[c]:
                values[column] = float(self.moves[column].moved(self.values[column][[i]], np.array([cell]))[0])
        return values

    def _decided(self, pattern: Pattern, i: int, boxes: Boxes) -> Array:
        """Whether the rows that boxes of one row each stand for are decided as is wished."""
        arrays = []
        for c, feature in enumerate(self.table.features):
            value = self.values[feature.name][i]
            if c in pattern.plain:
                q = pattern.plain.index(c)
                numbers = np.where(boxes.lows[:, q] <= boxes.highs[:, q], boxes.lows[:, q], np.nan)
                arrays.append(numbers.astype(value.dtype))
            else:
                shown = self.moves[feature.name].shown.take(boxes.ids[:, c])
                arrays.append(np.where(boxes.ids[:, c] == pattern.own[c], value, shown).astype(value.dtype))
        decided = decide(self.graph, Table(self.table.features, arrays, len(boxes), source="changes"))
        return np.asarray(pattern.goal.met(decided))


def _size(change: Change) -> tuple[float, float]:
    return (len(change.values) or math.inf, change.distance)
