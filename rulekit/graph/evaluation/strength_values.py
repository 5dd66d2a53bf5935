"""Sums of strengths over rows, and the probabilities that are exponentials of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from rulekit.graph.nodes import FALSE, TRUE, Constant, Node, Strength
from rulekit.graph.probability.exponentials import Exponentials
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


def causes_of(node: Exponentials) -> tuple[Node, ...]:
    """The Boolean nodes on which the probability hangs, in order of first use."""
    sums = (child for child in node.children if isinstance(child, Strength))
    return tuple(dict.fromkeys(c for s in sums for c, _, _ in s.terms if not isinstance(c, Constant)))


@lru_cache(maxsize=64)
def exponential_table(node: Exponentials) -> Array:
    """The probability [2^k] by the truth of its k causes, the first the highest bit."""
    causes = causes_of(node)
    patterns = np.arange(1 << len(causes))
    truths = {cause: (patterns >> (len(causes) - 1 - i) & 1).astype(bool) for i, cause in enumerate(causes)}
    truths |= {constant: np.full(len(patterns), constant is TRUE) for constant in (TRUE, FALSE)}
    none, *some = (strength_values(s, truths, len(patterns)) for s in node.children if isinstance(s, Strength))
    return exponential_values(none, some)
