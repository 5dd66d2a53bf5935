"""Modules of a random formula: subformulas that contain every occurrence of each of their hidden bits.

A module is one random bit to all that stands above it, so an exact probability may treat it as a variable. A node is a
module if every path from the roots to its hidden bits leads through it: no node below it has a parent that is neither
the node itself nor below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rulekit.graph.nodes import Family, Hidden, Node
from rulekit.graph.traversal import topological


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
