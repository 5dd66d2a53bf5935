"""The decision diagram of a connective whose children share hidden bits, over the region of nodes below it.

Its variables are Boolean nodes, hidden bits and modules: subformulas that contain every occurrence of each of their
hidden bits.

A module is one random bit to all that stands above it, so an exact probability may treat it as a variable. A node is a
module if every path from the roots to its hidden bits leads through it: no node below it has a parent that is neither
the node itself nor below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rulekit.errors import BudgetError
from rulekit.graph.nodes import Family, Hidden, Node, Not
from rulekit.graph.probability.decision_diagram import Diagram
from rulekit.graph.traversal import topological

_FIRST_BOUND = 20_000


def modules_below(roots: Sequence[Node]) -> frozenset[Node]:
    """The connectives at or below `roots` that contain all occurrences, below the roots, of their hidden bits."""
    order = topological(_random(roots), _parts)
    place = {node: i for i, node in enumerate(order)}
    # sets of nodes as the bits of integers: the parents of each node, all nodes below it and all parents of those
    top = set(roots)
    parents = [1 << len(order) if node in top else 0 for node in order]
    for i, node in enumerate(order):
        for child in _parts(node):
            parents[place[child]] |= 1 << i
    below, parents_below = [0] * len(order), [0] * len(order)
    modules = []
    for i, node in enumerate(order):
        for j in (place[child] for child in _parts(node)):
            below[i] |= below[j] | 1 << j
            parents_below[i] |= parents_below[j] | parents[j]
        if not isinstance(node, Hidden) and not parents_below[i] & ~(below[i] | 1 << i):
            modules.append(node)
    return frozenset(modules)


def _parts(node: Node) -> Sequence[Node]:
    return () if isinstance(node, Hidden) else _random(node.children)


def _random(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.family is Family.RANDOM]


def is_random_logic(node: Node) -> bool:
    """Whether a node is a connective with a random child (not a hidden bit itself)."""
    return node.family is Family.RANDOM and not isinstance(node, Hidden)


@dataclass(frozen=True, slots=True)
class _Region:
    """The nodes of a group of children, each after its children, and those of them that are variables."""

    order: tuple[Node, ...]
    variables: tuple[Node, ...]


def _region(children: Sequence[Node], modules: frozenset[Node]) -> _Region:
    """The nodes of a group down to its variables, from left to right."""

    def is_variable(node: Node) -> bool:
        """A negation of a Boolean node is looked into: the node and its contrary are one variable."""
        return node in modules or not (is_random_logic(node) or isinstance(node, Not))

    order = topological(children, lambda node: () if is_variable(node) else node.children)
    return _Region(tuple(order), tuple(filter(is_variable, order)))


def diagram_of(
    connective: type[Node], k: int, children: Sequence[Node], max_nodes: int
) -> tuple[Diagram, int, tuple[Node, ...]]:
    """A decision diagram of a connective over the region below it, its root edge and its variables from the top.

    The variables stand in the order of their first occurrence; where that needs too many nodes, nearest to the root
    first, which is far smaller for deep formulas that come back to the same few bits. Small bounds are tried first.
    """
    region = _region(children, modules_below(children))
    first = max(_FIRST_BOUND, 16 * len(region.order))
    for bound in dict.fromkeys((min(first, max_nodes), max_nodes)):
        for variables in (region.variables, _nearest_first(region, children)):
            diagram = Diagram(bound)
            edges = {node: diagram.variable(level) for level, node in enumerate(variables)}
            try:
                for node in region.order:
                    if node not in edges:
                        parts = [edges[child] for child in node.children]
                        edges[node] = diagram.connected(type(node), getattr(node, "k", 0), parts)
                return diagram, diagram.connected(connective, k, [edges[child] for child in children]), variables
            except BudgetError as error:
                exceeded = error
    raise exceeded


def _nearest_first(region: _Region, children: Sequence[Node]) -> tuple[Node, ...]:
    """The variables of a region, breadth first from the children of the group."""
    known, variables = set(region.order), set(region.variables)
    found = dict.fromkeys(children)
    layer = list(found)
    while layer:
        below = dict.fromkeys(child for node in layer if node not in variables for child in node.children)
        layer = [node for node in below if node in known and node not in found]
        found.update(dict.fromkeys(layer))
    return tuple(node for node in found if node in variables)
