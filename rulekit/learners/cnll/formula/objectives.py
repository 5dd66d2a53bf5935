"""What a formula is fitted to, and the strengths that a fit may choose.

    J = e * weighted errors + lambda * sum of w (y - P)^2 + kappa * sum over bits of (alpha - a0)^2 + (beta - a0)^2

"error" has e = 1, lambda = 0; "error+brier" e = 1 and any lambda; "brier" e = 0, lambda = 1. a0 is the strength with
which a bit does nothing where it joins: 1 under an and, 0 under an or, the mean label for the first bit.

The margin is defined here once, for search and fit alike: between two neighbouring ratios a strength keeps a tenth of
the interval from either end, so that no row lies on the edge of the decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Floats, Ints

MARGIN = 0.1
SHORTEST = 1e-5
MOST_INTERVALS = 4096


@dataclass(frozen=True, slots=True)
class Objective:
    """Weights of the errors, of the squared errors (lambda), and of the ridge (kappa)."""

    error: float = 1.0
    brier: float = 1.0
    ridge: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The allowed strengths of M moves: low, high [M, K] (NaN beyond n [M]), and the bucket [M, C] of each cell.

    bucket: the first interval in which the cell is decided positive; n where in none.
    """

    low: Floats
    high: Floats
    n: Ints
    bucket: Ints


def allowed_intervals(u: Floats, v: Floats, objective: Objective, with_zero: bool = False) -> Intervals:
    """The allowed intervals of strengths in [0, 1] where cell c becomes U + V a; u, v [M, C].

    Intervals shorter than 1e-5 are left out, and of more than 4,096 the longest are kept. with_zero puts the strength
    0 before them, as an interval of its own (the original form of the paper, beta = 0). Where the objective has no
    squared error the strength is as near to 0 or 1 as the margin allows.
    """
    safe = np.where(v > 0.0, v, 1.0)
    ratios = np.where(v > 0.0, (0.5 - u) / safe, np.where(u > 0.5, -np.inf, np.inf))
    parts = [_intervals_of(row, objective.brier == 0.0 and objective.ridge == 0.0, with_zero) for row in ratios]
    n = np.array([len(low) for low, _, _ in parts], dtype=np.int64)
    low, high = np.full((len(parts), n.max()), np.nan), np.full((len(parts), n.max()), np.nan)
    for m, (bottom, top, _) in enumerate(parts):
        low[m, : n[m]], high[m, : n[m]] = bottom, top
    return Intervals(low, high, n, np.stack([bucket for _, _, bucket in parts]))


def _intervals_of(ratios: Floats, at_ends: bool, with_zero: bool) -> tuple[Floats, Floats, Ints]:
    inside = np.unique(ratios[(ratios >= 0.0) & (ratios < 1.0)])
    edges = np.concatenate([[0.0], inside, [1.0]])
    length = np.diff(edges)
    kept = np.flatnonzero(length >= SHORTEST)
    if len(kept) == 0 or len(kept) > MOST_INTERVALS:
        limit = max(1, min(len(kept), MOST_INTERVALS))
        kept = np.sort(np.argsort(-length, kind="stable")[:limit])
    low, high = edges[kept] + MARGIN * length[kept], edges[kept + 1] - MARGIN * length[kept]
    if at_ends:
        low = high = np.where(low + high < 1.0, low, high)
    raw = np.where(ratios < 0.0, 0, np.where(ratios >= 1.0, len(length), np.searchsorted(inside, ratios) + 1))
    bucket = np.searchsorted(kept, raw).astype(np.int64)
    if with_zero:
        low, high = np.concatenate([[0.0], low]), np.concatenate([[0.0], high])
        bucket = np.where(ratios < 0.0, 0, bucket + 1)
    return low, high, bucket
