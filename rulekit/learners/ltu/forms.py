"""A tree of units as logic, exactly: as the DNF of its paths, nested along its branches, and back.

The network of three layers that a tree is (Sahami, "Creating Networks From LTU Trees") is that DNF: its conjunctions
are the second layer, one for each unit without a right child, and their or is the third. No two of them hold at once.
The contrary of a tree stands under a `Not`: turning each unit round would answer differently where its sum is 0.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from rulekit.errors import GraphError
from rulekit.graph.nodes import And, Node, Not, Or
from rulekit.graph.traversal import topological
from rulekit.learners.counting.histograms import Ints
from rulekit.learners.ltu.shape import NONE, Shape

Literal = tuple[Node, bool]
"""A unit, and whether it must fire."""


def dnf_of_paths(shape: Shape, units: Sequence[Node]) -> Node:
    """The or of the conjunctions of all paths that are answered by yes; units [m]: any Boolean nodes."""
    gates = []
    for signs in shape.gates:
        own = [units[k] if signs[k] > 0 else Not(units[k]) for k in np.flatnonzero(signs).tolist()]
        gates.append(own[0] if len(own) == 1 else And(own))
    return gates[0] if len(gates) == 1 else Or(gates)


def nested(shape: Shape, units: Sequence[Node]) -> Node:
    """(unit and what follows on the right) or (not unit and what follows on the left), from the root down.

    Where nothing follows on the right, "unit or what follows on the left" says the same, and is shorter.
    """
    below: list[Node] = list(units)
    for k in reversed(range(shape.size)):  # children come after their parents
        unit, left, right = units[k], int(shape.left[k]), int(shape.right[k])
        if right == NONE:
            below[k] = unit if left == NONE else Or([unit, below[left]])
        else:
            yes = And([unit, below[right]])
            below[k] = yes if left == NONE else Or([yes, And([Not(unit), below[left]])])
    return below[0]


def shape_of_gates(gates: Ints) -> tuple[Shape, Ints]:
    """The tree whose conjunctions are the rows of `gates` [k, m], and which column each of its units is.

    1 where a unit must fire, -1 where it must not. The root is the first unit that all of them read, and so on below
    it, each way. Units are in the order of their columns as far as a child comes after its parent, so that the gates
    of a shape give that shape again.
    Raises GraphError where the conjunctions are no paths of a tree.
    """
    columns, left, right = list[int](), list[int](), list[int]()
    waiting: list[tuple[int, int, bool, Ints]] = []

    def add(rows: Ints, parent: int, on_right: bool) -> None:
        common = np.flatnonzero((rows != 0).all(axis=0))
        if not len(common):
            raise GraphError("these conjunctions read no unit in common, so that they are no paths of a tree")
        heapq.heappush(waiting, (int(common[0]), parent, on_right, rows))

    add(gates.copy(), NONE, False)
    while waiting:
        column, parent, on_right, rows = heapq.heappop(waiting)
        unit = len(columns)
        if parent != NONE:
            (right if on_right else left)[parent] = unit
        columns.append(column)
        left.append(NONE)
        right.append(NONE)
        for on_right, side in ((False, rows[rows[:, column] < 0]), (True, rows[rows[:, column] > 0])):
            side[:, column] = 0
            ends = ~side.any(axis=1)
            if ends.any() and (len(side) > 1 or not on_right):
                raise GraphError("these conjunctions are no paths of a tree, as one ends where another goes on")
            if len(side) and not ends.any():
                add(side, unit, on_right)
    return Shape.of(left, right), np.array(columns)


def tree_of_formula(formula: Node, units: Collection[Node] | None = None) -> tuple[Shape, list[Node]]:
    """The tree of a formula that `dnf_of_paths` or `nested` has made, and the nodes of its units.

    units: the nodes that are units, without which whatever is no And, Or or Not is one. A node may stand in several
    places of the tree and is then several units.
    Raises GraphError where the formula is not made so.
    """
    return _tree_of_paths(_paths(formula, None if units is None else frozenset(units)))


def _paths(formula: Node, units: frozenset[Node] | None) -> list[tuple[Literal, ...]]:
    """The conjunctions of a formula, their literals in order."""

    def is_unit(node: Node) -> bool:
        return not isinstance(node, (And, Or, Not)) if units is None else node in units

    def below(node: Node) -> tuple[Node, ...]:
        return () if is_unit(node) else node.children

    found: dict[Node, list[tuple[Literal, ...]]] = {}
    for node in topological([formula], below):
        if is_unit(node):
            found[node] = [((node, True),)]
        elif isinstance(node, Not) and is_unit(node.child):
            found[node] = [((node.child, False),)]
        elif isinstance(node, Or) and node.children:
            first, *others = (found[child] for child in node.children)
            following = [path for paths in others for path in paths]
            if len(first) == 1 and len(first[0]) == 1 and first[0][0][1]:
                # A unit alone: what stands beside it is for rows on which it does not fire.
                contrary = (first[0][0][0], False)
                if all(path[0] != contrary for path in following):
                    following = [(contrary, *path) for path in following]
            found[node] = [*first, *following]
        elif isinstance(node, And) and node.children and all(len(found[c]) == 1 for c in node.children[:-1]):
            before = tuple(literal for child in node.children[:-1] for literal in found[child][0])
            found[node] = [before + path for path in found[node.children[-1]]]
        else:
            raise GraphError(
                "this formula is no tree of units: it is not an or of conjunctions of units and of their contraries"
            )
    return found[formula]


def _tree_of_paths(paths: list[tuple[Literal, ...]]) -> tuple[Shape, list[Node]]:
    """The tree whose root is the first literal of all paths, and so on below it, each way."""
    units, left, right = list[Node](), list[int](), list[int]()
    waiting = [(paths, 0, NONE, False)]
    while waiting:
        own, depth, parent, on_right = waiting.pop()
        root = own[0][depth][0]
        sides: dict[bool, list[tuple[Literal, ...]]] = defaultdict(list)
        for path in own:
            node, fires = path[depth]
            if node is not root:
                raise GraphError("this formula is no tree of units: its paths do not begin with the same one")
            sides[fires].append(path)
        unit = len(units)
        if parent != NONE:
            (right if on_right else left)[parent] = unit
        units.append(root)
        left.append(NONE)
        right.append(NONE)
        for fires, side in sides.items():
            n_ends = sum(len(path) == depth + 1 for path in side)
            if n_ends and (len(side) > 1 or not fires):
                raise GraphError("this formula is no tree of units: a path ends where another goes on")
            if not n_ends:
                waiting.append((side, depth + 1, unit, fires))
    return Shape.of(left, right), units
