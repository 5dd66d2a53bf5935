"""The ways to fit a unit by their names, and the best of several (Sahami's proposal at the end of the section)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rulekit.learners.ltu.growing import Node
from rulekit.learners.ltu.nodes.conditions import are_conditions, as_signs, of_complements, of_signs, with_complements
from rulekit.learners.ltu.presenting import random_orders
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled


@dataclass(frozen=True, slots=True)
class LogisticRegression:
    """The least mean log loss + l2 / 2 times the squared weights of inputs that are scaled alike; the bias is free."""

    l2: float = 1e-4
    iterations: int = 100

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        if labels.all() or not labels.any():  # no finite bias would do
            return np.zeros(inputs.shape[1]), 1.0 if labels.all() else -1.0
        from scipy.optimize import minimize

        shares = weights / weights.sum()
        means = shares @ inputs
        deviations = np.sqrt(shares @ (inputs - means) ** 2)
        scales = np.where(deviations > 0.0, deviations, 1.0)
        seen = (inputs - means) / scales
        signs = np.where(labels, 1.0, -1.0)

        def loss(at: Floats) -> tuple[float, Floats]:
            margins = signs * (seen @ at[:-1] + at[-1])
            missed = 1.0 / (1.0 + np.exp(np.clip(margins, -500.0, 500.0)))
            slopes = -shares * signs * missed
            value = float(shares @ np.logaddexp(0.0, -margins)) + 0.5 * self.l2 * float(at[:-1] @ at[:-1])
            return value, np.append(slopes @ seen + self.l2 * at[:-1], slopes.sum())

        start = np.zeros(inputs.shape[1] + 1)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": self.iterations}).x
        own = found[:-1] / scales
        return own, float(found[-1] - own @ means)


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """The logarithm of the odds of the classes, as if the inputs were independent in each.

    Conditions by their shares, each count one half larger (P. Langley, Induction of Recursive Bayesian Classifiers,
    1993, has them at the nodes of a tree); numbers as normal with a variance of both classes together.
    """

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        if labels.all() or not labels.any():
            return np.zeros(inputs.shape[1]), 1.0 if labels.all() else -1.0
        conditions = are_conditions(inputs)
        classes = np.stack([weights * ~labels, weights * labels])
        totals = classes.sum(axis=1)
        sums = classes @ inputs
        shares = (sums[:, conditions] + 0.5) / (totals[:, None] + 1.0)
        own, bias = np.zeros(inputs.shape[1]), float(np.log(totals[1] / totals[0]))
        odds = np.log(shares / (1.0 - shares))
        own[conditions] = odds[1] - odds[0]
        absent = np.log1p(-shares)
        bias += float((absent[1] - absent[0]).sum())
        means = sums[:, ~conditions] / totals[:, None]
        numbers = inputs[:, ~conditions]
        squares = sum(of @ (numbers - mean) ** 2 for of, mean in zip(classes, means, strict=True))
        varies = np.asarray(squares) > 0.0
        variances = np.where(varies, squares / totals.sum(), 1.0)
        apart = np.where(varies, (means[1] - means[0]) / variances, 0.0)
        own[~conditions] = apart
        return own, bias - float(apart @ (means[1] + means[0]) / 2.0)


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Passes over the rows in random order; conditions are 1 and -1."""

    epochs: int = 10

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        conditions = are_conditions(inputs)
        seen = as_signs(inputs, conditions)
        with_bias = np.hstack([seen, np.ones((len(seen), 1))])
        orders = random_orders(weights, self.epochs, rng)
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


_START = 0.1
"""Weights begin between it and its negative, which the paper does not say."""


@dataclass(frozen=True, slots=True)
class Backprop:
    """Passes over the rows in random order, each row a step along the slope of its squared error.

    The step of a weight has the momentum of the step before it as it was without momentum; that of the bias has none,
    as printed. complements: whether conditions have their complements 1 - x as further inputs.
    """

    epochs: int = 5
    rate: float = 1.0
    momentum: float = 0.5
    complements: bool = True

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        conditions = are_conditions(inputs) & self.complements
        seen = with_complements(inputs, conditions)
        start = rng.uniform(-_START, _START, seen.shape[1] + 1)
        unit, bias = start[:-1].copy(), np.array([start[-1]])
        for order in random_orders(weights, self.epochs, rng):
            descend(seen, labels.astype(np.float64), order, self.rate, self.momentum, unit, bias)
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


NodeKind = Literal["backprop", "perceptron", "logistic", "naive-bayes", "best"]


@dataclass(frozen=True, slots=True)
class Best:
    """The unit that errs least on the rows, of those that several ways fit; the first of equal ones."""

    nodes: tuple[Node, ...]

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        def wrong(found: tuple[Floats, float]) -> float:
            fires = inputs @ found[0] + found[1] >= 0.0
            return float(weights[fires != labels].sum())

        return min((node(inputs, labels, weights, rng) for node in self.nodes), key=wrong)


def node_of(kind: NodeKind, epochs: int = 5) -> Node:
    """The way to fit a unit of a name; epochs: passes over the rows of those that take one row at a time."""
    return KINDS[kind](epochs)


KINDS: Mapping[NodeKind, Callable[[int], Node]] = {
    "backprop": Backprop,
    "perceptron": Perceptron,
    "logistic": lambda epochs: LogisticRegression(),
    "naive-bayes": lambda epochs: NaiveBayes(),
    "best": lambda epochs: Best((Backprop(epochs), Perceptron(epochs), LogisticRegression(), NaiveBayes())),
}
