"""The nearest change: the smallest change of a row's values that turns its decision.

Fewest columns first, then the least sum of distances (`moves`). The search is exact for every decision: `proved` says
that no smaller change of cells turns it. Where a sum has unrounded numbers of several columns that must change
together, no change is nearer by more than a billionth of the distance. Every change that is told has been decided by
the graph itself.

Where each term of the sums that decide reads one column, a small knapsack finds the change (`separable_sums`). Else
sets of columns are looked at by their size (`patterns`), and the cells to which those go that bounds do not rule out
(`nearest_cells`); so the first size at which a change turns the decision is the fewest columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.cells.bounds import BoxBounds, Boxes
from rulekit.cells.words import WordsApart, words_apart
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.words import counted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Above, Column, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import printable
from rulekit.search.moves import ANY, Direction, Moves, Wishes, moves_of
from rulekit.search.nearest_cells import CellSearch, Guesses, Nearby
from rulekit.search.patterns import ColumnSets, Pattern, TurnQuestion, Wish, score_differences
from rulekit.search.separable_sums import cheapest_values, gains_of, turning_goals
from rulekit.tables.table import Array, Table

MOST_LOOKED_AT = 15_000_000
"""How many bounds of nodes may be computed for a row before the search says that nothing is proved."""
_OF_A_BOX = 300  # what a box takes beside its bounds, in bounds
_GUESSES = 3  # sets of columns among whose cells a change is looked for by chance
_FEWEST_LOOKED_AT = 500
_TOGETHER = 64  # rows of one pattern


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column of a row, its value before and after as a table holds it, and in words."""

    column: str
    before: Any
    after: Any
    text: str


@dataclass(frozen=True, slots=True)
class NearestChange:
    """What turns a decision; class_index: the class that is decided then.

    columns: none where no change was found. proved: whether fewer columns, or as many at less distance, do not do it;
    looked_at: where that is not known, up to how many changed columns every change was looked at; stopped: why the
    search ended before, where a limit of time did it.
    """

    columns: tuple[ColumnChange, ...] = ()
    class_index: int | None = None
    distance: float = math.inf
    proved: bool = True
    looked_at: int = 0
    stopped: str = ""

    def __str__(self) -> str:
        said = ", ".join(change.text for change in self.columns)
        if said:
            return said if self.proved else f"{said} (a smaller change may do{self._stopped})"
        if self.class_index is not None:
            return "it is decided so already"
        if self.proved:
            return "no change of values turns it"
        if self.stopped and not self.looked_at:
            return self.stopped
        return f"not found by changes of up to {counted(self.looked_at, 'column')}{self._stopped}"

    @property
    def _stopped(self) -> str:
        return f"; {self.stopped}" if self.stopped else ""


def nearest_changes(
    graph: RuleGraph, table: Table, wishes: Wishes = ANY, to: int | None = None, deadline: Deadline = NO_LIMIT
) -> list[NearestChange]:
    """The nearest change of each row [n] that turns its decision.

    wishes: which changes count; to: the index of the class that is wanted, None for any other one (a row that is
    decided as that class already needs no change). Of a text a word is added or removed, which is a change of a column
    of words (`rulekit.cells.words`). After the deadline nothing is looked for any more. Raises InputError where the
    wishes do not fit the columns, and for an unknown class.
    """
    wishes.check(graph.schema)
    if to is not None and not 0 <= to < len(graph.classes):
        raise InputError(f"no class {to}", where="the wanted class", fix=f"there are {len(graph.classes)} classes")
    words = words_apart(graph.schema)
    if words is not None:
        wishes = _of_words(words, wishes)
        graph, table = words.graph(graph).with_(statistics=graph.statistics), words.table(table)
    return NearestSearch(graph, table, wishes, to, deadline).changes()


def _of_words(words: WordsApart, wishes: Wishes) -> Wishes:
    fixed = {name for text, columns in words.columns.items() if text in wishes.immutable for name in columns}
    present: dict[str, Direction] = {columns[0]: "down" for columns in words.columns.values()}
    return Wishes(wishes.immutable | fixed, {**wishes.directions, **present})


@dataclass(frozen=True, slots=True)
class _Change:
    """Values that turn the decision of a row, by column; none where none were found. See `NearestChange`."""

    values: Mapping[str, float]
    distance: float = math.inf
    proved: bool = True
    looked_at: int = 0
    stopped: str = ""

    @property
    def size(self) -> tuple[float, float]:
        return (len(self.values) or math.inf, self.distance)


class NearestSearch:
    """The columns of some rows, the cells that they may go to, and how far these are."""

    def __init__(
        self, graph: RuleGraph, table: Table, wishes: Wishes, to: int | None, deadline: Deadline = NO_LIMIT
    ) -> None:
        self.wishes, self.to, self.deadline = wishes, to, deadline
        # what decides, alone: what is reported may read other columns
        self.graph = RuleGraph(graph.schema, graph.classes, graph.decision, (), graph.default, {}, graph.statistics)
        self.table = table.select(self.graph.used_features)
        self.read: dict[str, list[Node]] = readers(graph.decision.roots)
        self.moves: dict[str, Moves] = {
            column: moves_of(self.graph, column, self.read[column], column in wishes.directions)
            for column in self.table.names
        }
        self.plain = frozenset(
            column
            for column, moves in self.moves.items()
            if moves.numeric and any(isinstance(node, Column) for node in self.read[column])
        )
        self.values = {column: np.asarray(self.table.array(column)) for column in self.moves}
        self.cells = {column: moves.cell(self.values[column]) for column, moves in self.moves.items()}
        self.labels = decide(self.graph, self.table)

    def changes(self) -> list[NearestChange]:
        """The nearest change of each row [n]; of rows that are decided as wished one of nothing."""
        found: dict[int, _Change] = {}
        rest = list(range(self.table.n_rows))
        if self.to is not None:
            found = {i: _Change({}, 0.0) for i in rest if self.labels[i] == self.to}
            rest = [i for i in rest if i not in found]
        if rest:
            found |= self.by_sums(rest)
        found |= self.by_sets([i for i in rest if i not in found])
        return [self._told(i, found[i]) for i in range(self.table.n_rows)]

    def _told(self, i: int, change: _Change) -> NearestChange:
        if not change.values:
            if change.distance == 0.0:
                return NearestChange((), self.to, 0.0)
            return NearestChange(proved=change.proved, looked_at=change.looked_at, stopped=change.stopped)
        columns = []
        for column in self.table.names:
            if column in change.values:
                moves, was, then = self.moves[column], float(self.values[column][i]), change.values[column]
                text = f"{column}: {moves.said(was, was)} -> {moves.said(then)}"
                columns.append(ColumnChange(column, moves.held(was), moves.held(then), printable(text)))
        decided = self._decided_with(i, change.values)
        return NearestChange(tuple(columns), decided, change.distance, change.proved, change.looked_at, change.stopped)

    def _decided_with(self, i: int, values: Mapping[str, float]) -> int:
        arrays = [np.array([values.get(column, own[i])], dtype=own.dtype) for column, own in self.values.items()]
        return int(decide(self.graph, Table(self.table.features, arrays, 1, source="change"))[0])

    def _moved(self, column: str, i: int, cell: int) -> float:
        return float(self.moves[column].moved(self.values[column][[i]], np.array([cell]))[0])

    # Sums ----------------------------------------------------------------------------------------------------------

    def by_sums(self, rows: Sequence[int]) -> dict[int, _Change]:
        """The changes that a knapsack finds, but of rows whose sums are rounded so that the graph says otherwise.

        It does where all classes have one threshold, and one sum that rises, or falls, is enough.
        """
        if self.to is not None and len(self.graph.classes) > 2:
            return {}
        alike: dict[tuple[int, ...], list[int]] = {}
        decision = self.graph.decision
        ranked = decision.ranked
        tests: list[tuple[int, Node]] = [(k, root) for k, root in enumerate(decision.roots, 1) if not ranked]
        tests += [(k, Above(score, least)) for k, score, least in ranked if least > -math.inf]
        held = evaluate_nodes(list(dict.fromkeys(node for _, node in tests)), self.table) if tests else {}
        for i in rows:
            alike.setdefault((int(self.labels[i]), *(bool(held[node][i]) for _, node in tests)), []).append(i)
        found: dict[int, _Change] = {}
        for (label, *truths), own in alike.items():
            known = zip((k for k, _ in tests), map(bool, truths), strict=True)
            above = dict.fromkeys(range(decision.n_classes), True) | dict(known)
            goals = turning_goals(decision, self.graph.default, label, above, units=False)
            if goals is None or not any(goal.terms for goal in goals) or not all(goal.separable for goal in goals):
                return {}
            part = self.table.take(np.array(own, dtype=np.int64))
            distances = {column: self._distances(column, own) for column in self.moves}
            columns = [(moves.feature, moves.shown[: len(moves)]) for moves in self.moves.values()]
            ways = [(goal, gains_of(goal, columns, part)) for goal in goals]
            for place, i in enumerate(own):
                self.deadline.tell("the nearest changes", len(found) / len(rows))
                if self.deadline.over:
                    return found
                best = _Change({})
                for goal, gains in ways:
                    cheap = cheapest_values(goal, gains, place, distances)
                    if cheap is None:
                        continue
                    values = {column: self._moved(column, i, cell) for column, cell in cheap.chosen}
                    if not Wish(label, self.to).met(self._decided_with(i, values)):
                        break
                    best = min(best, _Change(values, cheap.cost, cheap.exact), key=lambda change: change.size)
                else:
                    found[i] = best
        return found

    def _distances(self, column: str, rows: Sequence[int]) -> Array:
        """How far each cell of a column is from some rows [n, cells], infinitely where it may not be gone to."""
        moves, values = self.moves[column], self.values[column][list(rows)]
        far = moves.distance(values)
        for place, i in enumerate(rows):
            allowed = moves.allowed(values[place], int(self.cells[column][i]), self.wishes.directions.get(column))
            far[place, ~allowed if column not in self.wishes.immutable else slice(None)] = math.inf
        return far

    # Sets of columns -------------------------------------------------------------------------------------------------

    def by_sets(self, rows: Sequence[int]) -> dict[int, _Change]:
        """The changes that the search by sets of columns finds; rows whose columns are in the same cells share it."""
        if not rows:
            return {}
        decision = self.graph.decision
        pairs = score_differences(decision)
        shown = {column: (moves.feature, moves.shown) for column, moves in self.moves.items()}
        reach = BoxBounds((*decision.roots, *pairs.values()), shown, self.plain)
        question = TurnQuestion(
            decision,
            self.graph.default,
            reach,
            pairs,
            tuple(self.moves.values()),
            tuple(tuple(self.read[column]) for column in reach.plain),
            self.wishes,
        )
        patterns: dict[tuple[float | str, ...], list[int]] = {}
        for i in rows:
            key = [self.values[c][i] if c in self.plain else self.cells[c][i] for c in self.moves]
            known = tuple("missing" if math.isnan(value) else float(value) for value in key)
            patterns.setdefault((*known, float(self.labels[i])), []).append(i)
        found: dict[int, _Change] = {}
        for own in patterns.values():
            self.deadline.tell("the nearest changes", len(found) / len(rows))
            found |= self._of_pattern(question, own)
        return found

    def _of_pattern(self, question: TurnQuestion, rows: Sequence[int]) -> dict[int, _Change]:
        first = rows[0]
        if self.deadline.over:
            return dict.fromkeys(rows, self._stopped(0))
        pattern = Pattern(
            question,
            tuple(int(cells[first]) for cells in self.cells.values()),
            tuple(float(values[first]) for values in self.values.values()),
            Wish(int(self.labels[first]), self.to),
        )
        if not pattern.movable or not pattern.may_turn(pattern.everything())[0]:
            return dict.fromkeys(rows, _Change({}))
        most = max(_FEWEST_LOOKED_AT, MOST_LOOKED_AT // (question.reach.size + _OF_A_BOX))
        sets = ColumnSets(pattern, most)
        for k in range(1, len(pattern.movable) + 1):
            own = sets.of_size(k)
            if self.deadline.over:
                return dict.fromkeys(rows, self._stopped(k - 1))
            if own is None:
                return {i: self._guessed(pattern, sets, i, k) for i in rows}
            if not len(own):
                continue
            found: dict[int, _Change] = {}
            for start in range(0, len(rows), _TOGETHER):
                found |= self._by_cells(pattern, rows[start : start + _TOGETHER], own, sets)
            if not all(change.proved and not change.values for change in found.values()):
                return found
        return dict.fromkeys(rows, _Change({}))

    def _near(self, pattern: Pattern, rows: Sequence[int]) -> Nearby:
        distances = tuple(moves.distance(self.values[column][list(rows)]) for column, moves in self.moves.items())
        return Nearby(pattern, distances, lambda boxes: self._decided(pattern, rows[0], boxes))

    def _by_cells(self, pattern: Pattern, rows: Sequence[int], own: Array, sets: ColumnSets) -> dict[int, _Change]:
        k = own.shape[1]
        nearest = CellSearch(self._near(pattern, rows), sets.most, self.deadline).nearest(own)
        found = {}
        for place, i in enumerate(rows):
            box = nearest.boxes[place]
            if box is None:
                found[i] = _Change({}) if nearest.proved else self._guessed(pattern, sets, i, k)
                continue
            values, looked_at = self._values(pattern, i, box), 0 if nearest.proved else k - 1
            why = self.deadline.reason if not nearest.proved and self.deadline.over else ""
            found[i] = _Change(values, float(nearest.distances[place]), nearest.proved, looked_at, why)
        return found

    def _stopped(self, looked_at: int) -> _Change:
        return _Change({}, proved=False, looked_at=looked_at, stopped=self.deadline.reason)

    def _guessed(self, pattern: Pattern, sets: ColumnSets, i: int, k: int) -> _Change:
        if self.deadline.over:
            return self._stopped(k - 1)
        guesses = Guesses(self._near(pattern, [i]))
        box = guesses.with_few(itertools.islice(sets.greedy(), _GUESSES))
        if box is None:
            return _Change({}, proved=False, looked_at=k - 1)
        return _Change(self._values(pattern, i, box), float(guesses.far(box)[0]), proved=False, looked_at=k - 1)

    def _values(self, pattern: Pattern, i: int, box: Boxes) -> dict[str, float]:
        values = {}
        for c, column in enumerate(self.moves):
            value, cell = self.values[column][i], int(box.ids[0, c])
            if c in pattern.plain:
                q = pattern.plain.index(c)
                if box.lows[0, q] <= box.highs[0, q] and box.lows[0, q] != float(value):
                    values[column] = float(box.lows[0, q])
            elif cell != pattern.own[c]:
                values[column] = self._moved(column, i, cell)
        return values

    def _decided(self, pattern: Pattern, i: int, boxes: Boxes) -> Array:
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
        return np.asarray(pattern.wish.met(decided))
