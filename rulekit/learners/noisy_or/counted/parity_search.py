"""The causes of a noisy-parity: one, two or more at a time, as a cause among strong others shows nothing by itself.

The label is whether an odd number of hidden causes act (J. Vomlel, Noisy-or classifier, 2003, section 2.1). With
f = 1 - 2 p of each cause that holds, 1 - 2 P(odd) is the product D of all f. That cause j acted on a row of the sign s
(1 where it is even, -1 where it is odd) has probability p_j (1 - s D without j) / (1 + s D).

With a further cause D is multiplied by f = 1 - 2 p on the rows on which it holds, so what it gains is added up by code
of each column for a few p. Of several sure causes together, D is multiplied by the product of their signs: how that
product goes with s D says which sets are worth a try. It is looked up for all sets of up to 16 conditions (by one
Walsh-Hadamard transform), for all triples of up to 40, and for all pairs of more. What is tried is fitted by EM, and
joins if it gains more than the logarithm of the number of sets that were looked at.

Where all conditions fit in the model, it is also begun with all of them, from several starts, and causes are left out
one by one; what explains the rows better for its size is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.counted.adding import weight_by_code, worths
from rulekit.learners.noisy_or.counted.hidden_bits import (
    LARGEST,
    NO_CHANCE,
    Chances,
    DistinctRows,
    chances_of,
    has_settled,
)
from rulekit.learners.noisy_or.fitting.strengths import exact_gains
from rulekit.learners.noisy_or.search.causes import Cause, Causes
from rulekit.learners.noisy_or.search.fits import Method
from rulekit.learners.noisy_or.search.single_causes import LEAST_GAIN, Search
from rulekit.learners.sums_of_rows.histograms import Bools, Floats

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


TRIED = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])
"""The probabilities that a further cause is tried with."""
_OF_ALL, _OF_THREE, _MOST_WORK, _MOST_SIGNS = 16, 40, 1 << 35, 1 << 24
_SETS = 3  # that are fitted, of those that were looked at
_STARTS, _FROM_ALL = 8, 24
_FIRST, _SURE = 0.1, 0.98
_FINE = 2.0**20


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """A fit, the causes it is of, and D [n] of the rows of the table."""

    found: Chances
    product: Floats


@dataclass(slots=True, eq=False)
class _Fits:
    """The rows of a problem, and the fits of sets of causes to them."""

    problem: Problem
    method: Method
    watch: Watch
    holding: dict[int, tuple[Cause, Bools]] = field(default_factory=dict)

    def holds(self, cause: Cause) -> Bools:
        if id(cause) not in self.holding:
            self.holding[id(cause)] = cause, cause.condition[self.problem.codes[cause.column]]
        return self.holding[id(cause)][1]

    def fitted(self, causes: Sequence[Cause], start: Iterable[float], leak: float) -> tuple[FittedParity, DistinctRows]:
        problem, method = self.problem, self.method
        rows = DistinctRows.of([*map(self.holds, causes)], problem.labels, problem.weights, problem.weight_unit)
        begin, check = np.clip(np.array(list(start)), 1e-6, 1.0 - 1e-6), self.watch.check
        leak = min(max(leak, 1e-6), 1.0 - 1e-6)
        return fit_parity(rows, begin, leak, prior=method.prior, iterations=method.iterations, check=check), rows

    def state(self, causes: Sequence[Cause], start: Iterable[float], leak: float) -> _State:
        """The fit from a start, without causes that never act."""
        fit, rows = self.fitted(causes, start, leak)
        kept = [j for j in range(len(causes)) if fit.chances[j] > NO_CHANCE]
        chances = tuple(float(fit.chances[j]) for j in kept)
        chosen = tuple(causes[j] for j in kept)
        return _State(Chances(chosen, chances, fit.leak, fit.likelihood, fit.objectives[-1]), fit.product[rows.place])


def grown_parities(problem: Problem, search: Search, watch: Watch) -> list[Chances]:
    """The best causes of the odd rows, of ever larger sizes."""
    if not 0.0 < problem.positive < problem.total:
        return []
    fits = _Fits(problem, search.method, watch)
    conditions = _conditions(problem, search)
    path = _forward(fits, conditions, search)
    if 0 < len(conditions) <= min(search.most, _FROM_ALL):
        other = _backward(fits, conditions)
        if _worth(other, problem) > _worth(path, problem):
            path = other
    return path


def _worth(path: Sequence[Chances], problem: Problem) -> float:
    """The best objective of a path less half the logarithm of the rows for each cause."""
    each = 0.5 * math.log(problem.total + 1.0)
    return max((found.objective - each * len(found.causes) for found in path), default=-np.inf)


def _conditions(problem: Problem, search: Search) -> list[Cause]:
    """The possible causes without the contraries of others, which a parity with a leak does not need."""
    found = []
    for causes in search.causes:
        held = causes.sums(weight_by_code(problem, causes))[:, 0]
        found += [causes.cause(place) for place in _one_side(causes, len(held)) if _parts(held[place], problem, search)]
    return found


def _one_side(causes: Causes, total: int) -> list[int]:
    """The places of conditions of which none is the contrary of another; of two levels that is the second one."""
    n = max(0, causes.n_codes - causes.first - int(causes.ordered))
    alone = n == 2 and not causes.ordered and causes.contraries
    return [*range(int(alone), n), *range(total - int(causes.missing), total)]


def _contrary(cause: Cause, first: int) -> Cause:
    """The cause that holds where a known cell does not fulfil the condition; first: the first code of a known value."""
    condition = ~cause.condition
    condition[:first] = False
    return Cause(cause.column, condition)


def _parts(held: float, problem: Problem, search: Search) -> bool:
    return min(held, problem.total - held) >= search.least


# One way: causes join ------------------------------------------------------------------------------------------------


def _forward(fits: _Fits, conditions: Sequence[Cause], search: Search) -> list[Chances]:
    problem, path = fits.problem, list[Chances]()
    by_code = [weight_by_code(problem, causes) for causes in search.causes]
    turns = {causes.column: causes.first for causes in search.causes if causes.contraries}
    state = fits.state((), (), problem.share)
    signs = _signs(fits, conditions)
    while len(state.found.causes) < search.most:
        fits.watch.check()
        found = state.found
        tried: list[tuple[float, _State]] = []
        single = _best(fits, state, by_code, search)
        if single is not None:
            cause, chance = single
            for first in sorted({_FIRST, chance}):
                further = fits.state((*found.causes, cause), (*found.chances, first), found.leak)
                tried.append((LEAST_GAIN, further))
        for chosen, correlation, looked in _sets(fits, state, signs, search.most - len(found.causes)):
            more = [conditions[j] for j in chosen]
            turned = next((k for k, cause in enumerate(more) if cause.column in turns), None)
            if correlation < 0.0 and turned is not None:  # else the leak would have to act nearly always
                more[turned], correlation = _contrary(more[turned], turns[more[turned].column]), -correlation
            start = (*found.chances, *[_SURE] * len(more))
            # what the set does not explain is the leak's at first
            leak = 0.5 * (1.0 - correlation * (1.0 - 2.0 * found.leak if found.causes else 1.0))
            tried.append((math.log(looked), fits.state((*found.causes, *more), start, leak)))
        gains = [each.found.objective - found.objective - least for least, each in tried]
        best = int(np.argmax(gains)) if gains else -1
        if best < 0 or gains[best] <= 0.0:
            break
        state = tried[best][1]
        if not path or len(state.found.causes) > len(path[-1].causes):
            path.append(state.found)
    return path


def _best(fits: _Fits, state: _State, by_code: Sequence[Floats], search: Search) -> tuple[Cause, float] | None:
    """The one cause that gains most likelihood, and the probability that it was tried with."""
    problem = fits.problem
    sd = (1.0 - 2.0 * problem.labels) * state.product
    ratio = np.maximum(1.0 + sd[:, None] * (1.0 - 2.0 * TRIED), 1e-9) / np.maximum(1.0 + sd, 1e-9)[:, None]
    each = exact_gains(np.log(ratio), np.asarray(problem.weights * problem.weight_unit, dtype=np.float64))
    prior = search.method.prior * np.log1p(-TRIED)
    best, found = LEAST_GAIN, None
    for causes, worth in worths(problem, search, by_code, each, prior):
        place, chance = np.unravel_index(int(np.argmax(worth)), worth.shape)
        if worth[place, chance] > best:
            best, found = float(worth[place, chance]), (causes.cause(int(place)), float(TRIED[chance]))
    return found


# Sets of causes ------------------------------------------------------------------------------------------------------


def _signs(fits: _Fits, conditions: Sequence[Cause]) -> npt.NDArray[np.float64]:
    """1 - 2 c of each condition [n, m]; without conditions where the pairs would be too much work."""
    n, m = len(fits.problem.labels), len(conditions)
    if n * m**2 > _MOST_WORK or n * m > _MOST_SIGNS:
        return np.zeros((n, 0))
    return np.stack([1.0 - 2.0 * fits.holds(cause) for cause in conditions], axis=1) if conditions else np.zeros((n, 0))


def _sets(fits: _Fits, state: _State, signs: Floats, room: int) -> list[tuple[tuple[int, ...], float, int]]:
    """The sets whose product has the largest correlation with s D, with that, and how many were looked at."""
    problem, m = fits.problem, signs.shape[1]
    if room < 2 or m < 2:
        return []
    d = state.product if state.found.causes else np.ones(len(problem.labels))
    target = (1.0 - 2.0 * problem.labels) * d / max(float(np.abs(d).max()), 1e-300)
    target = np.rint(target * _FINE) * problem.weights  # whole numbers: their sums are exact, in any order
    total = float(np.abs(target).sum())
    if total <= 0.0:
        return []
    if m <= _OF_ALL:
        found, looked = _of_all(signs, target, room)
    else:
        found, looked = _of_pairs(signs, target)
        if m <= _OF_THREE and room > 2:
            triples, more = _of_triples(signs, target)
            found, looked = [*found, *triples], looked + more
    ranked = sorted(found, key=lambda each: (-abs(each[1]), len(each[0]), each[0]))[:_SETS]
    return [(chosen, value / total, looked) for chosen, value in ranked]


_Found = list[tuple[tuple[int, ...], float]]


def _of_all(signs: Floats, target: Floats, room: int) -> tuple[_Found, int]:
    """Every set of two conditions and more, by one fast Walsh-Hadamard transform."""
    m = signs.shape[1]
    pattern = ((signs < 0.0) @ (1 << np.arange(m))).astype(np.int64)
    values = np.bincount(pattern, target, 1 << m)
    for j in range(m):
        halves = values.reshape(-1, 2, 1 << j)
        values = np.stack([halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1]], axis=1).ravel()
    size = np.array([index.bit_count() for index in range(1 << m)])
    allowed = (size >= 2) & (size <= room)
    values = np.where(allowed, values, 0.0)
    best = np.argsort(-np.abs(values), kind="stable")[:_SETS]
    chosen = [(tuple(j for j in range(m) if index >> j & 1), float(values[index])) for index in best.tolist()]
    return [each for each in chosen if each[1]], int(allowed.sum())


def _of_pairs(signs: Floats, target: Floats) -> tuple[_Found, int]:
    rows, columns = np.triu_indices(signs.shape[1], k=1)
    values = (signs.T @ (signs * target[:, None]))[rows, columns]
    best = np.argsort(-np.abs(values), kind="stable")[:_SETS]
    return [((int(rows[i]), int(columns[i])), float(values[i])) for i in best], len(values)


def _of_triples(signs: Floats, target: Floats) -> tuple[_Found, int]:
    m, found = signs.shape[1], list[tuple[tuple[int, ...], float]]()
    for i in range(m - 2):
        pairs, _ = _of_pairs(signs[:, i + 1 :], target * signs[:, i])
        found += [((i, i + 1 + a, i + 1 + b), value) for (a, b), value in pairs]
    return found, math.comb(m, 3)


# The other way: causes leave -----------------------------------------------------------------------------------------


def _backward(fits: _Fits, conditions: Sequence[Cause]) -> list[Chances]:
    """Of all conditions, the best of several starts, and then one less each time."""
    begin = [(np.full(len(conditions), _FIRST), fits.problem.share)]
    for number in range(1, max(_STARTS, fits.method.starts)):
        rng = np.random.default_rng(fits.method.seed + number)
        begin.append((rng.uniform(0.02, 0.98 if number % 2 else 0.5, len(conditions)), float(rng.uniform(0.02, 0.5))))
    found = max((fits.state(conditions, *each).found for each in begin), key=lambda each: each.objective)
    path = [found]
    while len(found.causes) > 1:
        fits.watch.check()
        fit, _ = fits.fitted(found.causes, found.chances, found.leak)
        left = int(np.argmax(fit.without))
        kept = [j for j in range(len(found.causes)) if j != left]
        causes, chances = [found.causes[j] for j in kept], [found.chances[j] for j in kept]
        found = fits.state(causes, chances, found.leak).found
        if found.causes:
            path.append(found)
    sizes = itertools.groupby(reversed(path), key=lambda each: len(each.causes))
    return [max(same, key=lambda each: each.objective) for size, same in sizes if size]
