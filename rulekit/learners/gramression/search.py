"""The default search: solve, screen by slope, grow; then drop, add and replace features by description length.

What it solves is sparse logistic regression: the least of the log loss and lam |w|_1, to a gap that is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.arrays import Floats, distinct_rows
from rulekit.learners.gramression.grammar import Vocabulary
from rulekit.learners.sums_of_rows.kernels import compiled

_STEPS, _HALVINGS = 100, 30
_RIDGE = 1e-2
_BATCH = 40
_FEW = 6
_SMALL = 5000
_GAP = 1e-3
_PAIRED = 12
_MOST = 60
_PENALTIES = 24


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The weight of all rows and of the positive ones, by distinct row [n]."""

    total: Floats
    positive: Floats

    @property
    def unit(self) -> float:
        """The grid on which sums of shares of these counts are exact as whole numbers."""
        return float(2.0 ** (int(np.frexp(self.total.sum())[1]) - 60))

    def loss(self, scores: Floats) -> float:
        return float((self.total * np.logaddexp(0.0, scores) - self.positive * scores).sum())

    def null(self) -> float:
        """The score of the share of the positive rows."""
        positive, total = float(self.positive.sum()), float(self.total.sum())
        return float(np.log(positive) - np.log(total - positive))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The bias and weights [k], the scores [n], what is minimised, and how far it may be above the least (gap).

    features: of a vocabulary; literals: how many atoms they have.
    """

    bias: float
    weights: Floats
    scores: Floats
    loss: float
    gap: float = np.inf
    features: tuple[int, ...] = ()
    literals: int = 0

    def residuals(self, counts: Counts) -> Floats:
        return np.asarray(counts.total * shares_of(self.scores) - counts.positive)


def shares_of(scores: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -60.0, 60.0))))


def at(columns: Floats, counts: Counts, bias: float, weights: Floats, lam: float = 0.0) -> Fitted:
    scores = np.einsum("ij,j->i", columns, weights) + bias
    return Fitted(bias, weights, scores, counts.loss(scores) + lam * float(np.abs(weights).sum()))


def solve(
    columns: Floats, counts: Counts, lam: float, start: Fitted | None = None, ridge: float = 0.0, least: float = 1e-7
) -> Fitted:
    """The weights of the features [n, k] at a penalty; ridge: of |w|^2 / 2, beside it (then there is no gap).

    Newton steps of coordinate descent, halved until they help, to a gap of at most `least`.
    """
    k = columns.shape[1]
    found = at(columns, counts, counts.null(), np.zeros(k), lam) if start is None else start
    whole = np.column_stack([np.ones(len(columns)), columns])
    truth = np.ascontiguousarray(whole, dtype=np.int64)
    penalties = np.append(0.0, np.full(k, lam))
    for _ in range(_STEPS):
        found = found if ridge else _with_own_bias(found, counts, lam)
        slope = np.einsum("ij,i->j", whole, found.residuals(counts))
        if not ridge:
            gap = gap_of(found, counts, lam, float(np.abs(slope[1:]).max(initial=0.0)))
            found = replace(found, gap=gap)
            if gap <= least:
                return found
        shares = shares_of(found.scores)
        # The sum over the rows in which both of two features hold: [1 + k, 1 + k], exact on a grid.
        whole_sums = np.zeros((k + 1, k + 1), dtype=np.int64)
        _add_pairs(truth, np.rint(counts.total * shares * (1.0 - shares) / counts.unit).astype(np.int64), whole_sums)
        curvature = np.asarray(whole_sums * counts.unit, dtype=np.float64)
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
        before, found = found, better
        if ridge and before.loss - found.loss < 1e-6:
            break
    return found


def _with_own_bias(found: Fitted, counts: Counts, lam: float) -> Fitted:
    """The bias at which the residuals add up to 0, so that they are a point of the dual."""
    bias, scores = found.bias, found.scores
    for _ in range(20):
        shares = shares_of(scores)
        slope = float((counts.total * shares - counts.positive).sum())
        step = slope / max(float((counts.total * shares * (1.0 - shares)).sum()), 1e-12)
        bias, scores = bias - step, scores - step
        if abs(slope) < 1e-10 * float(counts.total.sum()):
            break
    loss = counts.loss(scores) + lam * float(np.abs(found.weights).sum())
    return replace(found, bias=bias, scores=scores, loss=loss)


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


@dataclass(slots=True)
class Search:
    """Looks for the features of least description length: -2 log-likelihood + k ln n + price literals ln(forms).

    check: raises where the search should stop. known: refits by their features; smaller: what is left of features when
    one leaves.
    """

    vocabulary: Vocabulary
    counts: Counts
    check: Callable[[], None]
    price: float = 2.0
    known: dict[tuple[int, ...], Fitted] = field(default_factory=dict)
    smaller: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    _literal: float = 0.0
    _rows: float = 0.0

    def __post_init__(self) -> None:
        forms = 2.0 * sum(1 for _ in self.vocabulary.language.atoms())
        self._literal = self.price * float(np.log(forms))
        self._rows = float(np.log(self.counts.total.sum()))

    def chosen(self, features: tuple[int, ...], near: Fitted | None = None) -> Fitted:
        """The refit of some features; near: a sum that has many of them, from whose weights the refit begins."""
        features = tuple(sorted(features))
        if features not in self.known:
            truth = self.vocabulary.columns(list(features))
            first, kind = distinct_rows(truth)
            total, positive = (self.counts.total, self.counts.positive)
            counts = Counts(*(np.bincount(kind, own, len(first)).astype(np.float64) for own in (total, positive)))
            columns, start = truth[first].astype(np.float64), None
            if near is not None:
                own = dict(zip(near.features, near.weights.tolist(), strict=True))
                start = at(columns, counts, near.bias, np.array([own.get(each, 0.0) for each in features]))
            fitted = solve(columns, counts, 0.0, start, ridge=_RIDGE)
            fitted = replace(fitted, scores=fitted.scores[kind])
            self.known[features] = self._summed(features, fitted)
        return self.known[features]

    def _summed(self, features: tuple[int, ...], fitted: Fitted) -> Fitted:
        return replace(fitted, features=features, literals=sum(self.vocabulary.lengths[each] for each in features))

    def length(self, found: Fitted) -> float:
        """The description length of a model and of the labels, in nats times 2."""
        length = 2.0 * found.loss + len(found.features) * self._rows + found.literals * self._literal
        return round(length, 6)

    def slopes(self, fitted: Fitted) -> Floats:
        """The slope of the loss by the weight of each feature of the vocabulary."""
        return self._sums(fitted.residuals(self.counts)[:, None])[:, 0]

    def _sums(self, values: Floats) -> Floats:
        """The sums [m, k] of values [n, k] over the rows of each feature, exact on a grid."""
        unit = self.counts.unit
        return np.asarray(self.vocabulary.sums(np.rint(values / unit).astype(np.int64)) * unit, dtype=np.float64)

    def path(self, most: int) -> Iterator[Fitted]:
        """The sums of falling penalties, with the weights at the penalty."""
        fitted = solve(self._columns(()), self.counts, 0.0, ridge=_RIDGE)
        first = float(np.abs(self.slopes(fitted)).max(initial=0.0))
        active: list[int] = []
        for lam in first * np.geomspace(0.9, 0.005, _PENALTIES):
            before, new = np.inf, list[int]()
            while True:
                self.check()
                active += new
                columns = self._columns(active)
                begin = at(columns, self.counts, fitted.bias, np.append(fitted.weights, np.zeros(len(new))), lam)
                fitted = solve(columns, self.counts, lam, begin, least=_GAP)
                kept = fitted.weights != 0.0
                active = [f for f, k in zip(active, kept, strict=True) if k]
                fitted = replace(fitted, weights=fitted.weights[kept])
                new = self._steep(fitted, lam, active) if fitted.loss < before - _GAP else []
                before = fitted.loss
                if not new:
                    known = len(self.vocabulary)
                    self._grow(active, fitted.weights)
                    new = self._steep(fitted, lam, active) if len(self.vocabulary) > known else []
                    before = np.inf
                if not new:
                    break
            order = np.argsort(active)
            own = replace(fitted, weights=fitted.weights[order], loss=self.counts.loss(fitted.scores))
            yield self._summed(tuple(active[i] for i in order), own)
            if len(active) > most:
                return

    def _steep(self, fitted: Fitted, lam: float, active: list[int]) -> list[int]:
        slopes = np.abs(self.slopes(fitted))
        slopes[active] = 0.0
        steep = np.flatnonzero(slopes > lam * (1.0 + 1e-6))
        return [int(f) for f in steep[np.argsort(-slopes[steep], kind="stable")][:_BATCH]]

    def _grow(self, active: list[int], weights: Floats) -> None:
        order = [active[i] for i in np.argsort(-np.abs(weights), kind="stable")]
        for feature in order:
            self.vocabulary.grow(feature)
        for i, first in enumerate(order[:_PAIRED]):
            for second in order[:i]:
                self.vocabulary.grow(first, second)

    def _columns(self, features: tuple[int, ...] | list[int]) -> Floats:
        return self.vocabulary.columns(list(features)).astype(np.float64)

    def sums(self, most: int) -> Iterator[Fitted]:
        """The sums along the path, once the rules have made what a small language has."""
        seeds = len(self.vocabulary)
        if seeds * sum(1 for _ in self.vocabulary.language.atoms()) <= _SMALL:
            for feature in range(seeds):
                self.vocabulary.grow(feature)
        return self.path(max(most, _MOST))

    def best(self, most: int = _MOST, sums: Sequence[Fitted] = ()) -> Fitted:
        """The sum of least description length, after all moves; sums: those of the path, where they are known."""
        best = self.chosen(())
        stale = 0
        for each in sums or self.sums(most):
            each = self._pruned(each)
            stale = 0 if self.length(each) < self.length(best) else stale + 1
            if len(each.features) <= most:
                best = min(best, each, key=self.length)
            if stale > 8:
                break
        return self.polished(best)

    def eliminated(self, found: Fitted) -> Iterator[Fitted]:
        """The refits of fewer and fewer features: the one whose loss raises the log loss least leaves first."""
        found = self.chosen(found.features, found)
        while True:
            yield found
            features, k = found.features, len(found.features)
            if not k:
                return
            if features not in self.smaller:
                whole, curvature = self._curved(found)
                inner = np.einsum("ij,ik->jk", whole * curvature[:, None], whole) + np.diag([0.0] + [_RIDGE] * k)
                lost = found.weights**2 / np.maximum(np.diag(np.linalg.pinv(inner))[1:], 1e-12)
                at = int(np.argmin(lost))
                self.smaller[features] = features[:at] + features[at + 1 :]
            found = self.chosen(self.smaller[features], found)

    def _pruned(self, found: Fitted) -> Fitted:
        """Without the features that are not worth their length."""
        return min(self.eliminated(found), key=self.length)

    def _curved(self, found: Fitted) -> tuple[Floats, Floats]:
        """The columns [n, 1 + k] of a sum, the first for the bias, and the curvature [n] of the log loss."""
        shares = shares_of(found.scores)
        columns = self._columns(found.features)
        return np.column_stack([np.ones(len(shares)), columns]), self.counts.total * shares * (1.0 - shares)

    def polished(self, found: Fitted) -> Fitted:
        """Add, drop and exchange features while that makes the description shorter."""
        while True:
            self.check()
            self._grow(list(found.features), found.weights)
            better = self._pruned(self._exchanged(found))
            if self.length(better) >= self.length(found) - 1e-6:
                return found
            found = better

    def _exchanged(self, found: Fitted) -> Fitted:
        tried = [found]
        rests = [found.features, *(found.features[:i] + found.features[i + 1 :] for i in range(len(found.features)))]
        for rest in rests:
            self.check()
            base = self.chosen(rest, found)
            for feature in self._promising(base, 5):
                tried.append(self.chosen((*rest, feature), base))
        best = min(tried, key=self.length)
        if best is not found:
            return best
        for i in range(len(found.features) if len(found.features) <= _FEW else 0):
            self.check()
            for j in range(i):
                rest = tuple(f for k, f in enumerate(found.features) if k not in (i, j))
                base = self.chosen(rest, found)
                for feature in self._promising(base, 3):
                    one = self.chosen((*rest, feature), base)
                    tried += [one, *(self.chosen((*rest, feature, other), one) for other in self._promising(one, 3))]
        return min(tried, key=self.length)

    def _promising(self, base: Fitted, most: int) -> list[int]:
        """The features whose addition promises the shortest description: U^2 / V against their own length."""
        vocabulary = self.vocabulary
        whole, curvature = self._curved(base)
        inner = np.einsum("ij,ik->jk", whole * curvature[:, None], whole)
        sums = self._sums(np.column_stack([whole * curvature[:, None], base.residuals(self.counts)]))
        cross, slopes, own = sums[:, :-1], sums[:, -1], sums[:, 0]
        left = own - np.einsum("ij,jk,ik->i", cross, np.linalg.pinv(inner), cross)
        gain = slopes**2 / np.maximum(left, 1e-6 * own + 1e-9)
        gain[left < 1e-4 * own] = 0.0
        value = gain - self._literal * np.array(vocabulary.lengths) - self._rows
        value[list(base.features)] = -np.inf
        return [int(f) for f in np.argsort(-value, kind="stable")[:most]]
