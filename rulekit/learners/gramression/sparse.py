"""Sparse logistic regression by an active set: the least of the log loss and lam |w|_1, to a gap that is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled

_STEPS, _HALVINGS = 100, 30


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The weight of all rows and of the positive ones, by distinct row [n]."""

    total: Floats
    positive: Floats

    def of_kinds(self, kind: Ints, kinds: int) -> Counts:
        """The counts of kinds of rows; kind [n]: that of each row."""
        total, positive = (np.bincount(kind, own, kinds).astype(np.float64) for own in (self.total, self.positive))
        return Counts(total, positive)

    @property
    def unit(self) -> float:
        """The grid on which sums of shares of these counts are exact as whole numbers."""
        return float(2.0 ** (int(np.frexp(self.total.sum())[1]) - 60))

    def loss(self, scores: Floats) -> float:
        """The log loss, summed."""
        return float((self.total * np.logaddexp(0.0, scores) - self.positive * scores).sum())

    def null(self) -> float:
        """The score of the share of the positive rows."""
        positive, total = float(self.positive.sum()), float(self.total.sum())
        return float(np.log(positive) - np.log(total - positive))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The bias and weights [k], the scores [n], what is minimised, and how far it may be above the least (gap)."""

    bias: float
    weights: Floats
    scores: Floats
    loss: float
    gap: float = np.inf

    def residuals(self, counts: Counts) -> Floats:
        """The slope [n] of the log loss by the score of each row."""
        return np.asarray(counts.total * shares_of(self.scores) - counts.positive)


def shares_of(scores: Floats) -> Floats:
    """1 / (1 + exp(-score)) of each row."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -60.0, 60.0))))


def at(columns: Floats, counts: Counts, bias: float, weights: Floats, lam: float = 0.0) -> Fitted:
    """The value of some weights."""
    scores = np.einsum("ij,j->i", columns, weights) + bias
    return Fitted(bias, weights, scores, counts.loss(scores) + lam * float(np.abs(weights).sum()))


def solve(
    columns: Floats,
    counts: Counts,
    lam: float,
    start: Fitted | None = None,
    ridge: float = 0.0,
    tolerance: float = 1e-7,
) -> Fitted:
    """The weights of the features [n, k] at a penalty; ridge: of |w|^2 / 2, beside it (then there is no gap).

    Newton steps of coordinate descent, halved until they help, to a gap of at most the tolerance.
    """
    k = columns.shape[1]
    found = at(columns, counts, counts.null(), np.zeros(k), lam) if start is None else start
    whole = np.column_stack([np.ones(len(columns)), columns])
    truth = np.ascontiguousarray(whole, dtype=np.int64)
    penalties = np.append(0.0, np.full(k, lam))
    for _ in range(_STEPS):
        found = found if ridge else _with_own_bias(columns, counts, found, lam)
        slope = np.einsum("ij,i->j", whole, found.residuals(counts))
        if not ridge:
            gap = gap_of(found, counts, lam, float(np.abs(slope[1:]).max(initial=0.0)))
            found = Fitted(found.bias, found.weights, found.scores, found.loss, gap)
            if gap <= tolerance:
                return found
        shares = shares_of(found.scores)
        curvature = _curvature(truth, counts.total * shares * (1.0 - shares), counts.unit)
        own = np.append(found.bias, found.weights)
        slope[1:] += ridge * own[1:]
        curvature[np.arange(1, k + 1), np.arange(1, k + 1)] += ridge
        curvature[np.diag_indices(k + 1)] += 1e-10 * (1.0 + curvature.diagonal())
        if lam:
            move = own.copy()
            _descend(curvature, slope, penalties, own, move)
            move -= own
        else:
            move = -_solved(curvature, slope)
        better = _shortened(columns, counts, lam, ridge, found, move)
        if better is None:
            return found
        done = ridge and found.loss - better.loss < 1e-6
        found = better
        if done:
            return found
    return found


def _with_own_bias(columns: Floats, counts: Counts, found: Fitted, lam: float) -> Fitted:
    """The bias at which the residuals add up to 0, so that they are a point of the dual."""
    bias, scores = found.bias, found.scores
    for _ in range(20):
        shares = shares_of(scores)
        slope = float((counts.total * shares - counts.positive).sum())
        step = slope / max(float((counts.total * shares * (1.0 - shares)).sum()), 1e-12)
        bias, scores = bias - step, scores - step
        if abs(slope) < 1e-10 * float(counts.total.sum()):
            break
    return Fitted(
        bias, found.weights, scores, counts.loss(scores) + lam * float(np.abs(found.weights).sum()), found.gap
    )


def gap_of(found: Fitted, counts: Counts, lam: float, steepest: float) -> float:
    """How far the loss may be above the least of all features whose largest absolute slope is given.

    The dual of a scaled residual: theta = s |r| of each row, s such that no feature's slope is above lam.
    """
    scale = 1.0 if steepest <= lam else lam / steepest
    negative = counts.total - counts.positive
    shares = shares_of(found.scores)
    dual = 0.0
    # rows of both labels share a score: the residual of a positive one is 1 - p, that of a negative one p
    for weight, share in ((counts.positive, 1.0 - shares), (negative, shares)):
        theta = np.clip(scale * share, 1e-300, 1.0 - 1e-16)
        dual -= float((weight * (theta * np.log(theta) + (1.0 - theta) * np.log1p(-theta))).sum())
    return found.loss - dual


def _shortened(columns: Floats, counts: Counts, lam: float, ridge: float, found: Fitted, move: Floats) -> Fitted | None:
    def value(each: Fitted) -> float:
        return each.loss + 0.5 * ridge * float((each.weights**2).sum())

    for halvings in range(_HALVINGS):
        step = move * 0.5**halvings
        better = at(columns, counts, found.bias + step[0], found.weights + step[1:], lam)
        if value(better) < value(found):
            return better
    return None


def _curvature(truth: Ints, values: Floats, unit: float) -> Floats:
    """The sum of the values of the rows in which both of two features hold: [k, k], exact on a grid."""
    found = np.zeros((truth.shape[1],) * 2, dtype=np.int64)
    _add_pairs(truth, np.rint(values / unit).astype(np.int64), found)
    return np.asarray(found * unit, dtype=np.float64)


@compiled
def _add_pairs(truth: Any, values: Any, found: Any) -> None:
    k = truth.shape[1]
    places = np.empty(k, dtype=np.int64)
    for row in range(len(truth)):
        held = 0
        for j in range(k):
            if truth[row, j]:
                places[held] = j
                held += 1
        for a in range(held):
            for b in range(a + 1):
                found[places[a], places[b]] += values[row]
    for a in range(k):
        for b in range(a):
            found[b, a] = found[a, b]


def _solved(curvature: Floats, slope: Floats) -> Floats:
    """The move x with curvature x = slope, by elimination: a library's answer differs in the last bits by processor."""
    left, found = curvature.copy(), slope.copy()
    for i in range(len(found)):
        shares = left[i + 1 :, i] / left[i, i]
        left[i + 1 :] -= shares[:, None] * left[i]
        found[i + 1 :] -= shares * found[i]
    for i in reversed(range(len(found))):
        found[i] /= left[i, i]
        found[:i] -= left[:i, i] * found[i]
    return found


@compiled
def _descend(curvature: Any, slope: Any, penalties: Any, own: Any, moved: Any) -> None:
    """The least of the quadratic with the penalties, by coordinate descent from `moved`, which is changed."""
    k = len(own)
    steepness = slope.copy()
    for _ in range(1000):
        largest = 0.0
        for j in range(k):
            c = curvature[j, j]
            wanted = moved[j] - steepness[j] / c
            bound = penalties[j] / c
            if wanted > bound:
                new = wanted - bound
            elif wanted < -bound:
                new = wanted + bound
            else:
                new = 0.0
            change = new - moved[j]
            if change != 0.0:
                for i in range(k):
                    steepness[i] += curvature[i, j] * change
                moved[j] = new
                largest = max(largest, abs(change) * c**0.5)
        if largest < 1e-10:
            break
