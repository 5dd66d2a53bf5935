"""Whole points in the place of real ones: the search for those that say most nearly what the sum itself says.

A sum is made of parts, of which each puts the rows into groups: a column into runs and sets of its values, a rule into
the rows where it holds and all others. Rows that are in the same groups of all parts are one cell.

The search is that of FasterRisk (J. Liu, C. Zhong, B. Li, M. Seltzer and C. Rudin, FasterRisk: Fast and Accurate
Interpretable Risk Scores, 2022) in its outline: the real points are multiplied by several numbers and rounded one
after another, up or down as it costs less. What a rounding costs is told by the curvatures of the loss (as AdaRound has
it: M. Nagel and others, Up or Down?, 2020). From the best of these, points are then moved by 1 while the loss itself
falls; scale and offset are fitted anew to each. Of points that are as good, smaller ones are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from rulekit.arrays import Bools, Floats, Ints

_HALVINGS = 8
_LARGEST = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Scales, offsets and losses [m] of m tables; a loss is the log loss of all counts together."""

    scale: Floats
    offset: Floats
    loss: Floats

    @classmethod
    def single(cls, scale: float, offset: float) -> Links:
        """One table, whose loss is not known yet."""
        return cls(np.array([scale]), np.array([offset]), np.zeros(1))

    def of(self, place: int) -> Links:
        """One of them."""
        return Links.single(*self.at(place)[:2])

    def at(self, place: int) -> tuple[float, float, float]:
        """The scale, offset and loss of one."""
        return float(self.scale[place]), float(self.offset[place]), float(self.loss[place])


def calibrated(counts: Floats, totals: Floats, at: Links, steps: int, fixed: bool = False) -> Links:
    """Links of less loss after so many Newton steps from others.

    counts [m, T, 2]: the weight of label 0 and 1 by total [T]. at: where it begins, for all tables or one for each.
    fixed: the scale stays as it is.
    """
    begun = [np.broadcast_to(array, len(counts)).astype(np.float64) for array in (at.scale, at.offset)]
    links = _measured(counts, totals, *begun)
    both, positive = counts.sum(axis=2), counts[:, :, 1]
    for _ in range(steps):
        shares = 1.0 / (1.0 + np.exp(-_scores(totals, links.scale, links.offset)))
        each, curved = both * shares - positive, both * (shares * (1.0 - shares))
        slopes = each.sum(axis=1), (each * totals).sum(axis=1)
        bends = curved.sum(axis=1), (curved * totals).sum(axis=1), (curved * totals * totals).sum(axis=1)
        bends = bends[0], bends[1], bends[2] + 1e-9 * (1.0 + bends[0])  # where all rows have one total
        if fixed:
            moves = np.zeros(len(counts)), slopes[0] / np.maximum(bends[0], 1e-9)
        else:
            determinant = np.maximum(bends[0] * bends[2] - bends[1] * bends[1], 1e-300)
            moves = (
                (bends[0] * slopes[1] - bends[1] * slopes[0]) / determinant,
                (bends[2] * slopes[0] - bends[1] * slopes[1]) / determinant,
            )
        better = _shortened(counts, totals, links, moves)
        if bool((links.loss - better.loss <= 1e-12 * (1.0 + links.loss)).all()):
            return better
        links = better
    return links


def _shortened(counts: Floats, totals: Floats, at: Links, moves: tuple[Floats, Floats]) -> Links:
    """After a move, or a half of it, a quarter, ..: of each table the first with less loss, else as it is."""
    found, share = at, 1.0
    for _ in range(_HALVINGS):
        tried = _measured(counts, totals, at.scale - share * moves[0], at.offset - share * moves[1])
        better = (found.loss == at.loss) & (tried.loss < at.loss)
        pairs = (tried.scale, found.scale), (tried.offset, found.offset), (tried.loss, found.loss)
        found = Links(*(np.where(better, new, old) for new, old in pairs))
        if bool((found.loss < at.loss).all()):
            break
        share *= 0.5
    return found


def _measured(counts: Floats, totals: Floats, scale: Floats, offset: Floats) -> Links:
    scores = _scores(totals, scale, offset)
    away = np.log1p(np.exp(-np.abs(scores)))
    losses = counts[:, :, 0] * (np.maximum(scores, 0.0) + away) + counts[:, :, 1] * (np.maximum(-scores, 0.0) + away)
    return Links(scale, offset, np.asarray(losses.sum(axis=1)))


def _scores(totals: Floats, scale: Floats, offset: Floats) -> Floats:
    return np.asarray(np.clip(scale[:, None] * totals + offset[:, None], -_LARGEST, _LARGEST))


def smoothed_counts(counts: Floats) -> Floats:
    """Counts [..., T, 2] as if each class had a row more of either label, so that no fit is without end.

    (J. Platt, Probabilistic Outputs for Support Vector Machines, 1999: targets (n + 1) / (n + 2) and 1 / (n + 2).)
    """
    of_class = counts.sum(axis=-2, keepdims=True)
    moved = counts / (of_class + 2.0)
    return np.asarray(counts - moved + moved[..., ::-1])


_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 1.15, 1.3, 1.6, 2.0)
_STARTS = 3
_NEAR = 2e-4
_STEPS, _FIRST_STEPS = 2, 30
_BITS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The groups of all parts one after another [G], and of each cell the group in every part [C, J].

    values [G]: the real points, ascending within a part; starts [J + 1]: where the groups of each part begin.
    fixed [G]: those that stay 0, one of each part. offset: the log of the odds where every part gives 0. counts [C, 2]:
    of each cell the weight that is against and for.
    """

    groups: Ints
    starts: Ints
    values: Floats
    fixed: Bools
    offset: float
    counts: Floats

    @property
    def of_part(self) -> Ints:
        """The part [G] of each group."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def totals(self, points: Ints) -> Ints:
        """The sums [C] of some points [G]."""
        return np.asarray(points[self.groups].sum(axis=1, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Whole points [G], the scale and offset with which they say most nearly what the sum says, and the loss then."""

    points: Ints
    scale: float
    offset: float
    loss: float


def whole_points(parts: Parts, most: int, scale: float | None = None, thorough: bool = True) -> Whole:
    """The points of least loss that were found, none above `most` in size.

    scale: what one point is worth, where that is given. thorough: False: they are rounded, and no more is looked for.
    """
    shares = _SHARES if thorough else _SHARES[:1]
    largest = float(np.abs(parts.values).max(initial=0.0))
    factors = [1.0 / scale] if scale is not None else [share * most / (largest or 1.0) for share in shares]
    found = _rounded(parts, most, factors, scale is not None)
    found.sort(key=lambda each: (each.loss, int(np.abs(each.points).sum())))
    if thorough:
        found += [_descended(parts, each, most, scale is not None) for each in found[:_STARTS]]
    if scale is None:
        found = [_reduced(each) for each in found]
    near = min(each.loss for each in found) * (1.0 + _NEAR)
    return min(
        (each for each in found if each.loss <= near), key=lambda each: (int(np.abs(each.points).sum()), each.loss)
    )


def _reduced(found: Whole) -> Whole:
    common = int(np.gcd.reduce(found.points)) or 1
    return replace(found, points=found.points // common, scale=found.scale * common)


# Rounding --------------------------------------------------------------------------------------------------------


def _rounded(parts: Parts, most: int, factors: Sequence[float], fixed: bool) -> list[Whole]:
    """For each factor the points rounded to the nearest ones, and one after another, with their scales and offsets."""
    bends, points = _curvatures(parts), list[Ints]()
    for factor in factors:
        wanted = np.clip(parts.values * factor, -most, most)
        points += [np.rint(wanted).astype(np.int64), _one_by_one(parts, wanted, bends)]
    sums = [parts.totals(each) for each in points]
    lowest = min(int(each.min(initial=0)) for each in sums)
    size = max(int(each.max(initial=0)) for each in sums) - lowest + 1
    tables = np.array([by_total(parts.counts, each - lowest, size) for each in sums])
    scale = np.repeat(1.0 / np.array(factors), 2)
    at = Links(scale, np.full(len(scale), parts.offset), np.zeros(len(scale)))
    links = calibrated(tables, np.arange(lowest, lowest + size, dtype=np.float64), at, _FIRST_STEPS, fixed)
    return [Whole(each, *links.at(place)) for place, each in enumerate(points)]


def _one_by_one(parts: Parts, wanted: Floats, bends: Floats) -> Ints:
    """Points rounded up or down, in the order of what that costs; those left make up for the ones before."""
    low, high = np.floor(wanted), np.ceil(wanted)
    points, left = low.copy(), low != high
    off, bend, of_part = np.zeros(len(wanted)), bends.diagonal(), parts.of_part  # off: by how much each is too large
    for _ in range(int(left.sum())):
        pull = bends @ off
        down, up = (np.where(left, m * pull + 0.5 * bend * m * m, np.inf) for m in (low - wanted, high - wanted))
        k = int(np.argmin(np.minimum(down, up)))
        points[k] = low[k] if down[k] <= up[k] else high[k]
        off[k], left[k] = points[k] - wanted[k], False
        own = slice(int(parts.starts[of_part[k]]), int(parts.starts[of_part[k] + 1]))
        high[own.start : k] = np.minimum(high[own.start : k], points[k])  # the groups of a part keep their order
        low[k + 1 : own.stop] = np.maximum(low[k + 1 : own.stop], points[k])
    return np.asarray(points.astype(np.int64))


def _curvatures(parts: Parts) -> Floats:
    """The second derivatives [G, G] of the loss at the real points, the offset adapting itself.

    The weights of cells are made whole numbers of few bits, so that their sums are exact, in whatever order.
    """
    both = parts.counts.sum(axis=1)
    shares = parts.counts[:, 1] / np.maximum(both, 1e-300)
    curved = both * shares * (1.0 - shares)
    step = 2.0 ** (np.frexp(max(float(curved.sum()), 1e-300))[1] - _BITS)
    curved = np.rint(curved / step)
    found, ends = np.zeros((len(parts.values), len(parts.values))), parts.starts.tolist()
    places = parts.groups - parts.starts[:-1]
    for i, j in combinations_with_replacement(range(len(ends) - 1), 2):
        rows, columns = ends[i + 1] - ends[i], ends[j + 1] - ends[j]
        sums = np.bincount(places[:, i] * columns + places[:, j], curved, rows * columns).reshape(rows, columns)
        found[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = sums
        found[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = sums.T
    own = found.diagonal()
    return np.asarray((found - np.outer(own, own) / max(float(curved.sum()), 1.0)) * step)


# Moves of 1 ------------------------------------------------------------------------------------------------------


def _descended(parts: Parts, found: Whole, most: int, scaled: bool) -> Whole:
    for _ in range(4 * len(parts.values)):
        moved = _best_move(parts, found, most, scaled)
        if moved is None:
            return found
        found = moved
    return found


def _best_move(parts: Parts, found: Whole, most: int, scaled: bool) -> Whole | None:
    """The best move of one point by 1 that keeps the order of the groups of its part; None where none is better."""
    points = found.points
    first, last = parts.starts[:-1], parts.starts[1:] - 1
    below, above = np.append(-most - 1, points[:-1]), np.append(points[1:], most + 1)
    below[first], above[last] = -most - 1, most + 1
    totals = parts.totals(points)
    lowest, size = int(totals.min()) - 1, int(np.ptp(totals)) + 3
    each = _by_group(parts, totals - lowest, size)
    whole = each[: int(parts.starts[1])].sum(axis=0)
    tables, moves = list[Floats](), list[tuple[int, int]]()
    for step, free in ((1, (points < np.minimum(above, most))), (-1, (points > np.maximum(below, -most)))):
        for k in np.flatnonzero(free & ~parts.fixed).tolist():
            tables.append(whole - each[k] + np.roll(each[k], step, axis=0))
            moves.append((k, step))
    if not tables:
        return None
    at = Links.single(found.scale, found.offset)
    axis = np.arange(lowest, lowest + size, dtype=np.float64)
    tried = calibrated(np.array(tables), axis, at, _STEPS, scaled)
    best = int(np.argmin(tried.loss))
    if not tried.loss[best] < found.loss * (1.0 - 1e-9):
        return None
    k, step = moves[best]
    moved = points.copy()
    moved[k] += step
    return Whole(moved, *calibrated(tables[best][None], axis, tried.of(best), _FIRST_STEPS, scaled).at(0))


def _by_group(parts: Parts, places: Ints, size: int) -> Floats:
    found = np.zeros((len(parts.values), size, 2))
    for j in range(parts.groups.shape[1]):
        first, end = int(parts.starts[j]), int(parts.starts[j + 1])
        where = (parts.groups[:, j] - first) * size + places
        for label in (0, 1):
            sums = np.bincount(where, parts.counts[:, label], (end - first) * size)
            found[first:end, :, label] = sums.reshape(end - first, size)
    return found


def by_total(counts: Floats, places: Ints, size: int) -> Floats:
    """Counts [C, 2] by the place [C] of their totals: [size, 2]."""
    return np.stack([np.bincount(places, counts[:, label], size) for label in (0, 1)], axis=1)
