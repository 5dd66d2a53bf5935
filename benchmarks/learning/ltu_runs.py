"""The learners of the LTU paper on its five bits: one run of each, and runs in groups as the paper has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.papers.ltu_trees import UnitKind, fit_of, grow_tree, random_orders
from rulekit.learners.papers.madaline import SHAPES
from rulekit.learners.papers.madaline_networks import FixedIncrement, Network, NetworkTraining, Rule, Winnow, train
from rulekit.learners.papers.madaline_steps import train_whole
from rulekit.synthetic import five_bits

BITS = tuple(range(5, 55, 5))
TEST_ROWS = 4000
GROUP = 5
"""Runs of which the paper shows the mean and the best."""

Fit = Callable[[Floats, Bools, np.random.Generator], LTUTree]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Training and test rows of coin tosses, their columns permuted, and the labels; a generator for the learner."""

    train: Floats
    y: Bools
    test: Floats
    y_test: Bools
    rng: np.random.Generator

    def error(self, tree: LTUTree) -> float:
        """The share of test rows that a tree answers wrongly, in percent."""
        return 100.0 * float(np.mean(tree.decides(self.test) != self.y_test))


def rows_of(n: int, n_bits: int, seed: int) -> Rows:
    """The rows of one run."""
    rows, labels = five_bits(n + TEST_ROWS, n_bits, seed=1_000_000 * seed + 1000 * n_bits + n % 1000)
    rng = np.random.default_rng((seed, n_bits, n))
    rows, labels = rows[:, rng.permutation(n_bits)], labels == 1
    return Rows(rows[:n], labels[:n], rows[n:], labels[n:], rng)


def tree(kind: UnitKind = "backprop", epochs: int = 5) -> Fit:
    """The paper's tree, its units fitted by a kind."""
    return lambda rows, labels, rng: grow_tree(rows, labels, np.ones(len(rows)), fit_of(kind, epochs), rng)


def whole(epochs: int, gain: float = 3.0) -> Fit:
    """Back-propagation through the whole network of Figure 2."""
    return lambda rows, labels, rng: train_whole(SHAPES["small"], rows, labels, np.ones(len(rows)), rng, epochs, gain)


def network(shape: str, rule: Rule | str, passes: int = 1, choice: Literal["auto", "least", "closest"] = "auto") -> Fit:
    """A network of the paper; "power of two": Winnow with alpha 2 and the least power of two that is no less than d."""

    def fit(rows: Floats, labels: Bools, rng: np.random.Generator) -> LTUTree:
        own = own_rule(rule, rows.shape[1])
        began = Network.new(own, SHAPES[shape], np.ones(rows.shape[1], dtype=bool))
        options, weights = NetworkTraining(passes, choice, prune="never"), np.ones(len(rows))
        return train(began, rows, labels, weights, random_orders(weights, passes, rng), options).tree

    return fit


def own_rule(rule: Rule | str, n_bits: int) -> Rule:
    """A rule, its threshold set by the number of bits if need be."""
    return Winnow(2.0, 0.5, 2.0 ** np.ceil(np.log2(n_bits))) if isinstance(rule, str) else rule


PAPER_WINNOW = Winnow(2.0, 0.5, 4.0)
LEARNERS: Mapping[str, Fit] = {
    "LTU tree, 1 epoch": tree(epochs=1),
    "LTU tree, 5 epochs": tree(epochs=5),
    "LTU tree, 25 epochs": tree(epochs=25),
    "whole network BP, 1 epoch": whole(1),
    "whole network BP, 25 epochs": whole(25),
    "Madaline S": network("small", FixedIncrement()),
    "Madaline S, 5 passes": network("small", FixedIncrement(), 5),
    "Madaline L": network("large", FixedIncrement(), choice="closest"),
    "Madaline L, least disturbance": network("large", FixedIncrement(), choice="least"),
    "Madaline L, least, 5 passes": network("large", FixedIncrement(), 5, "least"),
    "Winnow S, alpha 2, theta 4": network("small", PAPER_WINNOW),
    "Winnow L, alpha 2, theta 4": network("large", PAPER_WINNOW),
    "Winnow S, alpha 2, theta 2^k": network("small", "power of two"),
    "Winnow L, alpha 2, theta 2^k": network("large", "power of two"),
    "Winnow S, alpha 2, theta 2^k, 5 passes": network("small", "power of two", 5),
    "Winnow S, alpha 1.25, theta d": network("small", Winnow()),
    "Winnow L, alpha 1.25, theta d": network("large", Winnow()),
    "Winnow S, alpha 1.25, 5 passes": network("small", Winnow(), 5),
    "Winnow L, alpha 1.25, 5 passes": network("large", Winnow(), 5),
}


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Errors in percent and units of runs [k] of one learner."""

    errors: Floats
    sizes: Floats

    @property
    def average(self) -> float:
        return float(self.errors.mean())

    @property
    def best(self) -> float:
        """The mean of the least error of each group."""
        whole_groups = self.errors[: len(self.errors) // GROUP * GROUP]
        return float(
            (whole_groups if len(whole_groups) else self.errors[:1])
            .reshape(-1, min(GROUP, len(self.errors)))
            .min(axis=1)
            .mean()
        )

    @property
    def units(self) -> float:
        return float(self.sizes.mean())


def runs(fit: Fit, n: int, n_bits: int, seeds: Sequence[int]) -> Runs:
    """A run for each seed."""
    errors, sizes = [], []
    for seed in seeds:
        rows = rows_of(n, n_bits, seed)
        found = fit(rows.train, rows.y, rows.rng)
        errors.append(rows.error(found))
        sizes.append(found.size)
    return Runs(np.array(errors), np.array(sizes))


Grid = dict[str, dict[tuple[int, int], Runs]]
"""By learner, and by rows and bits."""
