"""Sums over the rows of a rule, by the code of each column: gradient, curvature and weight, as integers.

Integers add up to the same in any order, so that the sums depend neither on the order of the rows nor on threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.additive.corrective import Cells, Weights, probabilities
from rulekit.learners.additive.layout import Layout
from rulekit.learners.binned.codes import Codes, matrix_of, side_by_side
from rulekit.learners.counting.histograms import Floats, Ints
from rulekit.learners.counting.kernels import compiled_unless

_BITS, _FINEST = 62, 30
_PART = 26
_TOGETHER = 64


def values_of(cells: Cells, at: Weights, labels: Ints, weights: Ints, unit: float) -> tuple[Ints, Floats]:
    """What each row adds [n, 3] to the sums, as integers, and what one of them is worth [3] in rows.

    The gradient and the curvature of the log loss at the scores of the rows' cells, and their weight. A row of weight 2
    adds what two rows add.
    """
    shares = probabilities(at.scores(cells.holds))
    scale = 2.0 ** min(_FINEST, _BITS - int(np.frexp(float(cells.counts.sum()))[1]))
    by_cell = np.array([np.stack([shares, shares - 1.0]), np.stack([shares * (1.0 - shares)] * 2)]) * scale
    values = np.empty((len(labels), 3), dtype=np.int64)
    values[:, 0], values[:, 1] = np.rint(by_cell).astype(np.int64)[:, labels, cells.cell]
    values[:, :2] *= weights[:, None]
    values[:, 2] = weights
    return values, np.array([unit / scale, unit / scale, unit])


def sums_by_code(codes: Codes, layout: Layout, rows: npt.NDArray[Any], values: Ints) -> Ints:
    """The sums [codes, 3] of the values [n, 3] of some rows, whose numbers are given, by the code of every column."""
    sums = np.zeros((layout.size, 3), dtype=np.int64)
    columns = np.arange(len(layout.columns))
    for group in side_by_side(codes, columns, _TOGETHER):
        matrix, where = matrix_of(codes, columns[group])
        _add(matrix, where, layout.offsets[columns[group]], rows, values, sums)
    return sums


def _add_at_once(matrix: Any, where: Any, offsets: Any, rows: Any, values: Any, sums: Any) -> None:
    # bincount adds doubles, which hold whole numbers below 2^53: longer ones are added up in two parts.
    chosen = values[rows]
    parts = [(chosen, 0)]
    if len(chosen) and float(np.abs(chosen).max(axis=0).max()) * len(chosen) >= 2.0**53:
        parts = [(chosen & ((1 << _PART) - 1), 0), (chosen >> _PART, _PART)]
    for place, offset in zip(where.tolist(), offsets.tolist(), strict=True):
        own = matrix[rows, place]
        for part, shift in parts:
            for k in range(3):
                found = np.bincount(own, part[:, k])
                sums[offset : offset + len(found), k] += found.astype(np.int64) << shift


@compiled_unless(_add_at_once)
def _add(matrix: Any, where: Any, offsets: Any, rows: Any, values: Any, sums: Any) -> None:
    for i in range(len(rows)):
        row = rows[i]
        gradient, curvature, weight = values[row, 0], values[row, 1], values[row, 2]
        for j in range(len(where)):
            k = offsets[j] + np.int64(matrix[row, where[j]])
            sums[k, 0] += gradient
            sums[k, 1] += curvature
            sums[k, 2] += weight
