"""A unit by the perceptron's rule, with a pocket: the weights that answered the most rows well are kept.

S. I. Gallant, Perceptron-Based Learning Algorithms, 1990: the pocket with a ratchet. Weights that have answered more
rows in a row than those in the pocket take their place if they err less on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.counting.kernels import compiled
from rulekit.learners.ltu.nodes.conditions import are_conditions, as_signs, of_signs
from rulekit.learners.ltu.presenting import random_orders


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
