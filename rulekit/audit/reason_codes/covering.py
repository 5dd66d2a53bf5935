"""What a reason covers of the changes of a column: all of them, or those where a Boolean node holds of the row.

A change goes from a row's own value to a known cell; `direction` leaves those from below or above that cell, `when`
those of rows on which the condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rulekit.audit.reason_codes.adverse import Meant
from rulekit.audit.reason_codes.places import Place, Places
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import FALSE, TRUE, Among, And, Compare, IsTrue, Missing, Node, Not
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.verification.proof.row_search import RowSearch


def lint_search(graph: RuleGraph, reasons: Iterable[Meant]) -> RowSearch:
    """The cells that the decision and the reasons tell apart, with a node for each end of a cell that a way crosses."""
    given = tuple(reasons)
    read = readers(graph.decision.roots)
    nodes: list[Node] = [*graph.decision.roots, *(r.when for r in given if r.when is not None and r.columns[0] in read)]
    first = RowSearch(graph, nodes)
    directed = {column for r in given if r.reason.direction for column in r.columns}
    ends: list[Node] = []
    for axis in first.space.axes:
        if axis.feature.name in directed and axis.feature.kind == "numeric" and axis.whole:
            known = axis.encoded[:, :].max(axis=1)
            ends += [Compare(axis.feature.name, "<=", float(end)) for end in known if np.isfinite(end)]
        elif axis.feature.name in directed:
            ends.append(Missing(axis.feature.name))
    return RowSearch(graph, [*nodes, *ends]) if ends else first


def covered_where(reason: Meant, places: Places, place: Place, cell: int) -> Node:
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
    ends = sorted(node.value for node in axis.readings if isinstance(node, Compare))
    if direction == "up":
        below = [end for end in ends if end < own.min()]
        return Compare(name, "<=", below[-1]) if below else FALSE
    above = [end for end in ends if end >= own.max()]
    return Compare(name, ">", above[0]) if above else FALSE
