"""The read-once tree of a noisy-logical formula: each hidden bit stands in it once.

So the probability of the formula is one upward pass of products, and a downward pass gives its derivative with
respect to every node, from which each way to add, replace or refit a bit is read off:

    N and H:   P' = (P - v c) + (v c) a          N or H:   P' = P + v (1 - c) a          bit h:   P' = (P - v h) + v a

with c the probability of node N, v = dP/dc and a the strength of the bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rulekit.learners.counting.histograms import Floats

Operator = Literal["and", "or", "bit"]


@dataclass(frozen=True, slots=True)
class Move:
    """A way to change the formula: join a new bit to `node` by "and" or "or", or put it in the place of a "bit"."""

    operator: Operator
    node: int


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
    flat: Any = field(default=None, repr=False, compare=False)
    """The tree as arrays (tree_kernels.FlatTree), once these were asked for; None again when a bit joins."""

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
        self.flat = None
        leaf = self._add("bit", bit, move.node)
        if self.root < 0:
            self.root, self.parent[leaf] = leaf, -1
            self.clauses.append(leaf)
            return
        node, at_root = move.node, move.node == self.root
        if self.operator[node] == move.operator:
            self.children[node].append(leaf)
            gate = node
        else:
            gate = self._add(move.operator, -1, self.parent[node])
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

    def _add(self, operator: Operator, bit: int, parent: int) -> int:
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

    def derivatives(self, p: Floats) -> Floats:
        """The derivative dP / dp [nodes, C] of the root's probability, by products of the siblings on either side."""
        v = np.empty_like(p)
        if self.root >= 0:
            v[self.root] = 1.0
        for node in self.order():
            below = self.children[node]
            factors = [p[child] if self.operator[node] == "and" else 1.0 - p[child] for child in below]
            before = np.ones(p.shape[1])
            after = [before] * len(below)
            for i in range(len(below) - 1, 0, -1):
                after[i - 1] = after[i] * factors[i]
            for child, factor, rest in zip(below, factors, after, strict=True):
                v[child] = v[node] * before * rest
                before = before * factor
        return v

    def lines(self, moves: list[Move], p: Floats, v: Floats) -> tuple[Floats, Floats]:
        """U and V [M, C] of each move: the probability after it is U + V a."""
        count = p.shape[1]
        u, slope = np.empty((len(moves), count)), np.empty((len(moves), count))
        whole = p[self.root] if self.root >= 0 else np.zeros(count)
        for i, move in enumerate(moves):
            if move.node < 0:
                u[i], slope[i] = 0.0, 1.0
                continue
            c, d = p[move.node], v[move.node]
            if move.operator == "or":
                u[i], slope[i] = whole, d * (1.0 - c)
            elif move.operator == "and":
                u[i], slope[i] = whole - d * c, d * c
            else:
                u[i], slope[i] = whole - d * c, d
        return u, slope


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
