"""The learner ltu-tree-paper: trees of units fitted one by one (M. Sahami, "The LTU Tree Algorithm", 1993).

A unit is fitted to the rows that come to it, in one of the paper's ways or the best of several (the end of its section
3). Where too many of those on one of its sides are wrong, the unit has a child on that side, which is fitted to them.
Units are numbered level by level, so that a limit of units cuts the lowest levels and not the right ones.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import Node, Or
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import Learning, Question
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.growing import UnitSettings, tolerated
from rulekit.learners.ltu.inputs import DistinctRows, Inputs
from rulekit.learners.ltu.learner import UnitLearner, candidate_of, nested, path_node
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.parameters import one_of, setting, whole
from rulekit.learners.sums_of_rows.histograms import information_gain
from rulekit.learners.sums_of_rows.kernels import compiled

_FEW, _TIMES, _MOST = 100_000, 8, 10_000_000
"""A pass shows 100,000 rows, or each row eight times, and at most 10 million; of more each in proportion."""
_START = 0.1  # weights of back-propagation begin between it and its negative, which the paper does not say
_RATE, _MOMENTUM = 1.0, 0.5
_L2, _ITERATIONS = 1e-4, 100


def shown_times(weights: Floats) -> Ints:
    """How often a pass shows each row [n] of positive weights [n], which are stated in rows.

    Whole weights are the numbers themselves. Others are rounded so that the rows up to any one are shown as often as
    they weigh together, within one; a pass shows as many rows as there are at least.
    """
    total, rows = float(weights.sum()), len(weights)
    n = min(max(rows, round(total)), max(rows, _FEW, min(_TIMES * rows, _MOST)))
    upto = np.floor(np.cumsum(weights) * (n / total) + 0.5).astype(np.int64)
    return np.diff(upto, prepend=0)


def random_orders(weights: Floats, passes: int, rng: Generator) -> Ints:
    """The numbers of the rows as they are shown [passes, shown], each pass in an order of its own."""
    rows = np.repeat(np.arange(len(weights)), shown_times(weights))
    return np.array([rng.permutation(rows) for _ in range(passes)], dtype=np.int64).reshape(passes, len(rows))


def are_conditions(inputs: Floats) -> Bools:
    """Which inputs [d] are 0 or 1 on all rows [n, d]; the others are numbers."""
    return np.asarray(((inputs == 0.0) | (inputs == 1.0)).all(axis=0))


FittedUnit = tuple[Floats, float]  # the weights [d] of a unit, and its bias


def as_signs(inputs: Floats, conditions: Bools) -> Floats:
    """The inputs [n, d] with 1 and -1 in the place of 1 and 0 of those that are conditions [d]."""
    return np.where(conditions, 2.0 * inputs - 1.0, inputs)


def of_signs(weights: Floats, bias: float, conditions: Bools) -> FittedUnit:
    """Weights [d] and bias over inputs as they are, of those over `as_signs`."""
    return np.where(conditions, 2.0 * weights, weights), bias - float(weights[conditions].sum())


def with_complements(inputs: Floats, conditions: Bools) -> Floats:
    """The inputs [n, d + c], after them the complements 1 - x of the c conditions among them."""
    return np.hstack([inputs, 1.0 - inputs[:, conditions]])


def of_complements(weights: Floats, bias: float, conditions: Bools) -> FittedUnit:
    """Weights [d] and bias over inputs as they are, of those [d + c] over `with_complements`."""
    own, complements = weights[: len(conditions)].copy(), weights[len(conditions) :]
    own[conditions] -= complements
    return own, bias + float(complements.sum())


SIGNS, COMPLEMENTS = (as_signs, of_signs), (with_complements, of_complements)
"""How inputs are coded for units, and the way back."""


def tree_by(back: Any, shape: Shape, units: Floats, biases: Floats, conditions: Bools) -> LTUTree:
    """The tree over inputs as they are of units [m, k] and biases [m]; back: `of_signs` or `of_complements`."""
    found = [back(unit, float(bias), conditions) for unit, bias in zip(units, biases, strict=True)]
    return LTUTree(shape, np.array([own for own, _ in found]), np.array([bias for _, bias in found]))


UnitKind = Literal["backprop", "perceptron", "logistic", "naive-bayes", "best"]
KINDS: tuple[UnitKind, ...] = get_args(UnitKind)
FitUnit = Callable[[Floats, Bools, Floats, Generator], FittedUnit]
"""How one unit is fitted: inputs [n, d], labels [n], weights [n], a generator -> weights [d] of the unit, its bias.

The unit fires where bias + weights @ inputs >= 0, which is to be the rows whose label is true.
"""


def fit_backprop(inputs: Floats, labels: Bools, weights: Floats, rng: Generator, epochs: int = 5) -> FittedUnit:
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


def fit_perceptron(inputs: Floats, labels: Bools, weights: Floats, rng: Generator, epochs: int = 10) -> FittedUnit:
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
    found = 0.0
    for row in range(len(inputs)):
        total = 0.0
        for i in range(inputs.shape[1]):
            total += unit[i] * inputs[row, i]
        if (total >= 0.0) != (signs[row] > 0.0):
            found += weights[row]
    return found


def fit_logistic(inputs: Floats, labels: Bools, weights: Floats, rng: Generator | None = None) -> FittedUnit:
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


def fit_naive_bayes(inputs: Floats, labels: Bools, weights: Floats, rng: Generator | None = None) -> FittedUnit:
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


def fit_best(inputs: Floats, labels: Bools, weights: Floats, rng: Generator, ways: Sequence[FitUnit]) -> FittedUnit:
    """The unit that errs least on the rows, of those that several ways fit; the first of equal ones."""

    def wrong(found: FittedUnit) -> float:
        return float(weights[(inputs @ found[0] + found[1] >= 0.0) != labels].sum())

    return min((fit(inputs, labels, weights, rng) for fit in ways), key=wrong)


def fit_of(kind: UnitKind, epochs: int = 5) -> FitUnit:
    """The way to fit a unit of a name; epochs: passes over the rows of those that take one row at a time."""
    slowly = (partial(fit_backprop, epochs=epochs), partial(fit_perceptron, epochs=epochs))
    ways: dict[str, FitUnit] = dict(zip(KINDS, (*slowly, fit_logistic, fit_naive_bayes), strict=False))
    return ways.get(kind) or partial(fit_best, ways=tuple(ways.values()))


def grow_tree(
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    fit: FitUnit,
    rng: Generator,
    *,
    depth: int = 10,
    most_units: int | None = None,
    single: bool = False,
    check: Callable[[], None] = lambda: None,
) -> LTUTree:
    """The tree whose units are fitted to rows of inputs [n, d], labels [n] and positive weights [n].

    depth: the most units that a row comes to; most_units: of the whole tree. single: inner nodes ask for one input (P.
    E. Utgoff, Perceptron Trees, 1988): where a unit answers too many rows wrongly on one of its sides, they are parted
    instead at one value of one input, which leaves the least entropy of the labels. Weights count rows: a tolerance is
    of their sum. check: called before each unit, which may raise to stop.
    """
    tree = LTUTree.of_no_unit(inputs.shape[1])
    waiting = deque[tuple[Ints, int, bool, int]]([(np.arange(len(labels)), NONE, False, 1)])
    while waiting and (most_units is None or tree.size < most_units):
        rows, parent, on_right, level = waiting.popleft()
        check()
        own_inputs, own_labels, own_weights = inputs[rows], labels[rows], weights[rows]
        unit, bias = fit(own_inputs, own_labels, own_weights, rng)
        fires = own_inputs @ unit + bias >= 0.0
        open_sides = [
            (side, answer)
            for side, answer in ((~fires, False), (fires, True))
            if side.any() and not tolerated(own_weights[side & (own_labels != answer)].sum(), own_weights[side].sum())
        ]
        if single:
            full = most_units is not None and tree.size + len(waiting) + 3 > most_units
            found = None
            if open_sides and not full and level < depth:
                found = best_single(own_inputs, own_labels, own_weights)
            open_sides = []
            if found is not None:
                unit, bias = np.zeros(inputs.shape[1]), -found[1]
                unit[found[0]] = 1.0
                fires = own_inputs[:, found[0]] >= found[1]
                open_sides = [(~fires, False), (fires, True)]
        number, tree = tree.size, tree.with_unit(np.append(unit, bias), parent, on_right)
        if level < depth:
            waiting += [(rows[side], number, answer, level + 1) for side, answer in open_sides]
    return tree


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


def dnf_of_paths(shape: Shape, units: Sequence[Node]) -> Node:
    """The or of the conjunctions of all paths that are answered by yes; units [m]: any Boolean nodes.

    It is the network of three layers that a tree is (Sahami, "Creating Networks From LTU Trees"): its conjunctions are
    the second layer, one for each unit without a right child, and their or is the third. No two of them hold at once.
    """
    gates = [path_node(gate, units) for gate in shape.gates]
    return gates[0] if len(gates) == 1 else Or(gates)


WRITTEN = {"nested": nested, "paths": dnf_of_paths}


@dataclass(frozen=True)
class PaperUnitSettings(UnitSettings):
    """What the learners of the paper share."""

    form: Literal["nested", "paths"] = setting(
        "nested", one_of(*WRITTEN), "how the rule is written: as the tree is, or as one rule for each path"
    )


@dataclass(frozen=True)
class PaperTreeSettings(PaperUnitSettings):
    """How a tree grows, and how its units are fitted."""

    node: UnitKind = setting(
        "backprop",
        one_of(*KINDS),
        "how a unit is fitted: by back-propagation, as a perceptron, by logistic regression, naive Bayes, or the best",
    )
    inner: Literal["units", "single"] = setting(
        "units", one_of("units", "single"), "single: units stand at the ends alone, and single conditions before them"
    )
    max_nodes: int = setting(40, whole(1, 1000), "most units of a class")
    max_depth: int = setting(10, whole(1, 100), "most units that a row comes to")
    n_epochs: int = setting(5, whole(1), "times that back-propagation and perceptrons see each row")


class PaperLTUTreeClassifier(RuleClassifier, UnitLearner):
    """A tree of linear threshold units, each fitted by itself, as in Sahami's paper.

    A side of a unit on which too many rows are wrong has a unit of its own, with the paper's tolerances: a quarter of
    up to 25 rows, 12 % of up to 100, else 6 %. No unit is pruned and no weight left out.
    """

    word = "ltu-tree-paper"
    settings = PaperTreeSettings
    size_parameter = "max_nodes"

    def _inputs_of(self, problem: Problem, settings: PaperTreeSettings) -> Inputs:
        return Inputs.of(problem, only_numbers=True)

    def learn(self, question: Question) -> Learning:
        settings: PaperTreeSettings = question.settings
        rows = DistinctRows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        tree = grow_tree(
            *(rows.inputs, rows.labels == 1, rows.in_rows, fit_of(settings.node, int(settings.n_epochs))),
            np.random.default_rng((question.seed, question.index)),
            depth=int(settings.max_depth),
            most_units=int(settings.max_nodes),
            single=settings.inner == "single",
            check=question.watch.check,
        )
        if len(tree.live):  # else it says the same of all rows
            yield candidate_of(tree, question, rows, written=WRITTEN[settings.form])
        return None
