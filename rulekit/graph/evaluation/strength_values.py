"""Sums of strengths over rows, and the probabilities that are exponentials of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rulekit.graph.nodes import Node, Strength
from rulekit.tables.table import Array


def strength_values(node: Strength, truths: Mapping[Node, Array], n: int) -> Array:
    """The strength [n], added from left to right; truths: of each cause a bool array [n]."""
    total = np.zeros(n)
    for cause, on, off in node.terms:
        total += np.array((off, on)).take(truths[cause].view(np.uint8))
    return total


def exponential_values(none: Array, some: Sequence[Array]) -> Array:
    """exp(-s) of one strength [n], times 1 - exp(-s) of the others, without loss where that is small."""
    result: Array = np.exp(-none)
    for strength in some:
        result *= -np.expm1(-strength)
    return result
