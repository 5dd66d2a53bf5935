"""Goals: per column, which pool values make a chosen part of the graph true (or false).

Random cells almost never satisfy a conjunction of several literals; rows that do, with one cell moved to a boundary,
are where a wrong artifact shows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from rulekit.graph.nodes import (
    LEAVES,
    And,
    AtLeast,
    Family,
    Hidden,
    Linear,
    LinearThreshold,
    Logistic,
    Node,
    Not,
    Odd,
    Or,
    Probability,
)
from rulekit.graph.rule_graph import RuleGraph

Mask = npt.NDArray[np.bool_]
Goal = dict[str, Mask]

MAX_STEPS = 2_000  # of one goal, so that a huge graph costs no more than a large one


def draw_goals(graph: RuleGraph, truth: Mapping[Node, Mask], count: int, rng: np.random.Generator) -> tuple[Goal, ...]:
    """`count` goals: per column name the pool values that are allowed.

    truth: for every leaf its value on the pool of its column.
    """
    nodes = [node for node in graph.nodes() if node.family in (Family.BOOLEAN, Family.RANDOM)]
    if not nodes:
        return tuple(_goal(graph.roots[0], True, truth, rng) for _ in range(count))
    # Rules stand near the roots, which come last; every node has its turn now and then.
    picks = np.where(rng.random(count) < 0.5, rng.integers(len(nodes), size=count), -1)
    wants = rng.random(count) < 0.75
    roots = graph.roots
    return tuple(
        _goal(roots[i % len(roots)] if pick < 0 else nodes[pick], bool(want), truth, rng)
        for i, (pick, want) in enumerate(zip(picks.tolist(), wants.tolist(), strict=True))
    )


def _goal(root: Node, want: bool, truth: Mapping[Node, Mask], rng: np.random.Generator) -> Goal:
    goal: Goal = {}
    stack = [(root, want)]
    for _ in range(MAX_STEPS):
        if not stack:
            break
        node, wanted = stack.pop()
        if isinstance(node, LEAVES):
            _restrict(goal, node.feature, truth[node] == wanted)
        else:
            stack.extend(_subgoals(node, wanted, rng))
    return goal


def _restrict(goal: Goal, feature: str, allowed: Mask) -> None:
    """A condition that contradicts an earlier one is left out."""
    both = allowed & goal[feature] if feature in goal else allowed
    if both.any():
        goal[feature] = both


def _subgoals(node: Node, wanted: bool, rng: np.random.Generator) -> list[tuple[Node, bool]]:
    children = node.children
    if not children:
        return []
    if isinstance(node, Not):
        return [(children[0], not wanted)]
    if isinstance(node, Linear | LinearThreshold):
        pairs = zip(node.weights, children, strict=True)
        return [(child, (weight > 0) == wanted) for weight, child in pairs if rng.random() < 0.7]
    if isinstance(node, Hidden | Probability | Logistic):
        return [(children[0], wanted)]
    if isinstance(node, Odd):
        truths = rng.random(len(children)) < 0.5
        truths[0] ^= bool(truths.sum() % 2) != wanted
        return list(zip(children, truths.tolist(), strict=True))
    if isinstance(node, And | Or | AtLeast):
        needed = _needed(node, wanted)
        chosen = rng.permutation(len(children))[: max(0, min(needed, len(children)))]
        return [(children[i], wanted) for i in chosen.tolist()]
    return [(child, wanted) for child in children]


def _needed(node: And | Or | AtLeast, wanted: bool) -> int:
    """How many children must be `wanted` for the node to be."""
    n = len(node.children)
    k = node.k if isinstance(node, AtLeast) else n if isinstance(node, And) else 1
    return k if wanted else n - k + 1
