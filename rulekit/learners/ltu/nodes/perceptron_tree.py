"""Perceptron trees (P. E. Utgoff 1988): inner nodes ask for one input, and units decide at the leaves.

A unit is fitted to the rows that come to a place. Where it answers too many of them wrongly on one of its sides, the
rows are parted instead at one value of one input, which leaves the least entropy of the labels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.counting.information import information_gain
from rulekit.learners.ltu.growing import PAPER_GROWTH, Growth, Node
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree


def grow_perceptron_tree(
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    node: Node,
    rng: np.random.Generator,
    growth: Growth = PAPER_GROWTH,
    check: Callable[[], None] | None = None,
) -> LTUTree:
    """The tree of rows of inputs [n, d], labels [n] and positive weights [n]; `node` fits the units at its leaves."""
    left, right = list[int](), list[int]()
    fitted, biases = list[Floats](), list[float]()
    waiting: list[tuple[Ints, int, bool, int]] = [(np.arange(len(labels)), NONE, False, 1)]
    while waiting:
        rows, parent, on_right, depth = waiting.pop(0)
        if check is not None:
            check()
        unit = len(left)
        if parent != NONE:
            (right if on_right else left)[parent] = unit
        left.append(NONE)
        right.append(NONE)
        of_unit, bias = node(inputs[rows], labels[rows], weights[rows], rng)
        full = growth.most_units is not None and unit + len(waiting) + 3 > growth.most_units
        if depth < growth.depth and not full and not _suffices(of_unit, bias, inputs, labels, weights, rows, growth):
            cut = best_single(inputs[rows], labels[rows], weights[rows])
            if cut is not None:
                of_unit, bias = np.zeros(inputs.shape[1]), -cut[1]
                of_unit[cut[0]] = 1.0
                fires = inputs[rows, cut[0]] >= cut[1]
                waiting += [(rows[~fires], unit, False, depth + 1), (rows[fires], unit, True, depth + 1)]
        fitted.append(of_unit)
        biases.append(bias)
    return LTUTree(Shape.of(left, right), np.array(fitted), np.array(biases))


def _suffices(
    unit: Floats, bias: float, inputs: Floats, labels: Bools, weights: Floats, rows: Ints, growth: Growth
) -> bool:
    """Whether both sides of a unit are answered well enough."""
    fires = inputs[rows] @ unit + bias >= 0.0
    for side, answer in ((~fires, False), (fires, True)):
        own = weights[rows[side]]
        if not growth.tolerates(float(own[labels[rows[side]] != answer].sum()), float(own.sum())):
            return False
    return True


def best_single(inputs: Floats, labels: Bools, weights: Floats) -> tuple[int, float] | None:
    """The input and the value such that x >= value tells the most of the labels; None where all rows are equal.

    A value is one of a row: x >= value then parts rows as exactly as they are.
    """
    order = np.argsort(inputs, axis=0, kind="stable")
    values = np.take_along_axis(inputs, order, axis=0)
    by_class = np.stack([weights * ~labels, weights * labels], axis=-1)
    below = np.cumsum(by_class[order], axis=0)[:-1]  # [n - 1, d, 2]
    tables = np.stack([below, by_class.sum(axis=0) - below], axis=-2)
    gains = np.where(values[1:] > values[:-1], information_gain(tables), -1.0)
    if not gains.size or gains.max() < 0.0:
        return None
    place, column = np.unravel_index(int(gains.argmax()), gains.shape)
    return int(column), float(values[place + 1, column])
