"""Weights that a learner gives to classes and asks of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.learners.binned.binning import min_level_rows
from rulekit.learners.counting.histograms import class_totals
from rulekit.learners.fitting.inputs import TrainingData


def least_level(rows: float | None, weights: npt.NDArray[np.int64], unit: float) -> int:
    """The least weight, in units, with which a level stands for itself."""
    rows = min_level_rows(float(weights.sum()) * unit) if rows is None else rows
    return int(np.ceil(rows / unit - 1e-9))


def class_factors(learner: str, class_weight: Any, data: TrainingData) -> npt.NDArray[np.float64]:
    """The factor [K] of each class; raises InputError for a class that there is not."""
    if class_weight is None:
        return np.ones(len(data.classes))
    if isinstance(class_weight, str):
        totals = class_totals(data.weights, data.labels, len(data.classes))
        return np.asarray(totals.sum() / (len(totals) * totals))
    unknown = [label for label in class_weight if label not in data.classes]
    if unknown:
        raise InputError(f"class_weight names {unknown[0]!r}, which is no class", where=learner)
    return np.array([float(class_weight.get(label, 1.0)) for label in data.classes])


def least_side(rows: float) -> float:
    """The default least weight of rows on either side of a condition, for rows of so much weight."""
    return max(1.0, min(5.0, rows / 40.0))
