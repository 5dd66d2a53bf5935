"""Passes over a read-once tree for many cells at once, compiled: the lines of moves.

The formulas are those of rulekit.learners.cnll.formula.read_once, which the numpy twins here call; the compiled loops
make the same operations in the same order, cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree
from rulekit.learners.counting.compiling import compiled
from rulekit.learners.counting.histograms import Bools, Floats, Ints

_OPERATORS = {"bit": 0, "and": 1, "or": 2}


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """A tree as arrays: order (parents first), operator, bit, and the children of node i from starts[i] on; parent."""

    order: Ints
    operator: Ints
    bit: Ints
    starts: Ints
    children: Ints
    parent: Ints
    root: int


def flatten(tree: ReadOnceTree) -> FlatTree:
    """The arrays of a tree; made once for each tree as it is."""
    if isinstance(tree.flat, FlatTree):
        return tree.flat
    counts = [len(below) for below in tree.children]
    tree.flat = flat = FlatTree(
        np.array(tree.order(), dtype=np.int64),
        np.array([_OPERATORS[operator] for operator in tree.operator], dtype=np.int64),
        np.array(tree.bit, dtype=np.int64),
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        np.array([child for below in tree.children for child in below], dtype=np.int64),
        np.array(tree.parent, dtype=np.int64),
        tree.root,
    )
    return flat


def cell_lines(
    tree: ReadOnceTree, strengths: tuple[Floats, Floats], pattern: Bools, moves: list[Move]
) -> tuple[Floats, Floats, Floats]:
    """U and V [C, M]: the probability of a cell after a move is U + V a; and the probability [C] as it is.

    strengths: alpha and beta [T] of the bits; pattern [C, T]: which conditions hold in a cell.
    """
    kernel = compiled(_cell_lines)
    if kernel is None or tree.root < 0:
        alpha, beta = strengths
        bits = np.where(pattern.T, alpha[:, None], beta[:, None])
        p = tree.probabilities(bits) if tree.root >= 0 else np.zeros((0, len(pattern)))
        u, v = tree.lines(moves, p, tree.derivatives(p))
        whole = p[tree.root] if tree.root >= 0 else np.zeros(len(pattern))
        return np.ascontiguousarray(u.T), np.ascontiguousarray(v.T), whole
    flat = flatten(tree)
    u, v = np.empty((len(pattern), len(moves))), np.empty((len(pattern), len(moves)))
    whole = np.empty(len(pattern))
    operators = np.array([_OPERATORS[move.operator] for move in moves], dtype=np.int64)
    nodes = np.array([move.node for move in moves], dtype=np.int64)
    kernel(
        flat.order,
        flat.operator,
        flat.bit,
        flat.starts,
        flat.children,
        flat.root,
        *strengths,
        pattern,
        operators,
        nodes,
        u,
        v,
        whole,
    )
    return u, v, whole


def _cell_lines(
    order: Any,
    operator: Any,
    bit: Any,
    starts: Any,
    children: Any,
    root: int,
    alpha: Any,
    beta: Any,
    pattern: Any,
    move_operator: Any,
    move_node: Any,
    u: Any,
    v: Any,
    wholes: Any,
) -> None:
    n_nodes = len(operator)
    p, d, after = np.empty(n_nodes), np.empty(n_nodes), np.empty(len(children) + 1)
    for cell in range(len(pattern)):
        for i in range(len(order) - 1, -1, -1):
            node = order[i]
            if bit[node] >= 0:
                p[node] = alpha[bit[node]] if pattern[cell, bit[node]] else beta[bit[node]]
                continue
            product = 1.0
            if operator[node] == 1:
                for e in range(starts[node], starts[node + 1]):
                    product = product * p[children[e]]
                p[node] = product
            else:
                for e in range(starts[node], starts[node + 1]):
                    product = product * (1.0 - p[children[e]])
                p[node] = 1.0 - product
        d[root] = 1.0
        for i in range(len(order)):
            node = order[i]
            low, high = starts[node], starts[node + 1]
            if low == high:
                continue
            both = operator[node] == 1
            after[high - 1] = 1.0
            for e in range(high - 1, low, -1):
                c = p[children[e]]
                after[e - 1] = after[e] * (c if both else 1.0 - c)
            before = 1.0
            for e in range(low, high):
                c = p[children[e]]
                d[children[e]] = d[node] * before * after[e]
                before = before * (c if both else 1.0 - c)
        whole = p[root]
        wholes[cell] = whole
        for m in range(len(move_node)):
            node = move_node[m]
            if node < 0:
                u[cell, m] = 0.0
                v[cell, m] = 1.0
            elif move_operator[m] == 2:
                u[cell, m] = whole
                v[cell, m] = d[node] * (1.0 - p[node])
            elif move_operator[m] == 1:
                u[cell, m] = whole - d[node] * p[node]
                v[cell, m] = d[node] * p[node]
            else:
                u[cell, m] = whole - d[node] * p[node]
                v[cell, m] = d[node]
