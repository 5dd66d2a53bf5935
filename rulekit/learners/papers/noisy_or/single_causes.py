"""Single conditions as causes, found one after another: of columns with missing cells, these are summed out.

What a further cause is worth is added up over the positive rows for a few strengths that it may have. Of the negative
rows only what they weigh by code is asked for. Where missing cells are summed out, a cause raises the activation of the
rows that miss its column, too, and that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import TRIED, AnyCause, Cause, Causes, add_by_code, gains
from rulekit.learners.noisy_or.growth import (
    LEAST_GAIN,
    NOTHING_KNOWN,
    Descent,
    FittedCauses,
    HeldRows,
    ever_longer,
    has_both_classes,
)
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, exact_gains, log_positive
from rulekit.learners.noisy_or.model import CausePart, shortened
from rulekit.learners.papers.noisy_or.em import Unknown, summed_out
from rulekit.learners.sums_of_rows.information import information_gain
from rulekit.schema import MISSING_CODE

_RISES = np.concatenate([[0.0], 2.5 * 2.0 ** np.arange(-12.0, 1.0)])
"""The rises of rows with a missing cell for which the gain is added up, from .0006 on; between them it is read off."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleSearch:
    """What is looked for: conditions on one column, at most how many, and of how many rows.

    prior: against causes; least: the weight of the rows on which a cause holds; least_gain: the least expected
    information gain of a cause, in nats. summed: the columns [n_columns] of which missing cells are summed out, by at
    most `iterations` of EM.
    """

    causes: Sequence[Causes]
    prior: float
    most: int
    least: float
    least_gain: float
    summed: Bools
    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class SummedCauses(FittedCauses):
    """Causes, and by column with the code that says missing the strength of the cells that are summed out."""

    unknown: tuple[tuple[Cause, float], ...] = ()

    def part(self, total: float, cut: int = -1) -> CausePart:
        """As a part of a model, in which a missing cell is a cause as well."""
        own = CausePart.of(self.causes, self.strengths, self.leak, total, cut)
        columns = [cause for cause, _ in self.unknown]
        further = shortened(columns, [float(-np.expm1(-strength)) for _, strength in self.unknown])
        return replace(own, causes=(*own.causes, *further))


def grown_singly(problem: Problem, search: SingleSearch, descent: Descent, watch: Watch) -> Iterator[FittedCauses]:
    if not has_both_classes(problem):
        return
    rows = _SummedRows(problem, search, descent, watch)

    def longer(fit: SummedCauses) -> SummedCauses | None:
        found = rows.best(fit)
        return None if found is None else rows.best_fit((*fit.causes, found), fit)

    yield from ever_longer(rows.best_fit(()), longer, search.most, watch.check)


class _SummedRows:
    """The rows of a problem: all, and the positive ones alone."""

    def __init__(self, problem: Problem, search: SingleSearch, descent: Descent, watch: Watch) -> None:
        self.rows, self.search, self.descent, self.watch = HeldRows(problem), search, descent, watch
        self.positive = np.flatnonzero((problem.labels == 1) & (problem.weights > 0))
        self.own = problem.take(self.positive)
        self.weights = np.asarray(self.own.weights * self.own.weight_unit, dtype=np.float64)
        self.by_code = [_by_code(problem, causes) for causes in search.causes]
        self.shares = {column: _shares(problem, column) for column in np.flatnonzero(search.summed).tolist()}

    def best_fit(self, causes: Sequence[AnyCause], start: FittedCauses = NOTHING_KNOWN) -> SummedCauses:
        search, codes = self.search, self.rows.problem.codes
        unknown = Unknown.of(causes, self.shares)
        missing = [np.asarray(codes[column] == MISSING_CODE) for column in unknown.columns]
        descent = self.descent
        if any(rows.any() for rows in missing):

            def descent(incidence: Incidence, begin: Strengths) -> Strengths:
                return summed_out(incidence, unknown, begin, search.prior, search.iterations, self.watch.check)

        else:
            missing = []
        fit = self.rows.fitted(causes, search.prior, descent, start, missing)
        left = Unknown.of(fit.causes, self.shares)
        levels = [Cause(column, np.arange(len(self.shares[column])) == MISSING_CODE) for column in left.columns]
        said = tuple(zip(levels, left.strengths(np.array(fit.strengths)).tolist(), strict=True))
        return SummedCauses(fit.causes, fit.strengths, fit.leak, fit.likelihood, fit.objective, said)

    def best(self, fit: SummedCauses) -> Cause | None:
        search, s = self.search, self.rows.activations(fit, 1e-9)[self.positive]
        for level, strength in fit.unknown:
            s += strength * level.holds(self.own.codes)
        each = _gains_of_positive(s, self.weights, TRIED)
        best, found = LEAST_GAIN, None
        for causes, by_class in zip(search.causes, self.by_code, strict=True):
            sums, held = sums_of_causes(self.own, causes, each), causes.sums(by_class)
            if not len(sums):
                continue
            worth = sums - np.outer(held[:, 0] + search.prior, TRIED)
            if by_class[MISSING_CODE].any() and causes.column in self.shares:
                often = causes.sums(_innocent(fit, causes.column, self.shares[causes.column])[:, None])
                missed = np.flatnonzero(self.own.codes[causes.column] == MISSING_CODE)
                negative = float(by_class[MISSING_CODE, 0])
                worth += gains_of_missing(s[missed], self.weights[missed], negative, often, TRIED)
            worth = worth.max(axis=1)
            worth[held.sum(axis=1) < search.least] = 0.0
            if search.least_gain:
                tables = np.stack([held, by_class.sum(axis=0) - held], axis=1)
                worth[information_gain(tables) < search.least_gain] = 0.0
            place = int(np.argmax(worth))
            if worth[place] > best:
                cause = causes.cause(place)
                if not any(cause.same(other) for other in fit.causes):
                    best, found = float(worth[place]), cause
        return found


def sums_of_causes(problem: Problem, causes: Causes, each: Floats) -> Floats:
    """The sums [n_causes, m] of numbers [n, m] over the rows on which each possible cause of a column holds."""
    codes, by_code = problem.codes[causes.column], np.zeros((1, causes.n_codes, each.shape[1]))
    add_by_code(codes, np.arange(len(codes)), np.array([0, len(codes)]), each, by_code)
    return causes.sums(by_code[0])


def gains_of_missing(s: Floats, weights: Floats, negative: float, often: Floats, strengths: Floats) -> Floats:
    """What each strength of each cause [n_causes, n_strengths] gains by the rows that miss its column.

    s, weights: of the positive rows that do; negative: the weight of the others; often [n_causes, 1]: how often each
    cause holds at an unknown value that has caused nothing so far.
    """
    rises = -np.log1p(often * np.expm1(-strengths))
    if not len(s):
        return np.asarray(-negative * rises)
    sums = _gains_of_positive(s, weights, _RISES).sum(axis=0)
    return np.asarray(np.interp(rises, _RISES, sums) - negative * rises)


def _gains_of_positive(s: Floats, weights: Floats, rises: Floats) -> Floats:
    """What positive rows of these weights gain [n, n_rises]; sums over rows are exact."""
    return exact_gains(gains(lambda rise: log_positive(s + rise), rises), weights)


def _by_code(problem: Problem, causes: Causes) -> Floats:
    """The weight [n_codes, 2] of the rows of class 0 and 1 by code of a column."""
    codes, labels = problem.codes[causes.column], problem.labels
    each = np.bincount(2 * codes.astype(np.int64) + labels, problem.weights, 2 * causes.n_codes)
    return np.asarray(each.reshape(-1, 2) * problem.weight_unit, dtype=np.float64)


def _shares(problem: Problem, column: int) -> Floats:
    """How often [n_codes] a known cell of a column has each code."""
    counts = np.bincount(problem.codes[column], problem.weights, problem.columns[column].n_codes)
    counts[MISSING_CODE] = 0.0
    return np.asarray(counts / max(counts.sum(), 1.0))


def _innocent(fit: SummedCauses, column: int, shares: Floats) -> Floats:
    """How often [n_codes] an unknown cell of a column has each code where it has caused nothing."""
    left = shares.copy()
    for cause, strength in zip(fit.causes, fit.strengths, strict=True):
        if isinstance(cause, Cause) and cause.column == column:
            left[cause.condition] *= np.exp(-strength)
    return np.asarray(left / max(left.sum(), 1e-300))
