"""The threshold of a noisy-or, tuned on rows, as a short probability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.learners.binned.problem import Problem
from rulekit.learners.counting.histograms import Floats
from rulekit.learners.noisy_or.models.gated_models import Gated
from rulekit.learners.noisy_or.models.noisy_or import NoisyOr
from rulekit.learners.noisy_or.thresholds import Goal, best_cut
from rulekit.numbers import strength_of, threshold_between


def tuned_bound(models: Sequence[tuple[NoisyOr | Gated, Problem]], goal: Goal) -> float:
    """The strength above which it is decided, by the activations of rows by models, which may be those of folds.

    It is that of the shortest probability between the same two activations as the best cut.
    """
    s = np.concatenate([_activations(model, problem) for model, problem in models])
    labels = np.concatenate([problem.labels for _, problem in models])
    weights = np.concatenate([problem.weights * problem.weight_unit for _, problem in models])
    flipped = models[0][0].flipped
    # Where causes speak against the class, a row is above the cut that is below it.
    top = float(s.max())
    cut = best_cut(top - s if flipped else s, labels, goal, weights)
    cut = top - cut if flipped else cut
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


def _activations(model: NoisyOr | Gated, problem: Problem) -> Floats:
    n = len(problem.labels)
    parts = [model.activations(codes, rows.stop - rows.start) for rows, codes in problem.codes.parts(n)]
    return np.concatenate(parts) if parts else np.zeros(0)
