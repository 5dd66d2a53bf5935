"""Weights that a learner gives to classes and asks of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.learners.binned.binning import min_level_rows
from rulekit.learners.contract import Kind
from rulekit.learners.counting.histograms import Bools, Floats, class_totals
from rulekit.learners.fitting.inputs import TrainingData

_LEAST_ODDS = 1e-300


def least_level(rows: float | None, weights: npt.NDArray[np.int64], unit: float) -> int:
    """The least weight, in units, with which a level stands for itself."""
    rows = min_level_rows(float(weights.sum()) * unit) if rows is None else rows
    return int(np.ceil(rows / unit - 1e-9))


def class_factors(learner: str, class_weight: Any, data: TrainingData) -> Floats:
    """What a row of each class [K] counts: its weight by the parameter times its price; raises InputError for a class
    that there is not.
    """
    if class_weight is None:
        return data.prices
    if isinstance(class_weight, str):
        totals = class_totals(data.weights, data.labels, len(data.classes))
        return np.asarray(data.prices * totals.sum() / (len(totals) * totals))
    unknown = [label for label in class_weight if label not in data.classes]
    if unknown:
        raise InputError(f"class_weight names {unknown[0]!r}, which is no class", where=learner)
    return np.asarray(data.prices * [float(class_weight.get(label, 1.0)) for label in data.classes])


def odds_of(kind: Kind, factors: Floats, totals: Floats) -> tuple[float, ...]:
    """By question the odds of yes among the rows as they are over those in training, where classes count differently.

    factors, totals [K]: what a row of each class counts, and how many rows it has, in the graph's order. With two
    classes this is how a change of the prior changes a posterior (C. Elkan, The Foundations of Cost-Sensitive Learning,
    2001, theorem 2); with more it takes what the rest counts on average.
    """
    k = np.arange(len(factors))
    positive = [k == 1] if kind == "two" else [k >= j for j in k[1:]] if kind == "ranked" else [k == j for j in k]
    ratios = (_mean(factors, totals, ~yes) / _mean(factors, totals, yes) for yes in positive)
    return tuple(min(max(ratio, _LEAST_ODDS), 1.0 / _LEAST_ODDS) for ratio in ratios)


def _mean(factors: Floats, totals: Floats, among: Bools) -> float:
    """What a row of some classes counts on average, to six digits."""
    equal = bool((factors[among] == factors[among][0]).all())
    mean = factors[among][0] if equal else np.average(factors[among], weights=totals[among])
    return float(f"{mean:.6g}")


def least_side(rows: float) -> float:
    """The default least weight of rows on either side of a condition, for rows of so much weight."""
    return max(1.0, min(5.0, rows / 40.0))
