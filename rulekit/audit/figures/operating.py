"""What a reported probability is worth: its operating characteristic, and how often what it says happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.audit.figures.intervals import exact_bounds

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
