"""The nearest change: the smallest change of a row's values that turns how a score card decides it.

Fewest columns first, then the least sum of distances (`moves`). Where each term of a sum reads one column the search
is exact: which columns go to which cells is a small knapsack, of gains against distances. Where rules read several
columns every combination of cells of one column, of two, and so on is looked at, up to a bound. Every change
that is told has been decided by the graph itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.audit.nearest_change.knapsack import Option, cheapest
from rulekit.audit.nearest_change.moves import Moves, moves_of
from rulekit.audit.nearest_change.wishes import ANY, Direction, Wishes
from rulekit.audit.score_cards.cards import card_of
from rulekit.cells.space import product
from rulekit.cells.words import words_apart
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.readable import counted
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Family
from rulekit.names import printable
from rulekit.tables.table import Array, Table

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph

MOST_LOOKED_AT = 50_000


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
    looked_at: where that is not known, up to how many changed columns every change was looked at.
    """

    columns: tuple[ColumnChange, ...] = ()
    class_index: int | None = None
    distance: float = math.inf
    proved: bool = True
    looked_at: int = 0

    def __str__(self) -> str:
        said = ", ".join(change.text for change in self.columns)
        if said:
            return said if self.proved else f"{said} (a smaller change may do)"
        if self.proved:
            return "no change of values turns it"
        return f"not found by changes of up to {counted(self.looked_at, 'column')}"


def nearest_changes(graph: RuleGraph, table: Table, wishes: Wishes = ANY, to: int | None = None) -> list[NearestChange]:
    """The nearest change of each row [n] that turns its decision.

    wishes: which changes count; to: the index of the class that is wanted, None for any other one (a row that is
    decided as that class already has none). Of a text a word is added or removed, which is a change of a column of
    words (`rulekit.cells.words`). Raises InputError where the wishes do not fit the columns, and for an unknown class.
    """
    wishes.check(graph.schema)
    if to is not None and not 0 <= to < len(graph.classes):
        raise InputError(f"no class {to}", where="the wanted class", fix=f"there are {len(graph.classes)} classes")
    words = words_apart(graph.schema)
    fixed = wishes.immutable
    if words is not None:
        graph, table = words.graph(graph), words.table(table)
        fixed |= {name for text, columns in words.columns.items() for name in columns[: None if text in fixed else 1]}
    search = _Search(graph, table, fixed, wishes.directions, to)
    return search.by_points() if search.apart else search.by_trying(np.arange(table.n_rows))


class _Search:
    """The columns of some rows, the cells that they may go to, and how far these are."""

    def __init__(
        self,
        graph: RuleGraph,
        table: Table,
        fixed: frozenset[str],
        directions: Mapping[str, Direction],
        to: int | None,
    ) -> None:
        self.graph, self.to = graph, to
        cards = [card_of(part.score, graph.schema) for part in graph.decision.parts]
        self.cards = [card for card in cards if card is not None]
        self.table = table.select(graph.used_features)
        roots = graph.decision.roots
        nodes = [node for card in self.cards for _, node in card.terms]
        self.moves: dict[str, Moves] = {
            column: moves_of(graph, column, own)
            for column, own in sorted(readers(roots).items())
            if column not in fixed
        }
        self.values = {column: np.asarray(self.table.array(column)) for column in self.moves}
        self.cells = {column: moves.cell(self.values[column]) for column, moves in self.moves.items()}
        self.distances = {column: moves.distance(self.values[column]) for column, moves in self.moves.items()}
        self.labels = decide(graph, self.table)
        sums = all(part.score.family is Family.REAL for part in graph.decision.parts)
        one = all(len(readers([node])) == 1 and not has_column(node) for node in nodes)
        decision = graph.decision
        alike = not decision.ranked or len({threshold for _, _, threshold in decision.ranked}) == 1
        self.apart = len(self.cards) == len(cards) and sums and one and alike and to is None and not directions

    # Points by column ------------------------------------------------------------------------------------------------

    def by_points(self) -> list[NearestChange]:
        """The exact search; a row whose sum is rounded so that the graph says otherwise is left to the other one."""
        gained, totals = self._points(), self._totals()
        found: list[NearestChange | None] = []
        for i in range(self.table.n_rows):
            best: NearestChange | None = NearestChange()
            for by_part, needed, strict in self._goals(i, totals[i]):
                options = [
                    [
                        Option(gain, float(self.distances[column][i, j]), (column, j))
                        for j, gain in enumerate((by_part @ gained[column][:, i, :]).tolist())
                        if gain > 0.0
                    ]
                    for column in self.moves
                ]
                cheap = cheapest([some for some in options if some], needed, strict)
                if cheap is not None:
                    change = self._change(i, dict(cheap.chosen), cheap.exact)
                    if change is None:
                        best = None
                        break
                    best = min(best, change, key=_size) if best is not None else None
            found.append(best)
        left = np.array([i for i, change in enumerate(found) if change is None], dtype=np.int64)
        rest = iter(self.by_trying(left))
        return [next(rest) if change is None else change for change in found]

    def _points(self) -> dict[str, Array]:
        """By column what each score gains where a row goes to a cell: [parts, n, cells]."""
        found = {}
        for column, moves in self.moves.items():
            one = product([moves.feature], [moves.shown])
            gained = []
            for card in self.cards:
                own = [(weight, node) for weight, node in card.terms if column in readers([node])]
                at = evaluate_nodes(list({node for _, node in own}), one) if own else {}
                now = evaluate_nodes(list({node for _, node in own}), self.table) if own else {}
                then = sum((weight * at[node].astype(np.float64) for weight, node in own), np.zeros(len(moves)))
                here = sum((weight * now[node].astype(np.float64) for weight, node in own), np.zeros(self.table.n_rows))
                gained.append(then[None, :] - here[:, None])
            found[column] = np.stack(gained)
        return found

    def _totals(self) -> Array:
        """The scores of each row [n, parts]."""
        scores = [part.score for part in self.graph.decision.parts]
        values = evaluate_nodes(list(dict.fromkeys(scores)), self.table)
        return np.column_stack([values[score] for score in scores])

    def _goals(self, i: int, totals: Array) -> Iterator[tuple[Array, float, bool]]:
        """What turns the decision of a row: a sum of the scores must rise by so much, or (strict) by more."""
        decision, label = self.graph.decision, int(self.labels[i])
        unit = np.eye(len(self.cards))
        if not decision.ranked:
            for j, part in enumerate(decision.parts):
                assert part.threshold is not None
                above = bool(totals[j] > part.threshold)
                yield (
                    (-unit[j], float(totals[j] - part.threshold), False)
                    if above
                    else (
                        unit[j],
                        float(part.threshold - totals[j]),
                        True,
                    )
                )
            return
        order = [k for k, _, _ in decision.ranked]
        threshold = decision.ranked[0][2]
        if not totals[label] > threshold:  # the default: no class is above its threshold
            yield from ((unit[k], float(threshold - totals[k]), True) for k in order if k != label)
            return
        if label != self.graph.default and threshold > -math.inf:
            yield -unit[label], float(totals[label] - threshold), False
        for k in order:
            if k != label:
                strict = order.index(label) < order.index(k)
                yield unit[k] - unit[label], float(totals[label] - totals[k]), strict

    # Combinations of cells -------------------------------------------------------------------------------------------

    def by_trying(self, rows: Array) -> list[NearestChange]:
        """The bounded search, once for all rows whose columns are in the same cells."""
        patterns: dict[tuple[int, ...], list[int]] = {}
        for i in rows.tolist():
            patterns.setdefault(tuple(int(cells[i]) for cells in self.cells.values()), []).append(i)
        found: dict[int, NearestChange] = {}
        for pattern, own in patterns.items():
            found |= self._of_pattern(dict(zip(self.moves, pattern, strict=True)), own)
        return [found[i] for i in rows.tolist()]

    def _of_pattern(self, pattern: dict[str, int], rows: list[int]) -> dict[int, NearestChange]:
        looked_at = 0
        free = [column for column, moves in self.moves.items() if set(range(len(moves))) - {pattern[column]}]
        for k in range(1, len(free) + 1):
            subsets = list(itertools.islice(itertools.combinations(free, k), MOST_LOOKED_AT + 1))
            looked_at += sum(math.prod(len(self.moves[column]) for column in subset) for subset in subsets)
            if looked_at > MOST_LOOKED_AT:
                return dict.fromkeys(rows, NearestChange(proved=False, looked_at=k - 1))
            turned = [(subset, self._turning(pattern, subset, rows[0])) for subset in subsets]
            if any(len(cells) for _, cells in turned):
                return {i: self._nearest_of(i, turned) for i in rows}
        return dict.fromkeys(rows, NearestChange())

    def _turning(self, pattern: dict[str, int], subset: Sequence[str], row: int) -> Array:
        """The cells [m, columns of the subset], none of them the row's own, where the decision is another."""
        ranges = [[j for j in range(len(self.moves[column])) if j != pattern[column]] for column in subset]
        cells = np.array(list(itertools.product(*ranges)), dtype=np.int64)
        columns = dict(zip(subset, cells.T, strict=True))
        arrays = [
            self.moves[f.name].shown[columns[f.name]]
            if f.name in columns
            else np.repeat(self.table.array(f.name)[row : row + 1], len(cells))
            for f in self.table.features
        ]
        decided = decide(self.graph, Table(self.table.features, arrays, len(cells), source="changes"))
        turning: Array = cells[self._turned(decided, int(self.labels[row]))]
        return turning

    def _turned(self, decided: Any, label: int) -> Any:
        return decided != label if self.to is None else decided == self.to

    def _nearest_of(self, i: int, turned: Sequence[tuple[Sequence[str], Array]]) -> NearestChange:
        found: list[tuple[float, dict[str, int]]] = []
        for subset, cells in turned:
            if len(cells):
                far = sum(self.distances[column][i, cells[:, c]] for c, column in enumerate(subset))
                best = int(np.argmin(far))
                found.append((float(far[best]), dict(zip(subset, cells[best].tolist(), strict=True))))
        _, chosen = min(found, key=lambda entry: entry[0])
        # of an unrounded column one value of a cell does not speak for all of it
        change = self._change(i, chosen, not any(map(has_column, self.graph.decision.roots)))
        return change or NearestChange(proved=False, looked_at=len(chosen) - 1)

    # Changed rows ----------------------------------------------------------------------------------------------------

    def _change(self, i: int, chosen: dict[str, int], proved: bool) -> NearestChange | None:
        """The changed row, decided by the graph; None where that decides as before."""
        arrays, columns = [], []
        for feature in self.table.features:
            before = self.table.array(feature.name)[i : i + 1]
            after = before
            if feature.name in chosen:
                moves = self.moves[feature.name]
                after = moves.moved(before, np.array([chosen[feature.name]]))
                was, then = float(before[0]), float(after[0])
                text = f"{feature.name}: {moves.said(was, was)} -> {moves.said(then)}"
                columns.append(ColumnChange(feature.name, _plain(moves, was), _plain(moves, then), printable(text)))
            arrays.append(after)
        decided = int(decide(self.graph, Table(self.table.features, arrays, 1, source="change"))[0])
        if not self._turned(decided, int(self.labels[i])):
            return None
        far = sum(float(self.distances[column][i, j]) for column, j in chosen.items())
        return NearestChange(tuple(columns), decided, far, proved)


def _size(change: NearestChange) -> tuple[float, float]:
    return (len(change.columns) or math.inf, change.distance)


def _plain(moves: Moves, value: float) -> Any:
    """A value as JSON holds it: a number, a truth value, a level; None of what is missing."""
    if moves.feature.kind == "categorical":
        return moves.feature.levels[int(value) - 2] if value >= 2 else None
    if math.isnan(value):
        return None
    return bool(value) if moves.feature.kind == "boolean" else value
