"""What a condition on one column says of its value, as a sentence ends: `at most 24,900`, `one of {car, home}`."""

from __future__ import annotations

from rulekit.dates import is_dated
from rulekit.graph.language.bounds import lone_value
from rulekit.graph.language.readable import MOST_LEVELS, amount, level_set
from rulekit.graph.language.words import name
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import Among, And, Compare, Contains, IsTrue, Missing, Node, Not
from rulekit.schema import Feature, Schema


def relation(node: Node, schema: Schema) -> str | None:
    """What the value of the one column of a condition must be; None for a condition of another kind."""
    if isinstance(node, Missing):
        return "missing"
    if isinstance(node, Compare):
        return _side(node, schema[node.feature]) + " or missing" * node.missing
    if isinstance(node, IsTrue):
        return "true" + " or missing" * node.missing
    if isinstance(node, Among):
        return _among(node, schema[node.feature])
    if isinstance(node, And) and len(node.children) == 2:
        lower, upper = node.children
        if isinstance(lower, Compare) and isinstance(upper, Compare) and lower.feature == upper.feature:
            return _between(lower, upper, schema[lower.feature])
    return _contrary(node.child, schema) if isinstance(node, Not) else None


def _contrary(leaf: Node, schema: Schema) -> str | None:
    """What is denied is said without `not` where a value itself says it."""
    if isinstance(leaf, Missing):
        return "known"
    if isinstance(leaf, IsTrue):
        return "false" + " or missing" * (not leaf.missing)
    if isinstance(leaf, Among) and leaf.levels and not leaf.unseen:
        few = name(leaf.levels[0]) if len(leaf.levels) == 1 else f"one of {level_set(leaf.levels)}"
        return f"not {few}" + " or missing" * (not leaf.missing)
    if isinstance(leaf, Contains):
        return None
    contrary = negate(leaf, schema)
    return None if isinstance(contrary, Not) else relation(contrary, schema)


def _side(node: Compare, feature: Feature) -> str:
    words = ("not after", "after") if is_dated(feature) else ("at most", "above")
    return f"{words[node.op == '>']} {amount(node.value, feature)}"


def _between(lower: Compare, upper: Compare, feature: Feature) -> str:
    if lower.op == "<=":
        lower, upper = upper, lower
    marker = " or missing" * (lower.missing and upper.missing)
    whole = lone_value(lower.value, upper.value, feature, rounded=True)
    if (lower.op, upper.op) == (">", "<=") and whole is not None:
        return amount(whole, feature) + marker
    return f"{_side(lower, feature)} and {_side(upper, feature)}{marker}"


def _among(node: Among, feature: Feature) -> str:
    beside = [level for level in feature.levels if level not in node.levels]
    marker = " or missing" * node.missing
    if node.unseen and 0 < len(beside) < max(2, len(node.levels)):
        return ("not " + (name(beside[0]) if len(beside) == 1 else f"one of {level_set(beside)}")) + marker
    new = " or a level never seen" * node.unseen
    if not node.levels:
        return (marker + new).removeprefix(" or ") or "no value"
    levels = name(node.levels[0]) if len(node.levels) == 1 else f"one of {level_set(node.levels, MOST_LEVELS)}"
    return levels + new + marker
