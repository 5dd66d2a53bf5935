"""What equality of decisions rests on: a theorem for every row, or tests only.

A Boolean formula over comparisons is decided without rounding. A sum whose weights and values lie on a common
power-of-two grid and whose largest partial sum needs at most 53 bits is exact in any order. A sum or circuit of doubles
in one fixed order, one IEEE 754 operation at a time, has the same bits wherever that order is kept. Only an unrounded
column in a sum, and a link function that decides, are tested and not proved (docs/numbers.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rulekit.exactness import Span, span_of_sum, total
from rulekit.graph.decisions import Decision
from rulekit.graph.nodes import Column, Family, Linear, LinearThreshold, Logistic, Node, Probability, Strength
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological

Basis = Literal["Boolean", "grid sum", "fixed order", "tested"]
_RANK: tuple[Basis, ...] = ("Boolean", "grid sum", "fixed order", "tested")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """basis: "Boolean", "grid sum" and "fixed order" are theorems, "tested" is not; reason: the node that says so."""

    basis: Basis
    reason: str

    @property
    def proved(self) -> bool:
        return self.basis != "tested"


def guarantee(graph: RuleGraph) -> Guarantee:
    """The weakest basis of any part of the decision of `graph`."""
    found = [_of_node(node) for node in topological(graph.decision.roots)]
    found += _of_decision(graph.decision)
    return max(found, key=lambda item: _RANK.index(item.basis), default=Guarantee("Boolean", "constants"))


def _of_decision(decision: Decision) -> list[Guarantee]:
    """What a decision does itself with the numbers of its roots."""
    if any(root.family is not Family.BOOLEAN for root in decision.roots):
        return [Guarantee("grid sum", "an arg-max of scores")]
    return []


def _of_node(node: Node) -> Guarantee:
    name = type(node).__name__
    if isinstance(node, Column) and node.step == 0.0:
        return Guarantee("tested", f"{name} {node.feature!r} is not rounded to a grid")
    if isinstance(node, Logistic):
        return Guarantee("tested", "a link function decides")
    if isinstance(node, Probability):
        return Guarantee("fixed order", "a circuit of probabilities")
    if isinstance(node, Strength):
        sizes = [size for _, on, off in node.terms for size in (on, off)]
        exact = all(map(math.isfinite, sizes)) and total(Span.of(on, off) for _, on, off in node.terms).fits()
        return Guarantee("grid sum" if exact else "fixed order", "a sum of strengths")
    if isinstance(node, Linear | LinearThreshold):
        span = span_of_sum(node)
        if span is not None and span.fits():
            return Guarantee("grid sum", f"{name} over {span.bits} bits")
        return Guarantee("fixed order", f"{name} whose sums may round")
    return Guarantee("Boolean", "a Boolean formula")
