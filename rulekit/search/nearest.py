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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.cells.words import WordsApart, words_apart
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.words import counted
from rulekit.graph.nodes import Above, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import printable
from rulekit.search.moves import ANY, Direction, Wishes
from rulekit.search.nearest_cells import CellSearch, Guesses
from rulekit.search.patterns import ColumnSets, Pattern, TurnQuestion
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
        said, stopped = ", ".join(change.text for change in self.columns), f"; {self.stopped}" if self.stopped else ""
        if said:
            return said if self.proved else f"{said} (a smaller change may do{stopped})"
        if self.class_index is not None:
            return "it is decided so already"
        if self.proved:
            return "no change of values turns it"
        if self.stopped and not self.looked_at:
            return self.stopped
        return f"not found by changes of up to {counted(self.looked_at, 'column')}{stopped}"


NOTHING = NearestChange()
"""No change of values turns the decision."""


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
    return NearestSearch(TurnQuestion(graph, table, wishes, to), deadline).changes()


def _of_words(words: WordsApart, wishes: Wishes) -> Wishes:
    fixed = {name for text, columns in words.columns.items() if text in wishes.immutable for name in columns}
    present: dict[str, Direction] = {columns[0]: "down" for columns in words.columns.values()}
    return Wishes(wishes.immutable | fixed, {**wishes.directions, **present})


class NearestSearch:
    """The search for the nearest changes of the rows of a question."""

    def __init__(self, question: TurnQuestion, deadline: Deadline = NO_LIMIT) -> None:
        self.question, self.deadline = question, deadline

    def changes(self) -> list[NearestChange]:
        """The nearest change of each row [n]; of rows that are decided as wished one of nothing."""
        labels, to = self.question.labels, self.question.to
        found = {i: NearestChange((), to, 0.0) for i in np.flatnonzero(labels == to).tolist()} if to is not None else {}
        rest = [i for i in range(len(labels)) if i not in found]
        found |= self.by_sums(rest)
        found |= self.by_sets([i for i in rest if i not in found])
        return [found[i] for i in range(len(labels))]

    def _told(self, i: int, values: Mapping[int, float], known: NearestChange) -> NearestChange:
        """A change of a row by the values of some columns; known: what else is known of it."""
        question = self.question
        columns = []
        for c in sorted(values):
            moves, was, then = question.moves[c], float(question.values[c][i]), values[c]
            text = f"{question.names[c]}: {moves.said(was, was)} -> {moves.said(then)}"
            columns.append(ColumnChange(question.names[c], moves.held(was), moves.held(then), printable(text)))
        return replace(known, columns=tuple(columns), class_index=self._decided_with(i, values))

    def _decided_with(self, i: int, values: Mapping[int, float]) -> int:
        own = self.question.values
        arrays = [np.array([values.get(c, each[i])], dtype=each.dtype) for c, each in enumerate(own)]
        return int(self.question.decided(arrays)[0])

    # Sums ----------------------------------------------------------------------------------------------------------

    def by_sums(self, rows: Sequence[int]) -> dict[int, NearestChange]:
        """The changes that a knapsack finds, but of rows whose sums are rounded so that the graph says otherwise.

        It does where all classes have one threshold, and one sum that rises, or falls, is enough.
        """
        question, decision = self.question, self.question.decision
        if not rows or (question.to is not None and len(question.graph.classes) > 2):
            return {}
        alike: dict[tuple[int, ...], list[int]] = {}
        ranked = decision.ranked
        tests: list[tuple[int, Node]] = [(k, root) for k, root in enumerate(decision.roots, 1) if not ranked]
        tests += [(k, Above(score, least)) for k, score, least in ranked if least > -math.inf]
        held = evaluate_nodes(list(dict.fromkeys(node for _, node in tests)), question.table) if tests else {}
        for i in rows:
            key = (int(question.labels[i]), *(bool(held[node][i]) for _, node in tests))
            alike.setdefault(key, []).append(i)
        columns = [(moves.feature, moves.shown[: len(moves)]) for moves in question.moves]
        found: dict[int, NearestChange] = {}
        for (label, *truths), own in alike.items():
            known = zip((k for k, _ in tests), map(bool, truths), strict=True)
            above = dict.fromkeys(range(decision.n_classes), True) | dict(known)
            goals = turning_goals(decision, question.graph.default, label, above, units=False)
            if goals is None or not any(goal.terms for goal in goals) or not all(goal.separable for goal in goals):
                return {}
            part = question.table.take(np.array(own, dtype=np.int64))
            distances = [self._distances(c, own) for c in range(len(columns))]
            ways = [(goal, gains_of(goal, columns, part)) for goal in goals]
            for place, i in enumerate(own):
                self.deadline.tell("the nearest changes", len(found) / len(rows))
                if self.deadline.over:
                    return found
                best: tuple[float, float, dict[int, float], bool] = (math.inf, math.inf, {}, True)
                for goal, gains in ways:
                    cheap = cheapest_values(goal, gains, place, distances)
                    if cheap is None:
                        continue
                    values = {c: self._moved(c, i, cell) for c, cell in cheap.chosen}
                    if not question.met(label, self._decided_with(i, values)):
                        break
                    this = (len(values) or math.inf, cheap.cost, values, cheap.exact)
                    best = min(best, this, key=lambda way: way[:2])
                else:
                    found[i] = NOTHING
                    if best[2]:
                        found[i] = self._told(i, best[2], NearestChange(distance=best[1], proved=best[3]))
        return found

    def _moved(self, c: int, i: int, cell: int) -> float:
        return float(self.question.moves[c].moved(self.question.values[c][[i]], np.array([cell]))[0])

    def _distances(self, c: int, rows: Sequence[int]) -> Array:
        """How far each cell of a column is from some rows [n, cells], infinitely where it may not be gone to."""
        far = self.question.moves[c].distance(self.question.values[c][list(rows)])
        for place, i in enumerate(rows):
            far[place, ~self.question.allowed(c, i)] = math.inf
        return far

    # Sets of columns -------------------------------------------------------------------------------------------------

    def by_sets(self, rows: Sequence[int]) -> dict[int, NearestChange]:
        """The changes that the search by sets of columns finds; rows whose columns are in the same cells share it."""
        question = self.question
        patterns: dict[tuple[float | str, ...], list[int]] = {}
        for i in rows:
            key = [
                question.values[c][i] if c in question.leaves else cells[i] for c, cells in enumerate(question.cells)
            ]
            known = tuple("missing" if math.isnan(value) else float(value) for value in key)
            patterns.setdefault((*known, float(question.labels[i])), []).append(i)
        found: dict[int, NearestChange] = {}
        for alike in patterns.values():
            self.deadline.tell("the nearest changes", len(found) / len(rows))
            found |= self._of_pattern(Pattern(question, alike))
        return found

    def _of_pattern(self, pattern: Pattern) -> dict[int, NearestChange]:
        if self.deadline.over:
            return dict.fromkeys(pattern.rows, self._stopped(0))
        nothing = dict.fromkeys(pattern.rows, NOTHING)
        if not pattern.movable or not pattern.may_turn(pattern.everything())[0]:
            return nothing
        sets = ColumnSets(pattern, max(_FEWEST_LOOKED_AT, MOST_LOOKED_AT // (self.question.reach.size + _OF_A_BOX)))
        for k in range(1, len(pattern.movable) + 1):
            own = sets.of_size(k)
            if self.deadline.over:
                return dict.fromkeys(pattern.rows, self._stopped(k - 1))
            if own is None:
                return {i: self._guessed(i, sets, k) for i in pattern.rows}
            if not len(own):
                continue
            found: dict[int, NearestChange] = {}
            for start in range(0, len(pattern.rows), _TOGETHER):
                some = Pattern(self.question, pattern.rows[start : start + _TOGETHER])
                nearest = CellSearch(some, sets.most, self.deadline)
                nearest.search(own)
                proved, looked_at = nearest.proved, 0 if nearest.proved else k - 1
                why = self.deadline.reason if not proved and self.deadline.over else ""
                for i, box, distance in zip(some.rows, nearest.boxes, nearest.distances.tolist(), strict=True):
                    if box is None:
                        found[i] = NOTHING if proved else self._guessed(i, sets, k)
                    else:
                        known = NearestChange((), None, distance, proved, looked_at, why)
                        found[i] = self._told(i, some.changes(box, i), known)
            if any(change is not NOTHING for change in found.values()):
                return found
        return nothing

    def _stopped(self, looked_at: int) -> NearestChange:
        return NearestChange(proved=False, looked_at=looked_at, stopped=self.deadline.reason)

    def _guessed(self, i: int, sets: ColumnSets, k: int) -> NearestChange:
        """A change of a row by chance."""
        if self.deadline.over:
            return self._stopped(k - 1)
        pattern = Pattern(self.question, [i])
        box = Guesses(pattern).with_few(itertools.islice(sets.greedy(), _GUESSES))
        known = NearestChange(proved=False, looked_at=k - 1)
        if box is None:
            return known
        return self._told(i, pattern.changes(box, i), replace(known, distance=float(pattern.far(box)[0, 0])))
