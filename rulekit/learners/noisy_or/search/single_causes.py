"""Causes one after another: the one that raises the likelihood most joins, and all strengths are fitted anew.

What a further cause is worth is not estimated by a slope: the likelihood of the positive rows is added up for a few
strengths that it may have, by code of each column, and the sums of all conditions on a column follow from these counts.
Of the negative rows only what they weigh by code is asked for. Where missing cells are summed out, a cause raises the
activation of the rows that miss its column, too, and that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.search.causes import Cause, Causes
from rulekit.learners.noisy_or.search.fits import Fit, Method, Rows, fitted
from rulekit.learners.noisy_or.search.gains import gains_of_cause, gains_of_missing, gains_of_positive, innocent_shares
from rulekit.learners.noisy_or.search.joint_causes import (
    TRIED,
    Breadth,
    JointCause,
    Rise,
    add_by_code,
    best_joint_cause,
)
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.learners.sums_of_rows.information import information_gain
from rulekit.schema import MISSING_CODE

LEAST_GAIN = 0.01
"""The least number of nats that a further cause gains, beyond its prior."""


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What is looked for: the possible causes, how they are fitted, at most how many, and of how many rows.

    summed: the columns of which missing cells are summed out; least: the weight of the rows on which a cause holds.
    joint: how conditions are joined to causes (None: each is a cause by itself). least_gain: the least expected
    information gain of a cause that is one condition, in nats.
    """

    causes: Sequence[Causes]
    method: Method
    most: int
    least: float
    summed: Bools
    joint: Breadth | None = None
    least_gain: float = 0.0


def grown(problem: Problem, search: Search, watch: Watch) -> Iterator[Fit]:
    """The best causes, one more each time; fewer where the strengths of some became 0."""
    positive = np.flatnonzero((problem.labels == 1) & (problem.weights > 0))
    if not len(positive) or problem.positive >= problem.total:
        return
    rows = Rows(problem, search.summed)
    own = problem.take(positive)
    weights = np.asarray(own.weights * own.weight_unit, dtype=np.float64)
    counts = [_by_code(problem, causes) for causes in search.causes]
    fit, largest = fitted(rows, (), search.method, watch), 0
    while len(fit.causes) < search.most:
        watch.check()
        found: Cause | JointCause | None
        if search.joint is not None:
            found = _best_joint(problem, fit, rows, search, watch)
        else:
            s, unknown = _activations(fit, rows, positive), innocent_shares(fit, rows)
            found = _best(own, weights, s, counts, search, fit.causes, unknown)
        if found is None:
            return
        before, fit = fit, fitted(rows, (*fit.causes, found), search.method, watch, fit)
        if fit.objective - before.objective <= LEAST_GAIN:
            return
        if len(fit.causes) > largest:
            largest = len(fit.causes)
            yield fit


def _by_code(problem: Problem, causes: Causes) -> Floats:
    """The weight [n_codes, 2] of the rows of class 0 and 1 by code of a column."""
    codes, labels = problem.codes[causes.column], problem.labels
    each = np.bincount(2 * codes.astype(np.int64) + labels, problem.weights, 2 * causes.n_codes)
    return np.asarray(each.reshape(-1, 2) * problem.weight_unit, dtype=np.float64)


def _activations(fit: Fit, rows: Rows, positive: Any) -> Floats:
    """The activations s [n] of the positive rows."""
    s = np.full(len(positive), max(fit.leak, 1e-9))
    for cause, strength in zip(fit.causes, fit.strengths, strict=True):
        s += strength * rows.holds(cause)[positive]
    for column, strength in fit.unknown:
        s += strength * rows.is_missing(column)[positive]
    return s


def _best(
    own: Problem,
    weights: Floats,
    s: Floats,
    counts: Sequence[Floats],
    search: Search,
    known: Sequence[Cause | JointCause],
    unknown: Mapping[int, Floats],
) -> Cause | None:
    """The cause that gains most likelihood, None where none gains enough; unknown: see `innocent_shares`."""
    each = gains_of_positive(s, weights, TRIED)
    best, found = LEAST_GAIN, None
    for causes, by_class in zip(search.causes, counts, strict=True):
        sums, held = sums_of_causes(own, causes, each), causes.sums(by_class)
        if not len(sums):
            continue
        worth = sums - np.outer(held[:, 0] + search.method.prior, TRIED)
        if causes.column in unknown:
            often = causes.sums(unknown[causes.column][:, None])
            negative = float(by_class[MISSING_CODE, 0])
            worth += gains_of_missing(own, weights, s, causes.column, negative, often, TRIED)
        worth = worth.max(axis=1)
        worth[held.sum(axis=1) < search.least] = 0.0
        if search.least_gain:
            tables = np.stack([held, by_class.sum(axis=0) - held], axis=1)
            worth[information_gain(tables) < search.least_gain] = 0.0
        place = int(np.argmax(worth))
        if worth[place] > best:
            cause = causes.cause(place)
            if not any(isinstance(other, Cause) and cause.same(other) for other in known):
                best, found = float(worth[place]), cause
    return found


def _best_joint(problem: Problem, fit: Fit, rows: Rows, search: Search, watch: Watch) -> JointCause | None:
    """The joint cause that gains most likelihood, None where none gains enough."""
    assert search.joint is not None
    s, positive = _activations(fit, rows, np.arange(len(problem.labels))), problem.labels == 1
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    rise = Rise.of(gains_of_cause(s, np.zeros(len(s)), positive), weights, search.method.prior)
    found = best_joint_cause(problem, search.causes, rise, search.least, search.joint, watch)
    if found is None or found[0] <= LEAST_GAIN:
        return None
    known = [cause for cause in fit.causes if isinstance(cause, JointCause)]
    return None if any(found[1].same(other) for other in known) else found[1]


def sums_of_causes(problem: Problem, causes: Causes, each: Floats) -> Floats:
    """The sums [n_causes, m] of numbers [n, m] over the rows on which each possible cause of a column holds."""
    codes, by_code = problem.codes[causes.column], np.zeros((1, causes.n_codes, each.shape[1]))
    add_by_code(codes, np.arange(len(codes)), np.array([0, len(codes)]), each, by_code)
    return causes.sums(by_code[0])
