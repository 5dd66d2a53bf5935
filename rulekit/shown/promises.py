"""What a model promises, each promise in words: directions, columns apart, missing values, required decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import listed, name, quoted
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.schema import Feature

PromiseKind = Literal["monotone", "together", "apart", "missing", "required", "override"]


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise. text: the whole of it as a sentence; column: of a direction; required: of a decision."""

    kind: PromiseKind
    text: str
    column: str = ""
    required: Required | None = None
    groups: tuple[tuple[str, ...], ...] = ()


def promises(graph: RuleGraph) -> tuple[Promise, ...]:
    """What a model promises, in the order: directions, columns that may not meet, missing values, decisions."""
    schema, constraints = graph.schema, graph.schema.constraints
    found = [Promise("monotone", _direction(graph, feature), feature.name) for feature in schema if feature.monotone]
    if constraints.together:
        groups = listed([f"{{{', '.join(map(name, group))}}}" for group in constraints.together], "or")
        text = f"a rule reads one column, or columns of {groups} only"
        found.append(Promise("together", text, groups=constraints.together))
    for group in constraints.apart:
        columns = listed([name(column) for column in group])
        text = f"{columns} never stand in one rule" if len(group) < 3 else f"no two of {columns} stand in one rule"
        found.append(Promise("apart", text, groups=(group,)))
    if constraints.missing_never_helps:
        found.append(Promise("missing", "no rule is satisfied by a missing value or a level never seen"))
    for required in graph.required:
        label = quoted(graph.classes[required.class_index])
        text = f"where {print_node(required.condition, schema, None)}, the decision is {label}"
        found.append(Promise("required", text, required=required))
    return tuple(found)


def _direction(graph: RuleGraph, feature: Feature) -> str:
    column, rises = name(feature.name), feature.monotone > 0
    if len(graph.classes) > 2:
        return f"as {column} grows, the class never {'falls' if rises else 'rises'}"
    low, high = quoted(graph.classes[0]), quoted(graph.classes[1])
    before, after = (high, low) if rises else (low, high)
    return f"as {column} grows, the decision never turns from {before} to {after}"
