"""A noisy formula while it is being learned: its bits, its tree, and the cells of the training rows.

Rows on which the conditions of all bits agree form a cell, so every statistic is one over (cell, label), and no pass
over the formula costs more than its cells. What is minimised is

    J = sum of w (y - P)^2 + kappa * sum over bits of (alpha - a0)^2 + (beta - a0)^2

where a0 is the strength with which a bit does nothing where it joins: 1 under an and, 0 under an or, the mean label for
the first bit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints, distinct_rows
from rulekit.learners.cnll.cell_counts import CellCounts
from rulekit.learners.cnll.gradient_sums import FixedPoint
from rulekit.learners.cnll.moves import FlatTree, cell_lines
from rulekit.learners.cnll.split_search import CodeOrders
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.noisy_formulas import Move, NoisyBit, ReadOnceTree
from rulekit.learners.sums_of_rows.histograms import Rows, count_cells, split_cells


@dataclass(slots=True)
class Formula:
    """tree over bits; pattern [C, T]: which conditions hold in a cell; cell [n] of each row; counts [C, 2] by label."""

    problem: Problem
    tree: ReadOnceTree
    bits: list[NoisyBit] = field(default_factory=list)
    pattern: Bools = field(default_factory=lambda: np.zeros((1, 0), dtype=bool))
    cell: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    counts: Ints = field(default_factory=lambda: np.zeros((1, 2), dtype=np.int64))
    _flat: FlatTree | None = None
    _rows: Rows | None = None
    _known: tuple[list[NoisyBit], Floats] | None = None
    _measured: tuple[float, float] | None = None
    _fixed: FixedPoint | None = None
    _weights: dict[int, Ints] = field(default_factory=dict)
    _kept: CellCounts | None = None
    _keeps: bool = True
    orders: dict[tuple[int, bytes], tuple[CodeOrders, Ints]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        self.cell = np.zeros(len(problem.labels), dtype=np.int32)
        self.counts = count_cells(self.cell, problem.labels, problem.weights, len(self.pattern))

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

    def rows(self) -> Rows:
        """The rows by cell and label; kept until the cells change."""
        if self._rows is None:
            problem = self.problem
            self._rows = Rows(self.cell, problem.labels, problem.weights, len(self.pattern))
        return self._rows

    def kept_counts(self, threads: int) -> CellCounts | None:
        """The rows by cell, label and code, counted from step to step; None where that does not pay."""
        if self._kept is None and self._keeps:
            n_codes = [column.n_codes for column in self.problem.columns]
            self._kept = CellCounts.of(self.problem.codes, n_codes, self.rows(), threads)
            self._keeps = self._kept is not None
        return self._kept

    def fixed_point(self) -> FixedPoint:
        """How sums over rows of these weights are written as integers."""
        if self._fixed is None:
            self._fixed = FixedPoint.of(self.problem.weights, self.problem.weight_unit)
        return self._fixed

    def code_weights(self, column: int) -> Ints:
        """The weight of the rows [n_codes] by the codes of a column."""
        if column not in self._weights:
            problem = self.problem
            n_codes = problem.columns[column].n_codes
            self._weights[column] = count_cells(problem.codes[column], problem.labels, problem.weights, n_codes).sum(
                axis=1
            )
        return self._weights[column]

    def snapshot(self) -> tuple[ReadOnceTree, tuple[NoisyBit, ...]]:
        """The tree and its bits as they are now."""
        return self.tree.copy(), tuple(self.bits)

    def strengths(self) -> tuple[Floats, Floats]:
        """Alpha and beta [T] of the bits."""
        return np.array([bit.alpha for bit in self.bits]), np.array([bit.beta for bit in self.bits])

    def lines(self, moves: list[Move], cells: slice = slice(None)) -> tuple[Floats, Floats]:
        """U and V [cells, M] of the moves."""
        return cell_lines(self.flat, self.strengths(), self.pattern[cells], moves)

    def node_probabilities(self) -> Floats:
        """The probability [nodes, C] of every node in each cell; kept until a bit or the cells change."""
        known = self._known
        if known is None or len(known[0]) != len(self.bits) or any(map(operator.is_not, known[0], self.bits)):
            alpha, beta = self.strengths()
            fires = np.where(self.pattern.T, alpha[:, None], beta[:, None])
            self._known = known = (list(self.bits), self.tree.probabilities(fires))
            self._measured = None
        return known[1]

    def set_strengths(self, alpha: Floats, beta: Floats, probabilities: Floats) -> None:
        """Give the bits other strengths [T], with which the nodes have these probabilities [nodes, C]."""
        self._measured = None
        self.bits = [
            bit if bit.frozen or (bit.alpha == a and bit.beta == b) else bit.with_strengths(a, b)
            for bit, a, b in zip(self.bits, alpha.tolist(), beta.tolist(), strict=True)
        ]
        self._known = (list(self.bits), probabilities)

    def add(self, bit: NoisyBit, move: Move) -> None:
        """Join a new bit to the tree and split the cells by its condition."""
        self.tree.join(move, len(self.bits))
        self._flat = None
        self.bits.append(bit)
        self._split(bit)

    def replace(self, which: int, bit: NoisyBit) -> None:
        """Put a bit with another condition in the place of bit `which`."""
        others = np.delete(self.pattern, which, axis=1)
        first, merged = distinct_rows(others)
        if self._kept is not None:
            self._kept.merge(merged, self.rows())
        self.pattern = others[first]
        self.bits[which] = bit
        self._split(bit, which, merged)

    def _split(self, bit: NoisyBit, at: int | None = None, merged: Ints | None = None) -> None:
        """Split the cells by a condition; merged [old cells]: the cell that an old one has become before."""
        merged = np.arange(len(self.pattern)) if merged is None else merged
        problem, n_cells = self.problem, len(self.pattern)
        kept, self.counts = split_cells(
            self.cell,
            problem.codes[bit.column],
            bit.condition,
            merged,
            n_cells,
            problem.labels,
            problem.weights,
        )
        self._rows = self._known = None
        at = self.pattern.shape[1] if at is None else at
        self.pattern = np.insert(self.pattern[kept // 2], at, kept % 2 == 1, axis=1)
        if self._kept is not None and not self._kept.split(kept // 2):
            self._kept = None

    def squares(self) -> float:
        """The weighted squared error."""
        return self._errors()[0]

    def measure(self, ridge: float) -> tuple[float, float]:
        """The objective J, and the weighted training error, of the formula as it stands."""
        squares, error = self._errors()
        return squares + ridge * self.pull(), error

    def pull(self, without: int = -1) -> float:
        """What the ridge is multiplied with, of all bits but one."""
        bits = (bit for i, bit in enumerate(self.bits) if i != without)
        return float(sum((bit.alpha - bit.rest) ** 2 + (bit.beta - bit.rest) ** 2 for bit in bits))

    def _errors(self) -> tuple[float, float]:
        nodes = self.node_probabilities()
        if self._measured is None:
            p = nodes[self.tree.root] if len(nodes) else np.zeros(len(self.pattern))
            unit, negative, positive = self.problem.weight_unit, self.counts[:, 0], self.counts[:, 1]
            error = float(np.where(p > 0.5, negative, positive).sum()) * unit
            squares = float((positive * (1.0 - p) ** 2 + negative * p**2).sum()) * unit
            self._measured = squares, error
        return self._measured
