"""Madaline and Mada-winnow networks: how their weights change, their training, and units that are of no use.

A unit is of no use if no more rows would be answered wrongly if it always gave the same answer. Units that decide
nothing are among them, and those that decide some rows, but no better than without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.papers.ltu_trees import COMPLEMENTS, SIGNS, random_orders, tree_by
from rulekit.learners.papers.madaline_steps import UnitWeights, margins_of, present

_LARGEST = 1e60  # no factor of a weight is larger, nor is one smaller than its inverse: sums must stay finite


Steps = tuple[bool, bool, Floats, Floats]  # see `present`
Passed = tuple[Shape, Ints]  # a shape with fewer units, and the units [k] that are left


def without_useless(shape: Shape, fires: Bools, labels: Bools, weights: Floats, among: Ints | None = None) -> Passed:
    """The shape without the units that are of no use, one after the other, the last first.

    fires [n, m]: which units fire on which rows, of labels [n] and weights [n]; among: the units that may be left out,
    all unless given.
    """
    kept = np.arange(shape.size)
    while True:
        wrong = _wrong(shape, fires[:, kept], labels, weights)
        units = [unit for unit in reversed(range(shape.size)) if among is None or kept[unit] in among]
        tried = (shape.passing(unit, answer) for unit in units for answer in (False, True))
        smaller = ((found[0], kept[found[1]]) for found in tried if found is not None)
        better = (found for found in smaller if _wrong(found[0], fires[:, found[1]], labels, weights) <= wrong)
        passed = next(better, None)
        if passed is None:
            return shape, kept
        shape, kept = passed


def useless_parting(shape: Shape, fires: Bools, labels: Bools, weights: Floats) -> Passed | None:
    """The shape without the last unit that only sends rows to one of two children where both could be asked in turn.

    The other child then comes where the one gives a no (or a yes), and no more rows are answered wrongly. None where
    there is no such unit.
    """
    wrong = _wrong(shape, fires, labels, weights)
    for unit in np.flatnonzero((shape.left != NONE) & (shape.right != NONE))[::-1].tolist():
        for end in np.flatnonzero((shape.ways[:, unit] != 0) & ((shape.left == NONE) | (shape.right == NONE))).tolist():
            found, kept = _grafted(shape, unit, end)
            if _wrong(found, fires[:, kept], labels, weights) <= wrong:
                return found, kept
    return None


def pruned(tree: LTUTree, inputs: Floats, labels: Bools, weights: Floats) -> tuple[LTUTree, Ints]:
    """The tree without the units that are of no use on rows of inputs [n, d], and the units [k] that are left."""
    left = np.arange(tree.size)
    while True:
        margins = margins_of(inputs, tree.weights, tree.biases)
        rows = (margins >= 0.0, labels, weights)
        smaller: Passed | None = without_useless(tree.shape, *rows)
        if smaller is None or len(smaller[1]) == tree.size:
            turned = _turned(tree, margins, labels, weights)
            tree, smaller = turned or (tree, useless_parting(tree.shape, *rows))
            if smaller is None:
                return tree, left
        tree, left = tree.kept(*smaller), left[smaller[1]]


def _turned(tree: LTUTree, margins: Floats, labels: Bools, weights: Floats) -> tuple[LTUTree, Passed] | None:
    """The tree where the parent of a useless unit gives its constant answer, and the shape without the unit.

    As it is, the parent gives the other answer there. So it is turned round, half-way to the closest row below its
    plane; or always gives that answer, where it does on its other side. None where no unit can be left out so.
    """
    shape, fires = tree.shape, margins >= 0.0
    wrong = _wrong(shape, fires, labels, weights)
    for unit, answer in ((unit, answer) for unit in reversed(range(1, tree.size)) for answer in (False, True)):
        always = fires.copy()
        always[:, unit] = answer
        if shape.passing(unit, answer) is not None or _wrong(shape, always, labels, weights) > wrong:
            continue
        parent, own, biases = int(shape.parents[unit]), tree.weights.copy(), tree.biases.copy()
        left, right = shape.left.copy(), shape.right.copy()
        if NONE in (left[parent], right[parent]):
            own[parent], biases[parent] = 0.0, 1.0 if answer else -1.0
        else:
            below = margins[margins[:, parent] < 0.0, parent]
            own[parent] = -own[parent]
            biases[parent] = -biases[parent] + (0.5 * float(below.max()) if len(below) else -1.0)
            left[parent], right[parent] = shape.right[parent], shape.left[parent]
        return replace(tree, weights=own, biases=biases), Shape(left, right).without(unit)
    return None


def _wrong(shape: Shape, fires: Bools, labels: Bools, weights: Floats) -> float:
    return float(weights[shape.decides(fires) != labels].sum())


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


@dataclass(frozen=True, slots=True)
class FixedIncrement:
    """w + x or w - x; conditions are 1 and -1, there is a bias, all weights begin at 0."""

    @property
    def steps(self) -> Steps:
        return False, False, np.ones(1), np.ones(1)


@dataclass(frozen=True, slots=True)
class Winnow:
    """w * alpha or w * beta where x is 1; conditions are 1 and 0, with their complements; all weights begin at 1.

    N. Littlestone, Learning quickly when irrelevant attributes abound, 1988. All weights are start * alpha ** a *
    beta ** b, which the numbers a and b keep without rounding.

    A unit fires where its sum is at least `threshold` (None: the number of conditions, without the complements). It can
    be "at least r of k" if threshold / weight lies between r - 1 and r for some weight, which alpha <= r / (r - 1)
    makes sure of; alpha = 2 with a threshold that is a power of two does for r = 1, 2, 4, 8. The paper has 2, .5 and 4.
    Raises InputError for factors that are none.
    """

    alpha: float = 1.25
    beta: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        bounds = {"alpha": (1.0, math.inf), "beta": (0.0, 1.0), "threshold": (0.0, math.inf)}
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if value is not None and not low < value < high:
                raise InputError(
                    f"it lies between {low:g} and {high:g}, and is not {value:g}", where=name, fix="leave it out"
                )

    def threshold_of(self, n_conditions: int) -> float:
        return float(n_conditions) if self.threshold is None else self.threshold

    @property
    def steps(self) -> Steps:
        """The powers of alpha and of beta, and whether one step down undoes one step up."""
        rises = _powers(self.alpha, self.alpha)
        if self.beta is None or self.alpha * self.beta == 1.0:
            return True, True, rises, 1.0 / rises
        return True, False, rises, _powers(self.beta, 1.0 / self.beta)


Rule = FixedIncrement | Winnow


def _powers(base: float, growth: float) -> Floats:
    """The powers of a base, as many as stay within bounds; growth: by which factor they come nearer to them."""
    return np.asarray(base ** np.arange(int(math.log(_LARGEST) / math.log(growth)) + 1, dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Units over inputs as the rule sees them: k of them, of d inputs whose conditions [d] are 0 and 1.

    state: weights [m, k] and what belongs to them; names [m]: the number of each unit in the shape that training began
    with.
    """

    rule: Rule
    shape: Shape
    conditions: Bools
    state: UnitWeights
    names: Ints

    @classmethod
    def new(cls, rule: Rule, shape: Shape, conditions: Bools) -> Network:
        """One that has seen no row."""
        m, d = shape.size, len(conditions)
        weights, biases, counted = np.zeros((m, d)), np.zeros(m), 0
        if isinstance(rule, Winnow):
            counted = 2 * d
            weights, biases = np.ones((m, counted)), np.full(m, -rule.threshold_of(d))
        ups, downs = np.zeros((2, m, counted), dtype=np.int64)
        return cls(rule, shape, conditions, UnitWeights(weights, biases, ups, downs), np.arange(m))

    @property
    def coding(self) -> Any:
        return COMPLEMENTS if isinstance(self.rule, Winnow) else SIGNS

    def seen(self, inputs: Floats) -> Floats:
        """The inputs [n, k] as the rule sees rows of inputs [n, d]."""
        return np.asarray(self.coding[0](inputs, self.conditions))

    def fires(self, seen: Floats) -> Bools:
        """Which units fire on which rows [n, m], of what the rule sees [n, k]."""
        return np.asarray(margins_of(seen, self.state.weights, self.state.biases) >= 0.0)

    @property
    def tree(self) -> LTUTree:
        """The units over the inputs as they are, conditions 0 and 1."""
        return tree_by(self.coding[1], self.shape, self.state.weights, self.state.biases, self.conditions)

    def kept(self, shape: Shape, units: Ints) -> Network:
        state = UnitWeights._make(part[units] for part in self.state)
        return replace(self, shape=shape, state=state, names=self.names[units])

    def after(self, seen: Floats, labels: Bools, order: Ints, least: bool) -> tuple[Network, int]:
        """The network when it was shown the rows in order, and how many it answered wrongly."""
        state = UnitWeights._make(part.copy() for part in self.state)
        wiring = self.shape.left, self.shape.right, self.shape.ways
        mistakes = present(seen, labels, order, wiring, state, self.rule.steps, least)
        return replace(self, state=state), mistakes


@dataclass(frozen=True, slots=True)
class NetworkTraining:
    """How a network is trained.

    passes: over the rows, each in another random order. choice: of the unit that is to answer yes, that of least
    disturbance or the one closest to its threshold, as in the paper; auto: least for fixed increments, where it is
    better, closest for Winnow, where it is not. prune: whether a unit that is of no use is left out: "never", "after"
    training, or "during" it too, where it was of no use at the end of two passes in a row. Where rows come part by
    part, "never" is right, as each part is few.
    """

    passes: int = 5
    choice: Literal["auto", "least", "closest"] = "auto"
    prune: Literal["never", "after", "during"] = "during"

    def least(self, rule: Rule) -> bool:
        """Whether the unit to answer yes is that of least disturbance."""
        return self.choice == "least" or (self.choice == "auto" and isinstance(rule, FixedIncrement))


@dataclass(frozen=True, slots=True, eq=False)
class TrainedNetwork:
    """The tree that answers, over inputs as they are; the network to go on from; what each pass did.

    unused: the units, numbered as training began, that are not in the tree, as they are of no use. passes: of each its
    number, the share of the rows shown that were answered wrongly when shown (mistakes), and of their weight after it
    (error), and the units that were left out after it.
    """

    tree: LTUTree
    network: Network
    passes: list[dict[str, Any]]
    unused: list[int]


def train(
    network: Network,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    orders: Ints,
    training: NetworkTraining,
    check: Callable[[], None] = lambda: None,
) -> TrainedNetwork:
    """Train a network, new or trained before, on rows of inputs [n, d], labels [n] and positive weights [n].

    orders [passes, shown]: of the rows, each as often as it weighs (`random_orders`). Conditions among the inputs are 0
    or 1. check: called before each pass, which may raise to stop.
    """
    seen, began = network.seen(inputs), network.names
    useless_before = np.zeros(0, dtype=np.int64)
    passes = list[dict[str, Any]]()
    for number, order in enumerate(orders, start=1):
        check()
        network, mistakes = network.after(seen, labels, order, training.least(network.rule))
        fires, names = network.fires(seen), network.names
        error = float(weights[network.shape.decides(fires) != labels].sum() / weights.sum())
        if training.prune == "during":
            useless = np.setdiff1d(names, names[without_useless(network.shape, fires, labels, weights)[1]])
            again = np.flatnonzero(np.isin(names, np.intersect1d(useless, useless_before)))
            if len(again):
                network = network.kept(*without_useless(network.shape, fires, labels, weights, again))
            useless_before = useless
        unused = np.setdiff1d(names, network.names).tolist()
        passes.append({"pass": number, "mistakes": mistakes / max(len(order), 1), "error": error, "unused": unused})
    tree, names = network.tree, network.names
    if training.prune != "never":
        tree, kept = pruned(tree, inputs, labels, weights)
        names = names[kept]
    return TrainedNetwork(tree, network, passes, np.setdiff1d(began, names).tolist())


def best_of_several(
    network: Network,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    rng: np.random.Generator,
    n_networks: int = 5,
    *,
    training: NetworkTraining = NetworkTraining(),
    by_turns: bool = False,
    check: Callable[[], None] = lambda: None,
) -> tuple[TrainedNetwork, Floats]:
    """The best of so many networks that all go on from one, and the share that each errs on rows not shown to it [k].

    What few passes make of a network depends much on the order of the rows (Sahami, at the end of the results). The
    network that is kept is the one that unseen rows judge: an order that served well without them says little of the
    network that it makes of all rows. The rows are parted by chance into five parts, and each network is shown all but
    one of them and judged by that one: all by the same part, or each by the next (by_turns: cross-validation).
    """
    parts = min(5, len(labels))
    orders = [random_orders(weights, training.passes, rng) for _ in range(n_networks)]
    part_of = rng.permutation(np.arange(len(labels)) % parts)
    found, errors = list[TrainedNetwork](), np.zeros(n_networks)
    for number, order in enumerate(orders):
        out = part_of == (number % parts if by_turns else 0)
        shown = order[~out[order]].reshape(len(order), -1)  # each pass shows every row equally often
        found.append(train(network, inputs, labels, weights, shown, training, check))
        wrong = found[-1].tree.decides(inputs[out]) != labels[out]
        errors[number] = float(weights[out][wrong].sum() / weights[out].sum())
    return found[int(errors.argmin())], errors
