"""Negation: `Not` moved into the leaves, where the truth for missing and unseen values flips too."""

from __future__ import annotations

from collections.abc import Iterable

from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Among,
    And,
    AtLeast,
    Compare,
    Constant,
    Node,
    Not,
    Or,
    is_logic,
    with_children,
)
from rulekit.graph.traversal import topological
from rulekit.schema import Schema

MOST_LISTED = 8
MOST_TIMES = 4


def negated_leaf(leaf: Node, schema: Schema | None) -> Node | None:
    """The leaf that is true exactly where `leaf` is false, or None where only `Not` says it, or says it much shorter.

    `Not(Among)` needs the schema, whose other levels it lists.
    """
    if isinstance(leaf, Constant):
        return FALSE if leaf.value else TRUE
    if isinstance(leaf, Compare):
        return Compare(leaf.feature, ">" if leaf.op == "<=" else "<=", leaf.value, not leaf.missing)
    if isinstance(leaf, Among) and schema is not None and leaf.feature in schema:
        within = set(leaf.levels)
        others = tuple(level for level in schema[leaf.feature].levels if level not in within)
        if much_longer(len(others), len(within)):
            return None
        return Among(leaf.feature, others, not leaf.missing, not leaf.unseen)
    return None


def much_longer(listed: int, others: int) -> bool:
    """Whether a set of `listed` levels is written as `Not` of the `others` instead: more than 8, and 4 times them."""
    return listed > MOST_LISTED and listed > MOST_TIMES * others


def negate(node: Node, schema: Schema | None) -> Node:
    """The contrary of a Boolean node, with `Not` only where no leaf says it (de Morgan; AtLeast by n - k + 1)."""
    if not node.children and not is_logic(node):
        flipped = negated_leaf(node, schema)
        return Not(node) if flipped is None else flipped
    return push_negations((Not(node),), schema)[Not(node)]


def push_negations(roots: Iterable[Node], schema: Schema | None) -> dict[Node, Node]:
    """Each root, and each node on the way that stands unnegated, with every `Not` moved into the leaves.

    Not by de Morgan on random formulas, where that would change the steps of a probability.
    """
    order = topological(roots)
    wanted: set[tuple[Node, bool]] = {(root, True) for root in roots}
    for node in reversed(order):
        for sign in (False, True):  # the negative form of a node may be made of its positive one
            if (node, sign) in wanted:
                wanted.update(_operands(node, sign, schema))
    image: dict[tuple[Node, bool], Node] = {}
    for node in order:
        for sign in (True, False):
            if (node, sign) in wanted:
                image[node, sign] = _pushed(node, sign, schema, image)
    return {node: pushed for (node, sign), pushed in image.items() if sign}


def _operands(node: Node, sign: bool, schema: Schema | None) -> list[tuple[Node, bool]]:
    """What the positive (negative) form of a node is made of."""
    if isinstance(node, Not):
        return [(node.child, not sign)]
    if sign or is_logic(node):
        return [(child, sign) for child in node.children]
    return [] if negated_leaf(node, schema) is not None else [(node, True)]


def _pushed(node: Node, sign: bool, schema: Schema | None, image: dict[tuple[Node, bool], Node]) -> Node:
    if isinstance(node, Not):
        return image[node.child, not sign]
    if sign or is_logic(node):
        children = tuple(image[child, sign] for child in node.children)
        if sign:
            return node if children == node.children else with_children(node, children)
        if isinstance(node, AtLeast):
            return AtLeast(len(children) - node.k + 1, children)
        return (Or if isinstance(node, And) else And)(children)
    flipped = negated_leaf(node, schema)
    return Not(image[node, True]) if flipped is None else flipped
