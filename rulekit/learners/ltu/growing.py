"""Trees of units grown from the root down, by any way to fit one unit (Sahami, "The LTU Tree Algorithm").

A unit is fitted to the rows that come to it. Where too many of those on one of its sides are wrong, the unit has a
child on that side, which is fitted to them. Units are numbered level by level, so that a limit of units cuts the lowest
levels and not the right ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.learners.sums_of_rows.information import information_gain

Node = Callable[[Floats, Bools, Floats, np.random.Generator], tuple[Floats, float]]
"""How one unit is fitted: inputs [n, d], labels [n], weights [n], a generator -> weights [d] of the unit, its bias.

The unit fires where bias + weights @ inputs >= 0, which is to be the rows whose label is true.
"""

PAPER_TOLERANCES = ((25.0, 0.25), (100.0, 0.12), (float("inf"), 0.06))


@dataclass(frozen=True, slots=True)
class Growth:
    """When a side of a unit has a child.

    depth: the most units that a row comes to; tolerances: pairs (n, share), the first whose n is at least the weight of
    a side says which share of it may be wrong; most_units: of the whole tree; again: whether a unit with all its rows
    on one side may have a child, which sees the very same rows and so is of use only where fitting is random.
    """

    depth: int = 10
    tolerances: tuple[tuple[float, float], ...] = PAPER_TOLERANCES
    most_units: int | None = None
    again: bool = True

    def tolerates(self, wrong: float, total: float) -> bool:
        """Whether a side that weighs `total`, of which `wrong` is answered wrongly, needs no child."""
        share = next((share for n, share in self.tolerances if total <= n), self.tolerances[-1][1])
        return wrong <= share * total


PAPER_GROWTH = Growth()


def grow_tree(
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    node: Node,
    rng: np.random.Generator,
    growth: Growth = PAPER_GROWTH,
    check: Callable[[], None] | None = None,
) -> LTUTree:
    """The tree whose units are fitted by `node` to rows of inputs [n, d], labels [n] and positive weights [n].

    Weights count rows: a tolerance is of their sum. check: called before each unit, which may raise to stop.
    """
    left, right = list[int](), list[int]()
    fitted, biases = list[Floats](), list[float]()
    waiting = deque[tuple[Ints, int, bool, int]]([(np.arange(len(labels)), NONE, False, 1)])
    while waiting and (growth.most_units is None or len(left) < growth.most_units):
        rows, parent, on_right, depth = waiting.popleft()
        if check is not None:
            check()
        own_inputs, own_labels, own_weights = inputs[rows], labels[rows], weights[rows]
        of_unit, bias = node(own_inputs, own_labels, own_weights, rng)
        unit = len(left)
        if parent != NONE:
            (right if on_right else left)[parent] = unit
        left.append(NONE)
        right.append(NONE)
        fitted.append(of_unit)
        biases.append(bias)
        fires = own_inputs @ of_unit + bias >= 0.0
        if depth == growth.depth or (not growth.again and (fires.all() or not fires.any())):
            continue
        for side, answer in ((~fires, False), (fires, True)):
            total = float(own_weights[side].sum())
            wrong = float(own_weights[side & (own_labels != answer)].sum())
            if total > 0.0 and not growth.tolerates(wrong, total):
                waiting.append((rows[side], unit, answer, depth + 1))
    return LTUTree(Shape.of(left, right), np.array(fitted), np.array(biases))


def grow_perceptron_tree(
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    node: Node,
    rng: np.random.Generator,
    growth: Growth = PAPER_GROWTH,
    check: Callable[[], None] | None = None,
) -> LTUTree:
    """The tree of rows of inputs [n, d], labels [n] and positive weights [n]; `node` fits the units at its leaves.

    Inner nodes ask for one input (P. E. Utgoff, Perceptron Trees, 1988): where a unit answers too many rows wrongly on
    one of its sides, they are parted instead at one value of one input, which leaves the least entropy of the labels.
    """
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
