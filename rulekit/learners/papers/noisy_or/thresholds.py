"""The threshold of a noisy-or, tuned on rows, as a short probability."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.data.problem import Problem
from rulekit.numbers import strength_of, threshold_between

Goal = Literal["accuracy", "f1", "break-even"]


def best_cut(
    activations: Floats, labels: npt.NDArray[Any], goal: Goal = "accuracy", weights: Floats | Ints | None = None
) -> float:
    """The value -log t that serves a goal best, in the middle between two activations; equal ones go the same way.

    Parameters
    ----------
    activations : ndarray [n]
        The activations s of the rows.
    labels : ndarray [n]
        0 and 1.
    goal : {"accuracy", "f1", "break-even"}
        What is made largest; at the break-even, precision and recall are as near to each other as they can be.
    weights : ndarray [n], optional
        Of the rows.

    Of equally good cuts the one nearest to t = 1/2 is taken. Raises InputError for another goal, or without rows.

    """
    if goal not in get_args(Goal):
        raise InputError(f"no goal {goal!r}", where="threshold", fix=f"choose one of {', '.join(get_args(Goal))}")
    if not len(activations):
        raise InputError("there are no rows to tune a threshold on", where="threshold", fix="pass some rows")
    cuts, true, predicted, positive, total = _counts(activations, labels, weights)
    if goal == "accuracy":
        quality = total - positive + 2.0 * true - predicted
    elif goal == "f1":
        quality = np.divide(2.0 * true, predicted + positive, out=np.zeros_like(true), where=predicted + positive > 0.0)
    else:  # precision is true / predicted and recall true / positive
        quality = -np.abs(predicted - positive)
    best = np.flatnonzero(quality >= quality.max() - 1e-12 * abs(quality.max()))
    return float(cuts[best[np.argmin(np.abs(cuts[best] - math.log(2.0)))]])


def _counts(activations: Floats, labels: Any, weights: Any) -> tuple[Floats, Floats, Floats, float, float]:
    """All cuts, and what is positive above each of them, and what there is; then the weight of the positive and of all.

    The first cut is above all rows; below all of them there is none where a row has activation 0.
    """
    order = np.argsort(-activations, kind="stable")
    s = activations[order]
    each = np.ones(len(s)) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    last = np.append(np.flatnonzero(np.diff(s)), len(s) - 1)
    predicted = np.concatenate([[0.0], np.cumsum(each)[last]])
    true = np.concatenate([[0.0], np.cumsum(each * (np.asarray(labels)[order] == 1))[last]])
    above, below = s[last], np.append(s[last[1:]], 0.0)
    middle = below + (above - below) / 2.0
    middle = np.where(middle < above, middle, below)
    cuts = np.concatenate([[s[0] + math.log(2.0)], middle])
    kept = np.concatenate([[True], above > 0.0])
    return cuts[kept], true[kept], predicted[kept], float(true[-1]), float(predicted[-1])


def tuned_bound(model: Any, problem: Problem, goal: Goal) -> float:
    """The strength above which it is decided, by the activations of the rows by a model.

    It is that of the shortest probability between the same two activations as the best cut.
    """
    n, s = len(problem.labels), np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(n):
        s[rows] = model.activations(codes, rows.stop - rows.start)
    # Where causes speak against the class, a row is above the cut that is below it.
    top = float(s.max())
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    cut = best_cut(top - s if model.flipped else s, problem.labels, goal, weights)
    cut = top - cut if model.flipped else cut
    return _short(cut, float(s[s <= cut].max(initial=0.0)), float(s[s > cut].min(initial=np.inf)))


def _short(cut: float, low: float, high: float) -> float:
    """The strength of a short probability p with low <= strength < high, or the cut itself where there is none."""
    if not 0.0 <= low < high:
        return max(cut, 0.0)
    below, above = (
        float(-np.expm1(-s)) for s in (max(low, cut - 0.5 * (cut - low)), min(high, cut + 0.5 * (high - cut)))
    )
    if below < above:
        bound = strength_of(min(threshold_between(below, above, "float64"), 1.0 - 2.0**-53))
        if low <= bound < high:
            return bound
    return max(cut, 0.0)
