"""What learners that take row by row share: the order of the rows, and conditions as they see them.

Rows must stand in an order of their own (not the user's), equal ones together, so that nothing depends on how a table
was sorted, and a row of weight 2 is shown as two rows are.
"""

from __future__ import annotations

import numpy as np

from rulekit.arrays import Bools, Floats, Ints

_FEW, _TIMES, _MOST = 100_000, 8, 10_000_000
"""A pass shows 100,000 rows, or each row eight times, and at most 10 million; of more each in proportion."""


def shown_times(weights: Floats) -> Ints:
    """How often a pass shows each row [n] of positive weights [n], which are stated in rows.

    Whole weights are the numbers themselves. Others are rounded so that the rows up to any one are shown as often as
    they weigh together, within one; a pass shows as many rows as there are at least.
    """
    total, rows = float(weights.sum()), len(weights)
    n = min(max(rows, round(total)), max(rows, _FEW, min(_TIMES * rows, _MOST)))
    upto = np.floor(np.cumsum(weights) * (n / total) + 0.5).astype(np.int64)
    return np.diff(upto, prepend=0)


def random_orders(weights: Floats, passes: int, rng: np.random.Generator) -> Ints:
    """The numbers of the rows as they are shown [passes, shown], each pass in an order of its own."""
    rows = np.repeat(np.arange(len(weights)), shown_times(weights))
    return np.array([rng.permutation(rows) for _ in range(passes)], dtype=np.int64).reshape(passes, len(rows))


def are_conditions(inputs: Floats) -> Bools:
    """Which inputs [d] are 0 or 1 on all rows [n, d]; the others are numbers."""
    return np.asarray(((inputs == 0.0) | (inputs == 1.0)).all(axis=0))


def as_signs(inputs: Floats, conditions: Bools) -> Floats:
    """The inputs [n, d] with 1 and -1 in the place of 1 and 0 of those that are conditions [d]."""
    return np.where(conditions, 2.0 * inputs - 1.0, inputs)


def of_signs(weights: Floats, bias: float, conditions: Bools) -> tuple[Floats, float]:
    """Weights [d] and bias over inputs as they are, of those over `as_signs`."""
    return np.where(conditions, 2.0 * weights, weights), bias - float(weights[conditions].sum())


def with_complements(inputs: Floats, conditions: Bools) -> Floats:
    """The inputs [n, d + c], after them the complements 1 - x of the c conditions among them."""
    return np.hstack([inputs, 1.0 - inputs[:, conditions]])


def of_complements(weights: Floats, bias: float, conditions: Bools) -> tuple[Floats, float]:
    """Weights [d] and bias over inputs as they are, of those [d + c] over `with_complements`."""
    own, complements = weights[: len(conditions)].copy(), weights[len(conditions) :]
    own[conditions] -= complements
    return own, bias + float(complements.sum())
