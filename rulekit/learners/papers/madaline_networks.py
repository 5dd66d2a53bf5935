"""Madaline and Mada-winnow networks: how their weights change, as they stand between two passes, and their training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.ltu.trees import LTUTree, Shape
from rulekit.learners.papers.madaline_pruning import pruned, without_useless
from rulekit.learners.papers.madaline_steps import Steps, UnitWeights, Wiring, margins_of, present
from rulekit.learners.papers.row_by_row import as_signs, of_complements, of_signs, random_orders, with_complements

_LARGEST = 1e60
"""No factor of a weight is larger, nor is one smaller than its inverse: sums must stay finite."""
_NO_TABLE = np.ones(1)


@dataclass(frozen=True, slots=True)
class FixedIncrement:
    """w + x or w - x; conditions are 1 and -1, there is a bias, all weights begin at 0."""


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
        if not 1.0 < self.alpha < math.inf:
            raise InputError(
                f"it strengthens, so that it is above 1, not {self.alpha:g}", where="alpha", fix="take 1.25"
            )
        if self.beta is not None and not 0.0 < self.beta < 1.0:
            raise InputError(
                f"it weakens, so that it lies between 0 and 1, not {self.beta:g}", where="beta", fix="leave it out"
            )
        if self.threshold is not None and not 0.0 < self.threshold < math.inf:
            raise InputError(f"it is above 0, not {self.threshold:g}", where="threshold", fix="leave it out")

    def threshold_of(self, n_conditions: int) -> float:
        """The threshold of units over so many conditions."""
        return float(n_conditions) if self.threshold is None else self.threshold

    @property
    def steps(self) -> Steps:
        """The powers of alpha and of beta, and whether one step down undoes one step up."""
        rises = _powers(self.alpha, self.alpha)
        if self.beta is None or self.alpha * self.beta == 1.0:
            return Steps(True, True, rises, 1.0 / rises)
        return Steps(True, False, rises, _powers(self.beta, 1.0 / self.beta))


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
        """One that has seen no row.

        Raises InputError where the rule needs conditions and there are numbers.
        """
        m, d = shape.size, len(conditions)
        weights, biases, counted = np.zeros((m, d)), np.zeros(m), 0
        if isinstance(rule, Winnow):
            if not conditions.all():
                raise InputError(
                    f"Winnow takes conditions that hold or do not, and {np.sum(~conditions)} inputs are numbers",
                    fix="cut them into conditions (max_bins), or learn by fixed increments",
                )
            counted = 2 * d
            weights, biases = np.ones((m, counted)), np.full(m, -rule.threshold_of(d))
        ups, downs = (np.zeros((m, counted), dtype=np.int64) for _ in range(2))
        return cls(rule, shape, conditions, UnitWeights(weights, biases, ups, downs), np.arange(m))

    def seen(self, inputs: Floats) -> Floats:
        """The inputs [n, k] as the rule sees rows of inputs [n, d].

        Raises InputError where there are other inputs than the network was made for.
        """
        if inputs.shape[1] != len(self.conditions):
            raise InputError(f"the network has {len(self.conditions)} inputs and the rows have {inputs.shape[1]}")
        of_conditions = inputs[:, self.conditions]
        if ((of_conditions != 0.0) & (of_conditions != 1.0)).any():
            raise InputError("conditions are 0 or 1, and a row has another value for one")
        return (with_complements if isinstance(self.rule, Winnow) else as_signs)(inputs, self.conditions)

    def fires(self, seen: Floats) -> Bools:
        """Which units fire on which rows [n, m], of what the rule sees [n, k]."""
        return np.asarray(margins_of(seen, self.state.weights, self.state.biases) >= 0.0)

    @property
    def tree(self) -> LTUTree:
        """The units over the inputs as they are, conditions 0 and 1."""
        back = of_complements if isinstance(self.rule, Winnow) else of_signs
        units = zip(self.state.weights, self.state.biases, strict=True)
        found = [back(unit, float(bias), self.conditions) for unit, bias in units]
        return LTUTree(self.shape, np.array([own for own, _ in found]), np.array([bias for _, bias in found]))

    def kept(self, shape: Shape, units: Ints) -> Network:
        """The network of another shape with some of the units."""
        state = UnitWeights._make(part[units] for part in self.state)
        return replace(self, shape=shape, state=state, names=self.names[units])

    def after(self, seen: Floats, labels: Bools, order: Ints, least: bool) -> tuple[Network, int]:
        """The network when it was shown the rows in order, and how many it answered wrongly."""
        state = UnitWeights._make(part.copy() for part in self.state)
        wiring = Wiring(self.shape.left, self.shape.right, self.shape.ways)
        steps = self.rule.steps if isinstance(self.rule, Winnow) else Steps(False, False, _NO_TABLE, _NO_TABLE)
        mistakes = present(seen, labels, order, wiring, state, steps, least)
        return replace(self, state=state), mistakes


# Training ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NetworkTraining:
    """How a network is trained.

    passes: over the rows, each in another random order. choice: of the unit that is to answer yes, that of least
    disturbance or the one closest to its threshold, as in the paper; auto: least for fixed increments, where it is
    better, closest for Winnow, where it is not. prune: whether a unit that is of no use is left out
    (`madaline_pruning`): "never", "after" training, or "during" it too, where it was of no use at the end of two passes
    in a row. Where rows come part by part, "never" is right, as each part is few.
    """

    passes: int = 5
    choice: Literal["auto", "least", "closest"] = "auto"
    prune: Literal["never", "after", "during"] = "during"

    def least(self, rule: Rule) -> bool:
        """Whether the unit to answer yes is that of least disturbance."""
        return self.choice == "least" or (self.choice == "auto" and isinstance(rule, FixedIncrement))


@dataclass(frozen=True, slots=True)
class TrainedPass:
    """One pass: the share of the rows shown that were answered wrongly when shown, and of their weight after it.

    unused: the units, numbered as training began, that were left out after it, as they were of no use.
    """

    number: int
    mistakes: float
    error: float
    unused: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedNetwork:
    """The tree that answers, over inputs as they are; the network to go on from; what each pass did.

    unused: the units, numbered as training began, that are not in the tree, as they are of no use.
    """

    tree: LTUTree
    network: Network
    history: tuple[TrainedPass, ...]
    unused: tuple[int, ...]


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
    or 1. check: called before each pass, which may raise to stop. Raises InputError where the rows have other inputs
    than the network.
    """
    seen, began = network.seen(inputs), network.names
    useless_before = np.zeros(0, dtype=np.int64)
    history = list[TrainedPass]()
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
        unused = tuple(np.setdiff1d(names, network.names).tolist())
        history.append(TrainedPass(number, mistakes / max(len(order), 1), error, unused))
    tree, names = network.tree, network.names
    if training.prune != "never":
        tree, kept = pruned(tree, inputs, labels, weights)
        names = names[kept]
    return TrainedNetwork(tree, network, tuple(history), tuple(np.setdiff1d(began, names).tolist()))


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
    Raises InputError where there are fewer than two rows.
    """
    parts = min(_PARTS, len(labels))
    if parts < 2:
        raise InputError("networks are compared on rows that they have not seen", fix="give two rows")
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


_PARTS = 5
