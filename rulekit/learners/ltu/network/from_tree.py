"""A network that begins with the units of a tree, so that training goes on where the tree ended."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.rules import Rule, Winnow
from rulekit.learners.ltu.trees import LTUTree

_STEPS = 4.0
"""Of fixed increments: about how many changes turn the answer of a unit to a row at a mean distance from its plane."""

_SPARE = 0.125
"""Of Winnow: the share of the threshold that the inputs without a weight have together, so that they may rise."""


def network_of_tree(tree: LTUTree, rule: Rule, conditions: Bools, inputs: Floats | None = None) -> Network:
    """A network of the shape of a tree, and with its weights where rows of inputs [n, d] say how large they are.

    The weights of the tree are over inputs as they are, conditions 0 and 1. Those of fixed increments are scaled, which
    decides alike, and Winnow's are rounded to powers of its factor, which may not.
    Raises InputError where the rule needs conditions and there are numbers.
    """
    network = Network.new(rule, tree.shape, conditions)
    if inputs is None:
        return network
    if isinstance(rule, Winnow):
        ups, downs = _powers_of(tree, rule, float(-network.state.biases[0]))
        weights = rule.rises[ups] * rule.falls[downs]
        return replace(network, state=network.state._replace(weights=weights, ups=ups, downs=downs))
    halves = np.where(conditions, 0.5, 1.0)
    weights, biases = tree.weights * halves, tree.biases + tree.weights[:, conditions].sum(axis=1) / 2.0
    margins = np.abs(tree.margins(inputs)).mean(axis=0)
    change = float((network.seen(inputs) ** 2).sum(axis=1).mean()) + 1.0  # of a sum, when its own row is added
    factors = np.where(margins > 0.0, _STEPS * change / np.where(margins > 0.0, margins, 1.0), 1.0)
    return replace(network, state=network.state._replace(weights=weights * factors[:, None], biases=biases * factors))


def _powers_of(tree: LTUTree, rule: Winnow, threshold: float) -> tuple[Ints, Ints]:
    """How often the weights [m, 2 d] of conditions and their complements have gone up and down from 1."""
    own = np.hstack([np.maximum(tree.weights, 0.0), np.maximum(-tree.weights, 0.0)])
    # Over conditions and complements a unit fires where own @ both >= needed, and all weights are positive.
    needed = own[:, tree.weights.shape[1] :].sum(axis=1) - tree.biases
    least = _SPARE * threshold / max(tree.weights.shape[1], 1)
    scales = np.where(needed > 0.0, (1.0 - _SPARE) * threshold / np.where(needed > 0.0, needed, 1.0), 1.0)
    wanted = np.maximum(own * scales[:, None], least)
    # A unit that always fires has no threshold to reach: its weights are all as large as that takes.
    wanted[needed <= 0.0] = threshold / max(tree.weights.shape[1], 1)
    powers = np.rint(np.log(wanted) / math.log(rule.alpha)).astype(np.int64)
    ups, downs = np.maximum(powers, 0), np.zeros_like(powers)
    below = powers < 0
    step = math.log(rule.alpha) if rule.cancels else -math.log(rule.beta or 1.0)
    downs[below] = np.rint(-np.log(wanted[below]) / step).astype(np.int64)
    return np.minimum(ups, len(rule.rises) - 1), np.minimum(downs, len(rule.falls) - 1)
