"""Algorithm 1 as printed: stochastic descent with a cumulative L1 penalty, and rules that are applied on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.gramression.vocabulary import Vocabulary
from rulekit.learners.sums_of_rows.kernels import compiled


class Descent(NamedTuple):
    """The parameters of Algorithm 1.

    n_steps: K. penalty: C, of the sum of absolute weights against the summed log loss. eta, decay: the learning rate is
    eta * decay^(k / rows) at step k. threshold: t, the weight above which the rules are applied to a feature. at_once:
    the rules are applied after each step, not after each pass. own_clock: a feature pays no penalty of the time before
    it was found. squared: the L2 form, whose penalty is C |w|^2 / 2.
    """

    n_steps: int = 140_000
    penalty: float = 8.0
    eta: float = 1.0
    decay: float = 0.8
    threshold: float = 0.04
    at_once: bool = False
    own_clock: bool = False
    squared: bool = False


@dataclass(slots=True)
class Course:
    """The weights, the bias first, and after each pass the step, the log-likelihood, |w|_1 and the non-zero weights."""

    weights: Floats
    passes: list[tuple[int, float, float, int]] = field(default_factory=list)


def descend(
    vocabulary: Vocabulary,
    labels: Floats,
    row_weights: Floats,
    settings: Descent,
    seed: int,
    over: Callable[[], bool] = lambda: False,
) -> Course:
    """The weights after K steps.

    labels [n]: 0 or 1; a step on a row of weight 2 is twice as long. over: asked after each pass, whether to stop.
    """
    rng, n = np.random.default_rng(seed), len(labels)
    columns = _with_bias(vocabulary)
    m = columns.shape[1]
    weights, paid, birth, fired = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m, dtype=bool)
    fired[0] = True
    course, step, due, order = Course(weights), 0, 0.0, np.arange(n)
    while step < settings.n_steps:
        if step % n == 0:
            if step:
                course.passes.append(_told(step, columns, labels, weights))
                if over():
                    break
            rng.shuffle(order)
        ripe = np.flatnonzero(~fired & (weights > settings.threshold))
        if len(ripe) and (settings.at_once or step % n == 0):
            for feature in ripe:
                fired[feature] = True
                vocabulary.grow(int(feature) - 1)
            columns = _with_bias(vocabulary)
            new = columns.shape[1] - len(weights)
            weights, paid = np.append(weights, np.zeros(new)), np.append(paid, np.zeros(new))
            birth, fired = np.append(birth, np.full(new, due)), np.append(fired, np.zeros(new, dtype=bool))
        clock = birth if settings.own_clock else np.zeros(len(weights))
        last = min(settings.n_steps, (step // n + 1) * n)
        threshold = settings.threshold if settings.at_once else np.inf
        rows, state = (columns, labels, row_weights, order), (weights, paid, clock, fired)
        step, due = _steps(rows, state, step, last, due, threshold, settings)
    course.weights = weights
    course.passes.append(_told(step, columns, labels, weights))
    return course


def _with_bias(vocabulary: Vocabulary) -> Bools:
    own = vocabulary.columns()
    return np.ascontiguousarray(np.column_stack([np.ones(len(own), dtype=bool), own]))


def _told(step: int, columns: Bools, labels: Floats, weights: Floats) -> tuple[int, float, float, int]:
    scores = columns @ weights
    likelihood = -float(np.logaddexp(0.0, np.where(labels == 1.0, -scores, scores)).sum())
    return step, likelihood, float(np.abs(weights[1:]).sum()), int(np.count_nonzero(weights[1:]))


@compiled
def _steps(rows: Any, state: Any, step: Any, last: Any, due: Any, threshold: Any, settings: Any) -> Any:
    """Steps until the last one, or until a weight that has not fired passes the threshold: the next step, the penalty.

    `due` is u, what each weight may have paid so far, and `paid` is q, what it has paid.
    """
    columns, labels, row_weights, order = rows
    weights, paid, clock, fired = state
    n, m = columns.shape
    penalty, eta, decay, squared = settings.penalty, settings.eta, settings.decay, settings.squared
    while step < last:
        row = order[step % n]
        score = 0.0
        for j in range(m):
            if columns[row, j]:
                score += weights[j]
        rate = eta * decay ** (step / n)
        due += rate * penalty / n
        change = rate * row_weights[row] * (labels[row] - 1.0 / (1.0 + np.exp(-score)))
        step += 1
        ripe = False
        for j in range(m):
            if columns[row, j]:
                weights[j] += change
            if j == 0:
                continue
            if squared:
                weights[j] -= rate * penalty / n * weights[j]
            else:
                before, owed = weights[j], due - clock[j]
                if before > 0.0:
                    weights[j] = max(0.0, before - (owed + paid[j]))
                elif before < 0.0:
                    weights[j] = min(0.0, before + (owed - paid[j]))
                paid[j] += weights[j] - before
            ripe = ripe or (weights[j] > threshold and not fired[j])
        if ripe:
            break
    return step, due
