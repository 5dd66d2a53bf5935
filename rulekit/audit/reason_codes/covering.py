"""What a reason covers of the changes of a column: all of them, or those where a Boolean node holds of the row.

A change goes from a row's own value to a known cell; `direction` leaves those from below or above that cell, `when`
those of rows on which the condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from rulekit.audit.reason_codes.catalogue import ResolvedReason
from rulekit.cells.axis import Axis
from rulekit.graph.language.words import counted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import FALSE, TRUE, Among, And, Compare, IsTrue, Missing, Node, Not
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import FEW_CELLS, NO_LIMIT, Deadline
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.search.row_search import Claim, Either, RowSearch, Sought
from rulekit.search.takes_part import Place, Places

MOST_SEARCHES = 40
MOST_CLAIMS = 100


class BoundedSearch:
    """A search that says that it was not made where too many have been; those over few cells are always made."""

    def __init__(self, search: RowSearch) -> None:
        self._search, self._made = search, 0

    @property
    def few(self) -> bool:
        """Whether all cells are soon run."""
        return self._search.space.size <= FEW_CELLS

    def find(self, *claims: Claim | Either) -> Sought:
        """A row on which all claims hold."""
        if not self.few:
            if self._made >= MOST_SEARCHES or len(claims) > MOST_CLAIMS:
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


def covered_where(reason: ResolvedReason, places: Places, place: Place, cell: int) -> Node:
    """Where the change of a place to one of its known cells is covered by a reason: a node over the row as it is."""
    parts = [part for part in (reason.when, _from(reason.reason.direction, places, place, cell)) if part is not None]
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(parts)


def _from(direction: str, places: Places, place: Place, cell: int) -> Node | None:
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
        return max(below, key=_value) if below else FALSE
    above = [node for node in bounds if node.op == ">" and exact(node.value) >= own.max()]
    return min(above, key=_value) if above else FALSE


def _value(bound: Compare) -> float:
    return bound.value
