"""Reported probabilities that stand on the side of what is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from rulekit.graph.decisions import ArgMax
from rulekit.graph.model_parts import ModelParts
from rulekit.graph.nodes import Node, Sided, with_children

M = TypeVar("M", bound=ModelParts)
_BESIDE = 0.002
"""How far from the threshold a probability is held on the side of the label, as a share of the threshold."""


def on_the_side_of_the_decision(graph: ModelParts) -> list[bool]:
    """By reported probability whether its rule is that by which its class is decided."""
    if not isinstance(graph.decision, ArgMax) or not graph.decision.rule_sets:
        return [False] * len(graph.probability)
    pairs = zip(graph.probability, graph.decision.decided(graph.default), strict=bool(graph.probability))
    return [isinstance(node, Sided) and node.rule is rule for node, rule in pairs]


def with_sides(graph: M, chosen: Sequence[bool], rules: Sequence[Node]) -> M:
    """The graph with the chosen ones of its probabilities on the side of other rules, which are listed by class."""
    if not any(chosen):
        return graph
    triples = zip(graph.probability, chosen, rules, strict=True)
    sided = [with_children(node, (node.children[0], rule)) if own else node for node, own, rule in triples]
    return replace(graph, probability=tuple(sided), ladder=None)


def on_the_side_of_the_label(graph: ModelParts, probability: Node, place: int = 0) -> Node:
    """The probability that takes the place of a reported one, held on the side of the label that the model decides."""
    old, decision = graph.probability[place], graph.decision
    rule = decision.decided(graph.default)[place] if isinstance(decision, ArgMax) else decision.roots[0]
    if isinstance(old, Sided) and old.rule is rule:
        return Sided(probability, rule, old.above, old.below)
    threshold = float(graph.provenance.get("threshold", 0.5))
    beside = _BESIDE * min(threshold, 1.0 - threshold)
    return Sided(probability, rule, float(f"{threshold + beside:.4g}"), float(f"{threshold - beside:.4g}"))
