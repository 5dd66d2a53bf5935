"""The default search: solve, screen by slope, grow; then drop, add and replace features by description length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import distinct_rows
from rulekit.learners.counting.histograms import Floats
from rulekit.learners.gramression.sparse import Counts, Fitted, at, shares_of, solve
from rulekit.learners.gramression.vocabulary import Vocabulary

_RIDGE = 1e-2
_BATCH = 40
_WEAK = 6
_FEW = 6
_SMALL = 5000
_GAP = 1e-3
_PAIRED = 12
_MOST = 60
_PENALTIES = 24


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Features with their refitted weights, and the description length of the model and the labels, in nats times 2."""

    features: tuple[int, ...]
    fitted: Fitted
    length: float


@dataclass(slots=True)
class Search:
    """Looks for the features of least description length: -2 log-likelihood + k ln n + price literals ln(forms).

    check: raises where the search should stop.
    """

    vocabulary: Vocabulary
    counts: Counts
    check: Callable[[], None]
    price: float = 2.0
    _known: dict[tuple[int, ...], Chosen] = field(default_factory=dict)
    _literal: float = 0.0
    _rows: float = 0.0

    def __post_init__(self) -> None:
        forms = 2.0 * sum(1 for _ in self.vocabulary.language.atoms())
        self._literal = self.price * float(np.log(forms))
        self._rows = float(np.log(self.counts.total.sum()))

    def chosen(self, features: tuple[int, ...], near: Chosen | None = None) -> Chosen:
        """The refit of some features; near: a sum that has many of them, from whose weights the refit begins."""
        features = tuple(sorted(features))
        if features not in self._known:
            truth = self.vocabulary.columns(list(features))
            first, kind = distinct_rows(truth)
            columns, counts, start = truth[first].astype(np.float64), self.counts.of_kinds(kind, len(first)), None
            if near is not None:
                own = dict(zip(near.features, near.fitted.weights.tolist(), strict=True))
                start = at(columns, counts, near.fitted.bias, np.array([own.get(each, 0.0) for each in features]))
            fitted = solve(columns, counts, 0.0, start, ridge=_RIDGE)
            fitted = replace(fitted, scores=fitted.scores[kind])
            words = sum(self.vocabulary.lengths[each] for each in features)
            length = 2.0 * fitted.loss + len(features) * self._rows + words * self._literal
            self._known[features] = Chosen(features, fitted, round(length, 6))
        return self._known[features]

    def slopes(self, fitted: Fitted) -> Floats:
        """The slope of the loss by the weight of each feature of the vocabulary."""
        return self._sums(fitted.residuals(self.counts)[:, None])[:, 0]

    def _sums(self, values: Floats) -> Floats:
        """The sums [m, k] of values [n, k] over the rows of each feature, exact on a grid."""
        unit = self.counts.unit
        return np.asarray(self.vocabulary.sums(np.rint(values / unit).astype(np.int64)) * unit, dtype=np.float64)

    def path(self, most: int) -> Iterator[Chosen]:
        """The supports of falling penalties, each refitted."""
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
                fitted = solve(columns, self.counts, lam, begin, tolerance=_GAP)
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
            yield self.chosen(tuple(active))
            if len(active) > most:
                return

    def _steep(self, fitted: Fitted, lam: float, active: list[int]) -> list[int]:
        """The steepest features that the sum lacks."""
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
                self.vocabulary.pair(first, second)

    def _columns(self, features: tuple[int, ...] | list[int]) -> Floats:
        return self.vocabulary.columns(list(features)).astype(np.float64)

    def best(self, most: int = _MOST) -> Chosen:
        """The support of least description length, after all moves."""
        seeds = len(self.vocabulary)
        if seeds * sum(1 for _ in self.vocabulary.language.atoms()) <= _SMALL:
            for feature in range(seeds):
                self.vocabulary.grow(feature)
        best = self.chosen(())
        stale = 0
        for each in self.path(max(most, _MOST)):
            each = self._pruned(each)
            stale = 0 if each.length < best.length else stale + 1
            if len(each.features) <= most:
                best = min(best, each, key=lambda found: found.length)
            if stale > 8:
                break
        return self.polished(best)

    def _pruned(self, found: Chosen) -> Chosen:
        """Without the features that are not worth their length, the weakest first."""
        while found.features:
            weak = np.argsort(np.abs(found.fitted.weights), kind="stable")
            for some in (weak[:1], weak[1:_WEAK]):
                tried = [self.chosen(found.features[:i] + found.features[i + 1 :], found) for i in some]
                better = min(tried, key=lambda each: each.length, default=found)
                if better.length < found.length:
                    break
            else:
                return found
            found = better
        return found

    def polished(self, found: Chosen) -> Chosen:
        """Add, drop and exchange features while that makes the description shorter."""
        while True:
            self.check()
            self._grow(list(found.features), found.fitted.weights)
            better = self._pruned(self._exchanged(found))
            if better.length >= found.length - 1e-6:
                return found
            found = better

    def _exchanged(self, found: Chosen) -> Chosen:
        tried = [found]
        rests = [found.features, *(found.features[:i] + found.features[i + 1 :] for i in range(len(found.features)))]
        for rest in rests:
            self.check()
            base = self.chosen(rest, found)
            for feature in self._promising(base, 5):
                tried.append(self.chosen((*rest, feature), base))
        best = min(tried, key=lambda each: each.length)
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
        return min(tried, key=lambda each: each.length)

    def _promising(self, base: Chosen, most: int) -> list[int]:
        """The features whose addition promises the shortest description: U^2 / V against their own length."""
        vocabulary = self.vocabulary
        shares = shares_of(base.fitted.scores)
        curvature = self.counts.total * shares * (1.0 - shares)
        whole = np.column_stack([np.ones(len(curvature)), self._columns(base.features)])
        inner = np.einsum("ij,ik->jk", whole * curvature[:, None], whole)
        sums = self._sums(np.column_stack([whole * curvature[:, None], base.fitted.residuals(self.counts)]))
        cross, slopes, own = sums[:, :-1], sums[:, -1], sums[:, 0]
        left = own - np.einsum("ij,jk,ik->i", cross, np.linalg.pinv(inner), cross)
        gain = slopes**2 / np.maximum(left, 1e-6 * own + 1e-9)
        gain[left < 1e-4 * own] = 0.0
        value = gain - self._literal * np.array(vocabulary.lengths) - self._rows
        value[list(base.features)] = -np.inf
        return [int(f) for f in np.argsort(-value, kind="stable")[:most]]
