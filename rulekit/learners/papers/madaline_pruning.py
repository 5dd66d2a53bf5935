"""Units that are of no use: if one always gave the same answer, no more rows would be answered wrongly.

Those that decide nothing are among them, and those that decide some rows, but no better than without them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.papers.madaline_steps import margins_of


def useless_unit(
    shape: Shape, fires: Bools, labels: Bools, weights: Floats, among: Ints | None = None, turning: bool = False
) -> tuple[int, bool] | None:
    """The last unit that is of no use and can be left out, and what it may always answer.

    fires [n, m]: which units fire on which rows, of labels [n] and weights [n]; among: the units that may be it, all
    unless given; turning: those instead that can be left out only where their parents are turned round. None where each
    is of use.
    """
    wrong = _wrong(shape, fires, labels, weights)
    for unit in reversed(range(shape.size) if among is None else among.tolist()):
        for answer in (False, True):
            if (shape.passing(unit, answer) is None) != turning or (turning and not unit):
                continue
            always = fires.copy()
            always[:, unit] = answer
            if _wrong(shape, always, labels, weights) <= wrong:
                return unit, answer
    return None


def without_useless(
    shape: Shape, fires: Bools, labels: Bools, weights: Floats, among: Ints | None = None
) -> tuple[Shape, Ints]:
    """The shape without the units that are of no use, one after the other, and the units [k] that are left.

    among: the units that may be left out, all unless given.
    """
    kept = np.arange(shape.size)
    while True:
        eligible = None if among is None else np.flatnonzero(np.isin(kept, among))
        found = useless_unit(shape, fires[:, kept], labels, weights, eligible)
        passed = None if found is None else shape.passing(*found)
        if passed is None:
            return shape, kept
        shape, kept = passed[0], kept[passed[1]]


def useless_parting(shape: Shape, fires: Bools, labels: Bools, weights: Floats) -> tuple[Shape, Ints] | None:
    """The shape without the last unit that only sends rows to one of two children where both could be asked in turn.

    The other child then comes where the one gives a no (or a yes), and no more rows are answered wrongly. Also the
    units [k] that are left; None where there is no such unit.
    """
    wrong = _wrong(shape, fires, labels, weights)
    for unit in reversed(range(shape.size)):
        if NONE in (shape.left[unit], shape.right[unit]):
            continue
        for end in np.flatnonzero((shape.ways[:, unit] != 0) & ((shape.left == NONE) | (shape.right == NONE))):
            found, kept = _grafted(shape, unit, int(end))
            if _wrong(found, fires[:, kept], labels, weights) <= wrong:
                return found, kept
    return None


def pruned(tree: LTUTree, inputs: Floats, labels: Bools, weights: Floats) -> tuple[LTUTree, Ints]:
    """The tree without the units that are of no use on rows of inputs [n, d], and the units [k] that are left."""
    left = np.arange(tree.size)
    while True:
        margins = margins_of(inputs, tree.weights, tree.biases)
        smaller = without_useless(tree.shape, margins >= 0.0, labels, weights)
        if len(smaller[1]) == tree.size:
            found = useless_unit(tree.shape, margins >= 0.0, labels, weights, turning=True)
            parting = None if found else useless_parting(tree.shape, margins >= 0.0, labels, weights)
            if found is not None:
                tree, smaller = _turned(tree, margins, *found)
            elif parting is not None:
                smaller = parting
            else:
                return tree, left
        tree, left = tree.kept(*smaller), left[smaller[1]]


def _turned(tree: LTUTree, margins: Floats, unit: int, answer: bool) -> tuple[LTUTree, tuple[Shape, Ints]]:
    """The tree where the parent of a unit gives its constant answer, and the shape without the unit; margins [n, m].

    As it is, the parent gives the other answer there. So it is turned round, half-way to the closest row below its
    plane; or always gives that answer, where it does on its other side.
    """
    shape, parent = tree.shape, int(tree.shape.parents[unit])
    own, biases = tree.weights.copy(), tree.biases.copy()
    if NONE in (shape.left[parent], shape.right[parent]):
        own[parent], biases[parent] = 0.0, 1.0 if answer else -1.0
        return replace(tree, weights=own, biases=biases), shape.without(unit)
    below = margins[margins[:, parent] < 0.0, parent]
    own[parent] = -own[parent]
    biases[parent] = -biases[parent] + (0.5 * float(below.max()) if len(below) else -1.0)
    return replace(tree, weights=own, biases=biases), _with_turned(shape, parent).without(unit)


def _wrong(shape: Shape, fires: Bools, labels: Bools, weights: Floats) -> float:
    return float(weights[shape.decides(fires) != labels].sum())


def _with_turned(shape: Shape, unit: int) -> Shape:
    """The shape where a unit is its contrary: its children change places."""
    left, right = shape.left.copy(), shape.right.copy()
    left[unit], right[unit] = shape.right[unit], shape.left[unit]
    return Shape(left, right)


def _grafted(shape: Shape, unit: int, end: int) -> tuple[Shape, Ints]:
    """The shape without a unit that has two children, and the units [k] that are left.

    `end`, below or at one of the children, answers a row by itself, by yes if it has no right child, by no if it has no
    left one and a right one. That child stands in the place of the unit, and the other, with all below it, is where
    `end` gave a no (if it has no left child), else where it gave a yes.
    """
    left, right = shape.left.copy(), shape.right.copy()
    first, second = int(left[unit]), int(right[unit])
    if not (end == first or shape.ways[end, first]):
        first, second = second, first
    (left if left[end] == NONE else right)[end] = second
    parent = int(shape.parents[unit])
    if parent != NONE:
        (left if left[parent] == unit else right)[parent] = first
    order = [first if parent == NONE else 0]
    for known in order:  # which grows
        order += [int(child) for child in (left[known], right[known]) if child != NONE]
    number = {NONE: NONE} | {known: i for i, known in enumerate(order)}
    return Shape.of(*([number[int(child)] for child in side[order]] for side in (left, right))), np.array(order)
