"""A noisy formula as a model: a tree in which each hidden bit stands once, and the Boolean rule that it decides by.

A hidden bit fires with probability alpha where its condition holds, else with beta. Each bit stands in the tree once.
So given a row the bits are independent, and the probability of the formula is one upward pass of products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import TRUE, Above, And, Hidden, Node, Or, Probability
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import condition_node
from rulekit.learners.promises.kept import clauses_of
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.numbers import short_probability, strength_of

Operator = Literal["and", "or", "bit"]


@dataclass(frozen=True, slots=True)
class Move:
    """A way to change the formula: join a new bit to `node` by "and" or "or", or put it in the place of a "bit"."""

    operator: Operator
    node: int


FIRST = Move("bit", -1)


@dataclass(slots=True)
class ReadOnceTree:
    """Nodes by number: a bit has `bit` >= 0 and no children, a gate has `bit` -1, its operator and its children."""

    operator: list[Operator] = field(default_factory=list)
    bit: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    root: int = -1

    def copy(self) -> ReadOnceTree:
        """The same tree, which can change by itself."""
        below = [list(children) for children in self.children]
        return ReadOnceTree(list(self.operator), list(self.bit), below, list(self.parent), self.root)

    def __len__(self) -> int:
        return len(self.bit)

    def node_of_bit(self, bit: int) -> int:
        """The leaf in which a bit stands."""
        return self.bit.index(bit)

    def order(self) -> list[int]:
        """All nodes, parents before children."""
        found = [self.root] if self.root >= 0 else []
        for node in found:
            found.extend(self.children[node])
        return found

    def join(self, move: Move, bit: int) -> int:
        """Put a new bit into the tree; a gate of the same operator takes it as one more child. Returns the gate."""
        node = move.node
        leaf = self.add_node("bit", bit, node)
        if self.root < 0:
            self.root, self.parent[leaf] = leaf, -1
            return leaf
        if self.operator[node] == move.operator:
            self.children[node].append(leaf)
            return node
        gate = self.add_node(move.operator, -1, self.parent[node])
        self.children[gate] = [node, leaf]
        self.parent[node] = self.parent[leaf] = gate
        if node == self.root:
            self.root = gate
        else:
            above = self.children[self.parent[gate]]
            above[above.index(node)] = gate
        return gate

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


@dataclass(frozen=True, slots=True, eq=False)
class NoisyBit:
    """A hidden bit: fires with `alpha` where its condition holds, else with `beta`.

    condition [n_codes]: the codes of column `column` for which it holds; known: the codes that have a side (the others
    stay outside the condition and its contrary); rest: the strength with which the bit does nothing.
    frozen: it stays as it is.
    """

    column: int
    condition: Bools
    known: Bools
    alpha: float
    beta: float
    rest: float
    frozen: bool = False

    @property
    def literals(self) -> int:
        """How many literals its condition is written with."""
        return 1

    def with_strengths(self, alpha: float, beta: float) -> NoisyBit:
        """The same bit with other strengths."""
        return replace(self, alpha=alpha, beta=beta)

    def holds(self, codes: Codes) -> Bools:
        """The rows [n] on which its condition holds."""
        held: Bools = self.condition[codes[self.column]]
        return held

    def node(self, columns: Sequence[BinnedColumn], holds: bool = True) -> Node:
        """The Boolean node of its condition, or of the contrary."""
        return condition_node(columns[self.column], self.condition if holds else self.known & ~self.condition)


def completed(column: BinnedColumn, present: Bools, condition: Bools) -> tuple[Bools, Bools]:
    """Which codes [n_codes] have a side, and the condition with the codes that training had not.

    In an ordered column each such code goes with the nearer of its neighbours, as a threshold midway between them
    would have it. Missing and levels that did not occur stay outside every condition.
    """
    seen = np.flatnonzero(present[1:]) + 1
    if not column.ordered or len(seen) == 0 or len(seen) == len(present) - 1:
        return present, condition
    codes = np.arange(1, len(present))
    above = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
    below = np.maximum(above - (seen[above] > codes), 0)
    low, high = seen[below], seen[above]
    at, bottom, top = (codes, low, high) if column.feature.kind != "numeric" else _values(column, codes, low, high)
    nearest = np.where(at - bottom <= top - at, low, high)
    known, filled = present.copy(), condition.copy()
    known[1:] = True
    filled[1:] = condition[nearest]
    return known, filled


def _values(column: BinnedColumn, codes: Ints, low: Ints, high: Ints) -> tuple[Floats, Floats, Floats]:
    """The values that decide which neighbour is nearer; infinities are taken as the largest finite numbers."""
    bottoms, tops = (np.nan_to_num(edge / 4, posinf=1e307, neginf=-1e307) for edge in (column.low, column.high))
    return bottoms[codes] / 2 + tops[codes] / 2, tops[low], bottoms[high]


def hidden_bit(columns: Sequence[BinnedColumn], bit: NoisyBit, name: str) -> Node:
    """The hidden bit, its condition turned so that it fires with the larger strength where it holds.

    Where both strengths are the same the condition does nothing, and the bit has none.
    """
    low, high = (strength_of(short_probability(p)) for p in sorted((bit.alpha, bit.beta)))
    if low == high:
        return Hidden(name, TRUE, high, 0.0)
    return Hidden(name, bit.node(columns, bit.alpha >= bit.beta), high, low)


def formula_node(tree: ReadOnceTree, hidden: Sequence[Node]) -> Node:
    """The nested formula over hidden bits."""
    made: dict[int, Node] = {}
    for node in reversed(tree.order()):
        if tree.bit[node] >= 0:
            made[node] = hidden[tree.bit[node]]
        else:
            parts = [made[child] for child in tree.children[node]]
            joined = And(parts) if tree.operator[node] == "and" else Or(parts)
            made[node] = parts[0] if len(parts) == 1 else joined
    return made[tree.root]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyFormula:
    """A tree over bits, which says yes where its probability is above 1/2."""

    tree: ReadOnceTree
    bits: tuple[NoisyBit, ...]

    def probability(self, codes: Codes) -> Floats:
        """The probability [n] of the formula."""
        fires = [np.where(bit.holds(codes), bit.alpha, bit.beta) for bit in self.bits]
        return np.asarray(self.tree.probabilities(np.stack(fires))[self.tree.root])

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose probability is above 1/2."""
        return self.probability(codes) > 0.5

    def score(self, frame: Frame, prefix: str) -> Score:
        """The formula, and its Boolean rule where it is decided alone."""
        hidden = [hidden_bit(frame.columns, bit, f"{prefix}{i + 1}") for i, bit in enumerate(self.bits)]
        formula = formula_node(self.tree, hidden)
        return Score(formula, None if frame.kind == "several" or frame.unreported else self.decision(formula, frame))

    def most_literals(self) -> int:
        """How many literals a plain rule may have: twice those of the conditions that were learned."""
        return 2 * max(1, sum(bit.literals for bit in self.bits if not bit.frozen))

    def decision(self, formula: Node, frame: Frame) -> Node:
        """[P > 1/2] as a Boolean rule where it has one that is short enough, else by the probability itself."""
        limits, most = frame.limits, self.most_literals()
        most = most if limits.literals is None else min(most, limits.literals)
        rule = threshold_rule(formula, 0.5, most, schema=frame.schema)
        if rule is None or (limits.clauses is not None and len(clauses_of(rule)) > limits.clauses):
            return Above(Probability(formula), 0.5)
        return rule
