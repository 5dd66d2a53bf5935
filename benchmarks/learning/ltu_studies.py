"""What the LTU paper says or asks beside its figures: kinds of units, the best of five, rows needed, unused units."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.learning.ltu_runs import Fit, Rows, Runs, network, own_rule, rows_of, runs, tree
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.papers.ltu_trees import KINDS, fit_of, grow_tree, random_orders
from rulekit.learners.papers.madaline import SHAPES
from rulekit.learners.papers.madaline_networks import (
    FixedIncrement,
    Network,
    NetworkTraining,
    Rule,
    Winnow,
    best_of_several,
    train,
)

EPOCHS = 25


def _perceptron_tree(rows: Rows) -> LTUTree:
    fit = fit_of("perceptron", EPOCHS)
    return grow_tree(rows.train, rows.y, np.ones(len(rows.y)), fit, rows.rng, single=True)


def by_kind(places: Sequence[tuple[int, int]], seeds: Sequence[int]) -> dict[str, list[Runs]]:
    """Trees by the kind of their units, at each number of rows and bits."""
    found = {kind: [runs(tree(kind, EPOCHS), n, d, seeds) for n, d in places] for kind in KINDS}
    single = 'perceptron, `inner="single"`'
    found[single] = [
        runs(lambda rows, labels, rng: _perceptron_tree(Rows(rows, labels, rows, labels, rng)), n, d, seeds)
        for n, d in places
    ]
    return found


@dataclass(frozen=True, slots=True)
class FiveNetworks:
    """Mean errors in percent: of one network, of the best of five by unseen rows, and of the best on the test rows.

    worst: the run in which the best by rows held out errs most.
    """

    one: float
    held_out: float
    cross_validated: float
    worst: float
    on_test: float


def best_of_five(rule: Rule | str, shape: str, n: int, n_bits: int, seeds: Sequence[int]) -> FiveNetworks:
    """One pass each; the best by a fifth held out, and by cross-validation."""
    errors = []
    for seed in seeds:
        rows = rows_of(n, n_bits, seed)
        own = Network.new(own_rule(rule, n_bits), SHAPES[shape], np.ones(n_bits, dtype=bool))
        once, taken = NetworkTraining(1, prune="never"), (rows.train, rows.y, np.ones(n))
        orders = [random_orders(np.ones(n), 1, np.random.default_rng((seed, k))) for k in range(5)]
        every = [rows.error(train(own, *taken, order, once).tree) for order in orders]
        chosen = [
            rows.error(best_of_several(own, *taken, np.random.default_rng(seed), training=once, by_turns=by)[0].tree)
            for by in (False, True)
        ]
        errors.append((every[0], *chosen, min(every)))
    one, held_out, cross_validated, on_test = np.array(errors).mean(axis=0)
    return FiveNetworks(one, held_out, cross_validated, max(error[1] for error in errors), on_test)


NEEDING: dict[str, Fit] = {
    "LTU tree, 25 epochs": tree(epochs=EPOCHS),
    "Madaline S, 5 passes": network("small", FixedIncrement(), 5),
    "Madaline L, least, 5 passes": network("large", FixedIncrement(), 5, "least"),
    "Winnow S, alpha 1.25, 5 passes": network("small", Winnow(), 5),
    "Winnow L, alpha 1.25, 5 passes": network("large", Winnow(), 5),
}
MOST_ROWS = 12_800


def rows_needed(fit: Fit, n_bits: int, seeds: Sequence[int], error: float = 1.0) -> int | None:
    """The fewest rows, of 100 times powers of the root of 2, from which on the mean error is at most so many %."""
    found = None
    for step in reversed(range(1 + round(2 * math.log2(MOST_ROWS / 100)))):
        n = round(100 * 2 ** (step / 2))
        if runs(fit, n, n_bits, seeds).average > error:
            break
        found = n
    return found


@dataclass(frozen=True, slots=True)
class Unused:
    """How many runs left so many of the four units; errors in percent with all of them, and with those left."""

    left: Counter[int]
    full: float
    pruned: float


def unused(rule: Rule, n: int, n_bits: int, passes: int, seeds: Sequence[int]) -> Unused:
    """The larger network with and without leaving units out."""
    left, full, pruned = Counter[int](), [], []
    for seed in seeds:
        for prune in ("never", "during"):
            rows = rows_of(n, n_bits, seed)
            own = Network.new(rule, SHAPES["large"], np.ones(n_bits, dtype=bool))
            orders = random_orders(np.ones(n), passes, rows.rng)
            found = train(own, rows.train, rows.y, np.ones(n), orders, NetworkTraining(passes, prune=prune))
            if prune == "never":
                full.append(rows.error(found.tree))
            else:
                left[found.tree.size] += 1
                pruned.append(rows.error(found.tree))
    return Unused(left, float(np.mean(full)), float(np.mean(pruned)))
