"""The ways of Sahami's paper to fit one unit, by their names, and the best of several (the end of its section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.papers.row_by_row import (
    are_conditions,
    as_signs,
    of_complements,
    of_signs,
    random_orders,
    with_complements,
)
from rulekit.learners.sums_of_rows.kernels import compiled

UnitKind = Literal["backprop", "perceptron", "logistic", "naive-bayes", "best"]
FitUnit = Callable[[Floats, Bools, Floats, np.random.Generator], tuple[Floats, float]]
"""How one unit is fitted: inputs [n, d], labels [n], weights [n], a generator -> weights [d] of the unit, its bias.

The unit fires where bias + weights @ inputs >= 0, which is to be the rows whose label is true.
"""

_START = 0.1
"""Weights of back-propagation begin between it and its negative, which the paper does not say."""
_RATE, _MOMENTUM = 1.0, 0.5
_L2, _ITERATIONS = 1e-4, 100


def fit_backprop(
    inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator, epochs: int = 5
) -> tuple[Floats, float]:
    """Passes over the rows in random order, each row a step along the slope of its squared error.

    The step of a weight has the momentum of the step before it as it was without momentum; that of the bias has none,
    as printed. Conditions have their complements 1 - x as further inputs.
    """
    conditions = are_conditions(inputs)
    seen = with_complements(inputs, conditions)
    start = rng.uniform(-_START, _START, seen.shape[1] + 1)
    unit, bias = start[:-1].copy(), np.array([start[-1]])
    for order in random_orders(weights, epochs, rng):
        descend(seen, labels.astype(np.float64), order, _RATE, _MOMENTUM, unit, bias)
    # The unit answers 1/2 where its sum is 0, so that a threshold of 1/2 is one of 0 for the sum.
    return of_complements(unit, float(bias[0]), conditions)


@compiled
def descend(
    inputs: Floats, targets: Floats, order: Ints, rate: float, momentum: float, unit: Floats, bias: Floats
) -> None:
    """One step for each row in order; unit [d] and bias [1] are changed in place."""
    d = inputs.shape[1]
    before, last = 0.0, 0
    for row in order:
        total = bias[0]
        for i in range(d):
            total += unit[i] * inputs[row, i]
        answer = 1.0 / (1.0 + math.exp(-min(max(total, -500.0), 500.0)))
        step = rate * answer * (1.0 - answer) * (targets[row] - answer)
        carried = momentum * before
        for i in range(d):
            unit[i] += step * inputs[row, i] + carried * inputs[last, i]
        bias[0] += step
        before, last = step, row


def fit_perceptron(
    inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator, epochs: int = 10
) -> tuple[Floats, float]:
    """Passes over the rows in random order, of which the pocket has the best weights; conditions are 1 and -1."""
    conditions = are_conditions(inputs)
    with_bias = np.hstack([as_signs(inputs, conditions), np.ones((len(inputs), 1))])
    orders = random_orders(weights, epochs, rng)
    unit = pocketed(with_bias, np.where(labels, 1.0, -1.0), weights, orders.ravel())
    return of_signs(unit[:-1], float(unit[-1]), conditions)


@compiled
def pocketed(inputs: Floats, signs: Floats, weights: Floats, order: Ints) -> Floats:
    """The weights [d] of the pocket after all rows in order; signs [n]: 1 where the unit is to fire, else -1."""
    d = inputs.shape[1]
    unit = np.zeros(d)
    pocket = np.zeros(d)
    least = _wrong(inputs, signs, weights, pocket)
    run, longest = 0, 0
    for row in order:
        total = 0.0
        for i in range(d):
            total += unit[i] * inputs[row, i]
        if (total >= 0.0) == (signs[row] > 0.0):
            run += 1
            continue
        if run > longest:
            wrong = _wrong(inputs, signs, weights, unit)
            if wrong < least:
                least, longest = wrong, run
                pocket[:] = unit
        run = 0
        for i in range(d):
            unit[i] += signs[row] * inputs[row, i]
    if _wrong(inputs, signs, weights, unit) < least:
        pocket[:] = unit
    return pocket


def _wrong(inputs: Floats, signs: Floats, weights: Floats, unit: Floats) -> float:
    """The weight of the rows that a unit answers wrongly."""
    found = 0.0
    for row in range(len(inputs)):
        total = 0.0
        for i in range(inputs.shape[1]):
            total += unit[i] * inputs[row, i]
        if (total >= 0.0) != (signs[row] > 0.0):
            found += weights[row]
    return found


def fit_logistic(
    inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator | None = None
) -> tuple[Floats, float]:
    """The least mean log loss + l2 / 2 times the squared weights of inputs that are scaled alike; the bias is free."""
    if labels.all() or not labels.any():  # no finite bias would do
        return np.zeros(inputs.shape[1]), 1.0 if labels.all() else -1.0
    from scipy.optimize import minimize

    shares = weights / weights.sum()
    means = shares @ inputs
    deviations = np.sqrt(shares @ (inputs - means) ** 2)
    scales = np.where(deviations > 0.0, deviations, 1.0)
    seen, signs = (inputs - means) / scales, np.where(labels, 1.0, -1.0)

    def loss(at: Floats) -> tuple[float, Floats]:
        margins = signs * (seen @ at[:-1] + at[-1])
        missed = 1.0 / (1.0 + np.exp(np.clip(margins, -500.0, 500.0)))
        slopes = -shares * signs * missed
        value = float(shares @ np.logaddexp(0.0, -margins)) + 0.5 * _L2 * float(at[:-1] @ at[:-1])
        return value, np.append(slopes @ seen + _L2 * at[:-1], slopes.sum())

    start = np.zeros(inputs.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS}).x
    own = found[:-1] / scales
    return own, float(found[-1] - own @ means)


def fit_naive_bayes(
    inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator | None = None
) -> tuple[Floats, float]:
    """The logarithm of the odds of the classes, as if the inputs were independent in each.

    Conditions by their shares, each count one half larger (P. Langley, Induction of Recursive Bayesian Classifiers,
    1993, has them at the nodes of a tree); numbers as normal with a variance of both classes together.
    """
    if labels.all() or not labels.any():
        return np.zeros(inputs.shape[1]), 1.0 if labels.all() else -1.0
    conditions = are_conditions(inputs)
    classes = np.stack([weights * ~labels, weights * labels])
    totals, sums = classes.sum(axis=1), classes @ inputs
    shares = (sums[:, conditions] + 0.5) / (totals[:, None] + 1.0)
    own, bias = np.zeros(inputs.shape[1]), float(np.log(totals[1] / totals[0]))
    odds, absent = np.log(shares / (1.0 - shares)), np.log1p(-shares)
    own[conditions] = odds[1] - odds[0]
    bias += float((absent[1] - absent[0]).sum())
    means, numbers = sums[:, ~conditions] / totals[:, None], inputs[:, ~conditions]
    squares = np.asarray(sum(of @ (numbers - mean) ** 2 for of, mean in zip(classes, means, strict=True)))
    variances = np.where(squares > 0.0, squares / totals.sum(), 1.0)
    apart = np.where(squares > 0.0, (means[1] - means[0]) / variances, 0.0)
    own[~conditions] = apart
    return own, bias - float(apart @ (means[1] + means[0]) / 2.0)


def fit_best(
    inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator, ways: Sequence[FitUnit]
) -> tuple[Floats, float]:
    """The unit that errs least on the rows, of those that several ways fit; the first of equal ones."""

    def wrong(found: tuple[Floats, float]) -> float:
        return float(weights[(inputs @ found[0] + found[1] >= 0.0) != labels].sum())

    return min((fit(inputs, labels, weights, rng) for fit in ways), key=wrong)


def fit_of(kind: UnitKind, epochs: int = 5) -> FitUnit:
    """The way to fit a unit of a name; epochs: passes over the rows of those that take one row at a time."""
    return KINDS[kind](epochs)


def _best_of_all(epochs: int) -> FitUnit:
    by_row = (partial(fit_backprop, epochs=epochs), partial(fit_perceptron, epochs=epochs))
    return partial(fit_best, ways=(*by_row, fit_logistic, fit_naive_bayes))


KINDS: Mapping[UnitKind, Callable[[int], FitUnit]] = {
    "backprop": lambda epochs: partial(fit_backprop, epochs=epochs),
    "perceptron": lambda epochs: partial(fit_perceptron, epochs=epochs),
    "logistic": lambda epochs: fit_logistic,
    "naive-bayes": lambda epochs: fit_naive_bayes,
    "best": _best_of_all,
}
