"""Hidden causes that are counted or added up modulo 2: their EM, and the search for what a further one is worth.

Both are found cause by cause and have probabilities in place of strengths. A row counts by which causes hold on it and
by its label alone, so that equal ones are one row of their weight; they stand in an order that follows from what they
hold, so that nothing depends on the order of the table. Products of all causes but one are products of those before and
behind it, never quotients, as a factor may be 0. The likelihood has several maxima: random starts help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints, distinct_rows
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause, Causes
from rulekit.learners.noisy_or.model import StrongCauses, shortened
from rulekit.learners.papers.noisy_or.em import LARGEST
from rulekit.learners.papers.noisy_or.single_causes import sums_of_causes

_NO_CHANCE = 1e-7
"""What acts less often is no cause."""
_SETTLED = 1e-3
"""Nats by which an iteration must raise the objective."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedSearch:
    """The conditions on each column, by their settings, the weight of the rows on which one holds, and a seed."""

    causes: Sequence[Causes]
    settings: Any
    least: float
    seed: int
    check: Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class CountedCauses:
    """Causes with the probability that each acts where it holds, and that of the leak.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior.
    """

    causes: tuple[Cause, ...]
    chances: tuple[float, ...]
    leak: float
    likelihood: float = 0.0
    objective: float = 0.0

    def strongest_first(self) -> StrongCauses:
        """The causes with short strengths."""
        order = sorted(range(len(self.causes)), key=lambda k: -self.chances[k])
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
    """By row: that each cause acted [n, k], the share of the leak that did [n], and the likelihood of the label [n]."""

    acted: Floats
    leaked: Floats
    likely: Floats


Expectation = Callable[[CountedRows, Floats, float], Expected]
"""The E-step of rows, the probabilities [k] of causes and that of the leak."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedChances:
    """Probabilities [k] and that of the leak, with the objective at the start and after every iteration."""

    chances: Floats
    leak: float
    likelihood: float
    objectives: tuple[float, ...]

    def kept(self, causes: Sequence[Cause]) -> tuple[list[int], CountedCauses]:
        """Which causes act at all, and these."""
        kept = np.flatnonzero(self.chances > _NO_CHANCE).tolist()
        own, chances = tuple(causes[k] for k in kept), tuple(float(self.chances[k]) for k in kept)
        return kept, CountedCauses(own, chances, self.leak, self.likelihood, self.objectives[-1])


def em_of_chances(
    rows: CountedRows,
    expectation: Expectation,
    start: Floats,
    leak: float,
    *,
    prior: float,
    iterations: int,
    check: Callable[[], None] | None = None,
) -> FittedChances:
    """The probabilities after EM, by which the objective never falls.

    Parameters
    ----------
    rows : CountedRows
        The rows.
    expectation : callable
        Of the family: the E-step.
    start, leak : ndarray [k], float
        Probabilities to start from, above 0 and below 1.
    prior : float
        Beta(1, 1 + prior) on the probability of every cause but the leak.
    iterations : int
        At most; EM ends before, where one has raised the objective by less than a thousandth of a nat.
    check : callable, optional
        Called before each iteration; it raises to stop.

    """
    chances, held = np.array(start, dtype=np.float64), rows.sums(rows.held) + prior
    total, objectives = float(rows.weights.sum()), list[float]()
    while True:
        found = expectation(rows, chances, leak)
        likelihood = float((rows.weights * np.log(found.likely)).sum())
        objectives.append(likelihood + prior * float(np.log1p(-chances).sum()))
        if len(objectives) > iterations or (len(objectives) > 1 and objectives[-1] - objectives[-2] <= _SETTLED):
            return FittedChances(chances, leak, likelihood, tuple(objectives))
        if check is not None:
            check()
        with np.errstate(invalid="ignore", divide="ignore"):
            p = rows.sums(found.acted) / held
        chances = np.where(held > 0.0, np.clip(p, 0.0, LARGEST), 0.0)
        leak = float(np.clip((rows.weights * found.leaked).sum() / total, 1e-12, LARGEST))


def weight_by_code(problem: Problem, causes: Causes) -> Floats:
    """The weight [n_codes, 1] of the rows by code of a column."""
    each = np.bincount(problem.codes[causes.column], problem.weights, causes.n_codes)
    return np.asarray(each[:, None] * problem.weight_unit, dtype=np.float64)


def worths(problem: Problem, search: CountedSearch, each: Floats, tried: Floats) -> Iterator[tuple[Causes, Floats]]:
    """By column that has causes what each gains [n_causes, n_tried], less the prior; 0 of causes of too few rows.

    each [n, n_tried]: what the rows gain by a cause of one of the probabilities `tried`.
    """
    prior = search.settings.lam * np.log1p(-tried)
    for causes in search.causes:
        worth, held = sums_of_causes(problem, causes, each) + prior, causes.sums(weight_by_code(problem, causes))
        if len(worth):
            worth[held[:, 0] < search.least] = 0.0
            yield causes, worth
