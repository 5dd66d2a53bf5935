"""EM for the noisy-or (Vomlel 2003, sections 2.2 and 3.1), all attributes at once and by the positive rows alone.

By lemma 2 a hidden cause of a negative row never acts, and that of a positive row acts with probability p / (1 - Q),
where Q = P(C = 0 | a). The M-step divides by what all rows with the cell weigh, which is counted once. Q is exp(-s) and
s a sum of strengths >= 0, so that thousands of attributes underflow nowhere. In the general noisy-or an attribute that
is absent may be a cause as well: it is a cell of its own. In the restricted one it has no cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Floats
from rulekit.errors import InputError
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths

LARGEST = 1.0 - 1e-12
"""No probability is above it, as no strength is above STRONGEST."""


@dataclass(frozen=True, slots=True, eq=False)
class Maximised:
    """Strengths, and the conditional log-likelihood and the objective at the start and after every iteration."""

    strengths: Strengths
    likelihoods: Floats
    objectives: Floats


def start_of(incidence: Incidence, *, probability: float = 0.1, seed: int | None = None) -> Strengths:
    """Strengths to start from: every cause acts with one probability, and so does something that is always there.

    The paper has no such leak, and then a positive row without a cause has no likelihood. seed: for probabilities drawn
    between 0 and twice the given one.
    """
    k = incidence.n_cells + 1
    drawn = np.ones(k) if seed is None else 2.0 * (1.0 - np.random.default_rng(seed).random(k))
    strengths = -np.log1p(-probability * drawn)
    return Strengths(strengths[:-1], float(strengths[-1]))


def expectation_maximisation(
    incidence: Incidence,
    start: Strengths | None = None,
    *,
    prior: float = 0.0,
    iterations: int = 50,
    tolerance: float = 0.0,
    check: Callable[[], None] | None = None,
) -> Maximised:
    """The strengths after some iterations of EM; the objective never falls.

    Parameters
    ----------
    incidence : Incidence
        The rows.
    start : Strengths, optional
        `start_of(incidence)` by default. What is 0 stays 0.
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
    s = at.activations(incidence.rows)
    if not np.all(s > 0.0):
        why = "a row of the class holds nothing that may cause it"
        raise InputError(why, where="noisy-or", fix="allow a leak, or start from strengths above 0")
    weights = np.append(incidence.of_positive + incidence.of_negative + prior, incidence.total)
    p, seen = -np.expm1(-np.append(at.cells, at.leak)), weights > 0.0
    likelihoods = [incidence.likelihood(at, s)]
    objectives = [likelihoods[0] - prior * float(at.cells.sum())]
    for _ in range(iterations):
        if check is not None:
            check()
        each = incidence.weights / -np.expm1(-s)
        acted = np.append(incidence.rows.T @ each, float(each.sum()))
        # The M-step: p becomes p * acted / weight; a cell that no row holds keeps its probability.
        np.multiply(p, acted, out=p, where=seen)
        np.divide(p, weights, out=p, where=seen)
        np.minimum(p, LARGEST, out=p)
        joined = -np.log1p(-p)
        at = Strengths(joined[:-1], float(joined[-1]))
        s = at.activations(incidence.rows)
        likelihoods.append(incidence.likelihood(at, s))
        objectives.append(likelihoods[-1] - prior * float(at.cells.sum()))
        if tolerance > 0.0 and objectives[-1] - objectives[-2] <= tolerance:
            break
    return Maximised(at, np.array(likelihoods), np.array(objectives))


def best_of_starts(
    incidence: Incidence,
    start: Strengths,
    *,
    starts: int,
    seed: int,
    prior: float,
    iterations: int,
    check: Callable[[], None],
) -> Strengths:
    """The best limit of EM from the given start and from random ones."""
    begin = [start, *(start_of(incidence, seed=seed + number) for number in range(1, starts))]
    found = [
        expectation_maximisation(incidence, each, prior=prior, iterations=iterations, tolerance=_SETTLED, check=check)
        for each in begin
    ]
    return max(found, key=lambda each: each.objectives[-1]).strengths


_SETTLED = 1e-7
"""Nats by which an iteration must raise the objective."""
