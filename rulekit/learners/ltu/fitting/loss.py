"""The bounded loss of many trees of one shape, and its gradient.

A unit passes a row on to its right child with probability sigmoid(z), z its margin, and so a tree says yes to a row
with the sum over its gates of the products of the probabilities on the way. The loss is the mean of (that - label)^2
and half a ridge of the weights, biases left free. All trees go through a block of rows together: one product of
matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.learners.ltu.fitting.lbfgs import Numbers
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints

_BLOCK_NUMBERS = 1 << 16
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class TreeLoss:
    """Of trees of a shape of m units over rows of d inputs; a point is m * (d + 1) numbers, the bias of a unit last.

    ridges [B], flipped [B]: of each problem its ridge, and whether it is to say yes to label 0. mask [m, d]: the
    weights that may differ from 0; None: all. logistic: log loss in the place of squares.
    """

    rows: Rows
    shape: Shape
    ridges: Floats
    flipped: Bools
    mask: Bools | None = None
    logistic: bool = False

    @classmethod
    def of_one(cls, rows: Rows, shape: Shape, l2: float, mask: Bools | None = None, logistic: bool = False) -> TreeLoss:
        """That of one problem."""
        return cls(rows, shape, np.array([l2]), np.array([False]), mask, logistic)

    def __call__(self, points: Numbers, which: Ints) -> tuple[Floats, Numbers]:
        """Losses [b] and gradients [b, P] of points [b, P] of these problems [b]."""
        rows, m, b = self.rows, self.shape.size, len(points)
        n, d = rows.inputs.shape
        dtype = rows.inputs.dtype
        units = np.ascontiguousarray(points.reshape(b, m, d + 1).swapaxes(0, 1), dtype=dtype)
        weights, biases = units[:, :, :d].reshape(m * b, d), units[:, :, d].reshape(m * b, 1)
        flipped = self.flipped[which]
        shares = (rows.weights / rows.total).astype(dtype)
        targets = rows.targets.astype(dtype)
        losses, slopes, bias_slopes = np.zeros(b), np.zeros((m * b, d)), np.zeros(m * b)
        block = max(256, min(_BLOCK_NUMBERS // (m * b), 4 * _BLOCK_NUMBERS // max(d, 1)))
        for start in range(0, n, block):
            inputs = rows.inputs[start : start + block]
            margins = weights @ inputs.T
            margins += biases
            own = targets[start : start + block]
            wanted = np.where(flipped[:, None], 1 - own, own) if flipped.any() else own
            found, delta = self._of_block(margins.reshape(m, b, -1), wanted, shares[start : start + block])
            losses += found
            flat = delta.reshape(m * b, -1)
            slopes += flat @ inputs
            bias_slopes += flat.sum(axis=1)
        free = points.reshape(b, m, d + 1)[:, :, :d]
        ridges = self.ridges[which]
        gradient = np.empty((b, m, d + 1), dtype=points.dtype)
        gradient[:, :, :d] = slopes.reshape(m, b, d).swapaxes(0, 1) + ridges[:, None, None] * free
        gradient[:, :, d] = bias_slopes.reshape(m, b).T
        if self.mask is not None:
            gradient[:, :, :d] *= self.mask
        losses += 0.5 * ridges * np.einsum("ijk,ijk->i", free, free, dtype=np.float64)
        return losses, gradient.reshape(b, -1)

    def _of_block(self, margins: Numbers, wanted: Numbers, shares: Numbers) -> tuple[Floats, Numbers]:
        """Losses [b] of rows and their slopes by the margins [m, b, n], which are overwritten."""
        left, right = self.shape.left, self.shape.right
        m = len(left)
        fires = margins
        with np.errstate(over="ignore"):
            np.negative(fires, out=fires)
            np.exp(fires, out=fires)
        fires += 1
        np.reciprocal(fires, out=fires)
        says, gains = np.empty_like(fires), [np.empty(0, fires.dtype)] * m
        for unit in reversed(range(m)):
            if left[unit] == NONE:
                gains[unit] = says[right[unit]] if right[unit] != NONE else np.empty(0, fires.dtype)
                says[unit] = fires[unit] if right[unit] == NONE else fires[unit] * gains[unit]
            else:
                gains[unit] = (says[right[unit]] if right[unit] != NONE else 1) - says[left[unit]]
                np.multiply(fires[unit], gains[unit], out=says[unit])
                says[unit] += says[left[unit]]
        losses, reach = self._outer(says[0], wanted, shares)
        reaches = [reach] * m
        for unit in range(m):
            own, reach = fires[unit], reaches[unit]
            if right[unit] != NONE:
                reaches[right[unit]] = reach * own
            if left[unit] != NONE:
                reaches[left[unit]] = reach - reaches[right[unit]] if right[unit] != NONE else reach * (1 - own)
            np.multiply(own, 1 - own, out=own)
            own *= reach
            if len(gains[unit]):
                own *= gains[unit]
        return losses, fires

    def _outer(self, says: Numbers, wanted: Numbers, shares: Numbers) -> tuple[Floats, Numbers]:
        """Losses [b] and their slopes by what the trees say [b, n]."""
        if self.logistic:
            sure = np.clip(says, _LEAST, 1 - _LEAST)
            terms = wanted * np.log(sure) + (1 - wanted) * np.log1p(-sure)
            return -np.asarray(terms @ shares, dtype=np.float64), (sure - wanted) / (sure * (1 - sure)) * shares
        off = says - wanted
        weighted = off * shares
        return np.einsum("ij,ij->i", off, weighted).astype(np.float64), 2 * weighted
