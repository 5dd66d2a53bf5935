"""The exact search over cuts and strengths, from the integer sums of rulekit.learners.counting.histograms.

A move turns the probability P of a cell into U + V a, V >= 0, so a cell is decided positive iff a > r = (1/2 - U)/V.
Over the sorted ratios r the error is a prefix sum, and inside an interval of r the squared error is a parabola.
Both sides of a cut are independent.

Shapes: M moves, C cells, K intervals, L codes in an order. The compiled loop and its numpy twin make the same
operations on doubles in the same order, so that they give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.counting.compiling import compiled
from rulekit.learners.counting.histograms import Floats, Histogram, Ints


@dataclass(frozen=True, slots=True)
class MoveTables:
    """What the scan needs to know of M moves over C cells, each of which turns P into U + V a.

    bucket [M, C]: the first allowed interval of strengths in which the cell is decided positive (K where in none).
    low, high [M, K]: the allowed intervals, ascending (padded with NaN); n_intervals [M].
    rest [M]: the strength that does nothing, towards which the ridge pulls; constant [M]: the objective at a = 0.
    """

    bucket: Ints
    low: Floats
    high: Floats
    n_intervals: Ints
    rest: Floats
    constant: Floats


@dataclass(frozen=True, slots=True)
class ScanRule:
    """What counts: weight of one unit of error, ridge, least weight of a side, and the intervals each side may use."""

    error_scale: float
    ridge: float
    least: int
    left_from: int
    left_to: int
    right_from: int
    right_to: int


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Per move: the smallest objective [M] (infinity: none allowed), the prefix it takes, and both strengths."""

    objective: Floats
    prefix: Ints
    left: Floats
    right: Floats


def scan(
    histogram: Histogram,
    tables: MoveTables,
    orders: Ints,
    sums: tuple[Floats, Floats],
    rule: ScanRule,
    best: float,
    one: bool,
) -> ScanResult:
    """The best prefix of an order of codes, and the best strengths on both sides, for each move.

    orders [M, L]: for each move the codes in the order in which they join the left side; prefixes of 1 .. L - 1 codes
    are candidates. With `one` only the best move of all is wanted: a candidate that cannot reach `best`, or another
    move, may be skipped (its move then reports infinity); candidates that equal it never are.
    """
    loop = compiled(_scan)
    run: Any = loop or _scan_with_numpy
    parts = run(
        *(histogram.keys, histogram.weights, histogram.starts, orders, sums[0], sums[1]),
        *(tables.bucket, tables.low, tables.high, tables.n_intervals, tables.rest, tables.constant),
        *(rule.error_scale, rule.ridge, rule.least, rule.left_from, rule.left_to, rule.right_from, rule.right_to),
        *(best, one),
    )
    return ScanResult(*parts)


def _scan_with_numpy(
    keys: Ints,
    weights: Ints,
    starts: Ints,
    orders: Ints,
    slopes: Floats,
    curvatures: Floats,
    bucket: Ints,
    low: Floats,
    high: Floats,
    n_intervals: Ints,
    rest: Floats,
    constant: Floats,
    scale: float,
    ridge: float,
    least: int,
    left_from: int,
    left_to: int,
    right_from: int,
    right_to: int,
    best: float,
    one: bool,
) -> Any:
    n_moves, length = orders.shape
    n_codes = len(starts) - 1
    objective, prefix = np.full(n_moves, np.inf), np.zeros(n_moves, dtype=np.int64)
    left, right = np.zeros(n_moves), np.zeros(n_moves)
    code = np.repeat(np.arange(n_codes), np.diff(starts))
    signed = np.where(keys % 2 == 1, weights, -weights)
    per_code = np.bincount(code, weights, n_codes).astype(np.int64)
    positive = np.bincount(code, np.where(keys % 2 == 1, weights, 0), n_codes).astype(np.int64)
    for m in range(n_moves):
        k, order = int(n_intervals[m]), orders[m]
        net = np.bincount(code * (k + 1) + bucket[m][keys // 2], signed, n_codes * (k + 1)).astype(np.int64)
        won = np.cumsum(np.cumsum(net.reshape(n_codes, k + 1)[order], axis=0), axis=1)[:, :k]
        w_left, y_left = np.cumsum(per_code[order]), np.cumsum(positive[order])
        a_left, b_left = np.cumsum(slopes[m][order]), np.cumsum(curvatures[m][order])
        inside = slice(0, length - 1)
        allowed = (w_left[inside] >= least) & (w_left[-1] - w_left[inside] >= least)
        if not allowed.any():
            continue
        sides = (
            (a_left[inside], b_left[inside], y_left[inside], won[inside], left_from, left_to),
            (
                a_left[-1] - a_left[inside],
                b_left[-1] - b_left[inside],
                y_left[-1] - y_left[inside],
                won[-1] - won[inside],
                right_from,
                right_to,
            ),
        )
        found = [
            best_strengths(a, b, y, w, low[m], high[m], scale, ridge, rest[m], max(lo, 0), min(hi, k))
            for a, b, y, w, lo, hi in sides
        ]
        total = np.where(allowed, found[0][0] + found[1][0] + constant[m], np.inf)
        p = int(np.argmin(total))
        objective[m], prefix[m] = total[p], p + 1
        left[m], right[m] = found[0][1][p], found[1][1][p]
    return objective, prefix, left, right


def best_strengths(
    slope: Floats,
    curvature: Floats,
    positives: Ints,
    won: Ints,
    low: Floats,
    high: Floats,
    scale: float,
    ridge: float,
    rest: float,
    first: int,
    last: int,
) -> tuple[Floats, Floats]:
    """The smallest objective and its strength for each of L sides.

    slope, curvature, positives [L]; won [L, K]: positives minus negatives decided positive in each interval. Inside
    an interval the objective is a parabola in the strength, clipped to the interval.
    """
    aim = slope + ridge * rest
    bend = curvature + ridge
    flat = bend <= 0.0
    top = np.where(flat, rest, aim / np.where(flat, 1.0, bend))
    strength = np.minimum(np.maximum(top[:, None], low[None, first:last]), high[None, first:last])
    error = scale * (positives[:, None] - won[:, first:last])
    value = error + strength * (bend[:, None] * strength - 2.0 * aim[:, None])
    at = np.argmin(value, axis=1)
    rows = np.arange(len(at))
    return value[rows, at] + ridge * rest * rest, strength[rows, at]


def _scan(
    keys: Any,
    weights: Any,
    starts: Any,
    orders: Any,
    slopes: Any,
    curvatures: Any,
    bucket: Any,
    low: Any,
    high: Any,
    n_intervals: Any,
    rest: Any,
    constant: Any,
    scale: float,
    ridge: float,
    least: int,
    left_from: int,
    left_to: int,
    right_from: int,
    right_to: int,
    best: float,
    one: bool,
) -> Any:
    n_moves, length = orders.shape
    objective, prefix = np.full(n_moves, np.inf), np.zeros(n_moves, dtype=np.int64)
    left, right = np.zeros(n_moves), np.zeros(n_moves)
    n_codes = len(starts) - 1
    per_code, positive = np.zeros(n_codes, dtype=np.int64), np.zeros(n_codes, dtype=np.int64)
    for c in range(n_codes):
        for e in range(starts[c], starts[c + 1]):
            per_code[c] += weights[e]
            if keys[e] % 2 == 1:
                positive[c] += weights[e]
    for m in range(n_moves):
        if not one:
            best = np.inf
        k = n_intervals[m]
        net, total_net = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1, dtype=np.int64)
        w_total, y_total = 0, 0
        a_total, b_total = 0.0, 0.0
        for i in range(length):
            c = orders[m, i]
            w_total += per_code[c]
            y_total += positive[c]
            a_total += slopes[m, c]
            b_total += curvatures[m, c]
            for e in range(starts[c], starts[c + 1]):
                total_net[bucket[m, keys[e] // 2]] += weights[e] if keys[e] % 2 == 1 else -weights[e]
        w, y = 0, 0
        a_sum, b_sum = 0.0, 0.0
        pull, pulled = ridge * rest[m], ridge * rest[m] * rest[m]
        for i in range(length - 1):
            c = orders[m, i]
            w += per_code[c]
            y += positive[c]
            a_sum += slopes[m, c]
            b_sum += curvatures[m, c]
            for e in range(starts[c], starts[c + 1]):
                net[bucket[m, keys[e] // 2]] += weights[e] if keys[e] % 2 == 1 else -weights[e]
            if w < least or w_total - w < least:
                continue
            aim_l, bend_l = a_sum + pull, b_sum + ridge
            aim_r, bend_r = a_total - a_sum + pull, b_total - b_sum + ridge
            top_l = aim_l / bend_l if bend_l > 0.0 else rest[m]
            top_r = aim_r / bend_r if bend_r > 0.0 else rest[m]
            # The least error of any interval and the lowest point of the parabola bound the objective from below.
            won_l, won_r = 0, 0
            most_l, most_r = np.int64(-(2**62)), np.int64(-(2**62))
            for j in range(k):
                won_l += net[j]
                won_r += total_net[j] - net[j]
                most_l = max(most_l, won_l)
                most_r = max(most_r, won_r)
            at_l, at_r = min(max(top_l, 0.0), 1.0), min(max(top_r, 0.0), 1.0)
            bound = scale * (y - most_l) + at_l * (bend_l * at_l - 2.0 * aim_l)
            bound += scale * (y_total - y - most_r) + at_r * (bend_r * at_r - 2.0 * aim_r)
            bound += constant[m] + 2.0 * pulled
            if bound > best + 1e-7 * (1.0 + abs(best)):
                continue
            best_l, best_r = np.inf, np.inf
            s_l, s_r = 0.0, 0.0
            won_l, won_r = 0, 0
            for j in range(k):
                won_l += net[j]
                won_r += total_net[j] - net[j]
                if left_from <= j < left_to:
                    s = min(max(top_l, low[m, j]), high[m, j])
                    value = scale * (y - won_l) + s * (bend_l * s - 2.0 * aim_l)
                    if value < best_l:
                        best_l = value
                        s_l = s
                if right_from <= j < right_to:
                    s = min(max(top_r, low[m, j]), high[m, j])
                    value = scale * (y_total - y - won_r) + s * (bend_r * s - 2.0 * aim_r)
                    if value < best_r:
                        best_r = value
                        s_r = s
            value = (best_l + pulled) + (best_r + pulled) + constant[m]
            if value < objective[m]:
                objective[m] = value
                prefix[m] = i + 1
                left[m] = s_l
                right[m] = s_r
                best = min(best, value)
    return objective, prefix, left, right
