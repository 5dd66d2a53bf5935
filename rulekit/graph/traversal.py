"""Walks over the directed acyclic graph, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from rulekit.graph.nodes import Node

T = TypeVar("T")


def topological(roots: Iterable[Node]) -> list[Node]:
    """Every node reachable from the roots once, children before parents, in a stable order."""
    order: list[Node] = []
    done: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, children_done = stack.pop()
        if node in done:
            continue
        if children_done:
            done.add(node)
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children) if child not in done)
    return order


def fold(roots: Iterable[Node], visit: Callable[[Node, tuple[T, ...]], T]) -> dict[Node, T]:
    """visit(node, results of its children) for every node, children first."""
    results: dict[Node, T] = {}
    for node in topological(roots):
        results[node] = visit(node, tuple(results[child] for child in node.children))
    return results
