"""A noisy-add found cause by cause: the one that raises the likelihood most joins, and all are fitted anew.

With a further cause of probability p, P(c) becomes (1 - p) P(c) + p P(c - 1) on the rows on which it holds: so what it
gains is added up by code of each column for a few p. The same condition may join again, as it may count for two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.counted.counting import FittedCounts, fit_counts
from rulekit.learners.noisy_or.counted.hidden_bits import NO_CHANCE, Chances, DistinctRows
from rulekit.learners.noisy_or.fitting.strengths import exact_gains
from rulekit.learners.noisy_or.search.causes import Cause, Causes
from rulekit.learners.noisy_or.search.fits import Method
from rulekit.learners.noisy_or.search.single_causes import LEAST_GAIN, Search, sums_of_causes
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints

TRIED = np.array([0.03, 0.1, 0.25, 0.5, 0.8])
"""The probabilities that a further cause is tried with."""
_FIRST = 0.1  # of a cause that is new
_MOST_RATIO = 1e12


def grown_counts(problem: Problem, counts: Ints, most: int, search: Search, watch: Watch) -> Iterator[Chances]:
    """The best causes of the counts [n], from 0 to `most`: none, and then one more each time; fewer where some left."""
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    holding: list[Bools] = []
    found, ratio = _fitted(problem, counts, most, (), holding, search.method, watch, None)
    yield found
    by_code = [weight_by_code(problem, causes) for causes in search.causes]
    largest = 0
    while len(found.causes) < search.most:
        watch.check()
        cause = _best(problem, weights, ratio, by_code, search)
        if cause is None:
            return
        holding.append(cause.condition[problem.codes[cause.column]])
        before = found
        found, ratio = _fitted(problem, counts, most, (*found.causes, cause), holding, search.method, watch, found)
        if found.objective - before.objective <= LEAST_GAIN:
            return
        if len(found.causes) > largest:
            largest = len(found.causes)
            yield found


def weight_by_code(problem: Problem, causes: Causes) -> Floats:
    """The weight [n_codes, 1] of the rows by code of a column."""
    each = np.bincount(problem.codes[causes.column], problem.weights, causes.n_codes)
    return np.asarray(each[:, None] * problem.weight_unit, dtype=np.float64)


def _best(problem: Problem, weights: Floats, ratio: Floats, by_code: Sequence[Floats], search: Search) -> Cause | None:
    """The cause that gains most likelihood, None where none gains enough; ratio [n]: P(c - 1) / P(c)."""
    each = exact_gains(np.log1p((np.minimum(ratio, _MOST_RATIO)[:, None] - 1.0) * TRIED), weights)
    prior = search.method.prior * np.log1p(-TRIED)
    best, found = LEAST_GAIN, None
    for causes, worth in worths(problem, search, by_code, each, prior):
        place = int(np.argmax(worth.max(axis=1)))
        if worth[place].max() > best:
            best, found = float(worth[place].max()), causes.cause(place)
    return found


def worths(
    problem: Problem, search: Search, by_code: Sequence[Floats], each: Floats, prior: Floats
) -> Iterator[tuple[Causes, Floats]]:
    """By column that has causes what each gains [n_causes, n_tried], less the prior; 0 of causes of too few rows.

    by_code: see `weight_by_code`; each [n, n_tried]: what the rows gain.
    """
    for causes, held_by_code in zip(search.causes, by_code, strict=True):
        worth, held = sums_of_causes(problem, causes, each) + prior, causes.sums(held_by_code)
        if len(worth):
            worth[held[:, 0] < search.least] = 0.0
            yield causes, worth


def _fitted(
    problem: Problem,
    counts: Ints,
    most: int,
    causes: Sequence[Cause],
    holding: list[Bools],
    method: Method,
    watch: Watch,
    before: Chances | None,
) -> tuple[Chances, Floats]:
    """The causes with their probabilities, without those that never act, and P(c - 1) / P(c) [n].

    holding: the rows on which each cause holds; of those that leave it is taken out.
    """
    rows = DistinctRows.of(holding, counts, problem.weights, problem.weight_unit)
    known = () if before is None else before.chances
    start = np.append(known, np.full(len(causes) - len(known), _FIRST))
    leak = max(0.5 * float(rows.weights @ rows.labels) / (float(rows.weights.sum()) * most), 1e-6)
    begin = [(start, leak if before is None else max(before.leak, 1e-9))]
    for number in range(1, method.starts):
        rng = np.random.default_rng(method.seed + number)
        begin.append((rng.uniform(0.02, 0.6, len(causes)), leak))
    fits = [
        fit_counts(
            rows,
            *each,
            most=most,
            prior=method.prior,
            iterations=method.iterations,
            check=watch.check,
        )
        for each in begin
    ]
    fit: FittedCounts = max(fits, key=lambda each: each.objectives[-1])
    kept = [j for j in range(len(causes)) if fit.chances[j] > NO_CHANCE]
    holding[:] = [holding[j] for j in kept]
    chances = tuple(float(fit.chances[j]) for j in kept)
    found = Chances(tuple(causes[j] for j in kept), chances, fit.leak, fit.likelihood, fit.objectives[-1])
    return found, fit.ratio[rows.place]
