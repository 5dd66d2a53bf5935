"""Back-propagation through the whole network, whose gates are fixed (Sahami, "Experimental Results").

The gates of the second layer and the or of the third are sigmoids, too, with weights that are not trained: a gate of k
literals answers sigmoid(gain * (sum of its literals - k + 1/2)), the or sigmoid(gain * (sum of the gates - 1/2)). What
is trained is then read as a tree, each unit with its threshold at an answer of 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.ltu.trees import LTUTree, Shape
from rulekit.learners.papers.row_by_row import are_conditions, of_complements, random_orders, with_complements
from rulekit.learners.sums_of_rows.kernels import compiled

_START = 0.1
_RATE, _MOMENTUM = 1.0, 0.5  # as of a single unit


def train_whole(
    shape: Shape,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    rng: np.random.Generator,
    epochs: int = 25,
    gain: float = 3.0,
    check: Callable[[], None] = lambda: None,
) -> LTUTree:
    """The tree of a shape, trained on rows of inputs [n, d], labels [n] and positive weights [n], over these inputs."""
    conditions = are_conditions(inputs)
    seen = with_complements(inputs, conditions)
    start = rng.uniform(-_START, _START, (shape.size, seen.shape[1] + 1))
    units, biases = start[:, :-1].copy(), start[:, -1].copy()
    for order in random_orders(weights, epochs, rng):
        check()
        descend_together(seen, labels.astype(np.float64), order, shape.gates, _RATE, _MOMENTUM, gain, units, biases)
    found = [of_complements(unit, float(bias), conditions) for unit, bias in zip(units, biases, strict=True)]
    return LTUTree(shape, np.array([own for own, _ in found]), np.array([bias for _, bias in found]))


@compiled
def descend_together(
    inputs: Floats,
    targets: Floats,
    order: Ints,
    gates: Ints,
    rate: float,
    momentum: float,
    gain: float,
    units: Floats,
    biases: Floats,
) -> None:
    """One step of all units for each row in order; units [m, d] and biases [m] are changed in place."""
    m, d = units.shape
    answers, slopes, before = np.zeros(m), np.zeros(m), np.zeros(m)
    of_gates = np.zeros(len(gates))
    last = 0
    for row in order:
        for k in range(m):
            total = biases[k]
            for i in range(d):
                total += units[k, i] * inputs[row, i]
            answers[k] = _sigmoid(total)
        answer = _answer(answers, gates, gain, of_gates)
        outer = gain * answer * (1.0 - answer) * (targets[row] - answer)
        for k in range(m):
            slopes[k] = 0.0
        for j in range(len(gates)):
            inner = outer * gain * of_gates[j] * (1.0 - of_gates[j])
            for k in range(m):
                slopes[k] += inner * gates[j, k]
        for k in range(m):
            step = rate * slopes[k] * answers[k] * (1.0 - answers[k])
            carried = momentum * before[k]
            for i in range(d):
                units[k, i] += step * inputs[row, i] + carried * inputs[last, i]
            biases[k] += step
            before[k] = step
        last = row


def _answer(answers: Floats, gates: Ints, gain: float, of_gates: Floats) -> float:
    """What the network answers, of what its units do; of_gates [k] is written over."""
    found = -0.5
    for j in range(len(gates)):
        total = 0.5
        for k in range(len(answers)):
            if gates[j, k] > 0:
                total += answers[k] - 1.0
            elif gates[j, k] < 0:
                total -= answers[k]
        of_gates[j] = _sigmoid(gain * total)
        found += of_gates[j]
    return _sigmoid(gain * found)


def _sigmoid(total: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(total, -500.0), 500.0)))
