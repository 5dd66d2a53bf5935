"""The read-once tree of a noisy-logical formula: each hidden bit stands in it once.

So the probability of the formula is one upward pass of products, and a downward pass gives its derivative with
respect to every node, from which each way to add, replace or refit a bit is read off:

    N and H:   P' = (P - v c) + (v c) a          N or H:   P' = P + v (1 - c) a          bit h:   P' = (P - v h) + v a

with c the probability of node N, v = dP/dc and a the strength of the bit. Shapes: C cells, T bits, M moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled

Operator = Literal["and", "or", "bit"]


@dataclass(frozen=True, slots=True)
class Move:
    """A way to change the formula: join a new bit to `node` by "and" or "or", or put it in the place of a "bit"."""

    operator: Operator
    node: int


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


_OPERATORS = {"bit": 0, "and": 1, "or": 2}


@dataclass(slots=True)
class ReadOnceTree:
    """Nodes by number: a bit has `bit` >= 0 and no children, a gate has `bit` -1, its operator and its children.

    `clauses` are the nodes that algorithm II extends: conjunctions, or disjunctions where the formula is `dual`.
    """

    operator: list[Operator] = field(default_factory=list)
    bit: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    root: int = -1
    clauses: list[int] = field(default_factory=list)
    dual: bool = False
    _flat: FlatTree | None = field(default=None, repr=False, compare=False)

    @property
    def flat(self) -> FlatTree:
        """The tree as arrays; made once for each tree as it is."""
        if self._flat is None:
            counts = [len(below) for below in self.children]
            leaves = [node for _, node in sorted((bit, node) for node, bit in enumerate(self.bit) if bit >= 0)]
            self._flat = FlatTree(
                np.array(self.order(), dtype=np.int64),
                np.array([_OPERATORS[operator] for operator in self.operator], dtype=np.int64),
                np.array(self.bit, dtype=np.int64),
                np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
                np.array([child for below in self.children for child in below], dtype=np.int64),
                np.array(self.parent, dtype=np.int64),
                np.array(leaves, dtype=np.int64),
                self.root,
            )
        return self._flat

    def copy(self) -> ReadOnceTree:
        return ReadOnceTree(
            list(self.operator),
            list(self.bit),
            [list(c) for c in self.children],
            list(self.parent),
            self.root,
            list(self.clauses),
            self.dual,
        )

    def __len__(self) -> int:
        return len(self.bit)

    def node_of_bit(self, bit: int) -> int:
        return self.bit.index(bit)

    def order(self) -> list[int]:
        """All nodes, parents before children."""
        found = [self.root] if self.root >= 0 else []
        for node in found:
            found.extend(self.children[node])
        return found

    def join(self, move: Move, bit: int) -> None:
        """Put a new bit into the tree; a gate of the same operator takes it as one more child."""
        self._flat = None
        leaf = self.add_node("bit", bit, move.node)
        if self.root < 0:
            self.root, self.parent[leaf] = leaf, -1
            self.clauses.append(leaf)
            return
        node, at_root = move.node, move.node == self.root
        if self.operator[node] == move.operator:
            self.children[node].append(leaf)
            gate = node
        else:
            gate = self.add_node(move.operator, -1, self.parent[node])
            self.children[gate] = [node, leaf]
            self.parent[node] = self.parent[leaf] = gate
            if at_root:
                self.root = gate
            else:
                above = self.children[self.parent[gate]]
                above[above.index(node)] = gate
        self._follow_clauses(node, gate, leaf, at_root, move.operator)

    def _follow_clauses(self, node: int, gate: int, leaf: int, at_root: bool, operator: Operator) -> None:
        """Keep track of the clauses: a new clause joins at the root, a longer one becomes its gate."""
        if node in self.clauses and operator == self.inner:
            self.clauses[self.clauses.index(node)] = gate
        elif at_root and operator != self.inner:
            self.clauses.append(leaf)

    @property
    def inner(self) -> Operator:
        """What joins the bits of a clause."""
        return "or" if self.dual else "and"

    def add_node(self, operator: Operator, bit: int, parent: int) -> int:
        """A new node that knows its parent, which does not know it yet; its number."""
        self.operator.append(operator)
        self.bit.append(bit)
        self.children.append([])
        self.parent.append(parent)
        return len(self.bit) - 1

    def probabilities(self, bits: Floats) -> Floats:
        """The probability [nodes, C] of every node, from those of the bits [T, C]."""
        p = np.empty((len(self), bits.shape[1]))
        for node in reversed(self.order()):
            if self.bit[node] >= 0:
                p[node] = bits[self.bit[node]]
                continue
            product = np.ones(bits.shape[1])
            for child in self.children[node]:
                product = product * (p[child] if self.operator[node] == "and" else 1.0 - p[child])
            p[node] = product if self.operator[node] == "and" else 1.0 - product
        return p


FIRST = Move("bit", -1)


def growth_moves(tree: ReadOnceTree, algorithm: str) -> list[Move]:
    """Where the algorithm may join the next bit, in the order in which ties are broken.

    I: the root, by or and and (Fig. 3). II: any clause, all clauses, a new clause (Fig. 4); its dual where the formula
    began as a conjunction. tree: any node, without the joins that only repeat one at the parent.
    """
    if tree.root < 0:
        return [FIRST]
    if algorithm == "I":
        return [Move("or", tree.root), Move("and", tree.root)]
    inner: Operator = tree.inner
    outer: Operator = "and" if inner == "or" else "or"
    if algorithm == "II":
        moves = [Move(inner, clause) for clause in tree.clauses]
        if len(tree.clauses) > 1:
            moves.append(Move(inner, tree.root))
        return [*moves, Move(outer, tree.root)]
    moves = []
    for node in tree.order():
        above = tree.operator[tree.parent[node]] if tree.parent[node] >= 0 else "bit"
        moves.extend(Move(operator, node) for operator in ("and", "or") if operator != above)
    return moves


def cell_lines(
    tree: ReadOnceTree, strengths: tuple[Floats, Floats], pattern: Bools, moves: list[Move]
) -> tuple[Floats, Floats, Floats]:
    """U and V [C, M]: the probability of a cell after a move is U + V a; and the probability [C] as it is.

    strengths: alpha and beta [T] of the bits; pattern [C, T]: which conditions hold in a cell.
    """
    u, v, whole = np.zeros((len(pattern), len(moves))), np.ones((len(pattern), len(moves))), np.zeros(len(pattern))
    if tree.root >= 0:
        operators = np.array([_OPERATORS[move.operator] for move in moves], dtype=np.int64)
        nodes = np.array([move.node for move in moves], dtype=np.int64)
        _cell_lines(tree.flat, *strengths, pattern, operators, nodes, u, v, whole)
    return u, v, whole


@compiled
def _cell_lines(
    tree: Any, alpha: Any, beta: Any, pattern: Any, move_operator: Any, move_node: Any, u: Any, v: Any, wholes: Any
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
        wholes[cell] = whole
        for m in range(len(move_node)):
            node = move_node[m]
            if node < 0:
                continue  # the first bit of all: U = 0, V = 1
            c, slope = p[node], d[node]
            if move_operator[m] == 2:
                u[cell, m], v[cell, m] = whole, slope * (1.0 - c)
            else:
                u[cell, m], v[cell, m] = whole - slope * c, slope * c if move_operator[m] == 1 else slope
