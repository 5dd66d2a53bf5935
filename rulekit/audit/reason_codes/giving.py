"""The reasons of rows: which of a catalogue apply to an adverse decision, the most important first.

A reason applies to a row where its class is decided and some column of it counts (`counting`) by a value that the
reason covers: every value; with `direction` a larger (smaller) one than the row's own, which must be known; with `when`
every value, of rows on which the condition holds.

Order: reasons on columns of the nearest change come first, the column that it moves farthest before the others; then
the other reasons, in the order of the catalogue. Of one code the first counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from rulekit.audit.reason_codes.catalogue import ResolvedReason
from rulekit.cells.space import Axis
from rulekit.cells.words import words_apart
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.words import counted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import FALSE, TRUE, Among, And, Compare, IsTrue, Missing, Node, Not
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import FEW_CELLS, NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.search.moves import moves_of
from rulekit.search.nearest import NearestChange, nearest_changes
from rulekit.search.row_search import Claim, Either, RowSearch
from rulekit.search.takes_part import Counting, Nearer, Place
from rulekit.tables.table import Array, Table, absent

MOST_SEARCHES = 40
MOST_CLAIMS = 100


class BoundedSearch:
    """A search that says that it was not made where too many have been; those over few cells are always made.

    few: whether all cells are soon run.
    """

    def __init__(self, search: RowSearch) -> None:
        self._search, self._made, self.few = search, 0, search.space.size <= FEW_CELLS

    def find(self, *claims: Claim | Either) -> Sought:
        """A row on which all claims hold."""
        if not self.few and (self._made >= MOST_SEARCHES or len(claims) > MOST_CLAIMS):
            columns = counted(len(self._search.space.axes), "column")
            return Sought(None, f"that takes more searches over {columns} than are made")
        self._made += 1
        return self._search.find(*claims)


def lint_search(graph: RuleGraph, reasons: Iterable[ResolvedReason], deadline: Deadline = NO_LIMIT) -> RowSearch:
    """The cells that the decision and the reasons tell apart, with a node for each end of a cell that a way crosses."""
    given = tuple(reasons)
    read = readers(graph.decision.roots)
    nodes: list[Node] = [*graph.decision.roots, *(r.when for r in given if r.when is not None and r.columns[0] in read)]
    first = RowSearch(graph, nodes, deadline=deadline)
    directed = {column for r in given if r.reason.direction for column in r.columns}
    ends = [node for axis in first.space.axes if axis.feature.name in directed for node in _ends(axis)]
    return RowSearch(graph, [*nodes, *ends], deadline=deadline) if ends else first


def _ends(axis: Axis) -> Iterator[Node]:
    """The nodes that say on which side of a cell of an ordered column a value lies."""
    feature = axis.feature
    yield Missing(feature.name)
    if feature.kind == "boolean":
        yield IsTrue(feature.name)
    elif feature.kind == "categorical":
        for at in range(len(feature.levels)):
            yield Among(feature.name, feature.levels[:at])
            yield Among(feature.name, feature.levels[at + 1 :])
    elif axis.whole:
        for end in axis.encoded.max(axis=1):
            if np.isfinite(end):
                yield Compare(feature.name, "<=", float(end))
                yield Compare(feature.name, ">", float(end))


def covered_where(reason: ResolvedReason, places: Counting, place: Place, cell: int) -> Node:
    """Where the change of a place to one of its known cells is covered by a reason: a node over the row as it is."""
    parts = [part for part in (reason.when, _from(reason.reason.direction, places, place, cell)) if part is not None]
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(parts)


def _from(direction: str, places: Counting, place: Place, cell: int) -> Node | None:
    """Where the row's own value is known and below (down: above) a cell; None without a direction."""
    if not direction:
        return None
    axis = next(axis for axis in places.space.axes if axis.feature.name == place.feature.name)
    name, order = place.feature.name, place.cells.index(cell)
    if place.feature.kind == "boolean":
        truth = bool(place.values[order])
        if truth != (direction == "up"):
            return FALSE
        return And((Not(IsTrue(name)), Not(Missing(name)))) if direction == "up" else IsTrue(name)
    if place.feature.kind == "categorical":
        at = int(place.values[order]) - FIRST_LEVEL_CODE
        levels = place.feature.levels
        return Among(name, levels[:at] if direction == "up" else levels[at + 1 :])
    own = axis.encoded[cell]
    exact = own.dtype.type  # a threshold means the nearest number of the column's precision
    bounds = [node for node in axis.readings if isinstance(node, Compare) and not node.missing]
    if direction == "up":
        below = [node for node in bounds if node.op == "<=" and exact(node.value) < own.min()]
        return max(below, key=attrgetter("value")) if below else FALSE
    above = [node for node in bounds if node.op == ">" and exact(node.value) >= own.max()]
    return min(above, key=attrgetter("value")) if above else FALSE


MOST = 4


@dataclass(frozen=True, slots=True)
class GivenReason:
    """A reason of a row: its code and sentence, and the columns of it that counted."""

    code: str
    text: str
    columns: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "text": self.text, "columns": list(self.columns)}


@dataclass(frozen=True, slots=True)
class RowReasons:
    """The reasons of a row, and the columns that counted; adverse: whether its decision asks for reasons.

    exact: whether every column that counts is named; else more may.
    """

    adverse: bool
    given: tuple[GivenReason, ...] = ()
    counting: tuple[str, ...] = ()
    exact: bool = True


def reasons_of(
    graph: RuleGraph,
    table: Table,
    reasons: Sequence[ResolvedReason],
    adverse: Sequence[int],
    *,
    changes: Sequence[NearestChange | None] | None = None,
    most: int = MOST,
    counting: Counting | None = None,
    deadline: Deadline = NO_LIMIT,
) -> list[RowReasons]:
    """The reasons of each row [n], at most so many of each.

    changes: the nearest change of each row, for the order, and as its columns count where it is proved; without them it
    is looked for until the deadline where it is not known otherwise which columns count.
    """
    found = [RowReasons(False)] * table.n_rows
    labels = decide(graph, table)
    counter = Counting(graph) if counting is None else counting
    for k in adverse:
        rows = np.flatnonzero(labels == k)
        if not len(rows):
            continue
        own = table.take(rows)
        near = counter.of(own, k)
        known = _changes(graph, own, near, deadline) if changes is None else [changes[row] for row in rows.tolist()]
        near = counter.with_changes(near, own, known)
        applying = [(r, applies(counter, r, near, own)) for r in reasons if r.covers(k)]
        names = _counting_names(counter, near)
        for i, row in enumerate(rows.tolist()):
            change = changes[row] if changes is not None else None
            given = [(r, columns) for r, by_column in applying if (columns := _true(by_column, i))]
            found[row] = RowReasons(
                True, tuple(_ordered(given, _steps(graph, change))[:most]), names[i], bool(near.exact[i])
            )
    return found


def _changes(graph: RuleGraph, own: Table, near: Nearer, deadline: Deadline) -> list[NearestChange | None]:
    """The nearest change of rows of which it is not known which columns count."""
    unsure = np.flatnonzero(~near.exact)
    known = nearest_changes(graph, own.take(unsure), deadline=deadline) if len(unsure) else []
    found = dict(zip(unsure.tolist(), known, strict=True))
    return [found.get(i) for i in range(own.n_rows)]


def applies(places: Counting, reason: ResolvedReason, near: Nearer, table: Table) -> dict[str, Array]:
    """By column of a reason whether it counts [n] by a value that the reason covers."""
    held = np.ones(table.n_rows, dtype=bool)
    if reason.when is not None:
        held = evaluate_nodes([reason.when], table)[reason.when]
    rows = places.table(table) if reason.reason.direction else None
    found: dict[str, Array] = {}
    for place, nearer in zip(places.places, near.nearer, strict=True):
        if place.column in reason.columns:
            ways = nearer if rows is None else nearer & _way(place, np.asarray(rows.array(place.feature.name)), reason)
            found[place.column] = found.get(place.column, False) | (ways.any(axis=1) & held)
    return found


def _way(place: Place, values: Array, reason: ResolvedReason) -> Array:
    """Whether each value of a place lies the reason's way from a row's own [n, values]; no way leads from missing."""
    own = values[:, None]
    unknown = absent(values) if values.dtype.kind == "f" else values < 2
    there = place.values[None, :]
    ways: Array = (there > own if reason.reason.direction == "up" else there < own) & ~unknown[:, None]
    return ways


def _true(by_column: Mapping[str, Array], i: int) -> tuple[str, ...]:
    return tuple(column for column, held in by_column.items() if held[i])


def _counting_names(places: Counting, near: Nearer) -> list[tuple[str, ...]]:
    """By row the columns that count."""
    by_column: dict[str, Array] = {}
    for place, nearer in zip(places.places, near.nearer, strict=True):
        by_column[place.column] = by_column.get(place.column, np.zeros(1, dtype=bool)) | nearer.any(axis=1)
    return [_true(by_column, i) for i in range(len(near.distance))]


def _steps(graph: RuleGraph, change: NearestChange | None) -> dict[str, float]:
    """How far the nearest change moves each column, as a share of its spread; 1 of what has no distance."""
    found: dict[str, float] = {}
    if change is None:
        return found
    words, read = words_apart(graph.schema), readers(graph.decision.roots)
    texts = {} if words is None else {name: text for text, names in words.columns.items() for name in names}
    for moved in change.columns:
        far = 1.0
        if moved.column in graph.schema and graph.schema[moved.column].kind == "numeric" and moved.before is not None:
            width = moves_of(graph, moved.column, read[moved.column]).width
            far = abs(float(moved.after) - float(moved.before)) / width
        name = texts.get(moved.column, moved.column)
        found[name] = max(far, found.get(name, 0.0))
    return found


def _ordered(given: Sequence[tuple[ResolvedReason, tuple[str, ...]]], steps: Mapping[str, float]) -> list[GivenReason]:
    """The reasons in order, each code once."""

    def key(entry: tuple[ResolvedReason, tuple[str, ...]]) -> tuple[bool, float, int]:
        moved = [steps[column] for column in entry[1] if column in steps]
        return not moved, -max(moved, default=0.0), entry[0].place

    found: dict[str, GivenReason] = {}
    for reason, columns in sorted(given, key=key):
        known = found.get(reason.reason.code)
        all_columns = columns if known is None else tuple(dict.fromkeys([*known.columns, *columns]))
        text = reason.reason.text if known is None else known.text
        found[reason.reason.code] = GivenReason(reason.reason.code, text, all_columns)
    return list(found.values())
