"""Conditions among the inputs of a unit, which some ways of fitting see as 1 and -1, or with their complements."""

from __future__ import annotations

import numpy as np

from rulekit.learners.sums_of_rows.histograms import Bools, Floats


def are_conditions(inputs: Floats) -> Bools:
    """Which inputs [d] are 0 or 1 on all rows [n, d]; the others are numbers."""
    return np.asarray(((inputs == 0.0) | (inputs == 1.0)).all(axis=0))


def as_signs(inputs: Floats, conditions: Bools) -> Floats:
    """The inputs [n, d] with 1 and -1 in the place of 1 and 0 of those that are conditions [d]."""
    return np.where(conditions, 2.0 * inputs - 1.0, inputs)


def of_signs(weights: Floats, bias: float, conditions: Bools) -> tuple[Floats, float]:
    """Weights [d] and bias over inputs as they are, of those over `as_signs`."""
    own = np.where(conditions, 2.0 * weights, weights)
    return own, bias - float(weights[conditions].sum())


def with_complements(inputs: Floats, conditions: Bools) -> Floats:
    """The inputs [n, d + c], after them the complements 1 - x of the c conditions among them."""
    return np.hstack([inputs, 1.0 - inputs[:, conditions]])


def of_complements(weights: Floats, bias: float, conditions: Bools) -> tuple[Floats, float]:
    """Weights [d] and bias over inputs as they are, of those [d + c] over `with_complements`."""
    own, complements = weights[: len(conditions)].copy(), weights[len(conditions) :]
    own[conditions] -= complements
    return own, bias + float(complements.sum())
