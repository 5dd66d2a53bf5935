"""Markov chain Monte Carlo: random walks that visit each state as often as its probability says.

The Metropolis-Hastings walk (J. Kun, Markov Chain Monte Carlo Without all the Bullshit, 2015), means along it, and
Markov chains on finite, strongly connected graphs with their stationary vector in the source's three ways.

A walk draws a neighbour of its state, and goes there with probability min(1, p(there) q(back) / (p(here) q(there)))
where q is the probability of drawing it; else it stays. So every pair of states is left and entered equally often, and
p is stationary. Where each of at most r neighbours is drawn with probability 1 / r, as in the source, q cancels.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.errors import InputError

State = TypeVar("State", bound=Hashable)
Below = Callable[[int], int]
"""Draws a number below another, each as often: all chance in a proposal comes from it."""
Drawn = tuple[State, float] | None
"""A neighbour and log(q(back) / q(there)); None: the walk stays."""

_BETWEEN_SWAPS, _MOST_KNOWN = 20, 1 << 16


def acceptance(here: float, there: float, ratio: float = 0.0) -> float:
    """The probability of going to a drawn neighbour. here, there: log probabilities; ratio: log(q(back) / q(there))."""
    return math.exp(min(0.0, there - here + ratio)) if there > -math.inf else 0.0


@dataclass(slots=True, eq=False)
class Chain(Generic[State]):
    """A walk; log_probability: of a state, up to a constant.

    powers: others walk beside it, by these powers of the probability, and exchange states with it and each other, so
    that it leaves a peak (C. Geyer, Markov Chain Monte Carlo Maximum Likelihood, 1991). visited: its different states;
    scores: their log probabilities; places: by step the number of its state.
    """

    start: State
    log_probability: Callable[[State], float]
    propose: Callable[[State, Below], Drawn[State]]
    seed: int = 0
    powers: tuple[float, ...] = ()
    visited: list[State] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    places: array[int] = field(default_factory=lambda: array("l"))
    _random: Random = field(init=False)
    _at: list[State] = field(init=False)
    _known: dict[State, float] = field(default_factory=dict)
    _numbers: dict[State, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._at = [self.start] * (1 + len(self.powers))

    def walk(self, steps: int) -> None:
        """Go on for so many steps."""
        powers, chance = (1.0, *self.powers), self._random.random
        for first in range(0, steps, _BETWEEN_SWAPS):
            for i, power in enumerate(powers):
                self._at[i] = self._steps(self._at[i], power, min(_BETWEEN_SWAPS, steps - first), noted=i == 0)
            for i, apart in enumerate(np.diff(powers).tolist()):
                if chance() < acceptance(apart * self._score(self._at[i + 1]), apart * self._score(self._at[i])):
                    self._at[i : i + 2] = self._at[i + 1], self._at[i]

    def _steps(self, here: State, power: float, steps: int, *, noted: bool) -> State:
        score, chance = self._score(here), self._random.random

        def below(n: int) -> int:  # three times as fast as randrange
            return int(chance() * n)

        place = self._number(here) if noted else 0
        for _ in range(steps):
            drawn = self.propose(here, below)
            if drawn is not None:
                other = self._score(drawn[0])
                if chance() < acceptance(power * score, power * other, drawn[1]):
                    here, score = drawn[0], other
                    place = self._number(here) if noted else 0
            if noted:
                self.places.append(place)
        return here

    def _score(self, state: State) -> float:
        score = self._known.get(state)
        if score is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            score = self._known[state] = self.log_probability(state)
        return score

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state, len(self.visited))
        if number == len(self.visited):
            self.visited.append(state)
            self.scores.append(self._score(state))
        return number


def evenly(neighbours: Callable[[State], Sequence[State]], most: int) -> Callable[[State, Below], Drawn[State]]:
    """Draws each neighbour with probability 1 / most (the source's r); a state with fewer may stay."""

    def propose(state: State, below: Below) -> Drawn[State]:
        around, number = neighbours(state), below(most)
        return (around[number], 0.0) if number < len(around) else None

    return propose


def lattice(n: int, d: int) -> Callable[[tuple[int, ...], Below], Drawn[tuple[int, ...]]]:
    """Draws a neighbour in {0..n}^d, each with probability 1 / (2 d)."""

    def around(state: tuple[int, ...]) -> list[tuple[int, ...]]:
        steps = ((i, value + way) for i, value in enumerate(state) for way in (-1, 1))
        return [(*state[:i], value, *state[i + 1 :]) for i, value in steps if 0 <= value <= n]

    return evenly(around, 2 * d)


# Means, and how far they can be trusted ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a function along walks, and its standard error.

    effective: how many independent draws would say as much; r_hat: near 1 where the walks agree.
    """

    value: float
    error: float
    effective: float
    r_hat: float


def kept(chains: Sequence[Chain[State]]) -> list[Ints]:
    """By walk the numbers of its states in the second half of the steps that all have; the first half is warm-up."""
    if not chains:
        raise InputError("there are no walks: no condition tells rows apart", where="rows")
    steps = min(len(chain.places) for chain in chains)
    return [np.array(chain.places[steps // 2 : steps], dtype=np.int64) for chain in chains]


def along(chains: Sequence[Chain[State]], function: Callable[[State], float]) -> Floats:
    """Any function of the state [walks, steps], at the steps that are kept."""
    values = (np.array([function(state) for state in chain.visited], dtype=np.float64) for chain in chains)
    return np.stack([own[places] for own, places in zip(values, kept(chains), strict=True)])


def mean_of(values: Floats) -> Mean:
    """The mean of values [walks, steps]; both figures of trust are of halves of the walks.

    A. Gelman and D. Rubin, Inference from Iterative Simulation, 1992; A. Vehtari and others, Rank-Normalization,
    Folding, and Localization, 2021, equations 1 to 4 and 10; C. Geyer, Practical Markov Chain Monte Carlo, 1992:
    correlations are summed in pairs while these are positive, and none is above those before it.
    """
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, -half:]])
    apart = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(apart, 2 * half, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, 2 * half, axis=1)[:, :half].mean(axis=0) / max(1, half - 1)
    within, between = float(covariance[0]), float(halves.mean(axis=1).var(ddof=1))
    if within < 1e-300:  # no walk moves: they agree, or never will
        agreed = between < 1e-300
        size, r_hat = (float(values.size), 1.0) if agreed else (0.0, math.inf)
        return Mean(float(values.mean()), 0.0 if agreed else math.nan, size, r_hat)
    whole = within * (half - 1) / half + between
    pairs = (1.0 - (within - covariance) / whole)[: half - half % 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    sums = np.minimum.accumulate(pairs[: ends[0] if len(ends) else None]).sum()
    effective = halves.size / max(2.0 * float(sums) - 1.0, 1.0 / math.log10(halves.size))
    return Mean(float(values.mean()), math.sqrt(whole / effective), effective, math.sqrt(whole / within))


_DOUBLINGS = 60


def metropolis_matrix(log_probabilities: Floats, neighbours: Sequence[Sequence[int]], most: int) -> Floats:
    """The matrix of the walk that draws each neighbour with probability 1 / most, and else stays."""
    matrix = np.zeros((len(neighbours), len(neighbours)))
    for i, around in enumerate(neighbours):
        for j in around:
            matrix[j, i] = acceptance(float(log_probabilities[i]), float(log_probabilities[j])) / most
    return np.asarray(matrix + np.diag(1.0 - matrix.sum(axis=0)))


def by_eigenvector(matrix: Floats) -> Floats:
    """The eigenvector of eigenvalue 1."""
    values, vectors = np.linalg.eig(matrix)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    return np.asarray(vector / vector.sum())


def by_inverse(matrix: Floats) -> Floats:
    """The last column of the inverse of A - I without its first row, above a row of ones."""
    rows = [(matrix - np.eye(len(matrix)))[1:], np.ones((1, len(matrix)))]
    return np.asarray(np.linalg.inv(np.concatenate(rows))[:, -1])


def by_average(matrix: Floats) -> Floats:
    """The long-term average from the first state, which an even cycle has, too.

    The mean of 2 t steps is that of t steps and of the t after them, so that 60 products make 2^60 steps.
    """
    mean, power = np.eye(len(matrix))[0], matrix
    for _ in range(_DOUBLINGS):
        mean = (mean + power @ mean) / 2.0
        power = power @ power
        power /= power.sum(axis=0)  # else roundings grow with the steps
    return np.asarray(mean)
