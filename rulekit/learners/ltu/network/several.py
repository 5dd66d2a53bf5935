"""Several networks that see the rows in different orders, and the best of them (Sahami, at the end of the results).

What one pass makes of a network depends much on the order of the rows. Which order serves best is told by rows that
were not shown: those of a part that is held out, or each part in turn (cross-validation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.training import DEFAULT, Trained, Training, train_in_order
from rulekit.learners.ltu.presenting import random_orders


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The best network, which one it is, and the share of the weight that each errs on rows not shown to it [k]."""

    trained: Trained
    number: int
    errors: Floats


def best_of_several(
    network: Network,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    rng: np.random.Generator,
    n_networks: int = 5,
    folds: int = 5,
    training: Training = DEFAULT,
    check: Callable[[], None] | None = None,
) -> Chosen:
    """The best of so many networks that all go on from one, on rows as `train` takes them.

    folds: 0 holds a fifth of the rows out, trains each network on the others and keeps the one that errs least on
    those; else the rows are parted into so many, each part is answered by networks that have seen the others, in the
    order that they have among all rows, and the network whose order errs least is trained on all of them.
    Raises InputError where there are fewer than two rows, or one fold.
    """
    if len(labels) < 2 or folds == 1 or folds < 0:
        raise InputError("networks are compared on rows that they have not seen", fix="give two rows and two folds")
    orders = [random_orders(weights, training.passes, rng) for _ in range(n_networks)]
    parts = min(folds or 5, len(labels))
    part_of = rng.permutation(np.arange(len(labels)) % parts)
    wrong = np.zeros(n_networks)
    kept: list[Trained] = []
    for part in range(parts if folds else 1):
        out = part_of == part
        for number, every in enumerate(orders):
            found = train_in_order(network, inputs, labels, weights, _without(every, out), training, check)
            answers = found.tree.decides(inputs[out])
            wrong[number] += float(weights[out][answers != labels[out]].sum())
            if not folds:
                kept.append(found)
    best = int(wrong.argmin())
    errors = wrong / float(weights.sum() if folds else weights[part_of == 0].sum())
    final = train_in_order(network, inputs, labels, weights, orders[best], training, check) if folds else kept[best]
    return Chosen(final, best, errors)


def _without(orders: Ints, out: Bools) -> Ints:
    """The same orders [passes, shown] without some rows; each pass shows every row equally often."""
    return orders[~out[orders]].reshape(len(orders), -1)
