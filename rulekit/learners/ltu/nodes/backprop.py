"""A unit by back-propagation (Sahami, "The LTU Tree Algorithm"): a sigmoid, whose threshold is set afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.counting.kernels import compiled
from rulekit.learners.ltu.nodes.conditions import are_conditions, of_complements, with_complements
from rulekit.learners.ltu.presenting import random_orders

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
