"""A catalogue to start from: a reason for each column that can count, with what is proved of its direction.

Where only larger values can help, the reason says so (`direction = "up"`, "too low"), and a missing value has a reason
of its own. Its sentences are there to be written anew; its columns pass the lint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rulekit.audit.reason_codes.catalogue import Catalogue, Reason, ResolvedReason
from rulekit.audit.reason_codes.linting import Linter
from rulekit.graph.language.words import name
from rulekit.graph.nodes import Missing
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text
from rulekit.schema import Feature
from rulekit.search.moves import Direction, has_order

_WAYS: tuple[Direction, ...] = ("up", "down")


def starter(graph: RuleGraph, adverse: Sequence[int], deadline: Deadline = NO_LIMIT) -> Catalogue:
    """Reasons for the adverse classes of a model; columns that are shown to never count have none."""
    read = graph.with_(probability=()).used_features
    ordered = [_candidate(column, "up") for column in read if has_order(graph.schema[column])]
    model = Linter(graph, ordered, tuple(adverse), deadline)
    reasons: list[Reason] = []
    for done, column in enumerate(read):
        deadline.tell("which columns count", done / len(read))
        for reason in _reasons(graph.schema[column], model):
            reasons.append(replace(reason, code=f"R{len(reasons) + 1:02}"))
    return Catalogue(tuple(reasons), tuple(label_text(graph.classes[k]) for k in adverse))


def _candidate(column: str, direction: Direction | None = None) -> ResolvedReason:
    return ResolvedReason(Reason("", "", (column,), direction or ""), (column,), 0)


def _reasons(feature: Feature, model: Linter) -> Iterator[Reason]:
    """The reasons of a column; what is not known of it counts as yes."""
    if not model.may_count(_candidate(feature.name)):
        return
    title, missing = feature.name.replace("_", " "), f"{name(feature.name)} is missing"
    told = has_order(feature) and model.knows_ways(feature.name)
    ways = [way for way in _WAYS if told and model.may_count(_candidate(feature.name, way))]
    if told and not ways:  # only a missing value is ever in the way
        yield Reason("", f"{title} is not known", (feature.name,), "", missing)
    elif len(ways) != 1:
        what = "words" if feature.kind == "text" else "value"
        yield Reason("", f"the {what} of {title}", (feature.name,))
    else:
        yield Reason("", f"{title} {_fault(feature, ways[0])}", (feature.name,), ways[0])
        if model.may_count(replace(_candidate(feature.name), when=Missing(feature.name))):
            yield Reason("", f"{title} is not known", (feature.name,), "", missing)


def _fault(feature: Feature, way: Direction) -> str:
    if feature.kind == "boolean":
        return "is not true" if way == "up" else "is true"
    if feature.display in ("date", "datetime"):
        return "is too early" if way == "up" else "is too late"
    return "is too low" if way == "up" else "is too high"
