"""What a reported probability and a rate are worth: intervals, the operating characteristic, and calibration.

A rate has the exact interval of Clopper and Pearson; a difference and a ratio of two rates of different rows join the
exact limits of both (method of variance estimates recovery), which holds 95 % where the same with the limits of Wilson
falls to 92 % on ten rows. Weighted rows count as their effective number, (sum w)^2 / sum w^2 (L. Kish, Survey Sampling,
1965), which need not be whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.graph.language.words import quoted

LEVEL = 0.95


class IntervalEnds(NamedTuple):
    """The ends of intervals, arrays of one shape; infinite where nothing bounds a ratio, NaN where nothing is known."""

    low: Floats
    high: Floats


def effective_rows(weight: Array | None, n_rows: int) -> float:
    """How many rows of equal weight say as much as these weights [n]; 0 where all weigh nothing."""
    if weight is None:
        return float(n_rows)
    largest = float(np.max(weight, initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = np.asarray(weight, dtype=np.float64) / largest
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def exact_bounds(share: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> IntervalEnds:
    """The intervals of shares seen on n rows; NaN where n is 0.

    C. Clopper and E. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, 1934;
    by quantiles of the beta distribution, which takes an n that is not whole as well.
    """
    from scipy.special import betaincinv

    share, n = np.broadcast_arrays(np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64))
    tail = (1.0 - level) / 2.0
    known = (n > 0) & np.isfinite(share)
    rows = np.where(known, n, 1.0)
    right = np.where(known, share, 0.0) * rows
    right = np.where(np.abs(right - np.round(right)) < 1e-9 * rows, np.round(right), right)  # 3 / 7 * 7 is not 3
    wrong = rows - right
    some, most = right > 0, wrong > 0
    low = np.where(some, betaincinv(np.where(some, right, 1.0), wrong + 1.0, tail), 0.0)
    high = np.where(most, betaincinv(right + 1.0, np.where(most, wrong, 1.0), 1.0 - tail), 1.0)
    return IntervalEnds(np.where(known, low, np.nan), np.where(known, high, np.nan))


def difference_bounds(
    share: npt.ArrayLike, n: npt.ArrayLike, other: npt.ArrayLike, m: npt.ArrayLike, level: float = LEVEL
) -> IntervalEnds:
    """The intervals of share - other, rates seen on n and on m other rows.

    R. Newcombe, Interval estimation for the difference between independent proportions, 1998, method 10, with exact
    limits of the two rates in the place of Wilson's.
    """
    p, q = np.asarray(share, dtype=np.float64), np.asarray(other, dtype=np.float64)
    of, by = exact_bounds(p, n, level), exact_bounds(q, m, level)
    return IntervalEnds(p - q - np.hypot(p - of.low, by.high - q), p - q + np.hypot(of.high - p, q - by.low))


def ratio_bounds(
    share: npt.ArrayLike, n: npt.ArrayLike, other: npt.ArrayLike, m: npt.ArrayLike, level: float = LEVEL
) -> IntervalEnds:
    """The intervals of share / other, rates seen on n and on m other rows; without an upper end where other may be 0.

    G. Zou and A. Donner, Construction of confidence limits about effect measures: a general approach, 2008, on the
    logarithms of exact limits; where a rate is 0, and has no logarithm, the outermost quotient of the limits.
    """
    p, q = np.asarray(share, dtype=np.float64), np.asarray(other, dtype=np.float64)
    of, by = exact_bounds(p, n, level), exact_bounds(q, m, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = np.log(p / q)
        low = np.exp(middle - np.hypot(np.log(p / of.low), np.log(by.high / q)))
        high = np.exp(middle + np.hypot(np.log(of.high / p), np.log(q / by.low)))
        low = np.where(p == 0.0, 0.0, np.where(q == 0.0, of.low / by.high, low))
        high = np.where(by.low == 0.0, np.inf, np.where(p == 0.0, of.high / by.low, high))
    known = np.isfinite(of.low) & np.isfinite(by.low)
    return IntervalEnds(np.where(known, low, np.nan), np.where(known, high, np.nan))


# Operating characteristic and calibration -----------------------------------------------------------------------------


BINS = 10
MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The rates of deciding for a class where its probability is this threshold or more; None: nowhere."""

    threshold: float | None
    false_positive_rate: float
    true_positive_rate: float


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Rows whose reported probability lies in one tenth: their mean probability, and how often what it says happened.

    rows, share_of_rows: how many there are, and their share of the weight. low, high: the exact interval of `happened`.
    """

    rows: int
    share_of_rows: float
    mean_probability: float
    happened: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Tenths of the reported probability, and the mean distance between what is reported and what happens.

    error: C. Guo, G. Pleiss, Y. Sun and K. Weinberger, On Calibration of Modern Neural Networks, 2017, equation 3.
    brier: the mean squared distance (G. Brier, Verification of forecasts expressed in terms of probability, 1950).
    """

    bins: tuple[CalibrationBin, ...]
    error: float
    brier: float


def operating_points(is_label: Bools, chance: Floats, weight: Floats | None = None) -> tuple[OperatingPoint, ...]:
    """The operating characteristic from nowhere to everywhere; empty where all rows or none are of the class.

    is_label, chance, weight [n]. Of more than 200 points evenly spaced ones are kept.
    """
    mass = np.ones(len(is_label)) if weight is None else weight
    values, place = np.unique(chance, return_inverse=True)
    right, wrong = (np.bincount(place, mass * of, len(values))[::-1].cumsum() for of in (is_label, ~is_label))
    if not (right[-1] > 0 and wrong[-1] > 0):
        return ()
    kept = np.arange(len(values))
    if len(kept) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(kept) - 1, MOST_POINTS).round().astype(np.int64))
    thresholds = values[::-1]
    points = zip(thresholds[kept], wrong[kept] / wrong[-1], right[kept] / right[-1], strict=True)
    return (OperatingPoint(None, 0.0, 0.0), *(OperatingPoint(*map(float, point)) for point in points))


def decided_at(is_label: Bools, decided: Bools, mass: Floats) -> list[float] | None:
    """False and true positive rate of a decision [n] on rows of weights [n]; None where one is not defined."""
    sides = [(~is_label, mass[~is_label].sum()), (is_label, mass[is_label].sum())]
    return [float(mass[decided & rows].sum() / of) for rows, of in sides] if all(of for _, of in sides) else None


def happened_where_reported(y: Ints, chances: Floats, classes: Sequence[Any]) -> tuple[Bools, Floats, str]:
    """Where what was reported happened [n], how probable it was [n], and what it is: of two classes the positive one,
    else the likeliest.
    """
    if len(classes) == 2:
        return y == 1, chances[:, 1], quoted(classes[1])
    return y == chances.argmax(axis=1), chances.max(axis=1), "the most probable class"


def calibration(happened: Bools, chance: Floats, weight: Floats | None = None) -> Calibration:
    """How often it happened [n] where this probability [n] was reported, by tenths of it."""
    mass = np.ones(len(happened)) if weight is None else weight
    tenth = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    total = np.bincount(tenth, mass, BINS)
    used = np.flatnonzero(total > 0)
    rows = np.bincount(tenth[mass > 0], minlength=BINS)
    largest = float(mass.max(initial=0.0)) or 1.0
    squares = np.bincount(tenth, (mass / largest) ** 2, BINS)

    def mean(values: Any) -> Floats:
        found: Floats = np.bincount(tenth, mass * values, BINS)[used] / total[used]
        return found

    reported, seen = mean(chance), mean(happened)
    low, high = exact_bounds(seen, (total[used] / largest) ** 2 / squares[used])
    share = total[used] / total.sum()
    bins = tuple(
        CalibrationBin(int(rows[bin_]), *map(float, values))
        for bin_, *values in zip(used, share, reported, seen, low, high, strict=True)
    )
    error = float((share * np.abs(reported - seen)).sum())
    return Calibration(bins, error, float(np.average((chance - happened) ** 2, weights=mass)))
