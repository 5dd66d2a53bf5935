"""A noisy-logical formula while it is being learned: its bits, its tree, and the cells of the training rows.

Rows on which the conditions of all bits agree form a cell, so every statistic is one over (cell, label), and no pass
over the formula costs more than its cells (findings/cnll.md, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binning import BinnedColumn
from rulekit.learners.counting import Bools, Floats, Ints
from rulekit.learners.objectives import Objective
from rulekit.learners.read_once import Move, ReadOnceTree


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Binned columns, labels [n] of 0 and 1, quantised weights [n] and what one unit of them weighs."""

    columns: tuple[BinnedColumn, ...]
    codes: tuple[npt.NDArray[Any], ...]
    labels: Ints
    weights: Ints
    weight_unit: float

    @property
    def total(self) -> float:
        return float(self.weights.sum()) * self.weight_unit

    def take(self, rows: npt.NDArray[Any]) -> Problem:
        return Problem(
            self.columns,
            tuple(codes[rows] for codes in self.codes),
            self.labels[rows],
            self.weights[rows],
            self.weight_unit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Bit:
    """A hidden bit: fires with `alpha` where its condition holds, else with `beta`.

    condition [n_codes]: the codes of column `column` for which it holds; known: the codes that have a side (the others
    stay outside the condition and its contrary); rest: the strength with which the bit does nothing.
    """

    column: int
    condition: Bools
    known: Bools
    alpha: float
    beta: float
    rest: float


@dataclass(slots=True)
class Formula:
    """tree over bits; pattern [C, T]: which conditions hold in a cell; cell [n] of each row; counts [C, 2] by label."""

    problem: Problem
    tree: ReadOnceTree
    bits: list[Bit] = field(default_factory=list)
    pattern: Bools = field(default_factory=lambda: np.zeros((1, 0), dtype=bool))
    cell: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros((1, 2), dtype=np.int64))

    def __post_init__(self) -> None:
        if len(self.cell) == 0:
            self.cell = np.zeros(len(self.problem.labels), dtype=np.int64)
            self._count()

    def snapshot(self) -> tuple[ReadOnceTree, tuple[Bit, ...]]:
        return self.tree.copy(), tuple(self.bits)

    def bit_probabilities(self) -> Floats:
        """P(bit fires) [T, C] in each cell."""
        if not self.bits:
            return np.zeros((0, len(self.pattern)))
        alpha = np.array([bit.alpha for bit in self.bits])[:, None]
        beta = np.array([bit.beta for bit in self.bits])[:, None]
        return np.where(self.pattern.T, alpha, beta)

    def passes(self) -> tuple[Floats, Floats]:
        """Probability and derivative [nodes, C] of every node."""
        p = self.tree.probabilities(self.bit_probabilities())
        return p, self.tree.derivatives(p)

    def probability(self) -> Floats:
        """P(1) [C] in each cell."""
        if not self.bits:
            return np.zeros(len(self.pattern))
        return np.asarray(self.tree.probabilities(self.bit_probabilities())[self.tree.root])

    def add(self, bit: Bit, move: Move) -> None:
        """Join a new bit to the tree and split the cells by its condition."""
        self.tree.join(move, len(self.bits))
        self.bits.append(bit)
        self._split(bit)

    def observe(self, bit: Bit) -> None:
        """Append a bit that the tree already holds."""
        self.bits.append(bit)
        self._split(bit)

    def replace(self, which: int, bit: Bit) -> None:
        """Put a bit with another condition in the place of bit `which`."""
        others = np.delete(self.pattern, which, axis=1)
        packed = np.packbits(others, axis=1)
        _, first, merged = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        self.cell, self.pattern = merged.reshape(-1)[self.cell], others[first]
        self.bits[which] = bit
        self._split(bit, which)

    def _split(self, bit: Bit, at: int | None = None) -> None:
        holds = bit.condition[self.problem.codes[bit.column]]
        doubled = 2 * self.cell + holds
        occurs = np.bincount(doubled, minlength=2 * len(self.pattern)) > 0
        kept = np.flatnonzero(occurs)
        self.cell = (np.cumsum(occurs) - 1)[doubled]
        at = self.pattern.shape[1] if at is None else at
        self.pattern = np.insert(self.pattern[kept // 2], at, kept % 2 == 1, axis=1)
        self._count()

    def _count(self) -> None:
        keys = 2 * self.cell + self.problem.labels
        counts = np.bincount(keys, self.problem.weights, 2 * len(self.pattern))
        self.counts = counts.astype(np.int64).reshape(-1, 2)

    def measure(self, objective: Objective) -> tuple[float, float]:
        """The objective J, and the weighted training error, of the formula as it stands."""
        return self.measure_of(self.probability(), objective, self.bits)

    def measure_of(self, p: Floats, objective: Objective, bits: list[Bit]) -> tuple[float, float]:
        """J and the weighted training error where the cells have probabilities p [C] and the formula these bits."""
        unit = self.problem.weight_unit
        negative, positive = self.counts[:, 0], self.counts[:, 1]
        error = float(np.where(p > 0.5, negative, positive).sum()) * unit
        squares = float((positive * (1.0 - p) ** 2 + negative * p**2).sum()) * unit
        ridge = sum((bit.alpha - bit.rest) ** 2 + (bit.beta - bit.rest) ** 2 for bit in bits)
        return objective.error * error + objective.brier * squares + objective.ridge * ridge, error


def probability_of_codes(tree: ReadOnceTree, bits: tuple[Bit, ...], codes: tuple[npt.NDArray[Any], ...]) -> Floats:
    """P(1) [n] of rows given by the codes of all columns."""
    strengths = [np.where(bit.condition[codes[bit.column]], bit.alpha, bit.beta) for bit in bits]
    return np.asarray(tree.probabilities(np.stack(strengths))[tree.root])
