"""What a formula is fitted to, and the strengths that a fit may choose.

    J = e * weighted errors + lambda * sum of w (y - P)^2 + kappa * sum over bits of (alpha - a0)^2 + (beta - a0)^2

"error" has e = 1, lambda = 0; "error+brier" e = 1 and any lambda; "brier" e = 0, lambda = 1. a0 is the strength with
which a bit does nothing where it joins: 1 under an and, 0 under an or, the mean label for the first bit.

The margin is defined here once, for search and fit alike: between two neighbouring ratios a strength keeps a tenth of
the interval from either end, so that no row lies on the edge of the decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.sums_of_rows.histograms import Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled

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
    at_ends = objective.brier == 0.0 and objective.ridge == 0.0
    parts = [allowed_strengths(*line, at_ends, with_zero) for line in zip(u, v, strict=True)]
    n = np.array([len(low) for low, _, _ in parts], dtype=np.int64)
    low, high = np.full((len(parts), n.max()), np.nan), np.full((len(parts), n.max()), np.nan)
    for m, (bottom, top, _) in enumerate(parts):
        low[m, : n[m]], high[m, : n[m]] = bottom, top
    return Intervals(low, high, n, np.stack([bucket for _, _, bucket in parts]))


@compiled
def allowed_strengths(u: Any, v: Any, at_ends: bool, with_zero: bool) -> Any:
    """The intervals of one move over the cells [C], as low, high [k] and bucket [C]; see `allowed_intervals`."""
    n_cells = len(u)
    ratios = np.empty(n_cells)
    within = 0
    for c in range(n_cells):
        ratios[c] = (0.5 - u[c]) / v[c] if v[c] > 0.0 else (-np.inf if u[c] > 0.5 else np.inf)
        within += 1 if 0.0 <= ratios[c] < 1.0 else 0
    edges = np.empty(within + 2)
    edges[0] = 0.0
    # Which interval between the edges comes next after a cell's ratio; past the last edge there is none.
    raw = np.empty(n_cells, dtype=np.int64)
    n, last = 1, -1.0
    for c in np.argsort(ratios, kind="mergesort"):
        if 0.0 <= ratios[c] < 1.0 and ratios[c] != last:
            edges[n] = last = ratios[c]
            n += 1
        raw[c] = 0 if ratios[c] < 0.0 else n - 1 if ratios[c] < 1.0 else n
    edges[n] = 1.0
    length, n_long = np.empty(n), 0
    for i in range(n):
        length[i] = edges[i + 1] - edges[i]
        n_long += 1 if length[i] >= SHORTEST else 0
    taken = np.zeros(n, dtype=np.bool_)
    if n_long == 0 or n_long > MOST_INTERVALS:
        by_length = np.argsort(-length, kind="mergesort")
        for i in range(max(1, min(n_long, MOST_INTERVALS))):
            taken[by_length[i]] = True
    else:
        for i in range(n):
            taken[i] = length[i] >= SHORTEST
    shift = 1 if with_zero else 0
    low, high, first = np.zeros(n + 1), np.zeros(n + 1), np.empty(n + 1, dtype=np.int64)
    k = shift
    for i in range(n):
        first[i] = k
        if taken[i]:
            low[k], high[k] = edges[i] + MARGIN * length[i], edges[i + 1] - MARGIN * length[i]
            if at_ends:
                low[k] = high[k] = low[k] if low[k] + high[k] < 1.0 else high[k]
            k += 1
    first[n] = k
    bucket = np.empty(n_cells, dtype=np.int64)
    for c in range(n_cells):
        bucket[c] = 0 if with_zero and ratios[c] < 0.0 else first[raw[c]]
    return low[:k], high[:k], bucket
