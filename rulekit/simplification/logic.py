"""Laws of logic that hold for any formula, Boolean or Random, whatever its leaves say.

Each takes a node whose children have been rewritten and returns an equivalent node with no more literals. In a
Random formula only laws that leave every step of the probability's circuit as it is are applied here.
"""

from __future__ import annotations

from collections.abc import Iterable

from rulekit.graph.negation import negate, push_negations
from rulekit.graph.nodes import FALSE, TRUE, And, AtLeast, Constant, Family, Node, Not, Or
from rulekit.graph.traversal import topological
from rulekit.simplification.rewriting import Change, Context, joined


def push_negation(roots: Iterable[Node], context: Context) -> tuple[dict[Node, Node], list[Change]]:
    """Not(And(a, b)) = Or(Not(a), Not(b)), Not(x <= v) = x > v with missing flipped: no Not where a leaf says it."""
    image = push_negations(tuple(roots), context.schema)
    changes = [Change(old, new) for old, new in image.items() if isinstance(old, Not) and new is not old]
    return image, changes


def fold_constants(node: Node, context: Context) -> Node:
    """And(true, a) = a, And(false, a) = false, Or and AtLeast alike; constants of a single column's cells too."""
    if isinstance(node, Not) and isinstance(node.child, Constant):
        return FALSE if node.child.value else TRUE
    if isinstance(node, And | Or):
        absorbing, neutral = (FALSE, TRUE) if isinstance(node, And) else (TRUE, FALSE)
        if absorbing in node.children:
            return absorbing
        if neutral in node.children or not node.children:
            return joined(type(node), (child for child in node.children if child is not neutral))
    if isinstance(node, AtLeast):
        k = node.k - sum(child is TRUE for child in node.children)
        children = tuple(child for child in node.children if not isinstance(child, Constant))
        if k <= 0 or k > len(children):
            return TRUE if k <= 0 else FALSE
        return AtLeast(k, children) if len(children) < len(node.children) else node
    if node.family is Family.BOOLEAN and not isinstance(node, Constant):
        single = context.single(node)
        if single is not None and single[0] is not None:
            full = context.cells[single[0]].full
            return TRUE if single[1] == full else FALSE if single[1] == 0 else node
        return node if single is None else Constant(bool(single[1]))
    return node


def flatten(node: Node, context: Context) -> Node:
    """And(And(a, b), c) = And(a, b, c); duplicates and lone children fall away: And(a, a) = a, Or likewise."""
    if not isinstance(node, And | Or):
        return node
    if node.family is Family.RANDOM:  # the first child's product is the start of the parent's: no step changes
        first = node.children[0]
        same = isinstance(node, And) and type(first) is And and first.family is Family.RANDOM
        if same and not _share_bits(node.children):
            return And((*first.children, *node.children[1:]))
        return joined(type(node), node.children) if len(set(node.children)) < max(2, len(node.children)) else node
    parts: list[Node] = []
    opened: set[Node] = set()  # what stands twice adds nothing, and shared parts stand in very many places
    stack = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if type(child) is type(node):
            if child not in opened:
                opened.add(child)
                stack.extend(reversed(child.children))
        else:
            parts.append(child)
    plain = len(parts) > 1 and tuple(parts) == node.children and len(set(parts)) == len(parts)
    return node if plain else joined(type(node), parts)


def nested_alike(roots: Iterable[Node]) -> set[Node]:
    """The connectives all of whose parents are the same connective: their uppermost one is flattened, not they."""
    order = topological(roots)
    parents: dict[Node, set[type[Node]]] = {root: {Node} for root in roots}
    for node in order:
        for child in node.children:
            parents.setdefault(child, set()).add(type(node))
    return {node for node in order if node.family is Family.BOOLEAN and parents[node] == {type(node)}}


def _share_bits(children: tuple[Node, ...]) -> bool:
    from rulekit.graph.probability.compilation import hidden_bits

    found = [set(hidden_bits(child)) for child in children]
    return len(set().union(*found)) < sum(map(len, found))


def degenerate_at_least(node: Node, context: Context) -> Node:
    """AtLeast(1, ...) = Or(...), AtLeast(n, ...) = And(...); a child and its contrary count one together."""
    if not isinstance(node, AtLeast) or node.family is not Family.BOOLEAN:
        return node
    k, children = node.k, list(node.children)
    position = {child: i for i, child in enumerate(children)}
    paired: set[int] = set()
    if len(children) <= 256:
        for i, child in enumerate(children):
            simple = not child.children or isinstance(child, Not)
            other = position.get(negate(child, context.schema)) if simple else None
            if other is not None and i not in paired and other not in paired and other != i:
                paired |= {i, other}
                k -= 1
    children = [child for i, child in enumerate(children) if i not in paired]
    if k <= 0 or k > len(children):
        return TRUE if k <= 0 else FALSE
    if k == 1:
        return joined(Or, children)
    if k == len(children):
        return joined(And, children)
    return AtLeast(k, tuple(children)) if paired else node
