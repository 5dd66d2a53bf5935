"""Hidden causes that are counted or added up modulo 2, found cause by cause, with probabilities in place of strengths.

A row counts by which causes hold on it and by its label alone, so that equal ones are one row of their weight; they
stand in an order that follows from what they hold, so that nothing depends on the order of the table. Products of all
causes but one are products of those before and behind it, never quotients, as a factor may be 0. The likelihood has
several maxima: random starts help.

Noisy-add: the label is how many hidden causes act (J. Vomlel, Noisy-or classifier, 2003, section 2.1). That number has
a Poisson-binomial distribution, which is built up cause by cause. That cause j acted on a row with count c has
probability p_j P(c - 1 without j) / P(c). The leak counts too: as many causes of one probability that are always there
as the largest count has, so that every count is possible on every row. With a further cause of probability p, P(c)
becomes (1 - p) P(c) + p P(c - 1) on the rows on which it holds: so what it gains is added up by code of each column for
a few p. The same condition may join again, as it may count for two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints, distinct_rows
from rulekit.graph.nodes import FALSE, TRUE, AtLeast, Hidden, Probability
from rulekit.learners.contract import Frame, Question, Score
from rulekit.learners.data.binning import Codes
from rulekit.learners.noisy_or.causes import Cause, Causes
from rulekit.learners.noisy_or.learner import LEAST_GAIN, HeldRows, ever_longer
from rulekit.learners.noisy_or.likelihood import exact_gains
from rulekit.learners.noisy_or.model import StrongCauses, bits_of, shortened
from rulekit.learners.papers.noisy_or.em import LARGEST
from rulekit.learners.papers.noisy_or.learner import sums_of_causes
from rulekit.numbers import probability_of

_NO_CHANCE = 1e-7  # what acts less often is no cause
_SETTLED = 1e-3  # nats by which an iteration must raise the objective
_FIRST = 0.1  # of a cause that is new
_MOST_RATIO = 1e12
_BLOCK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class CountedCauses:
    """Causes with the probability that each acts where it holds, and that of the leak.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior; seen: see Expected.
    """

    causes: tuple[Cause, ...]
    chances: tuple[float, ...]
    leak: float
    likelihood: float
    objective: float
    seen: Floats

    @property
    def size(self) -> int:
        return len(self.causes)

    def strongest_first(self) -> StrongCauses:
        order = sorted(range(self.size), key=lambda k: -self.chances[k])
        return shortened([self.causes[k] for k in order], [self.chances[k] for k in order])


@dataclass(frozen=True, slots=True, eq=False)
class CountedRows:
    """held [n, k]: whether each cause holds; labels, weights [n]; place: of each row of a table its distinct row."""

    held: Bools
    labels: Ints
    weights: Floats
    place: Ints

    @classmethod
    def of(cls, held: Sequence[Bools], labels: Ints, weights: npt.NDArray[Any], unit: float = 1.0) -> CountedRows:
        """The rows [n] of a table; weights are whole numbers of units."""
        n = len(labels)
        matrix = np.stack(held, axis=1) if held else np.zeros((n, 0), dtype=bool)
        of_labels = np.ascontiguousarray(labels, dtype=">i4").view(np.uint8).reshape(-1, 4)
        first, place = distinct_rows(np.concatenate([np.packbits(matrix, axis=1), of_labels], axis=1))
        total = np.asarray(np.bincount(place, weights, len(first)), dtype=np.float64)
        return cls(matrix[first], labels[first].astype(np.int64), total * unit, place)

    def sums(self, values: Floats | Bools) -> Floats:
        """The weighted sums [m] of numbers [n, m], row by row: a product of matrices may add in another order."""
        return np.asarray(np.add.reduce(values * self.weights[:, None], axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """By row: that each cause acted [n, k], the share of the leak that did, and the likelihood of the label [n].

    seen [n]: what the search for a further cause asks: P(c - 1) / P(c), or D of a parity.
    """

    acted: Floats
    leaked: Floats
    likely: Floats
    seen: Floats


Expectation = Callable[[CountedRows, Floats, float], Expected]
"""The E-step of rows, the probabilities [k] of causes and that of the leak."""
Starts = Iterable[tuple[Floats, float]]


@dataclass(frozen=True, slots=True, eq=False)
class FittedChances:
    """Probabilities [k] and that of the leak, with the objective at the start and after every iteration; seen [n]."""

    chances: Floats
    leak: float
    likelihood: float
    objectives: tuple[float, ...]
    seen: Floats


def em_of_chances(
    rows: CountedRows,
    expectation: Expectation,
    start: Floats,
    leak: float,
    *,
    prior: float,
    iterations: int,
    check: Callable[[], None] = lambda: None,
) -> FittedChances:
    """The probabilities after EM, by which the objective never falls.

    start [k], leak: above 0 and below 1. prior: Beta(1, 1 + prior) on the probability of every cause but the leak.
    iterations: at most; EM ends where one has raised the objective by less than a thousandth of a nat. check: called
    before each iteration, may raise.
    """
    chances, held = np.array(start, dtype=np.float64), rows.sums(rows.held) + prior
    total, objectives = float(rows.weights.sum()), list[float]()
    while True:
        found = expectation(rows, chances, leak)
        likelihood = float((rows.weights * np.log(found.likely)).sum())
        objectives.append(likelihood + prior * float(np.log1p(-chances).sum()))
        if len(objectives) > iterations or (len(objectives) > 1 and objectives[-1] - objectives[-2] <= _SETTLED):
            return FittedChances(chances, leak, likelihood, tuple(objectives), found.seen)
        check()
        with np.errstate(invalid="ignore", divide="ignore"):
            p = rows.sums(found.acted) / held
        chances = np.where(held > 0.0, np.clip(p, 0.0, LARGEST), 0.0)
        leak = float(np.clip((rows.weights * found.leaked).sum() / total, 1e-12, LARGEST))


@dataclass(frozen=True, slots=True, eq=False)
class CountedSearch:
    """The conditions on each column for a question, and the weight of the rows on which one holds."""

    question: Question
    rows: HeldRows
    causes: Sequence[Causes]
    least: float

    def held(self, causes: Causes) -> Floats:
        """The weight [n_causes] of the rows on which each possible cause of a column holds."""
        problem = self.rows.problem
        each = np.bincount(problem.codes[causes.column], problem.weights, causes.n_codes)
        return causes.sums(np.asarray(each[:, None] * problem.weight_unit, dtype=np.float64))[:, 0]

    def counted(self, causes: Sequence[Cause], labels: Ints) -> CountedRows:
        problem = self.rows.problem
        return CountedRows.of([*map(self.rows.holds, causes)], labels, problem.weights, problem.weight_unit)

    def fit(self, causes: Sequence[Cause], rows: CountedRows, expect: Expectation, starts: Starts) -> CountedCauses:
        """The causes with the best limit of EM from some starts, without those that never act."""
        settings, check = self.question.settings, self.question.watch.check
        more = {"prior": settings.lam, "iterations": settings.n_iter, "check": check}
        fits = [em_of_chances(rows, expect, *start, **more) for start in starts]
        best = max(fits, key=lambda fit: fit.objectives[-1])
        kept = np.flatnonzero(best.chances > _NO_CHANCE).tolist()
        chances = tuple(float(best.chances[k]) for k in kept)
        said = (best.leak, best.likelihood, best.objectives[-1], best.seen[rows.place])
        return CountedCauses(tuple(causes[k] for k in kept), chances, *said)

    def best(self, gains: Floats, tried: Floats) -> tuple[Cause, float] | None:
        """The cause that gains most likelihood, and the probability of `tried` with which it does.

        gains [n, n_tried]: what rows gain by a cause of one of the probabilities; less the prior, and only of causes
        that hold on enough rows.
        """
        problem, prior = self.rows.problem, self.question.settings.lam * np.log1p(-tried)
        each, best, found = exact_gains(gains, problem.in_rows), LEAST_GAIN, None
        for causes in self.causes:
            worth = sums_of_causes(problem, causes, each) + prior
            worth[self.held(causes) < self.least] = 0.0
            if worth.max(initial=0.0) > best:
                place, chance = np.unravel_index(int(np.argmax(worth)), worth.shape)
                best, found = float(worth[place, chance]), (causes.cause(int(place)), float(tried[chance]))
        return found


# Noisy-add -----------------------------------------------------------------------------------------------------------

TRIED = np.array([0.03, 0.1, 0.25, 0.5, 0.8])  # the probabilities that a further cause is tried with


@dataclass(frozen=True, slots=True)
class CountExpectation:
    """The E-step where the label is a count of at most `most`, which is also how many causes the leak has."""

    most: int

    def __call__(self, rows: CountedRows, chances: Floats, leak: float) -> Expected:
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
        return Expected(acted, leaked, likely, below / likely)


def _with_one_more(counts: Floats, p: Floats) -> Floats:
    """The distribution [n, c] of a number of causes with one more, which acts with probability p [n]."""
    found = counts * (1.0 - p[:, None])
    found[:, 1:] += counts[:, :-1] * p[:, None]
    return found


def _at(counts: Floats, places: Ints) -> Floats:
    """The probability [n, c] of each count; none is below 0."""
    return np.where(places < 0, 0.0, np.take_along_axis(counts, np.maximum(places, 0), axis=1))


def grown_counts(counts: Ints, most: int, search: CountedSearch) -> Iterator[CountedCauses]:
    """The best causes of the counts [n], from 0 to `most`: none, and then one more each time."""

    def longer(fit: CountedCauses) -> CountedCauses | None:
        ratio = np.minimum(fit.seen, _MOST_RATIO)[:, None]
        found = search.best(np.log1p((ratio - 1.0) * TRIED), TRIED)
        return found and _fitted(counts, most, (*fit.causes, found[0]), search, fit)

    begun = _fitted(counts, most, (), search, None)
    yield begun
    yield from ever_longer(begun, longer, search.question.settings.max_causes, search.question.watch.check)


def _fitted(
    counts: Ints, most: int, causes: Sequence[Cause], search: CountedSearch, before: CountedCauses | None
) -> CountedCauses:
    rows = search.counted(causes, counts)
    known = () if before is None else before.chances
    leak = max(0.5 * float(rows.weights @ rows.labels) / (float(rows.weights.sum()) * most), 1e-6)
    start = np.append(known, np.full(len(causes) - len(known), _FIRST))
    begin = [(start, leak if before is None else max(before.leak, 1e-9))]
    for number in range(1, search.question.settings.n_init):
        begin.append((np.random.default_rng(search.question.seed + number).uniform(0.02, 0.6, len(causes)), leak))
    return search.fit(causes, rows, CountExpectation(most), begin)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAdd:
    """Says yes where the median of how many causes act is at least `least`.

    causes: with their strengths, strongest first; leak: the strength of each of `most` causes that are always there.
    """

    causes: StrongCauses
    leak: float
    most: int
    least: int

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
        bits = self.bits(frame)
        if self.least > len(bits):
            return Score(FALSE, FALSE, Probability(FALSE), silent=True)
        formula = AtLeast(self.least, bits)
        return Score(formula, probability=Probability(formula))
