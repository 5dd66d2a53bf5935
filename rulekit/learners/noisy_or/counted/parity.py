"""Noisy-parity: the label is whether an odd number of hidden causes act (Vomlel 2003, section 2.1), fitted by EM.

With f = 1 - 2 p of each cause that holds, 1 - 2 P(odd) is the product D of all f. That cause j acted on a row of the
sign s (1 where it is even, -1 where it is odd) has probability p_j (1 - s D without j) / (1 + s D).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Floats
from rulekit.learners.noisy_or.counted.hidden_bits import LARGEST, DistinctRows, chances_of, has_settled

_SETTLED = 1e-3
"""Nats by which an iteration must raise the objective."""
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class FittedParity:
    """Probabilities [k] and the leak's, the objective at the start and after every iteration.

    product [n]: D of each distinct row; without [k]: the objective with each cause left out, the others as they are.
    """

    chances: Floats
    leak: float
    objectives: tuple[float, ...]
    likelihood: float
    product: Floats
    without: Floats


def products(rows: DistinctRows, chances: Floats, leak: float) -> tuple[Floats, Floats]:
    """D without each cause and, in the last column, without the leak [n, k + 1]; D [n]. No quotients: f may be 0."""
    factors = np.where(rows.held, 1.0 - 2.0 * chances, 1.0)
    every = np.concatenate([factors, np.full((len(factors), 1), 1.0 - 2.0 * leak)], axis=1)
    before, behind = np.ones_like(every), np.ones_like(every)
    np.cumprod(every[:, :-1], axis=1, out=before[:, 1:])
    np.cumprod(every[:, :0:-1], axis=1, out=behind[:, -2::-1])
    return before * behind, before[:, -1] * every[:, -1]


def fit_parity(
    rows: DistinctRows,
    start: Floats,
    leak: float,
    *,
    prior: float,
    iterations: int,
    check: Callable[[], None] | None = None,
    settled: float = _SETTLED,
) -> FittedParity:
    """The probabilities after EM, by which the objective never falls.

    Parameters
    ----------
    rows : DistinctRows
        Labels are 1 where the row is odd.
    start, leak : ndarray [k], float
        Probabilities to start from, above 0 and below 1.
    prior : float
        Beta(1, 1 + prior) on the probability of every cause but the leak.
    iterations : int
        At most.
    check : callable, optional
        Called before each iteration; it raises to stop.
    settled : float, default 0.001
        Stop where an iteration has raised the objective by no more than this, in nats.

    """
    chances, held = np.array(start, dtype=np.float64), rows.held_weight + prior
    total, objectives = float(rows.weights.sum()), list[float]()
    signs = 1.0 - 2.0 * rows.labels
    while True:
        others, product = products(rows, chances, leak)
        likely = np.maximum(1.0 + signs * product, 1e-300)
        likelihood, penalties = float((rows.weights * np.log(0.5 * likely)).sum()), prior * np.log1p(-chances)
        objectives.append(likelihood + float(penalties.sum()))
        if has_settled(objectives, iterations, settled):
            break
        if check is not None:
            check()
        acts = np.c_[rows.held, np.ones(len(likely))] / likely[:, None]
        acted = rows.sums((1.0 - signs[:, None] * others) * acts)
        chances = chances_of(chances * acted[:-1], held)
        leak = float(np.clip(leak * acted[-1] / total, _LEAST, LARGEST))
    left = rows.sums(np.log(np.maximum(0.5 * (1.0 + signs[:, None] * others[:, :-1]), 1e-300)))
    without = left + float(penalties.sum()) - penalties
    return FittedParity(chances, leak, tuple(objectives), likelihood, product, np.asarray(without))
