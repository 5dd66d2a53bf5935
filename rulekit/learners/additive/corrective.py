"""Fully corrective weights: after each rule all weights are fitted anew, by Newton steps on the cells of the rules.

Rows on which the same rules hold are one cell, so that a step costs as much as there are cells and not rows. Weights
are multiples of 2^-20, so that every score is exact; the sums of a step are of integers: neither depends on the order
of the rows, on threads or on the library of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.additive.literals import probabilities
from rulekit.learners.sums_of_rows.histograms import RowCells

_GRID = 2.0**-20
_BITS = 51
_LARGEST = 64.0
_PARTS = tuple(0.5**halving for halving in range(12))


@dataclass(frozen=True, slots=True, eq=False)
class RuleWeights:
    """The bias and the weights [K] of the rules, multiples of 2^-20; loss: with the ridge, in rows."""

    bias: float
    weights: Floats
    loss: float

    def scores(self, holds: Bools) -> Floats:
        """The exact sums [C]."""
        return np.asarray(holds @ self.weights + self.bias)


class Loss:
    """The penalised log loss of cells: ridge * |weights|^2 / 2 more; unit: what one unit of weight is in rows.

    signs [K]: 1 or -1 where a weight may have that sign only.
    """

    def __init__(self, cells: RowCells, ridge: float, unit: float, signs: Floats) -> None:
        self.ridge, self.unit, self.signs = ridge, unit, signs
        self.holds, self.positive = cells.holds.astype(np.float64), cells.counts[:, 1]
        self.totals = cells.counts.sum(axis=1).astype(np.float64)
        # all integers that are added up have less than 52 bits together; what one of them is in rows
        self.scale = float(2.0 ** (np.frexp(self.totals.sum())[1] - _BITS))

    def at(self, bias: float, weights: Floats) -> RuleWeights:
        """The loss at some weights, which are rounded to the grid first."""
        weights = np.clip(np.rint(weights / _GRID) * _GRID, -_LARGEST, _LARGEST)
        weights = np.where(self.signs * weights < 0.0, 0.0, weights)
        bias = min(max(round(bias / _GRID) * _GRID, -_LARGEST), _LARGEST)
        scores = self.holds @ weights + bias
        # counts * log(1 + exp(z)) + counts * log(1 + exp(-z)), which differ by z
        losses = self.totals * (np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores))))
        losses -= self.positive * scores
        ridge = 0.5 * self.ridge * float((weights**2).sum())
        return RuleWeights(bias, weights, float(losses.sum()) * self.unit + ridge)

    def slopes(self, at: RuleWeights) -> Floats:
        """The gradient [K + 1], of the bias first."""
        each = np.rint((self.totals * self.shares(at) - self.positive) / self.scale)
        found = np.append(each.sum(), each @ self.holds) * (self.scale * self.unit)
        return np.asarray(found + np.append(0.0, self.ridge * at.weights))

    def curvatures(self, at: RuleWeights) -> Floats:
        """The second derivatives [K + 1, K + 1], of the bias first; slightly more, so that there is an inverse."""
        shares = self.shares(at)
        each = np.rint(self.totals * (shares * (1.0 - shares)) / self.scale)
        holds = np.column_stack([np.ones(len(each)), self.holds])
        found = (holds * each[:, None]).T @ holds * (self.scale * self.unit)
        found[np.diag_indices_from(found)] += np.append(0.0, np.full(len(found) - 1, self.ridge))
        found[np.diag_indices_from(found)] += 1e-9 * (1.0 + found.diagonal())
        return np.asarray(found)

    def shares(self, at: RuleWeights) -> Floats:
        """The probability of label 1 [C]."""
        return probabilities(self.holds @ at.weights + at.bias)


def newton(loss: Loss, at: RuleWeights, steps: int, tolerance: float = 1e-9) -> RuleWeights:
    """Weights of less loss after so many steps; every second one takes the curvatures of the one before."""
    at, inverse = loss.at(at.bias, at.weights), np.zeros(0)
    for step in range(steps):
        if step % 2 == 0:
            inverse = np.asarray(np.linalg.inv(loss.curvatures(at)))
        move = inverse @ loss.slopes(at)
        # after the move, or a half of it, a quarter, ..: the first of less loss
        tried = (loss.at(at.bias - float(move[0]) * part, at.weights - move[1:] * part) for part in _PARTS)
        better = next((each for each in tried if each.loss < at.loss), None)
        if better is None or at.loss - better.loss <= tolerance * (1.0 + abs(at.loss)):
            return better or at
        at = better
    return at
