"""The same node over other children."""

from __future__ import annotations

from rulekit.graph.nodes import (
    Above,
    And,
    AtLeast,
    Hidden,
    Linear,
    LinearThreshold,
    Logistic,
    Node,
    Not,
    Or,
    Probability,
    Strength,
)


def with_children(node: Node, children: tuple[Node, ...]) -> Node:
    """`node` with these children in place of its own; a leaf as it is."""
    if isinstance(node, And | Or):
        return type(node)(children)
    if isinstance(node, AtLeast):
        return AtLeast(node.k, children)
    if isinstance(node, Above):
        return Above(children[0], node.threshold)
    if isinstance(node, Hidden):
        return Hidden(node.name, children[0], node.on, node.off)
    if isinstance(node, Linear | LinearThreshold):
        return type(node)(tuple(zip(node.weights, children, strict=True)), node.bias)
    if isinstance(node, Not | Probability | Logistic | Strength):
        return type(node)(children[0])
    return node
