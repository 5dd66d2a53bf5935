"""The rules of a network, row by row: the paper's, and back-propagation through the whole network.

A row is answered along its path (Sahami, "Madaline-Style Learning Algorithm", for any tree). Where yes is wrong, the
unit at which the path ends is weakened. Where no is wrong, one of the units without a right child is to answer yes: it
is strengthened, and so are, or else weakened, the units on the way to it that send the row elsewhere. All sums are
those before any change. The text of the paper weakens every leaf on the path of a wrong yes; its examples weaken the
last one, as here.

In back-propagation (Sahami, "Experimental Results") the gates of the second layer and the or of the third are sigmoids,
too, with weights that are not trained: a gate of k literals answers sigmoid(gain * (sum of its literals - k + 1/2)),
the or sigmoid(gain * (sum of the gates - 1/2)). What is trained is then read as a tree, each unit with its threshold at
an answer of 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.ltu.trees import LTUTree, Shape
from rulekit.learners.papers.ltu_trees import are_conditions, of_complements, random_orders, tree_by, with_complements
from rulekit.learners.sums_of_rows.kernels import compiled

_START = 0.1
_RATE, _MOMENTUM = 1.0, 0.5  # as of a single unit


class UnitWeights(NamedTuple):
    """What training changes in place.

    weights [m, k], biases [m]; ups, downs [m, k]: how often each weight was multiplied (not those of fixed
    increments).
    """

    weights: Floats
    biases: Floats
    ups: Ints
    downs: Ints


@compiled
def present(inputs: Any, labels: Any, order: Any, wiring: Any, state: UnitWeights, steps: Any, least: bool) -> int:
    """Show the rows of `order`, and change the state in place; says how many were answered wrongly.

    wiring: left, right [m] and ways [m, m] of a shape. steps: whether a weight changes by factors from the two tables,
    or by the input; whether one down undoes one up; the tables. least: whether the unit to answer yes is that of least
    disturbance, else the one whose sum is closest to 0.
    """
    left, right, ways = wiring
    margins = np.zeros(len(left))
    mistakes = 0
    for row in order:
        for k in range(len(margins)):
            margins[k] = _sum(inputs, row, state.weights, state.biases, k)
        end = _end(margins, left, right)
        if (margins[end] >= 0.0) == labels[row]:
            continue
        mistakes += 1
        if labels[row]:
            chosen = _chosen(margins, right, ways, least)
            _move(chosen, True, inputs, row, state, steps)
            for k in range(chosen):
                way = ways[chosen, k]
                if way != 0 and (way > 0) != (margins[k] >= 0.0):
                    _move(k, way > 0, inputs, row, state, steps)
        else:
            _move(end, False, inputs, row, state, steps)
    return mistakes


@compiled
def margins_of(inputs: Floats, weights: Floats, biases: Floats) -> Floats:
    """The sums [n, m] of all units on all rows, each as in training."""
    found = np.empty((len(inputs), len(biases)))
    for row in range(len(inputs)):
        for k in range(len(biases)):
            found[row, k] = _sum(inputs, row, weights, biases, k)
    return found


def _sum(inputs: Floats, row: int, weights: Floats, biases: Floats, k: int) -> float:
    total = 0.0
    for i in range(inputs.shape[1]):
        total += weights[k, i] * inputs[row, i]
    return total + float(biases[k])


def _end(margins: Any, left: Any, right: Any) -> int:
    unit = 0
    following = right[0] if margins[0] >= 0.0 else left[0]
    while following >= 0:
        unit = following
        following = right[unit] if margins[unit] >= 0.0 else left[unit]
    return unit


def _chosen(margins: Any, right: Any, ways: Any, least: bool) -> int:
    """The unit without a right child that is to answer yes; the first of equal ones."""
    chosen, smallest = -1, np.inf
    for unit in range(len(margins)):
        if right[unit] >= 0:
            continue
        if least:
            cost = max(0.0, -margins[unit])
            for k in range(unit):
                way = ways[unit, k]
                if way != 0 and (way > 0) != (margins[k] >= 0.0):
                    cost += abs(margins[k])
        else:
            cost = abs(margins[unit])
        if chosen < 0 or cost < smallest:
            chosen, smallest = unit, cost
    return chosen


def _move(k: int, up: bool, inputs: Any, row: int, state: UnitWeights, steps: Any) -> None:
    multiplies, cancels, rises, falls = steps
    weights, biases, ups, downs = state
    n = inputs.shape[1]
    if not multiplies:
        sign = 1.0 if up else -1.0
        for i in range(n):
            weights[k, i] += sign * inputs[row, i]
        biases[k] += sign
        return
    for i in range(n):
        if inputs[row, i] == 0.0:
            continue
        if up:
            ups[k, i] = min(ups[k, i] + 1, len(rises) - 1)
        else:
            downs[k, i] = min(downs[k, i] + 1, len(falls) - 1)
        if cancels and ups[k, i] > 0 and downs[k, i] > 0:
            ups[k, i] -= 1
            downs[k, i] -= 1
        weights[k, i] = rises[ups[k, i]] * falls[downs[k, i]]


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
        descend_together(seen, labels.astype(np.float64), order, shape.gates, (_RATE, _MOMENTUM, gain), units, biases)
    return tree_by(of_complements, shape, units, biases, conditions)


@compiled
def descend_together(inputs: Any, targets: Any, order: Any, gates: Any, rates: Any, units: Any, biases: Any) -> None:
    """One step of all units for each row in order; units [m, d] and biases [m] are changed in place.

    rates: of learning, the momentum, and the slope of the gates.
    """
    rate, momentum, gain = rates
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
