"""A noisy-logical formula while it is being learned: its bits, its tree, and the cells of the training rows.

Rows on which the conditions of all bits agree form a cell, so every statistic is one over (cell, label), and no pass
over the formula costs more than its cells. A hidden bit stands over one condition, or over two that are joined: both
hold, one of them holds, or exactly one of them (parity).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rulekit.arrays import distinct_rows
from rulekit.learners.cnll.formula.cell_counts import CellCounts
from rulekit.learners.cnll.formula.gradient_sums import FixedPoint
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree, cell_lines
from rulekit.learners.cnll.formula.split_search import Orders
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints, Rows, count_cells, split_cells


@dataclass(frozen=True, slots=True, eq=False)
class Bit:
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
    def columns(self) -> tuple[int, ...]:
        """The columns that its condition reads."""
        return (self.column,)

    def with_strengths(self, alpha: float, beta: float) -> Bit:
        """The same bit with other strengths."""
        if type(self) is not Bit:
            return replace(self, alpha=alpha, beta=beta)
        return Bit(self.column, self.condition, self.known, alpha, beta, self.rest, self.frozen)

    def seen(self, codes: Codes) -> tuple[npt.NDArray[Any], Bools]:
        """Codes [n] of the rows, and for which of them the condition holds."""
        return codes[self.column], self.condition


@dataclass(slots=True)
class Formula:
    """tree over bits; pattern [C, T]: which conditions hold in a cell; cell [n] of each row; counts [C, 2] by label."""

    problem: Problem
    tree: ReadOnceTree
    bits: list[Bit] = field(default_factory=list)
    pattern: Bools = field(default_factory=lambda: np.zeros((1, 0), dtype=bool))
    cell: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    counts: Ints = field(default_factory=lambda: np.zeros((1, 2), dtype=np.int64))
    _rows: Rows | None = None
    _known: tuple[list[Bit], Floats] | None = None
    _measured: tuple[float, float] | None = None
    _fixed: FixedPoint | None = None
    _weights: dict[int, tuple[Ints, Ints]] = field(default_factory=dict)
    _kept: CellCounts | None = None
    _keeps: bool = True
    orders: dict[tuple[str, int, bytes], tuple[Orders, Ints]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.cell) == 0:
            self.cell = np.zeros(len(self.problem.labels), dtype=np.int32)
            self._count()

    @classmethod
    def of(cls, problem: Problem, tree: ReadOnceTree, bits: Iterable[Bit]) -> Formula:
        """The formula of a tree that holds these bits already."""
        formula = cls(problem, tree.copy())
        for bit in bits:
            formula.bits.append(bit)
            formula._split(bit)
        return formula

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

    def code_weights(self, column: int) -> tuple[Ints, Ints]:
        """The weight of all rows and of the positive ones [n_codes] by the codes of a column."""
        if column not in self._weights:
            problem = self.problem
            by_code = count_cells(
                problem.codes[column], problem.labels, problem.weights, problem.columns[column].n_codes
            )
            self._weights[column] = (by_code.sum(axis=1), np.ascontiguousarray(by_code[:, 1]))
        return self._weights[column]

    def take(self, rows: Bools) -> Formula:
        """The same formula over some rows; its cells stay, also those that are then empty."""
        taken = Formula(self.problem.take(rows), self.tree, self.bits, self.pattern, self.cell[rows])
        taken._count()
        return taken

    def snapshot(self) -> tuple[ReadOnceTree, tuple[Bit, ...]]:
        return self.tree.copy(), tuple(self.bits)

    def bit_probabilities(self) -> Floats:
        """P(bit fires) [T, C] in each cell."""
        if not self.bits:
            return np.zeros((0, len(self.pattern)))
        alpha = np.array([bit.alpha for bit in self.bits])[:, None]
        beta = np.array([bit.beta for bit in self.bits])[:, None]
        return np.where(self.pattern.T, alpha, beta)

    def strengths(self) -> tuple[Floats, Floats]:
        """Alpha and beta [T] of the bits."""
        return np.array([bit.alpha for bit in self.bits]), np.array([bit.beta for bit in self.bits])

    def lines(self, moves: list[Move], cells: slice = slice(None)) -> tuple[Floats, Floats, Floats]:
        """U and V [cells, M] of the moves, and P(1) [cells] as it is."""
        return cell_lines(self.tree, self.strengths(), self.pattern[cells], moves)

    def node_probabilities(self) -> Floats:
        """The probability [nodes, C] of every node in each cell; kept until a bit or the cells change."""
        known = self._known
        if known is None or len(known[0]) != len(self.bits) or any(map(operator.is_not, known[0], self.bits)):
            self._known = known = (list(self.bits), self.tree.probabilities(self.bit_probabilities()))
            self._measured = None
        return known[1]

    def probability(self) -> Floats:
        """P(1) [C] in each cell."""
        p = self.node_probabilities()
        return np.asarray(p[self.tree.root]) if len(p) else np.zeros(len(self.pattern))

    def set_strengths(self, alpha: Floats, beta: Floats, probabilities: Floats) -> None:
        """Give the bits other strengths [T], with which the nodes have these probabilities [nodes, C]."""
        self._measured = None
        self.bits = [
            bit if bit.frozen or (bit.alpha == a and bit.beta == b) else bit.with_strengths(a, b)
            for bit, a, b in zip(self.bits, alpha.tolist(), beta.tolist(), strict=True)
        ]
        self._known = (list(self.bits), probabilities)

    def add(self, bit: Bit, move: Move) -> None:
        """Join a new bit to the tree and split the cells by its condition."""
        self.tree.join(move, len(self.bits))
        self.bits.append(bit)
        self._split(bit)

    def replace(self, which: int, bit: Bit) -> None:
        """Put a bit with another condition in the place of bit `which`."""
        others = np.delete(self.pattern, which, axis=1)
        first, merged = distinct_rows(others)
        if self._kept is not None:
            self._kept.merge(merged, self.rows())
        self.pattern = others[first]
        self.bits[which] = bit
        self._split(bit, which, merged)

    def _split(self, bit: Bit, at: int | None = None, merged: Ints | None = None) -> None:
        """Split the cells by a condition; merged [old cells]: the cell that an old one has become before."""
        merged = np.arange(len(self.pattern)) if merged is None else merged
        problem, halves = self.problem, (merged, len(self.pattern))
        kept, self.counts = split_cells(self.cell, *bit.seen(problem.codes), *halves, problem.labels, problem.weights)
        self._rows = self._known = None
        at = self.pattern.shape[1] if at is None else at
        self.pattern = np.insert(self.pattern[kept // 2], at, kept % 2 == 1, axis=1)
        if self._kept is not None and not self._kept.split(kept // 2):
            self._kept = None

    def _count(self) -> None:
        self.counts = count_cells(self.cell, self.problem.labels, self.problem.weights, len(self.pattern))

    def measure(self, objective: Objective) -> tuple[float, float]:
        """The objective J, and the weighted training error, of the formula as it stands."""
        p = self.probability()
        if self._measured is None:
            self._measured = self._errors(p)
        return self._objective(*self._measured, objective, ((bit.alpha, bit.beta) for bit in self.bits))

    def measure_of(
        self, p: Floats, objective: Objective, strengths: Iterable[tuple[float, float]]
    ) -> tuple[float, float]:
        """J and the weighted training error where the cells have probabilities p [C] and the bits these strengths."""
        return self._objective(*self._errors(p), objective, strengths)

    def _objective(
        self, error: float, squares: float, objective: Objective, strengths: Iterable[tuple[float, float]]
    ) -> tuple[float, float]:
        pairs = zip(strengths, self.bits, strict=True)
        ridge = sum((alpha - bit.rest) ** 2 + (beta - bit.rest) ** 2 for (alpha, beta), bit in pairs)
        return objective.error * error + objective.brier * squares + objective.ridge * ridge, error

    def _errors(self, p: Floats) -> tuple[float, float]:
        """The weighted errors and squared errors where the cells have probabilities p [C]."""
        unit = self.problem.weight_unit
        negative, positive = self.counts[:, 0], self.counts[:, 1]
        error = float(np.where(p > 0.5, negative, positive).sum()) * unit
        squares = float((positive * (1.0 - p) ** 2 + negative * p**2).sum()) * unit
        return error, squares


def probability_of_codes(tree: ReadOnceTree, bits: tuple[Bit, ...], codes: Codes) -> Floats:
    """P(1) [n] of rows given by the codes of all columns."""
    seen = (bit.seen(codes) for bit in bits)
    strengths = [
        np.where(condition[own], bit.alpha, bit.beta) for bit, (own, condition) in zip(bits, seen, strict=True)
    ]
    return np.asarray(tree.probabilities(np.stack(strengths))[tree.root])


Junction = Literal["and", "or", "xor"]

_HOLDS = np.array([False, True])


@dataclass(frozen=True, slots=True, eq=False)
class PairBit(Bit):
    """A bit over two conditions: that of the bit, and `other_condition` on the codes of column `other`."""

    other: int = -1
    other_condition: Bools = field(default_factory=lambda: _HOLDS)
    other_known: Bools = field(default_factory=lambda: _HOLDS)
    junction: Junction = "and"

    @property
    def columns(self) -> tuple[int, ...]:
        return self.column, self.other

    @property
    def literals(self) -> int:
        """How many literals its condition is written with."""
        return 4 if self.junction == "xor" else 2

    def seen(self, codes: Codes) -> tuple[npt.NDArray[Any], Bools]:
        """0 or 1 [n], whether both conditions together hold, and that 1 says so."""
        one, two = self.condition[codes[self.column]], self.other_condition[codes[self.other]]
        joined = one & two if self.junction == "and" else one | two if self.junction == "or" else one ^ two
        return joined.view(np.uint8), _HOLDS


def contrary(bit: PairBit) -> PairBit:
    """The bit whose condition holds where that of `bit` does not, over codes that have a side; strengths stay."""
    flipped = bit.other_known & ~bit.other_condition
    if bit.junction == "xor":
        return replace(bit, other_condition=flipped)
    junction: Junction = "or" if bit.junction == "and" else "and"
    return replace(bit, condition=bit.known & ~bit.condition, other_condition=flipped, junction=junction)
