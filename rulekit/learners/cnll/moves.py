"""Where the next bit may join a formula, and what each such move does to its probability.

An upward pass of products gives the probability of every node, and a downward pass its derivative, from which each way
to add or replace a bit is read off:

    N and H:   P' = (P - v c) + (v c) a          N or H:   P' = P + v (1 - c) a          bit h:   P' = (P - v h) + v a

with c the probability of node N, v = dP/dc and a the strength of the bit. Shapes: C cells, T bits, M moves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.models.noisy_formulas import FIRST, Move, Operator, ReadOnceTree
from rulekit.learners.sizes.limits import SizeLimits
from rulekit.learners.sums_of_rows.kernels import compiled

_OPERATORS = {"bit": 0, "and": 1, "or": 2}


class FlatTree(NamedTuple):
    """A tree for kernels: order (parents first), operator, bit, and the children of node i from starts[i] on; parent.

    leaf [T]: the node of each bit.
    """

    order: Ints
    operator: Ints
    bit: Ints
    starts: Ints
    children: Ints
    parent: Ints
    leaf: Ints
    root: int

    @classmethod
    def of(cls, tree: ReadOnceTree) -> FlatTree:
        """The arrays of a tree as it is now."""
        counts = [len(below) for below in tree.children]
        leaves = [node for _, node in sorted((bit, node) for node, bit in enumerate(tree.bit) if bit >= 0)]
        return cls(
            np.array(tree.order(), dtype=np.int64),
            np.array([_OPERATORS[operator] for operator in tree.operator], dtype=np.int64),
            np.array(tree.bit, dtype=np.int64),
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            np.array([child for below in tree.children for child in below], dtype=np.int64),
            np.array(tree.parent, dtype=np.int64),
            np.array(leaves, dtype=np.int64),
            tree.root,
        )


def growth_moves(tree: ReadOnceTree) -> list[Move]:
    """Where the next bit may join, in the order in which ties are broken: any node, by and or by or.

    Joins that only repeat one at the parent are left out.
    """
    if tree.root < 0:
        return [FIRST]
    operators: tuple[Operator, ...] = ("and", "or")
    moves = list[Move]()
    for node in tree.order():
        above = tree.operator[tree.parent[node]] if tree.parent[node] >= 0 else "bit"
        moves.extend(Move(operator, node) for operator in operators if operator != above)
    return moves


def allowed_moves(limits: SizeLimits, tree: ReadOnceTree, moves: list[Move]) -> list[Move]:
    """The moves after which some printed form may still keep to the limits.

    A bit is one literal of the nested form, at least. Its rules are the children of the outermost connective; in
    the disjunctive normal form they are at least as many as the branches below the alternatives of the root.
    """
    if limits.literals is not None and sum(bit >= 0 for bit in tree.bit) >= limits.literals:
        return []
    if limits.clauses is None or tree.root < 0:
        return moves
    return [move for move in moves if _least_rules(tree, move) <= limits.clauses]


def _least_rules(tree: ReadOnceTree, move: Move) -> int:
    """The rules after a move: of the nested form or of the plain disjunctive normal form, whichever has fewer."""
    after = tree.copy()
    after.join(move, sum(bit >= 0 for bit in tree.bit))
    clauses: dict[int, int] = {}
    for node in reversed(after.order()):
        below = [clauses[child] for child in after.children[node]]
        clauses[node] = 1 if after.bit[node] >= 0 else sum(below) if after.operator[node] == "or" else math.prod(below)
    return min(max(1, len(after.children[after.root])), clauses[after.root])


def cell_lines(
    flat: FlatTree, strengths: tuple[Floats, Floats], pattern: Bools, moves: list[Move]
) -> tuple[Floats, Floats]:
    """U and V [C, M]: the probability of a cell after a move is U + V a.

    strengths: alpha and beta [T] of the bits; pattern [C, T]: which conditions hold in a cell.
    """
    u, v = np.zeros((len(pattern), len(moves))), np.ones((len(pattern), len(moves)))
    if flat.root >= 0:
        operators = np.array([_OPERATORS[move.operator] for move in moves], dtype=np.int64)
        nodes = np.array([move.node for move in moves], dtype=np.int64)
        _cell_lines(flat, *strengths, pattern, operators, nodes, u, v)
    return u, v


@compiled
def _cell_lines(
    tree: Any, alpha: Any, beta: Any, pattern: Any, move_operator: Any, move_node: Any, u: Any, v: Any
) -> None:
    n_nodes = len(tree.operator)
    p, d, after = np.empty(n_nodes), np.empty(n_nodes), np.empty(len(tree.children) + 1)
    for cell in range(len(pattern)):
        for i in range(len(tree.order) - 1, -1, -1):
            node = tree.order[i]
            if tree.bit[node] >= 0:
                p[node] = alpha[tree.bit[node]] if pattern[cell, tree.bit[node]] else beta[tree.bit[node]]
                continue
            product = 1.0
            if tree.operator[node] == 1:
                for e in range(tree.starts[node], tree.starts[node + 1]):
                    product = product * p[tree.children[e]]
                p[node] = product
            else:
                for e in range(tree.starts[node], tree.starts[node + 1]):
                    product = product * (1.0 - p[tree.children[e]])
                p[node] = 1.0 - product
        d[tree.root] = 1.0
        for i in range(len(tree.order)):
            node = tree.order[i]
            low, high = tree.starts[node], tree.starts[node + 1]
            if low == high:
                continue
            both = tree.operator[node] == 1
            after[high - 1] = 1.0
            for e in range(high - 1, low, -1):
                c = p[tree.children[e]]
                after[e - 1] = after[e] * (c if both else 1.0 - c)
            before = 1.0
            for e in range(low, high):
                c = p[tree.children[e]]
                d[tree.children[e]] = d[node] * before * after[e]
                before = before * (c if both else 1.0 - c)
        whole = p[tree.root]
        for m in range(len(move_node)):
            node = move_node[m]
            if node < 0:
                continue  # the first bit of all: U = 0, V = 1
            c, slope = p[node], d[node]
            if move_operator[m] == 2:
                u[cell, m], v[cell, m] = whole, slope * (1.0 - c)
            else:
                u[cell, m], v[cell, m] = whole - slope * c, slope * c if move_operator[m] == 1 else slope
