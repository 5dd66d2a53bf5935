"""Strengths of some causes, fitted to the rows of a problem; missing cells are summed out, or are nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.fitting.coordinate_descent import coordinate_descent
from rulekit.learners.noisy_or.fitting.em import expectation_maximisation, start_of
from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.noisy_or.fitting.strengths import Strengths, log_likelihood
from rulekit.learners.noisy_or.fitting.summed_out import Unknown, summed_out
from rulekit.learners.noisy_or.search.causes import Cause
from rulekit.learners.noisy_or.search.joint_causes import JointCause
from rulekit.learners.sums_of_rows.histograms import Bools, Floats

_NO_GAIN = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """How strengths are fitted: the algorithm, its iterations and starts, the prior, and a seed of random starts."""

    name: str
    iterations: int
    starts: int
    prior: float
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Causes with their strengths, the leak's, and those of columns that are missing, by column.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior.
    """

    causes: tuple[Cause | JointCause, ...]
    strengths: tuple[float, ...]
    leak: float
    unknown: tuple[tuple[int, float], ...] = ()
    likelihood: float = 0.0
    objective: float = 0.0


@dataclass(slots=True, eq=False)
class Rows:
    """The rows of a problem as the causes see them: holds [n] of each cause that was asked for, levels' shares.

    summed: the columns of which missing cells are summed out; those of joint causes are not.
    """

    problem: Problem
    summed: Bools
    holding: dict[int, tuple[Cause | JointCause, Bools]] = field(default_factory=dict)
    missing: dict[int, Bools] = field(default_factory=dict)
    shares: dict[int, Floats] = field(default_factory=dict)

    def holds(self, cause: Cause | JointCause) -> Bools:
        """The rows [n] on which a cause holds."""
        found = self.holding.get(id(cause))
        if found is None:
            found = cause, cause.holds(self.problem.codes)
            self.holding[id(cause)] = found
        return found[1]

    def is_missing(self, column: int) -> Bools:
        """The rows [n] of which a column is missing."""
        if column not in self.missing:
            self.missing[column] = np.asarray(self.problem.codes[column] == 0)
        return self.missing[column]

    def share(self, column: int) -> Floats:
        """How often [n_codes] a known cell of a column has each code."""
        if column not in self.shares:
            n_codes = self.problem.columns[column].n_codes
            counts = np.bincount(self.problem.codes[column], self.problem.weights, n_codes)
            counts[0] = 0.0
            self.shares[column] = counts / max(counts.sum(), 1.0)
        return self.shares[column]


def fitted(
    rows: Rows, causes: Sequence[Cause | JointCause], method: Method, watch: Watch, start: Fit | None = None
) -> Fit:
    """The strengths of the causes that fit the rows best; those of which none is left are dropped."""
    single = [cause for cause in causes if isinstance(cause, Cause)]
    columns = sorted({cause.column for cause in single if rows.summed[cause.column]})
    held = [rows.holds(cause) for cause in causes]
    cells = [*held, *(rows.is_missing(column) for column in columns)]
    problem = rows.problem
    incidence = Incidence.of(
        cells_of(cells, len(problem.labels)),
        problem.labels,
        np.asarray(problem.weights * problem.weight_unit, np.float64),
    )
    begin = _begin(causes, len(cells), start)
    unknown = Unknown.of([cause.column for cause in single], [cause.condition for cause in single], columns, rows.share)
    if any(rows.is_missing(column).any() for column in columns):
        found = summed_out(incidence, unknown, begin, method.prior, method.iterations, watch.check)
    elif method.name == "em":
        found = _by_em(incidence, begin, method, watch.check)
    else:
        found = coordinate_descent(
            incidence, begin, prior=method.prior, sweeps=method.iterations, check=watch.check
        ).strengths
    kept = [k for k in range(len(causes)) if found.present[k] > _NO_GAIN]
    names = zip(columns, unknown.strengths(found.present[: len(causes)]).tolist(), strict=True)
    likelihood = log_likelihood(incidence, found)
    penalty = method.prior * float(found.present[: len(causes)].sum())
    reads = {cause.column for k in kept if isinstance(cause := causes[k], Cause)}
    return Fit(
        tuple(causes[k] for k in kept),
        tuple(float(found.present[k]) for k in kept),
        found.leak,
        tuple((column, strength) for column, strength in names if column in reads),
        likelihood,
        likelihood - penalty,
    )


def _begin(causes: Sequence[Cause | JointCause], n_cells: int, start: Fit | None) -> Strengths:
    """Strengths to start from: those of an earlier fit, and a tenth for causes that it has not."""
    present = np.full(n_cells, 0.1)
    if start is None:
        return Strengths(present, None, 0.1)
    known = {id(cause): strength for cause, strength in zip(start.causes, start.strengths, strict=True)}
    for k, cause in enumerate(causes):
        present[k] = known.get(id(cause), 0.1)
    return Strengths(present, None, max(start.leak, 1e-6))


def _by_em(incidence: Incidence, begin: Strengths, method: Method, check: Callable[[], None]) -> Strengths:
    """The best limit of EM from the given start and random ones."""
    best = None
    for number in range(method.starts):
        start = begin if number == 0 else start_of(incidence, seed=method.seed + number)
        found = expectation_maximisation(
            incidence, start, prior=method.prior, iterations=method.iterations, tolerance=_NO_GAIN, check=check
        )
        if best is None or found.objectives[-1] > best.objectives[-1]:
            best = found
    assert best is not None
    return best.strengths


def cells_of(cells: Sequence[Bools], n: int) -> RowCells:
    """The rows [n] with a cell for each condition that holds."""
    k = len(cells)
    held = np.stack(cells, axis=1) if k else np.zeros((n, 0), dtype=bool)
    indptr = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int64)
    return RowCells(indptr, np.nonzero(held)[1].astype(np.int32), np.arange(k, dtype=np.int32))
