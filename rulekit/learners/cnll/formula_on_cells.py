"""A noisy formula while it is being learned: its bits, its tree, and the cells of the training rows.

Rows on which the conditions of all bits agree form a cell, so every statistic is one over (cell, label), and no pass
over the formula costs more than its cells. What is minimised is

    J = sum of w (y - P)^2 + kappa * sum over bits of (alpha - a0)^2 + (beta - a0)^2

where a0 is the strength with which a bit does nothing where it joins: 1 under an and, 0 under an or, the mean label for
the first bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.cnll.split_search import CellCounts, CodeOrders, FixedPoint
from rulekit.learners.contract import NO_LIMITS, NO_WATCH, SizeLimits, Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.noisy_formulas import FIRST, Move, NoisyBit, Operator, ReadOnceTree
from rulekit.learners.sums_of_rows.histograms import RowCells, count_cells
from rulekit.learners.sums_of_rows.kernels import compiled

_OPERATORS = {"bit": 0, "and": 1, "or": 2}


KnownFormula = tuple[ReadOnceTree, tuple[NoisyBit, ...]]  # a tree over bits


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    """How a formula grows: the ridge, and at most n_units bits.

    refit: sweeps a step; backfit: other conditions are looked for every so many bits; min_rows: the least weight of
    either side of a condition; sizes: limits on the model; columns: those that may be used (None: all of the problem);
    start: the formula to go on from, whose free bits count among n_units and whose frozen ones stay; ridge_by_noise:
    the ridge falls with what is left unexplained; watch: a search that is late raises OutOfTimeError between columns.
    """

    ridge: float
    n_units: int = 20
    refit: int = 1
    backfit: int = 0
    min_rows: float = 1.0
    n_threads: int = 1
    watch: Watch = NO_WATCH
    sizes: SizeLimits = NO_LIMITS
    columns: Sequence[int] | None = None
    start: KnownFormula | None = None
    ridge_by_noise: bool = False


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


def allowed_moves(limits: SizeLimits, tree: ReadOnceTree, bits: Sequence[NoisyBit] = ()) -> list[Move]:
    """The moves after which some printed form may still keep to the limits, and which leave frozen rules as they are.

    A bit is one literal of the nested form, at least. Its rules are the children of the outermost connective; in
    the disjunctive normal form they are at least as many as the branches below the alternatives of the root.
    """
    if limits.literals is not None and sum(bit >= 0 for bit in tree.bit) >= limits.literals:
        return []
    moves = growth_moves(tree)
    if limits.clauses is not None and tree.root >= 0:
        moves = [move for move in moves if _least_rules(tree, move) <= limits.clauses]
    frozen = {tree.node_of_bit(place) for place, bit in enumerate(bits) if bit.frozen}
    closed = Move("and", tree.root)  # would change what frozen rules decide
    return [move for move in moves if not frozen or (move.node not in frozen and move != closed)]


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
            product, both = 1.0, tree.operator[node] == 1
            for e in range(tree.starts[node], tree.starts[node + 1]):
                c = p[tree.children[e]]
                product = product * (c if both else 1.0 - c)
            p[node] = product if both else 1.0 - product
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


@dataclass(eq=False)
class Formula:
    """A tree over bits, and the cells of the rows on which the same of their conditions hold.

    orders: of the codes of columns, as they are looked for.
    """

    problem: Problem
    tree: ReadOnceTree
    bits: list[NoisyBit] = field(default_factory=list)
    orders: dict[tuple[int, bytes], tuple[CodeOrders, Ints]] = field(default_factory=dict)
    _flat: FlatTree | None = None
    _nodes: Floats | None = None
    _weights: dict[int, Ints] = field(default_factory=dict)
    _kept: CellCounts | None = None

    def __post_init__(self) -> None:
        self.cells = RowCells.of_all(self.problem.labels, self.problem.weights)

    @classmethod
    def of(cls, problem: Problem, tree: ReadOnceTree, bits: Iterable[NoisyBit]) -> Formula:
        """The formula of a tree that holds these bits already."""
        formula = cls(problem, tree.copy())
        for bit in bits:
            formula.bits.append(bit)
            formula._split(bit)
        return formula

    @property
    def flat(self) -> FlatTree:
        """The tree as arrays; made once for each tree as it is."""
        if self._flat is None:
            self._flat = FlatTree.of(self.tree)
        return self._flat

    def kept_counts(self, threads: int) -> CellCounts | None:
        """The rows by cell, label and code, counted from step to step; None where that does not pay."""
        if self._kept is None:
            n_codes = [column.n_codes for column in self.problem.columns]
            self._kept = CellCounts.of(self.problem.codes, n_codes, self.cells, threads)
        return self._kept

    @cached_property
    def fixed_point(self) -> FixedPoint:
        """How sums over rows of these weights are written as integers."""
        return FixedPoint.of(self.problem.weights, self.problem.weight_unit)

    def code_weights(self, column: int) -> Ints:
        """The weight of the rows [n_codes] by the codes of a column."""
        if column not in self._weights:
            problem, n_codes = self.problem, self.problem.columns[column].n_codes
            counts = count_cells(problem.codes[column], problem.labels, problem.weights, n_codes)
            self._weights[column] = counts.sum(axis=1)
        return self._weights[column]

    def strengths(self) -> tuple[Floats, Floats]:
        """Alpha and beta [T] of the bits."""
        return np.array([bit.alpha for bit in self.bits]), np.array([bit.beta for bit in self.bits])

    def lines(self, moves: list[Move], cells: slice = slice(None)) -> tuple[Floats, Floats]:
        """U and V [cells, M] of the moves."""
        return cell_lines(self.flat, self.strengths(), self.cells.holds[cells], moves)

    def node_probabilities(self) -> Floats:
        """The probability [nodes, C] of every node in each cell; kept until a bit or the cells change."""
        if self._nodes is None:
            alpha, beta = self.strengths()
            self._nodes = self.tree.probabilities(np.where(self.cells.holds.T, alpha[:, None], beta[:, None]))
        return self._nodes

    def set_strengths(self, alpha: Floats, beta: Floats, probabilities: Floats) -> None:
        """Give the bits other strengths [T], with which the nodes have these probabilities [nodes, C]."""
        self.bits = [
            bit if bit.frozen or (bit.alpha == a and bit.beta == b) else bit.with_strengths(a, b)
            for bit, a, b in zip(self.bits, alpha.tolist(), beta.tolist(), strict=True)
        ]
        self._nodes = probabilities

    def add(self, bit: NoisyBit, move: Move) -> None:
        """Join a new bit to the tree and split the cells by its condition."""
        self.tree.join(move, len(self.bits))
        self._flat = None
        self.bits.append(bit)
        self._split(bit)

    def replace(self, which: int, bit: NoisyBit) -> None:
        """Put a bit with another condition in the place of bit `which`."""
        self._kept = None
        self.cells, _ = self.cells.without(which)
        self.bits[which] = bit
        self._split(bit, which)

    def _split(self, bit: NoisyBit, at: int | None = None) -> None:
        holds = bit.holds(self.problem.codes).view(np.uint8)
        self.cells, before = self.cells.with_condition(holds, np.array([False, True]), at)
        self._nodes = None
        if self._kept is not None:
            self._kept.split(self.cells, before)

    def measure(self, ridge: float) -> tuple[float, float]:
        """The objective J, and the weighted training error, of the formula as it stands."""
        nodes = self.node_probabilities()
        p = nodes[self.tree.root] if len(nodes) else np.zeros(1)
        unit, (negative, positive) = self.problem.weight_unit, self.cells.counts.T
        error = float(np.where(p > 0.5, negative, positive).sum()) * unit
        squares = float((positive * (1.0 - p) ** 2 + negative * p**2).sum()) * unit
        return squares + ridge * self.pull(), error

    def pull(self, without: int = -1) -> float:
        """What the ridge is multiplied with, of all bits but one."""
        bits = (bit for i, bit in enumerate(self.bits) if i != without)
        return float(sum((bit.alpha - bit.rest) ** 2 + (bit.beta - bit.rest) ** 2 for bit in bits))
