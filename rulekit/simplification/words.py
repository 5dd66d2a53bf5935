"""Laws of the words of a text: conditions on one text that stand in one conjunction or disjunction are one.

A condition implies another on the same text where its tokens are among the other's, and the other holds on missing
texts if it does.
"""

from __future__ import annotations

from collections.abc import Iterable

from rulekit.graph.nodes import And, Contains, Node, Not, Or
from rulekit.simplification.rewriting import Context, joined


def merge_words(node: Node, context: Context) -> Node:
    """Contains a or contains b = contains any of a, b; not a and not b likewise; what another part implies falls away.

    Of `contains a and contains any of {a, b}` the second follows from the first.
    """
    if not isinstance(node, And | Or):
        return node
    either = isinstance(node, Or)
    united: dict[str, list[Contains]] = {}
    apart: dict[str, list[Contains]] = {}
    for child in dict.fromkeys(node.children):
        inner = child.child if isinstance(child, Not) else child
        if isinstance(inner, Contains):
            # under `or` conditions unite, under `and` their contraries do
            place = united if isinstance(child, Not) != either else apart
            place.setdefault(inner.feature, []).append(inner)
    image: dict[Node, Node | None] = {}
    for conditions in united.values():
        first, *others = (_part(condition, not either) for condition in conditions)
        image[first] = _part(_union(conditions), not either)
        image.update(dict.fromkeys(others))
    for conditions in apart.values():
        for one in conditions:
            if any(_implies(other, one) for other in conditions if other is not one):
                image[_part(one, either)] = None
    children = [found for child in node.children if (found := image.get(child, child)) is not None]
    return node if tuple(children) == node.children else joined(type(node), children)


def _part(condition: Contains, negated: bool) -> Node:
    return Not(condition) if negated else condition


def _union(conditions: Iterable[Contains]) -> Contains:
    parts = list(conditions)
    tokens = tuple(token for part in parts for token in part.tokens)
    return Contains(parts[0].feature, tokens, any(part.missing for part in parts))


def _implies(one: Contains, other: Contains) -> bool:
    return set(one.tokens) <= set(other.tokens) and one.missing <= other.missing
