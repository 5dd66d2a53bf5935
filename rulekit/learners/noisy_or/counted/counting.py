"""Noisy-add: the label is how many hidden causes act (J. Vomlel, Noisy-or classifier, 2003, section 2.1), fitted by EM.

The number of causes that act has a Poisson-binomial distribution, which is built up cause by cause. That cause j acted
on a row with count c has probability p_j P(c - 1 without j) / P(c); P without j is joined from the distribution of the
causes before it and that of those behind it, never by a quotient, as 1 - p_j may be 0. The leak counts too: as many
causes of one probability that are always there as the largest count has, so that every count is possible on every row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.noisy_or.counted.hidden_bits import LARGEST, DistinctRows, chances_of, has_settled
from rulekit.learners.sums_of_rows.histograms import Floats
from rulekit.learners.sums_of_rows.kernels import compiled

_SETTLED = 1e-3
"""Nats by which an iteration must raise the objective."""


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """By row: that each cause acted [n, k], how many of the leak's did [n], and P(count) and P(one less) [n]."""

    acted: Floats
    leaked: Floats
    likely: Floats
    below: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FittedCounts:
    """Probabilities [k] and that of the leak, with the objective at the start and after every iteration."""

    chances: Floats
    leak: float
    objectives: tuple[float, ...]
    likelihood: float
    ratio: Floats


def leak_counts(leak: float, most: int) -> Floats:
    """P(t of `most` independent causes of one probability act) for t = 0 .. most."""
    return np.array([math.comb(most, t) * leak**t * (1.0 - leak) ** (most - t) for t in range(most + 1)])


def expected(rows: DistinctRows, chances: Floats, leak: float, most: int) -> Expected:
    """The E-step over all rows; most: the largest count."""
    n, k = rows.held.shape
    found = Expected(np.zeros((n, k)), np.zeros(n), np.zeros(n), np.zeros(n))
    base = leak_counts(leak, most)
    _expect(rows.held, rows.labels, chances, base, found.acted, found.leaked, found.likely, found.below)
    return found


def fit_counts(
    rows: DistinctRows,
    start: Floats,
    leak: float,
    *,
    most: int,
    prior: float,
    iterations: int,
    check: Callable[[], None] | None = None,
    settled: float = _SETTLED,
) -> FittedCounts:
    """The probabilities after EM, by which the objective never falls.

    Parameters
    ----------
    rows : DistinctRows
        Labels are counts from 0 to `most`.
    start, leak : ndarray [k], float
        Probabilities to start from, above 0 and below 1.
    most : int
        The largest count, and how many causes the leak has.
    prior : float
        Beta(1, 1 + prior) on the probability of every cause but the leak's.
    iterations : int
        At most.
    check : callable, optional
        Called before each iteration; it raises to stop.
    settled : float, default 0.001
        Stop where an iteration has raised the objective by no more than this, in nats.

    """
    chances, held = np.array(start, dtype=np.float64), rows.held_weight + prior
    total, objectives = float(rows.weights.sum()), list[float]()
    while True:
        found = expected(rows, chances, leak, most)
        likelihood = float((rows.weights * np.log(found.likely)).sum())
        objectives.append(likelihood + prior * float(np.log1p(-chances).sum()))
        if has_settled(objectives, iterations, settled):
            break
        if check is not None:
            check()
        chances = chances_of(rows.sums(found.acted), held)
        leak = float(np.clip((rows.weights * found.leaked).sum() / (total * most), 1e-12, LARGEST))
    return FittedCounts(chances, leak, tuple(objectives), likelihood, found.below / found.likely)


def at_least(chances: list[Floats], least: int, n: int) -> Floats:
    """P(at least so many of independent events happen) [n], by the operations of `Tails` in their order."""
    tails = np.zeros((least + 1, n))
    tails[0] = 1.0
    for i, chance in enumerate(reversed(chances), start=1):
        top = min(i, least)
        moved = chance * tails[:top]
        tails[1 : top + 1] *= 1.0 - chance
        tails[1 : top + 1] += moved
    return np.asarray(tails[least])


@compiled
def _expect(held: Any, counts: Any, chances: Any, base: Any, acted: Any, leaked: Any, likely: Any, below: Any) -> None:
    n, k = held.shape
    size = len(base)
    behind = np.zeros((k + 1, size))
    before = np.zeros(size)
    for i in range(n):
        c = counts[i]
        behind[k, :] = 0.0
        behind[k, 0] = 1.0
        for j in range(k - 1, -1, -1):
            if held[i, j]:
                p = chances[j]
                behind[j, 0] = behind[j + 1, 0] * (1.0 - p)
                for t in range(1, c + 1):
                    behind[j, t] = behind[j + 1, t] * (1.0 - p) + behind[j + 1, t - 1] * p
            else:
                for t in range(c + 1):
                    behind[j, t] = behind[j + 1, t]
        total, lead, less = 0.0, 0.0, 0.0
        for t in range(c + 1):
            total += base[t] * behind[0, c - t]
            lead += t * base[t] * behind[0, c - t]
            if c > t:
                less += base[t] * behind[0, c - 1 - t]
        likely[i], leaked[i], below[i] = total, lead / total, less
        for t in range(c + 1):
            before[t] = base[t]
        for j in range(k):
            if held[i, j]:
                p = chances[j]
                without = 0.0
                for t in range(c):
                    without += before[t] * behind[j + 1, c - 1 - t]
                acted[i, j] = p * without / total
                for t in range(c, 0, -1):
                    before[t] = before[t] * (1.0 - p) + before[t - 1] * p
                before[0] *= 1.0 - p
