"""Fully corrective weights: after each rule all weights are fitted anew, by Newton steps on the cells of the rules.

Rows on which the same rules hold are one cell, so that a step costs as much as there are cells and not rows. Weights
are multiples of 2^-20, so that every score is exact; the sums of a step are of integers: neither depends on the order
of the rows, on threads or on the library of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints, distinct_rows
from rulekit.learners.sums_of_rows.histograms import split_cells

_GRID = 2.0**-20
_BITS = 51
_LARGEST = 64.0
_HALVINGS = 12


@dataclass(frozen=True, slots=True, eq=False)
class RuleCells:
    """cell [n] of each row; holds [C, K]: which rules hold on a cell; counts [C, 2]: its weight of label 0 and 1."""

    cell: npt.NDArray[np.int32]
    holds: Bools
    counts: Ints

    @classmethod
    def of_all(cls, labels: Ints, weights: Ints) -> RuleCells:
        """One cell of all rows, without any rule."""
        positive = int(weights[labels == 1].sum())
        counts = np.array([[int(weights.sum()) - positive, positive]], dtype=np.int64)
        return cls(np.zeros(len(labels), dtype=np.int32), np.zeros((1, 0), dtype=bool), counts)

    def with_rule(self, rows: Bools, labels: Ints, weights: Ints) -> RuleCells:
        """The cells with one rule more, which holds on some rows [n]."""
        return self._split(np.arange(len(self.holds)), len(self.holds), self.holds, rows, labels, weights)

    def _split(self, merged: Ints, n: int, holds: Bools, rows: Bools, labels: Ints, weights: Ints) -> RuleCells:
        cell = self.cell.copy()
        own, counts = split_cells(
            cell, rows.view(np.uint8), np.array([False, True]), merged.astype(np.int64), n, labels, weights
        )
        return RuleCells(cell, np.column_stack([holds[own // 2], (own % 2).astype(bool)]), counts)

    def exchanged(self, rule: int, rows: Bools, labels: Ints, weights: Ints) -> RuleCells:
        """The cells with another rule in the place of one; it is the last one then."""
        merged, first, kept = self._merged(rule)
        return self._split(merged, len(first), kept[first], rows, labels, weights)

    def without(self, rule: int) -> RuleCells:
        """The cells without one rule."""
        merged, first, kept = self._merged(rule)
        counts = np.zeros((len(first), 2), dtype=np.int64)
        np.add.at(counts, merged, self.counts)
        return RuleCells(merged[self.cell].astype(np.int32), kept[first], counts)

    def _merged(self, rule: int) -> tuple[Ints, Ints, Bools]:
        """The cell [C] that each becomes without a rule, the first one of each of these, and what holds on each [C]."""
        kept = np.delete(self.holds, rule, axis=1)
        first, merged = distinct_rows(kept)
        return merged, first, kept


@dataclass(frozen=True, slots=True, eq=False)
class RuleWeights:
    """The bias and the weights [K] of the rules, multiples of 2^-20; loss: with the ridge, in rows."""

    bias: float
    weights: Floats
    loss: float

    def scores(self, holds: Bools) -> Floats:
        """The exact sums [C]."""
        return np.asarray(holds @ self.weights + self.bias)


def probabilities(scores: Floats) -> Floats:
    """1 / (1 + exp(-score)) [C]."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.minimum(np.maximum(scores, -_LARGEST), _LARGEST))))


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """The penalised log loss of cells: ridge * |weights|^2 / 2 more; unit: what one unit of weight is in rows.

    signs [K]: 1 or -1 where a weight may have that sign only.
    """

    cells: RuleCells
    ridge: float
    unit: float
    signs: Floats
    holds: Floats = field(init=False)
    totals: Floats = field(init=False)
    scale: float = field(init=False)

    def __post_init__(self) -> None:
        totals = self.cells.counts.sum(axis=1).astype(np.float64)
        object.__setattr__(self, "holds", self.cells.holds.astype(np.float64))
        object.__setattr__(self, "totals", totals)
        object.__setattr__(self, "scale", float(2.0 ** (np.frexp(totals.sum())[1] - _BITS)))

    def at(self, bias: float, weights: Floats) -> RuleWeights:
        """The loss at some weights, which are rounded to the grid first."""
        weights = np.minimum(np.maximum(np.rint(weights / _GRID) * _GRID, -_LARGEST), _LARGEST)
        weights = np.where(self.signs * weights < 0.0, 0.0, weights)
        bias = min(max(round(bias / _GRID) * _GRID, -_LARGEST), _LARGEST)
        scores = self.holds @ weights + bias
        # counts * log(1 + exp(z)) + counts * log(1 + exp(-z)), which differ by z
        losses = self.totals * (np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores))))
        losses -= self.cells.counts[:, 1] * scores
        ridge = 0.5 * self.ridge * float((weights**2).sum())
        return RuleWeights(bias, weights, float(losses.sum()) * self.unit + ridge)

    def slopes(self, at: RuleWeights) -> Floats:
        """The gradient [K + 1], of the bias first."""
        each = self._integers(self.totals * self.shares(at) - self.cells.counts[:, 1])
        own = each @ self.holds
        found = np.concatenate([[each.sum()], own]) * self._step + np.concatenate([[0.0], self.ridge * at.weights])
        return np.asarray(found)

    def curvatures(self, at: RuleWeights) -> Floats:
        """The second derivatives [K + 1, K + 1], of the bias first."""
        shares = self.shares(at)
        each = self._integers(self.totals * (shares * (1.0 - shares)))
        holds = np.column_stack([np.ones(len(each)), self.holds])
        found = (holds * each[:, None]).T @ holds * self._step
        found[np.arange(1, len(found)), np.arange(1, len(found))] += self.ridge
        return np.asarray(found)

    def shares(self, at: RuleWeights) -> Floats:
        """The probability of label 1 [C]."""
        return probabilities(self.holds @ at.weights + at.bias)

    @property
    def _step(self) -> float:
        """What one of the integers that are added up is in rows: all together they have less than 52 bits."""
        return self.scale * self.unit

    def _integers(self, values: Floats) -> Floats:
        return np.asarray(np.rint(values / self.scale))


def newton(loss: Loss, at: RuleWeights, steps: int, tolerance: float = 1e-9) -> RuleWeights:
    """Weights of less loss after so many steps; every second one takes the curvatures of the one before."""
    at = loss.at(at.bias, at.weights)
    inverse: Floats | None = None
    for step in range(steps):
        slopes = loss.slopes(at)
        if inverse is None or step % 2 == 0:
            found = loss.curvatures(at)
            found[np.diag_indices_from(found)] += 1e-9 * (1.0 + found.diagonal())
            inverse = np.asarray(np.linalg.inv(found), dtype=np.float64)
        assert inverse is not None
        move = inverse @ slopes
        better = _shortened(loss, at, move)
        if better is None or at.loss - better.loss <= tolerance * (1.0 + abs(at.loss)):
            return at if better is None else better
        at = better
    return at


def _shortened(loss: Loss, at: RuleWeights, move: Floats) -> RuleWeights | None:
    """The weights after a move, or after a half of it, a quarter, ..: the first of less loss."""
    for halving in range(_HALVINGS):
        tried = loss.at(at.bias - float(move[0]) * 0.5**halving, at.weights - move[1:] * 0.5**halving)
        if tried.loss < at.loss:
            return tried
    return None
