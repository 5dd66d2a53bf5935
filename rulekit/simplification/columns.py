"""Laws of formulas over one column: intervals and level sets are merged, cell by cell."""

from __future__ import annotations

from rulekit.graph.nodes import FALSE, TRUE, And, Family, Node, Or
from rulekit.simplification.rewriting import Context, joined


def canonical_single(node: Node, context: Context) -> Node:
    """A formula that reads one column is the shortest formula of its cells: x > 1 or x > 3 is x > 1."""
    if node.family is not Family.BOOLEAN:
        return node
    single = context.single(node)
    if single is None:
        return node
    simplest = context.formula(*single)
    return simplest if context.literals(simplest) <= context.literals(node) else node


def merge_columns(node: Node, context: Context) -> Node:
    """The parts of And (or Or) that read the same column are one set of cells: (x > 1 and x > 3) is x > 3."""
    if not isinstance(node, And | Or) or node.family is not Family.BOOLEAN:
        return node
    conjunction = isinstance(node, And)
    together: dict[str, int] = {}
    members: dict[str, list[Node]] = {}
    for child in dict.fromkeys(node.children):
        single = context.single(child)
        if single is None or (name := single[0]) is None:
            continue
        mask = single[1]
        before = together.get(name)
        together[name] = mask if before is None else before & mask if conjunction else before | mask
        members.setdefault(name, []).append(child)
    replaced: dict[Node, tuple[Node, ...]] = {}
    for name, parts in members.items():
        if len(parts) < 2:
            continue
        merged = context.formula(name, together[name])
        if merged is (FALSE if conjunction else TRUE):
            return merged
        pieces = merged.children if type(merged) is type(node) else (merged,)
        old, new = sum(map(context.literals, parts)), sum(map(context.literals, pieces))
        if set(pieces) == set(parts) or new > old:
            continue
        replaced[parts[0]] = pieces
        replaced.update(dict.fromkeys(parts[1:], ()))
    if not replaced:
        return node
    return joined(type(node), (piece for child in node.children for piece in replaced.get(child, (child,))))
