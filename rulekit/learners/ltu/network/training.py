"""Training a network pass by pass: what it errs, which units are of no use, and which weights answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rulekit.learners.ltu.network.kernels import present
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.pruning import pruned, without_useless
from rulekit.learners.ltu.network.rules import FixedIncrement
from rulekit.learners.ltu.presenting import random_orders
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints

Choice = Literal["least", "closest"]
Keep = Literal["last", "averaged", "pocket"]

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Training:
    """How a network is trained.

    passes: over the rows, each in another random order. choice: of the unit that is to answer yes, that of least
    disturbance or the one closest to its threshold, as in the paper; None: least for fixed increments, where it is
    better, closest for Winnow, where it is not. keep: the weights that answer: the last, the mean of all that rows were
    shown to, or the best on the training rows of those that had the longest runs of right answers. prune: whether a
    unit that is of no use is left out (`pruning`): "never", "after" training, or "during" it too, where it was of no
    use at the end of two passes in a row. Where rows come part by part, "never" is right, as each part is few.
    """

    passes: int = 5
    choice: Choice | None = None
    keep: Keep = "last"
    prune: Literal["never", "after", "during"] = "during"

    def least(self, network: Network) -> bool:
        """Whether the unit to answer yes is that of least disturbance."""
        choice = self.choice or ("least" if isinstance(network.rule, FixedIncrement) else "closest")
        return choice == "least"


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: the share of the rows shown that were answered wrongly when shown, and of their weight after it.

    unused: the units, numbered as training began, that were left out after it, as they were of no use.
    """

    number: int
    mistakes: float
    error: float
    unused: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The tree that answers, over inputs as they are; the network to go on from; what each pass did.

    unused: the units, numbered as training began, that are not in the tree, as they are of no use.
    """

    tree: LTUTree
    network: Network
    history: tuple[Pass, ...]
    unused: tuple[int, ...]


DEFAULT = Training()


def train(
    network: Network,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    rng: np.random.Generator,
    training: Training = DEFAULT,
    check: Callable[[], None] | None = None,
) -> Trained:
    """Train a network, new or trained before, on rows of inputs [n, d], labels [n] and positive weights [n].

    A row is shown as often as it weighs. Conditions among the inputs are 0 or 1. check: called before each pass, which
    may raise to stop. Raises InputError where the rows have other inputs than the network.
    """
    orders = random_orders(weights, training.passes, rng)
    return train_in_order(network, inputs, labels, weights, orders, training, check)


def train_in_order(
    network: Network,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    orders: Ints,
    training: Training = DEFAULT,
    check: Callable[[], None] | None = None,
) -> Trained:
    """The same with rows that are shown in given orders [passes, shown]."""
    seen = network.seen(inputs)
    began = tuple(network.names.tolist())
    network = network.copied()
    pocket = _Pocket(seen, labels, weights) if training.keep == "pocket" else None
    if pocket is not None:
        pocket.offer(network)  # what training makes worse is kept as it began
    useless_before: frozenset[int] = frozenset()
    history = list[Pass]()
    for number, order in enumerate(orders, start=1):
        if check is not None:
            check()
        network, mistakes = _one_pass(network, seen, labels, order, training.least(network), pocket)
        fires = network.fires(seen)
        error = _weight_of(network.shape.decides(fires) != labels, weights)
        unused: tuple[int, ...] = ()
        if training.prune == "during":
            used = network.names[without_useless(network.shape, fires, labels, weights)[1]]
            useless = frozenset(network.names.tolist()) - frozenset(used.tolist())
            again = np.flatnonzero(np.isin(network.names, list(useless & useless_before)))
            smaller = _kept(network, fires, labels, weights, again)
            unused = tuple(sorted(set(network.names.tolist()) - set(smaller.names.tolist())))
            network, useless_before = smaller, useless
        history.append(Pass(number, mistakes / max(len(order), 1), error, unused))
    if pocket is not None:
        pocket.offer(network)
    tree, names = _answering(network, training, pocket)
    if training.prune != "never":
        tree, kept = pruned(tree, inputs, labels, weights)
        names = names[kept]
    gone = tuple(name for name in began if name not in names.tolist())
    return Trained(tree, network, tuple(history), gone)


def _kept(network: Network, fires: Bools, labels: Bools, weights: Floats, among: Ints) -> Network:
    """The network without those of some units that are of no use."""
    return network.kept(*without_useless(network.shape, fires, labels, weights, among)) if len(among) else network


def _one_pass(
    network: Network, seen: Floats, labels: Bools, order: Ints, least: bool, pocket: _Pocket | None
) -> tuple[Network, int]:
    """The network after all rows in order, its state changed in place, and how many it answered wrongly."""
    place, wrong, run = 0, 0, 0 if pocket is None else pocket.run
    while True:
        longest = _NEVER if pocket is None else pocket.longest
        place, run, missed = present(
            seen, labels, order, network.wiring, network.state, network.steps, least, network.shown, place, longest, run
        )
        wrong += missed
        if pocket is not None:
            pocket.run = run
        if place == len(order):
            break
        assert pocket is not None
        pocket.offer(network)
        pocket.longest, run = run, -1
    return network.after(len(order)), wrong


class _Pocket:
    """The weights that err least on the training rows, of those that answered more rows in a row than any before."""

    def __init__(self, seen: Floats, labels: Bools, weights: Floats) -> None:
        self.seen, self.labels, self.weights = seen, labels, weights
        self.least = np.inf
        self.best: Network | None = None
        self.longest, self.run = 0, 0

    def offer(self, network: Network) -> None:
        """Take a network if it errs less."""
        wrong = _weight_of(network.shape.decides(network.fires(self.seen)) != self.labels, self.weights)
        if wrong < self.least:
            self.least, self.best = wrong, network.copied()


def _answering(network: Network, training: Training, pocket: _Pocket | None) -> tuple[LTUTree, Ints]:
    """The tree that answers, and the names of its units."""
    if pocket is not None and pocket.best is not None:
        return pocket.best.tree, pocket.best.names
    return (network.averaged if training.keep == "averaged" else network.tree), network.names


def _weight_of(rows: Bools, weights: Floats) -> float:
    """The share of the weight that some rows have."""
    return float(weights[rows].sum() / weights.sum())
