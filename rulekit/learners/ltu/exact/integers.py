"""Least whole weights of a threshold function of a few conditions, by an integer program.

A sum of weights that are not negative is least on the minimal true points and largest on the maximal false ones, so
that these alone are asked for (S. Muroga, Threshold Logic and Its Applications, 1971). Conditions of equal Chow
parameters may change places without changing the function (C. K. Chow, On the Characterization of Threshold Functions,
1961), and get one weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.learners.counting.histograms import Bools, Ints
from rulekit.learners.ltu.exact.parts import RealUnit, Seen
from rulekit.learners.ltu.inputs import Condition
from rulekit.learners.ltu.units import ConditionTerm, Unit

MOST_CONDITIONS = 10


def least_integer_unit(unit: RealUnit, seen: Seen) -> Unit | None:
    """The unit over conditions alone with the same truth on all combinations that can occur, of least whole weights.

    The bias is half-way between the sums of true and false combinations.
    None where the conditions are too many or where the program is not solved.
    """
    if unit.numbers or len(unit.conditions) > MOST_CONDITIONS:
        return None
    points, free = combinations(unit.conditions, seen)
    holds = unit.bias + points @ unit.heights >= -unit.tolerance
    if holds.all() or not holds.any():
        return Unit((), 1.0 if holds.all() else -1.0)
    weights = least_integers(points, holds, free)
    if weights is None:
        return None
    sums = points @ weights
    high, low = int(sums[holds].min()), int(sums[~holds].max())
    if low >= high:  # the program was solved with too much tolerance
        return None
    pairs = zip(weights.tolist(), unit.conditions, strict=True)
    return Unit(tuple(ConditionTerm(float(w), c) for w, c in pairs if w), -(low + high) / 2.0)


def combinations(conditions: Sequence[Condition], seen: Seen) -> tuple[Bools, Bools]:
    """The combinations [s, k] of truth values that can occur, and which conditions [k] are alone in their column."""
    points = np.zeros((1, len(conditions)), dtype=bool)
    free = np.zeros(len(conditions), dtype=bool)
    for column in dict.fromkeys(condition.column for condition in conditions):
        own = [k for k, condition in enumerate(conditions) if condition.column == column]
        holds = np.stack([conditions[k].holds for k in own], axis=1)
        patterns = np.unique(holds[seen.codes(column, len(holds))], axis=0)
        points = np.repeat(points, len(patterns), axis=0)
        points[:, own] = np.tile(patterns, (len(points) // len(patterns), 1))
        free[own] = len(patterns) == 2 and len(own) == 1
    return points, free


def least_integers(points: Bools, holds: Bools, free: Bools) -> Ints | None:
    """Whole weights [k] >= 0 of the least total that part the points [s, k] where `holds` from the others.

    free [k]: conditions that stand for themselves, of which those with equal Chow parameters get one weight.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    true, false = _minimal(points[holds]), ~_minimal(~points[~holds])
    chow = points[holds].sum(axis=0)
    _, of = np.unique(np.where(free, chow, -1 - np.arange(len(chow))), return_inverse=True)
    members = np.eye(of.max() + 1, dtype=np.int64)[of]  # [k, classes]
    rows = np.vstack([true @ members, -(false @ members)])
    rows = np.column_stack([rows, np.repeat([-1, 1], [len(true), len(false)])])  # the last variable: the threshold
    least = np.repeat([0.0, 1.0], [len(true), len(false)])
    cost = np.append(members.sum(axis=0), 0.0)
    whole = np.append(np.ones(members.shape[1]), 0.0)
    solved = milp(cost, integrality=whole, bounds=Bounds(0.0), constraints=LinearConstraint(rows, least))
    return None if solved.x is None else np.rint(members @ solved.x[:-1]).astype(np.int64)


def _minimal(points: Bools) -> Bools:
    """The points [m, k] with no other one below, each once."""
    bits = np.unique(points @ (1 << np.arange(points.shape[1])))
    below = (bits[:, None] & bits[None, :]) == bits[None, :]  # [i, j]: j lies below i, or is it
    kept = bits[below.sum(axis=1) == 1]
    return np.asarray((kept[:, None] >> np.arange(points.shape[1])) & 1, dtype=bool)
