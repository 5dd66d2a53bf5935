"""Walks over directed acyclic graphs, without recursion, and short names of their nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar, overload

from rulekit.graph.nodes import Node

H = TypeVar("H", bound=Hashable)
T = TypeVar("T")


@overload
def topological(roots: Iterable[Node]) -> list[Node]: ...
@overload
def topological(roots: Iterable[H], below: Callable[[H], Sequence[H]]) -> list[H]: ...
def topological(roots: Iterable[Any], below: Callable[[Any], Sequence[Any]] = attrgetter("children")) -> list[Any]:
    """Every node reachable from the roots once, children before parents, in a stable order.

    below: the nodes to go on to from one, in order; the children unless given.
    """
    order: list[Any] = []
    opened: set[Any] = set()
    done: set[Any] = set()
    stack = list(roots)[::-1]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        children = below(node)
        if node in opened or not children:
            done.add(node)
            order.append(node)
        else:
            opened.add(node)
            stack.append(node)
            stack.extend([child for child in reversed(children) if child not in done])
    return order


def fold(roots: Iterable[Node], visit: Callable[[Node, tuple[T, ...]], T]) -> dict[Node, T]:
    """visit(node, results of its children) for every node, children first."""
    results: dict[Node, T] = {}
    for node in topological(roots):
        results[node] = visit(node, tuple(results[child] for child in node.children))
    return results


def short_ids(nodes: Iterable[Node]) -> dict[Node, str]:
    """For each node the shortest prefix, at least six digits, of its hex digest that no other of the nodes has."""
    ordered = sorted(set(nodes), key=lambda node: node.digest)
    names = [node.digest.hex() for node in ordered]
    shared = [0, *(_common(a, b) for a, b in pairwise(names)), 0]
    return {node: names[i][: max(6, shared[i] + 1, shared[i + 1] + 1)] for i, node in enumerate(ordered)}


def _common(a: str, b: str) -> int:
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
