"""EM for the noisy-or (Vomlel 2003, sections 2.2 and 3.1), all attributes at once and by the positive rows alone.

By lemma 2 a hidden cause of a negative row never acts, and that of a positive row acts with probability p / (1 - Q),
where Q = P(C = 0 | a). The M-step divides by what all rows with the cell weigh, which is counted once. Q is exp(-s) and
s a sum of strengths >= 0, so that thousands of attributes underflow nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.strengths import Strengths, log_likelihood, penalty
from rulekit.learners.sums_of_rows.histograms import Bools, Floats

_LARGEST = 1.0 - 1e-12
"""No probability is above it, as no strength is above STRONGEST."""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Strengths, and the conditional log-likelihood and the objective at the start and after every iteration."""

    strengths: Strengths
    likelihoods: Floats
    objectives: Floats


def start_of(
    incidence: Incidence,
    *,
    probability: float = 0.1,
    leak: bool = True,
    free: Bools | None = None,
    seed: int | None = None,
) -> Strengths:
    """Strengths to start from: every cause acts with one probability, an absent attribute with a k-th of it.

    Parameters
    ----------
    incidence : Incidence
        Whose cells are the causes; it says whether what is absent is one.
    probability : float, default 0.1
        That a cause acts.
    leak : bool, default True
        Whether something that is always there is a cause. The paper has none, and then a positive row without a cause
        has no likelihood.
    free : ndarray of bool [n_cells], optional
        The cells that are causes; the others have strength 0 and keep it.
    seed : int, optional
        For probabilities drawn between 0 and twice the given ones, which is for looking whether limits agree.

    """
    rng = None if seed is None else np.random.default_rng(seed)

    def drawn(largest: float, n: int) -> Floats:
        return np.full(n, largest) if rng is None else 2.0 * largest * (1.0 - rng.random(n))

    k = incidence.n_cells
    present = -np.log1p(-drawn(probability, k))
    absent = -np.log1p(-drawn(probability / max(k, 1), k)) if incidence.absent else None
    if free is not None:
        present = np.where(free, present, 0.0)
        absent = None if absent is None else np.where(free, absent, 0.0)
    return Strengths(present, absent, float(-np.log1p(-drawn(probability, 1)[0])) if leak else 0.0)


def expectation_maximisation(
    incidence: Incidence,
    start: Strengths | None = None,
    *,
    prior: float = 0.0,
    iterations: int = 50,
    tolerance: float = 0.0,
    check: Callable[[], None] | None = None,
) -> Fitted:
    """The strengths after some iterations of EM; the objective never falls.

    Parameters
    ----------
    incidence : Incidence
        The rows.
    start : Strengths, optional
        `start_of(incidence)` by default. What is 0 stays 0: a restricted noisy-or has no `absent`.
    prior : float, default 0
        Beta(1, 1 + prior) on the probability of every cause but the leak: so much is added to the rows in which the
        cause did not act.
    iterations : int, default 50
        Of the paper.
    tolerance : float, default 0
        Stop after an iteration that raises the objective by no more than this, in nats.
    check : callable, optional
        Called before each iteration; it raises to stop.

    Raises
    ------
    InputError
        Where a positive row has no cause at all, and so no likelihood.

    """
    at = start_of(incidence) if start is None else start
    rows, k = incidence.rows, incidence.n_cells
    s = at.activations(rows)
    if not np.all(s > 0.0):
        why = "a row of the class holds nothing that may cause it"
        raise InputError(why, where="noisy-or", fix="allow a leak, or start from strengths above 0")
    held = incidence.of_positive + incidence.of_negative + prior
    others = np.zeros(0) if at.absent is None else incidence.total + 2.0 * prior - held
    weights = np.concatenate([held, others, [incidence.total]])
    joined = np.concatenate([at.present, np.zeros(0) if at.absent is None else at.absent, [at.leak]])
    p, seen = -np.expm1(-joined), weights > 0.0
    likelihoods = [log_likelihood(incidence, at, s)]
    objectives = [likelihoods[0] - penalty(at, prior)]
    for _ in range(iterations):
        if check is not None:
            check()
        each = incidence.weights / -np.expm1(-s)
        acted, total = rows.cell_sums(each), float(each.sum())
        of_absent = np.zeros(0) if at.absent is None else np.maximum(total - acted, 0.0)
        # The M-step: p becomes p * acted / weight; a cell that no row holds keeps its probability.
        np.multiply(p, np.concatenate([acted, of_absent, [total]]), out=p, where=seen)
        np.divide(p, weights, out=p, where=seen)
        np.minimum(p, _LARGEST, out=p)
        joined = -np.log1p(-p)
        at = Strengths(joined[:k], None if at.absent is None else joined[k:-1], float(joined[-1]))
        s = at.activations(rows)
        likelihoods.append(log_likelihood(incidence, at, s))
        objectives.append(likelihoods[-1] - penalty(at, prior))
        if tolerance > 0.0 and objectives[-1] - objectives[-2] <= tolerance:
            break
    return Fitted(at, np.array(likelihoods), np.array(objectives))
