"""How much each column has to say in a model, counted in its rules, so that every learner has it."""

from __future__ import annotations

from collections import defaultdict

from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import Column, Contains, LevelPoints, Linear, LinearThreshold, Node, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.graph.traversal import topological


def importances(graph: RuleGraph) -> dict[str, float]:
    """The part of each column in the rules, by name; of a text by token, as that is a column of a sparse matrix."""
    found: defaultdict[str, float] = defaultdict(float)
    for rule in rules_of(graph):
        parts: dict[Node, float] = {
            rule.node: abs(rule.weight) * _reach(rule.node) if rule.connective == "sum" else 1.0
        }
        for node in reversed(topological([rule.node])):  # parents first
            column = column_of(node)
            names = node.tokens if isinstance(node, Contains) else (column,) if column is not None else ()
            for name in names:
                found[str(name)] += parts[node] / len(names)
            shares = _shares(node)
            whole = sum(share for _, share in shares) or 1.0
            for child, share in shares:
                parts[child] = parts.get(child, 0.0) + parts[node] * share / whole
    return dict(found)


def _shares(node: Node) -> list[tuple[Node, float]]:
    """The parts of a node: the terms of a unit by what they can add, all others alike."""
    if isinstance(node, Linear | LinearThreshold):
        return [(term, abs(weight) * _reach(term)) for weight, term in node.terms]
    return [(child, 1.0) for child in node.children]


def _reach(leaf: Node) -> float:
    """By how much a leaf may change a sum: points by their spread, a condition by 1."""
    if isinstance(leaf, Step):
        values = [*leaf.values, leaf.missing]
    elif isinstance(leaf, LevelPoints):
        values = [*(points for _, points in leaf.points), leaf.missing, leaf.unseen]
    elif isinstance(leaf, Column):
        values = [leaf.low, leaf.high]
    else:
        return 1.0
    return max(values) - min(values)
