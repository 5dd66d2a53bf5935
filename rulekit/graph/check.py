"""The rules of composition, executable: what may stand where in a rule graph, and whether it fits the schema."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rulekit.errors import GraphError
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Family,
    Hidden,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Step,
    Strength,
)
from rulekit.graph.probability.compilation import hidden_bits
from rulekit.graph.rules import columns_of, rules_of
from rulekit.graph.traversal import topological
from rulekit.numbers import float32
from rulekit.schema import Feature, Schema

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph

_BOOLEAN, _RANDOM, _REAL, _PROBABILITY = Family.BOOLEAN, Family.RANDOM, Family.REAL, Family.PROBABILITY

# What the children of each node type may be.
_CHILDREN: dict[type[Node], frozenset[Family]] = {
    **{leaf: frozenset() for leaf in (Compare, Among, IsTrue, Missing, Constant, Column, Step)},
    **{logic: frozenset({_BOOLEAN, _RANDOM}) for logic in (Not, And, Or, AtLeast)},
    LinearThreshold: frozenset({_REAL, _BOOLEAN}),
    Above: frozenset({_REAL, _PROBABILITY}),
    Hidden: frozenset({_BOOLEAN}),
    Linear: frozenset({_REAL, _BOOLEAN}),
    Strength: frozenset({_RANDOM, _BOOLEAN}),
    Probability: frozenset({_RANDOM, _BOOLEAN}),
    Logistic: frozenset({_REAL}),
}

# The kinds of column that each leaf reads.
_KINDS: dict[type[Node], tuple[str, ...]] = {
    Compare: ("numeric",),
    Step: ("numeric",),
    Column: ("numeric", "boolean"),
    Among: ("categorical",),
    IsTrue: ("boolean",),
    Missing: ("numeric", "boolean", "categorical"),
}


def check(graph: RuleGraph) -> None:
    """Raise GraphError naming the first illegal node, children before parents, and why; None for a legal graph."""
    for node in topological(graph.roots):
        _check_node(node, graph.schema)
    for node in graph.decision.roots:
        _expect(node, f"what {type(graph.decision).__name__} reads", *graph.decision.families)
    for node in graph.probability:
        _expect(node, "a reported probability", _PROBABILITY)
    for label in graph.classes:
        if not isinstance(label, str | bool | int) and not (isinstance(label, float) and math.isfinite(label)):
            raise GraphError(
                f"class {label!r} is neither text, a finite number nor a truth value",
                where="classes",
                fix="relabel the classes",
            )
    _check_interactions(graph)


def describe(node: Node) -> str:
    """A node for an error message: its type and the column or hidden bit it is about, else the start of its digest."""
    kind = type(node).__name__
    if isinstance(node, Hidden):
        return f"{kind} {node.name!r}"
    feature = getattr(node, "feature", None)
    return f"{kind} of column {feature!r}" if feature is not None else f"{kind} {node.digest.hex()[:8]}"


def _check_node(node: Node, schema: Schema) -> None:
    allowed = _CHILDREN.get(type(node))
    if allowed is None:
        raise GraphError("this node type is not in the vocabulary", where=describe(node))
    for child in node.children:
        if child.family not in allowed:
            names = " or ".join(sorted(family.value for family in allowed))
            raise GraphError(
                f"its child {describe(child)} is {child.family.value}", where=describe(node), fix=f"a child is {names}"
            )
    if type(node) in _KINDS:
        feature = _check_feature(node, schema)
        if type(node) in _FIT:
            _FIT[type(node)](node, feature)
    elif isinstance(node, AtLeast) and not 0 <= node.k <= len(node.children):
        raise GraphError(
            f"it asks for {node.k} of {len(node.children)} children",
            where=describe(node),
            fix="ask for 0 to all of them, or use a Constant",
        )
    elif isinstance(node, Probability):
        hidden_bits(node.formula)
    elif isinstance(node, Strength):
        _check_strength(node)


def _check_feature(node: Any, schema: Schema) -> Feature:
    if node.feature not in schema:
        raise GraphError("the schema has no such column", where=describe(node), fix="add the column to the schema")
    feature = schema[node.feature]
    kinds = _KINDS[type(node)]
    if feature.kind not in kinds:
        raise GraphError(
            f"the column is {feature.kind}",
            where=describe(node),
            fix=f"{type(node).__name__} reads {' or '.join(kinds)}",
        )
    if feature.role != "use":
        reason = "kept for reports only" if feature.role == "audit" else "forbidden"
        raise GraphError(f"the column is {reason}", where=describe(node), fix="a rule must not read it")
    return feature


def _check_thresholds(node: Node, feature: Feature, values: tuple[float, ...]) -> None:
    if feature.precision == "float32":
        for value in values:
            if not math.isfinite(float32(value)):
                raise GraphError(
                    f"the threshold {value!r} is beyond float32",
                    where=describe(node),
                    fix="use a smaller threshold or a float64 column",
                )


def _check_compare(node: Any, feature: Feature) -> None:
    _check_thresholds(node, feature, (node.value,))


def _check_step(node: Any, feature: Feature) -> None:
    _check_thresholds(node, feature, node.cuts)


def _check_among(node: Any, feature: Feature) -> None:
    known = set(feature.levels)
    for level in node.levels:
        if level not in known:
            raise GraphError(
                f"the schema does not know the level {level!r}", where=describe(node), fix="add the level to the schema"
            )


_FIT: dict[type[Node], Callable[[Any, Feature], None]] = {
    Compare: _check_compare,
    Step: _check_step,
    Among: _check_among,
}


def _check_strength(node: Strength) -> None:
    parts = node.formula.children if isinstance(node.formula, Or) else (node.formula,)
    for part in parts:
        if not isinstance(part, Hidden) and part.family is not _BOOLEAN:
            raise GraphError(
                f"its part {describe(part)} is neither a hidden bit nor Boolean, so strengths do not add",
                where=describe(node),
                fix="use Probability",
            )
    if len(set(parts)) != len(parts) or len(hidden_bits(node.formula)) != sum(isinstance(p, Hidden) for p in parts):
        raise GraphError("a part stands twice, so strengths would count twice", where=describe(node))


def _expect(node: Node, what: str, *families: Family) -> None:
    if node.family not in families:
        names = " or ".join(family.value for family in families)
        raise GraphError(f"{what} is {node.family.value}", where=describe(node), fix=f"it must be {names}")


def _check_interactions(graph: RuleGraph) -> None:
    groups = [frozenset(group) for group in graph.schema.interactions]
    if not groups:
        return
    for rule in rules_of(graph):
        columns = columns_of(rule.node)
        if len(columns) > 1 and not any(columns <= group for group in groups):
            names = ", ".join(repr(name) for name in graph.schema.names if name in columns)
            raise GraphError(
                f"the columns {names} may not stand in one rule",
                where=f"rule {rule.id}, {describe(rule.node)}",
                fix="split the rule, or allow this interaction in the schema",
            )
