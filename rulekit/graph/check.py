"""The rules of composition, executable: what may stand where in a rule graph, and whether it fits the schema."""

from __future__ import annotations

import math
from typing import Any

from rulekit.errors import GraphError
from rulekit.graph.node import BOOLEAN, PROBABILITY, Child, Family, Finite, LevelNumbers, Levels, Reads
from rulekit.graph.nodes import AtLeast, Hidden, Node, Or, Probability, Strength, Vocabulary, kinds_of, topological
from rulekit.graph.probability.circuits import hidden_bits
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, columns_of, rules_of
from rulekit.numbers import float32
from rulekit.schema import Feature, Schema


def check(graph: RuleGraph) -> None:
    """Raise GraphError naming the first illegal node, children before parents, and why; None for a legal graph.

    Columns that may not meet are the matter of `check_meetings`.
    """
    for node in topological(graph.written):
        _check_node(node, graph.schema)
    for node in graph.decision.roots:
        _expect(node, f"what {type(graph.decision).__name__} reads", *_families_of(type(graph.decision)))
    for promise in graph.required:
        _expect(promise.condition, "the condition of a required decision", BOOLEAN)
    for node in graph.probability:
        _expect(node, "a reported probability", PROBABILITY)
    for label in graph.classes:
        if not isinstance(label, str | bool | int) and not (isinstance(label, float) and math.isfinite(label)):
            raise GraphError(
                f"class {label!r} is neither text, a finite number nor a truth value",
                where="classes",
                fix="relabel the classes",
            )


def describe(node: Node) -> str:
    """A node for an error message: its type and the column or hidden bit it is about, else the start of its digest."""
    kind = type(node).__name__
    if isinstance(node, Hidden):
        return f"{kind} {node.name!r}"
    feature = getattr(node, "feature", None)
    return f"{kind} of column {feature!r}" if feature is not None else f"{kind} {node.digest.hex()[:8]}"


def _families_of(cls: type) -> tuple[Family, ...]:
    return tuple(family for kind in kinds_of(cls).values() if isinstance(kind, Child) for family in kind.families)


def _check_node(node: Node, schema: Schema) -> None:
    if type(node) not in Vocabulary.TYPES.values():
        raise GraphError("this node type is not in the vocabulary", where=describe(node))
    for child in node.children:
        _expect(child, f"its child {describe(child)}", *_families_of(type(node)), where=node)
    kinds = [(getattr(node, name), kind) for name, kind in kinds_of(type(node)).items()]
    feature = next((_check_feature(node, kind, schema) for _, kind in kinds if isinstance(kind, Reads)), None)
    for held, kind in kinds:
        if feature is None:
            break
        if isinstance(kind, Finite) and kind.cuts:
            _check_thresholds(node, feature, held if isinstance(held, tuple) else (held,))
        elif isinstance(kind, Levels):
            _check_levels(node, feature, held)
        elif isinstance(kind, LevelNumbers):
            _check_levels(node, feature, tuple(level for level, _ in held))
    if isinstance(node, AtLeast) and not 0 <= node.k <= len(node.children):
        raise GraphError(
            f"it asks for {node.k} of {len(node.children)} children",
            where=describe(node),
            fix="ask for 0 to all of them, or use a Constant",
        )
    if isinstance(node, Probability):
        hidden_bits(node.formula)
    elif isinstance(node, Strength):
        _check_strength(node)


def _check_feature(node: Any, reads: Reads, schema: Schema) -> Feature:
    if node.feature not in schema:
        raise GraphError("the schema has no such column", where=describe(node), fix="add the column to the schema")
    feature = schema[node.feature]
    if feature.kind not in reads.columns:
        raise GraphError(
            f"the column is {feature.kind}",
            where=describe(node),
            fix=f"{type(node).__name__} reads {' or '.join(reads.columns)}",
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


def _check_levels(node: Node, feature: Feature, levels: tuple[str, ...]) -> None:
    known = set(feature.levels)
    for level in levels:
        if level not in known:
            raise GraphError(
                f"the schema does not know the level {level!r}", where=describe(node), fix="add the level to the schema"
            )


def _check_strength(node: Strength) -> None:
    parts = node.formula.children if isinstance(node.formula, Or) else (node.formula,)
    for part in parts:
        if not isinstance(part, Hidden) and part.family is not BOOLEAN:
            raise GraphError(
                f"its part {describe(part)} is neither a hidden bit nor Boolean, so strengths do not add",
                where=describe(node),
                fix="use Probability",
            )
    if len(set(parts)) != len(parts) or len(hidden_bits(node.formula)) != sum(isinstance(p, Hidden) for p in parts):
        raise GraphError("a part stands twice, so strengths would count twice", where=describe(node))


def _expect(node: Node, what: str, *families: Family, where: Node | None = None) -> None:
    if node.family not in families:
        names = " or ".join(sorted(family.value for family in families))
        raise GraphError(f"{what} is {node.family.value}", where=describe(where or node), fix=f"it must be {names}")


def check_meetings(graph: RuleGraph) -> None:
    """Raise GraphError for a rule over columns that may not stand in one rule, and for a group of unknown columns."""
    schema = graph.schema
    if (unknown := schema.constraints.unknown(schema.names)) is not None:
        raise GraphError(f"no column {unknown!r}", where="constraints", fix="name columns of the schema")
    for rule in forbidden_meetings(graph):
        columns = columns_of(rule.node)
        names = ", ".join(repr(name) for name in schema.names if name in columns)
        raise GraphError(
            f"the columns {names} may not stand in one rule",
            where=f"rule {rule.id}, {describe(rule.node)}",
            fix="split the rule, or allow these columns to meet",
        )


def forbidden_meetings(graph: RuleGraph) -> list[Rule]:
    """The rules over columns that may not stand in one rule."""
    constraints = graph.schema.constraints
    if not constraints.together and not constraints.apart:
        return []
    return [rule for rule in rules_of(graph) if not constraints.allow(columns_of(rule.node))]
