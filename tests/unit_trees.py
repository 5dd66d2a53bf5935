"""A complete tree of Boolean nodes, units or others, in two forms."""

from rulekit.graph.nodes import And, Node, Not, Or


def nested(units: list[Node]) -> Node:
    """A complete tree in heap order as `if unit then right else left`; leaves alternate."""
    parts: dict[int, Node | bool] = {leaf: leaf % 2 == 0 for leaf in range(len(units), 2 * len(units) + 1)}
    for k in reversed(range(len(units))):
        sides = [(units[k], parts[2 * k + 2]), (Not(units[k]), parts[2 * k + 1])]
        held = [unit if side is True else And([unit, side]) for unit, side in sides if side is not False]
        parts[k] = Or(held) if len(held) > 1 else held[0]
    found = parts[0]
    assert isinstance(found, Node)
    return found


def paths(units: list[Node]) -> Node:
    """The same tree as the disjunction of the paths to its positive leaves."""
    found = []
    for leaf in range(len(units), 2 * len(units) + 1):
        node, path = leaf, []
        while node:
            node, right = (node - 1) // 2, node % 2 == 0
            path.append(units[node] if right else Not(units[node]))
        if leaf % 2 == 0:
            found.append(And(path[::-1]))
    return Or(found)
