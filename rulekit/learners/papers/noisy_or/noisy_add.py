"""Noisy-add: the label is how many hidden causes act (J. Vomlel, Noisy-or classifier, 2003, section 2.1).

The number of causes that act has a Poisson-binomial distribution, which is built up cause by cause. That cause j acted
on a row with count c has probability p_j P(c - 1 without j) / P(c). The leak counts too: as many causes of one
probability that are always there as the largest count has, so that every count is possible on every row.

With a further cause of probability p, P(c) becomes (1 - p) P(c) + p P(c - 1) on the rows on which it holds: so what it
gains is added up by code of each column for a few p. The same condition may join again, as it may count for two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import FALSE, TRUE, AtLeast, Hidden, Probability
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause
from rulekit.learners.noisy_or.growth import LEAST_GAIN
from rulekit.learners.noisy_or.likelihood import exact_gains
from rulekit.learners.noisy_or.model import StrongCauses, bits_of, short
from rulekit.learners.papers.noisy_or.counted import (
    CountedCauses,
    CountedRows,
    CountedSearch,
    Expected,
    em_of_chances,
    worths,
)
from rulekit.numbers import probability_of

TRIED = np.array([0.03, 0.1, 0.25, 0.5, 0.8])
"""The probabilities that a further cause is tried with."""
_FIRST = 0.1  # of a cause that is new
_MOST_RATIO = 1e12
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class CountExpectation:
    """The E-step where the label is a count of at most `most`, which is also how many causes the leak has."""

    most: int

    def __call__(self, rows: CountedRows, chances: Floats, leak: float) -> Expected:
        """By row what acted."""
        return self.with_ratio(rows, chances, leak)[0]

    def with_ratio(self, rows: CountedRows, chances: Floats, leak: float) -> tuple[Expected, Floats]:
        """That, and P(one less) / P(count) [n]."""
        n, k = rows.held.shape
        acted, leaked, likely, below = np.zeros((n, k)), np.zeros(n), np.zeros(n), np.zeros(n)
        t = np.arange(self.most + 1)
        base = np.array([math.comb(self.most, i) * leak**i * (1.0 - leak) ** (self.most - i) for i in t.tolist()])
        for first in range(0, n, _BLOCK):
            own = slice(first, first + _BLOCK)
            p = np.where(rows.held[own], chances, 0.0)
            left = rows.labels[own][:, None] - t  # what the causes behind must add up to, beside t of those before
            behind = [np.zeros((len(p), self.most + 1))]
            behind[0][:, 0] = 1.0
            for j in range(k - 1, -1, -1):
                behind.append(_with_one_more(behind[-1], p[:, j]))
            each = base * _at(behind[k], left)
            likely[own] = each.sum(axis=1)
            leaked[own] = (t * each).sum(axis=1) / likely[own] / max(self.most, 1)
            below[own] = (base * _at(behind[k], left - 1)).sum(axis=1)
            before = np.broadcast_to(base, behind[0].shape)
            for j in range(k):
                without = (before * _at(behind[k - 1 - j], left - 1)).sum(axis=1)
                acted[own, j] = p[:, j] * without / likely[own]
                before = _with_one_more(before, p[:, j])
        return Expected(acted, leaked, likely), below / likely


def _with_one_more(counts: Floats, p: Floats) -> Floats:
    """The distribution [n, c] of a number of causes with one more, which acts with probability p [n]."""
    found = counts * (1.0 - p[:, None])
    found[:, 1:] += counts[:, :-1] * p[:, None]
    return found


def _at(counts: Floats, places: Ints) -> Floats:
    """The probability [n, c] of each count; none is below 0."""
    return np.where(places < 0, 0.0, np.take_along_axis(counts, np.maximum(places, 0), axis=1))


def grown_counts(problem: Problem, counts: Ints, most: int, search: CountedSearch) -> Iterator[CountedCauses]:
    """The best causes of the counts [n], from 0 to `most`: none, and then one more each time; fewer where some left."""
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    holding: list[Bools] = []
    found, ratio = _fitted(problem, counts, most, (), holding, search, None)
    yield found
    largest = 0
    while len(found.causes) < search.settings.max_causes:
        search.check()
        gained = exact_gains(np.log1p((np.minimum(ratio, _MOST_RATIO)[:, None] - 1.0) * TRIED), weights)
        best, cause = LEAST_GAIN, None
        for causes, worth in worths(problem, search, gained, TRIED):
            place = int(np.argmax(worth.max(axis=1)))
            if worth[place].max() > best:
                best, cause = float(worth[place].max()), causes.cause(place)
        if cause is None:
            return
        holding.append(cause.holds(problem.codes))
        before = found
        found, ratio = _fitted(problem, counts, most, (*found.causes, cause), holding, search, found)
        if found.objective - before.objective <= LEAST_GAIN:
            return
        if len(found.causes) > largest:
            largest = len(found.causes)
            yield found


def _fitted(
    problem: Problem,
    counts: Ints,
    most: int,
    causes: Sequence[Cause],
    holding: list[Bools],
    search: CountedSearch,
    before: CountedCauses | None,
) -> tuple[CountedCauses, Floats]:
    """The causes with their probabilities, without those that never act, and P(c - 1) / P(c) [n].

    holding: the rows on which each cause holds; of those that leave it is taken out.
    """
    rows, settings = CountedRows.of(holding, counts, problem.weights, problem.weight_unit), search.settings
    known = () if before is None else before.chances
    leak = max(0.5 * float(rows.weights @ rows.labels) / (float(rows.weights.sum()) * most), 1e-6)
    start = np.append(known, np.full(len(causes) - len(known), _FIRST))
    begin = [(start, leak if before is None else max(before.leak, 1e-9))]
    for number in range(1, settings.n_init):
        begin.append((np.random.default_rng(search.seed + number).uniform(0.02, 0.6, len(causes)), leak))
    expectation = CountExpectation(most)
    more = {"prior": settings.lam, "iterations": settings.n_iter, "check": search.check}
    fits = [em_of_chances(rows, expectation, *each, **more) for each in begin]
    fit = max(fits, key=lambda each: each.objectives[-1])
    _, ratio = expectation.with_ratio(rows, fit.chances, fit.leak)
    kept, found = fit.kept(causes)
    holding[:] = [holding[j] for j in kept]
    return found, ratio[rows.place]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAdd:
    """Says yes where the median of how many causes act is at least `least`.

    causes: with their strengths, strongest first; leak: the strength of each of `most` causes that are always there.
    """

    causes: StrongCauses
    leak: float
    most: int
    least: int

    @classmethod
    def of(cls, found: CountedCauses, total: float, most: int, least: int) -> NoisyAdd:
        """What was found with short probabilities; total: the weight of the rows.

        The leak acts on half a row at least, so that no count is impossible.
        """
        return cls(found.strongest_first(), short(max(found.leak, 0.5 / ((total + 1.0) * most))), most, least)

    def bits(self, frame: Frame) -> list[Hidden]:
        """Its hidden bits, which all counts share."""
        leaks = (Hidden(f"leak{t}", TRUE, self.leak) for t in range(1, self.most + 1))
        return [*bits_of(self.causes, frame, "H"), *leaks]

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that are answered by yes, by the operations of `Tails` in their order."""
        chances = [np.where(cause.holds(codes), probability_of(strength), 0.0) for cause, strength in self.causes]
        chances += [np.full(n_rows, probability_of(self.leak))] * self.most
        tails = np.zeros((self.least + 1, n_rows))
        tails[0] = 1.0
        for i, chance in enumerate(reversed(chances), start=1):
            top = min(i, self.least)
            moved = chance * tails[:top]
            tails[1 : top + 1] *= 1.0 - chance
            tails[1 : top + 1] += moved
        return np.asarray(tails[self.least] > 0.5)

    def score(self, frame: Frame, prefix: str) -> Score:
        """That at least so many bits fire."""
        bits = self.bits(frame)
        if self.least > len(bits):
            return Score(FALSE, FALSE, Probability(FALSE), silent=True)
        formula = AtLeast(self.least, bits)
        return Score(formula, probability=Probability(formula))
