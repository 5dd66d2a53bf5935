"""A catalogue to start from: a reason for each column that can count, with what is proved of its direction.

Where only larger values can help, the reason says so (`direction = "up"`, "too low"), and a missing value has a reason
of its own. Its sentences are there to be written anew; its columns pass the lint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rulekit.audit.nearest_change.wishes import has_order
from rulekit.audit.reason_codes.adverse import Meant
from rulekit.audit.reason_codes.catalogue import Catalogue, Direction, Reason
from rulekit.audit.reason_codes.covering import Asking, covered_where, decided_as, lint_search
from rulekit.audit.reason_codes.places import Place, Places, places_of
from rulekit.graph.language.words import name
from rulekit.graph.nodes import FALSE, Missing, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text
from rulekit.schema import Feature
from rulekit.search.row_search import Claim, Sought

_WAYS: tuple[Direction, ...] = ("up", "down")


def starter(graph: RuleGraph, adverse: Sequence[int], deadline: Deadline = NO_LIMIT) -> Catalogue:
    """Reasons for the adverse classes of a model; columns that are shown to never count have none."""
    read = graph.with_(probability=()).used_features
    directed = {c: Meant(Reason("", "", (c,), "up"), (c,), 0) for c in read if has_order(graph.schema[c])}
    search = lint_search(graph, directed.values(), deadline)
    places, asking = places_of(graph, search), Asking(search)
    reasons: list[Reason] = []
    for done, column in enumerate(read):
        deadline.tell("which columns count", done / len(read))
        own = [(axis, place) for axis, place in enumerate(places.places) if place.column == column]
        for reason in _reasons(graph, places, asking, own, adverse, directed.get(column)):
            reasons.append(replace(reason, code=f"R{len(reasons) + 1:02}"))
    return Catalogue(tuple(reasons), tuple(label_text(graph.classes[k]) for k in adverse))


def _reasons(
    graph: RuleGraph,
    places: Places,
    asking: Asking,
    own: Sequence[tuple[int, Place]],
    adverse: Sequence[int],
    directed: Meant | None,
) -> Iterator[Reason]:
    feature = graph.schema[own[0][1].column]
    asked = _Asked(graph, asking, own, adverse)
    if not asked.can_turn():
        return
    title = feature.name.replace("_", " ")
    whole = asking.few and all(place.cells for _, place in own)  # else a direction is not worth its searches
    ways = [way for way in _WAYS if directed is not None and whole and _by_way(asked, places, directed, way)]
    if len(ways) != 1:
        if not ways and directed is not None and whole:  # only a missing value is ever in the way
            yield Reason("", f"{title} is not known", (feature.name,), "", f"{name(feature.name)} is missing")
        else:
            what = "words" if feature.kind == "text" else "value"
            yield Reason("", f"the {what} of {title}", (feature.name,))
        return
    yield Reason("", f"{title} {_fault(feature, ways[0])}", (feature.name,), ways[0])
    if asked.can_turn(Missing(feature.name)):
        yield Reason("", f"{title} is not known", (feature.name,), "", f"{name(feature.name)} is missing")


def _fault(feature: Feature, way: Direction) -> str:
    if feature.kind == "boolean":
        return "is not true" if way == "up" else "is true"
    if feature.display in ("date", "datetime"):
        return "is too early" if way == "up" else "is too late"
    return "is too low" if way == "up" else "is too high"


def _by_way(asked: _Asked, places: Places, directed: Meant, way: Direction) -> bool:
    reason = replace(directed, reason=replace(directed.reason, direction=way))
    return any(
        asked.turns(axis, cell, covered_where(reason, places, place, cell))
        for axis, place in asked.own
        for cell in place.cells
    )


class _Asked:
    """Whether a column can turn an adverse decision; what is not known counts as yes."""

    def __init__(
        self, graph: RuleGraph, asking: Asking, own: Sequence[tuple[int, Place]], adverse: Sequence[int]
    ) -> None:
        self.graph, self.asking, self.own, self.adverse = graph, asking, own, adverse

    def can_turn(self, where: Node | None = None) -> bool:
        if any(not place.cells for _, place in self.own):
            return where is None
        return any(self.turns(axis, cell, where) for axis, place in self.own for cell in place.cells)

    def turns(self, axis: int, cell: int, where: Node | None = None) -> bool:
        """Whether going to a cell turns the decision of a row of which a node holds."""
        if where is FALSE:
            return False
        for k in self.adverse:
            label = decided_as(self.graph, k)
            held = [] if where is None else [Claim(where)]
            if self.asking.find(label, label.contrary().at(axis, cell), *held) != Sought(None):
                return True
        return False
