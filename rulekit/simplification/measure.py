"""How long a formula is to a reader: its literals, one node at a time (as rulekit.graph.rules counts them)."""

from __future__ import annotations

from collections.abc import Sequence

from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import Hidden, Linear, LinearThreshold, Node, Step


def literals(node: Node, below: Sequence[int]) -> int:
    """The literals of a node over children with so many literals; what stands twice counts twice.

    A leaf, a column and each segment of a step function count once, a live term of a sum at least once; a hidden bit
    counts once, and a cause of several literals beside it.
    """
    if isinstance(node, Step):
        return len(node.values)
    if column_of(node) is not None:
        return 1
    if isinstance(node, Linear | LinearThreshold):
        return sum(max(1, count) for weight, count in zip(node.weights, below, strict=True) if weight != 0)
    if isinstance(node, Hidden):
        return 1 + (below[0] if below[0] > 1 else 0)
    return sum(below)
