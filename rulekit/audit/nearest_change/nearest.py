"""The nearest change: the smallest change of a row's values that turns its decision.

Fewest columns first, then the least sum of distances (`moves`). The search is exact for every decision: `proved` says
that no smaller change of cells turns it. Where a sum has unrounded numbers of several columns that must change
together, no change is nearer by more than a billionth of the distance. Every change that is told has been decided by
the graph itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.audit.nearest_change.moves import Moves
from rulekit.audit.nearest_change.search import Change, Search
from rulekit.audit.nearest_change.wishes import ANY, Direction, Wishes
from rulekit.cells.words import WordsApart, words_apart
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.readable import counted
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import printable
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.tables.table import Table

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph


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
    words, fixed, directions = words_apart(graph.schema), wishes.immutable, wishes.directions
    if words is not None:
        fixed, directions = _of_words(words, fixed, directions)
        graph, table = words.graph(graph).with_(statistics=graph.statistics), words.table(table)
    search = Search(graph, table, fixed, directions, to, deadline)
    return [_told(search, i, change) for i, change in enumerate(search.changes())]


def _of_words(
    words: WordsApart, fixed: frozenset[str], directions: Mapping[str, Direction]
) -> tuple[frozenset[str], dict[str, Direction]]:
    """The wishes for columns of words: no text becomes missing, and no word of a fixed text changes."""
    of_fixed = {name for text, columns in words.columns.items() if text in fixed for name in columns}
    present: dict[str, Direction] = {columns[0]: "down" for columns in words.columns.values()}
    return fixed | of_fixed, {**directions, **present}


def _told(search: Search, i: int, change: Change) -> NearestChange:
    """A change with its words and the class that the graph decides then."""
    if not change.values:
        if change.distance == 0.0:
            return NearestChange((), search.to, 0.0)
        return NearestChange(proved=change.proved, looked_at=change.looked_at, stopped=change.stopped)
    arrays, columns = [], []
    for feature in search.table.features:
        values = search.values[feature.name][i : i + 1]
        if feature.name in change.values:
            moves, was, then = search.moves[feature.name], float(values[0]), change.values[feature.name]
            values = np.array([then], dtype=values.dtype)
            text = f"{feature.name}: {moves.said(was, was)} -> {moves.said(then)}"
            columns.append(ColumnChange(feature.name, _held(moves, was), _held(moves, then), printable(text)))
        arrays.append(values)
    decided = int(decide(search.graph, Table(search.table.features, arrays, 1, source="change"))[0])
    return NearestChange(tuple(columns), decided, change.distance, change.proved, change.looked_at, change.stopped)


def _held(moves: Moves, value: float) -> Any:
    """A value as JSON holds it: a number, a truth value, a level; None of what is missing."""
    if moves.feature.kind == "categorical":
        known = value >= FIRST_LEVEL_CODE
        return moves.feature.levels[int(value) - FIRST_LEVEL_CODE] if known else None
    if math.isnan(value):
        return None
    return bool(value) if moves.feature.kind == "boolean" else value
