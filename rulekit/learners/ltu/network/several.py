"""Several networks that see the rows in different orders, and the best of them (Sahami, at the end of the results).

What few passes make of a network depends much on the order of the rows. Which is the best is told by rows that were not
shown to it, and the network that they judge is the one that is kept: an order that served well without them says little
of the network that it makes of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.training import DEFAULT, Trained, Training, train_in_order
from rulekit.learners.ltu.presenting import random_orders

Judging = Literal["held-out", "cross-validation"]


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
    judging: Judging = "held-out",
    training: Training = DEFAULT,
    parts: int = 5,
    check: Callable[[], None] | None = None,
    as_begun: bool = False,
) -> Chosen:
    """The best of so many networks that all go on from one, on rows as `train` takes them.

    as_begun: what they begin with is kept unless the best errs less on these rows by a standard error.

    The rows are parted by chance into so many parts. Each network is shown all but one of them and judged by that one:
    all by the same part (held-out), or each by the next (cross-validation).
    Raises InputError where there are fewer than two rows or parts.
    """
    parts = min(parts, len(labels))
    if parts < 2:
        raise InputError("networks are compared on rows that they have not seen", fix="give two rows and two parts")
    orders = [random_orders(weights, training.passes, rng) for _ in range(n_networks)]
    part_of = rng.permutation(np.arange(len(labels)) % parts)
    found, errors = list[Trained](), np.zeros(n_networks)
    for number, order in enumerate(orders):
        out = part_of == (number % parts if judging == "cross-validation" else 0)
        found.append(train_in_order(network, inputs, labels, weights, _without(order, out), training, check))
        wrong = found[-1].tree.decides(inputs[out]) != labels[out]
        errors[number] = float(weights[out][wrong].sum() / weights[out].sum())
    best = int(errors.argmin())
    if as_begun:
        wrong = [tree.decides(inputs[out]) != labels[out] for tree in (network.tree, found[best].tree)]
        gains = weights[out] * (wrong[0].astype(float) - wrong[1])
        if gains.sum() <= np.sqrt((gains**2).sum()):
            return Chosen(Trained(network.tree, network, (), ()), best, errors)
    return Chosen(found[best], best, errors)


def _without(orders: Ints, out: Bools) -> Ints:
    """The same orders [passes, shown] without some rows; each pass shows every row equally often."""
    return orders[~out[orders]].reshape(len(orders), -1)
