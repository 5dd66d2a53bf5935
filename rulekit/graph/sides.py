"""Reported probabilities that stand on the side of what is decided, of several classes with rules."""

from __future__ import annotations

from collections.abc import Sequence

from rulekit.graph.decisions import ArgMax
from rulekit.graph.nodes import Node, Sided, with_children
from rulekit.graph.rule_graph import RuleGraph


def on_the_side_of_the_decision(graph: RuleGraph) -> list[bool]:
    """By reported probability whether its rule is that by which its class is decided."""
    if not isinstance(graph.decision, ArgMax) or not graph.decision.rule_sets:
        return [False] * len(graph.probability)
    pairs = zip(graph.probability, graph.decision.decided(graph.default), strict=bool(graph.probability))
    return [isinstance(node, Sided) and node.rule is rule for node, rule in pairs]


def with_sides(graph: RuleGraph, chosen: Sequence[bool], rules: Sequence[Node]) -> RuleGraph:
    """The graph with the chosen ones of its probabilities on the side of other rules, which are listed by class."""
    if not any(chosen):
        return graph
    triples = zip(graph.probability, chosen, rules, strict=True)
    sided = [with_children(node, (node.children[0], rule)) if own else node for node, own, rule in triples]
    return graph.with_(probability=tuple(sided))
