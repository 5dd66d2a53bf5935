"""Modules of a random formula: subformulas that contain every occurrence of each of their hidden bits.

A module is one random bit to all that stands above it, so an exact probability may treat it as a variable. A node is a
module if it dominates its hidden bits (every path from the root to them leads through it); dominators of an acyclic
graph come from one pass, parents first, with the nearest common dominator found by jump pointers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rulekit.graph.nodes import Family, Hidden, Node
from rulekit.graph.traversal import topological


def modules_below(roots: Sequence[Node], masks: Mapping[Node, int]) -> frozenset[Node]:
    """The connectives at or below `roots` that contain all occurrences, below the roots, of their hidden bits.

    masks: the hidden bits of each node as the bits of an integer.
    """
    order = _parents_first(roots)
    parents: dict[Node, list[int]] = {node: [] for node in order}
    for root in roots:
        if root in parents:
            parents[root].append(0)
    tree = _DominatorTree()
    number: dict[Node, int] = {}
    for node in order:
        number[node] = tree.add(parents[node])
        if not isinstance(node, Hidden):
            for child in node.children:
                if child in parents:
                    parents[child].append(number[node])
    held = [0] * len(tree)
    modules = []
    for node in reversed(order):
        i = number[node]
        if isinstance(node, Hidden):
            held[i] = 1
        elif held[i] == masks[node].bit_count():
            modules.append(node)
        held[tree.dominator[i]] += held[i]
    return frozenset(modules)


def _parents_first(roots: Sequence[Node]) -> list[Node]:
    """The random nodes at or below `roots`, each after all its parents."""

    def below(node: Node) -> Sequence[Node]:
        return () if isinstance(node, Hidden) else _random(reversed(node.children))

    return topological(_random(reversed(roots)), below)[::-1]


def _random(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.family is Family.RANDOM]


class _DominatorTree:
    """The tree of immediate dominators; 0 is the common root of all."""

    def __init__(self) -> None:
        self.dominator = [0]
        self._depth = [0]
        self._jump = [0]

    def __len__(self) -> int:
        return len(self.dominator)

    def add(self, parents: Sequence[int]) -> int:
        """A new node below its parents, all of which are in the tree."""
        above = parents[0]
        for parent in parents[1:]:
            above = self._common(above, parent)
        jump = self._jump[above]
        far = self._jump[jump]
        even = self._depth[above] - self._depth[jump] == self._depth[jump] - self._depth[far]
        self.dominator.append(above)
        self._depth.append(self._depth[above] + 1)
        self._jump.append(far if even else above)
        return len(self.dominator) - 1

    def _common(self, a: int, b: int) -> int:
        if self._depth[a] > self._depth[b]:
            a, b = b, a
        while self._depth[b] > self._depth[a]:
            b = self._jump[b] if self._depth[self._jump[b]] >= self._depth[a] else self.dominator[b]
        while a != b:
            if self._jump[a] != self._jump[b]:
                a, b = self._jump[a], self._jump[b]
            else:
                a, b = self.dominator[a], self.dominator[b]
        return a
