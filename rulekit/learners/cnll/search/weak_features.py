"""Weak features: the orders of codes whose prefixes are the candidate conditions of one column.

A condition is a set of codes. Threshold stumps take the codes of a numeric or Boolean column in ascending order, with
missing tried on either side and alone. Log-likelihood-ratio stumps (paper, section 3) take the bins in the order of
log P(1 | bin) / P(0 | bin), so that a condition is a union of intervals. The levels of a category are sorted for each
move by the strength that suits them best, which finds the best level set for an unclipped parabola.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.cnll.formula.gradient_sums import CodeSums
from rulekit.learners.counting.histograms import Bools, Floats, Ints

Weak = Literal["threshold", "llr", "pairs"]


def code_orders(column: BinnedColumn, weak: Weak, sums: CodeSums, rest: Floats) -> list[Ints]:
    """The orders [M or 1, L] of the codes that occur, one or two of them; none where only one code occurs."""
    present = np.flatnonzero(sums.weight)
    if len(present) < 2:
        return []
    if not column.ordered:
        slopes, curvatures = sums.slope[present].T, sums.curvature[present].T
        curved = curvatures > 0.0
        ratio = np.where(curved, slopes / np.where(curved, curvatures, 1.0), rest[:, None])
        return [present[np.argsort(-ratio, axis=1, kind="stable")]]
    if weak == "llr" and column.feature.kind == "numeric":
        return [present[np.argsort(-log_likelihood_ratios(sums)[present], kind="stable")][None]]
    orders = [present[None]]
    if present[0] == 0 and len(present) > 2:
        orders.append(np.append(present[1:], 0)[None])
    return orders


def complete(column: BinnedColumn, present: Bools, condition: Bools) -> tuple[Bools, Bools]:
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


def log_likelihood_ratios(sums: CodeSums) -> Floats:
    """The ratio log P(1 | code) / P(0 | code) [n_codes], half a percent of a mean code's weight added to both."""
    prior = 0.005 * max(1.0, float(sums.weight.sum()) / len(sums.weight))
    return np.asarray(np.log((sums.positive + prior) / (sums.weight - sums.positive + prior)))
