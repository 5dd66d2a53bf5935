"""The split search: the best prefix of an order of codes, with the strengths of both sides, for each column and move.

A move turns the probability P of a cell into U + V a, V >= 0. With A = sum of w V (y - U) and B = sum of w V^2 over the
rows on one side of a condition, the squared error of that side is a parabola in its strength a; with the ridge

    -2 a (A + kappa a0) + a^2 (B + kappa) + kappa a0^2

so where errors do not count the best a is known at once (`best_splits`). Where they do (`scan_splits`), a cell is
decided positive iff a > r = (1/2 - U) / V: over the sorted ratios r the error is a prefix sum, and inside an interval
of r the squared error is that parabola. The sides of a condition are independent.

A condition is a set of codes: a prefix of an order. Threshold stumps take the codes of a numeric or Boolean column in
ascending order, with missing tried on either side and alone. Log-likelihood-ratio stumps (paper, section 3) take the
bins in the order of log P(1 | bin) / P(0 | bin), so that a condition is a union of intervals. The levels of a category
are sorted for each move by the strength that suits them best, which finds the best level set for an unclipped parabola.

Shapes: K columns, M moves, C cells, I intervals, L codes in an order. A tie goes to the first order, the shortest
prefix, the first side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from rulekit.learners.cnll.formula.gradient_sums import CodeSums
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Histogram, Ints
from rulekit.learners.sums_of_rows.kernels import compiled

Weak = Literal["threshold", "llr", "pairs"]


def code_orders(column: BinnedColumn, weak: Weak, sums: CodeSums, rest: Floats) -> list[Ints]:
    """The orders [M or 1, L] of the codes that occur, one or two of them; none where only one code occurs."""
    present = np.flatnonzero(sums.weight)
    if len(present) < 2:
        return []
    if not column.ordered:
        slopes, curvatures = sums.slope[present].T, sums.curvature[present].T
        curved = curvatures > 0.0
        ratio = np.where(curved, slopes / np.where(curved, curvatures, 1.0), rest[:, None])
        return [present[np.argsort(-ratio, axis=1, kind="stable")]]
    if weak == "llr" and column.feature.kind == "numeric":
        return [present[np.argsort(-log_likelihood_ratios(sums)[present], kind="stable")][None]]
    orders = [present[None]]
    if present[0] == 0 and len(present) > 2:
        orders.append(np.append(present[1:], 0)[None])
    return orders


def complete(column: BinnedColumn, present: Bools, condition: Bools) -> tuple[Bools, Bools]:
    """Which codes [n_codes] have a side, and the condition with the codes that training had not.

    In an ordered column each such code goes with the nearer of its neighbours, as a threshold midway between them
    would have it. Missing and levels that did not occur stay outside every condition.
    """
    seen = np.flatnonzero(present[1:]) + 1
    if not column.ordered or len(seen) == 0 or len(seen) == len(present) - 1:
        return present, condition
    codes = np.arange(1, len(present))
    above = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
    below = np.maximum(above - (seen[above] > codes), 0)
    low, high = seen[below], seen[above]
    at, bottom, top = (codes, low, high) if column.feature.kind != "numeric" else _values(column, codes, low, high)
    nearest = np.where(at - bottom <= top - at, low, high)
    known, filled = present.copy(), condition.copy()
    known[1:] = True
    filled[1:] = condition[nearest]
    return known, filled


def _values(column: BinnedColumn, codes: Ints, low: Ints, high: Ints) -> tuple[Floats, Floats, Floats]:
    """The values that decide which neighbour is nearer; infinities are taken as the largest finite numbers."""
    bottoms, tops = (np.nan_to_num(edge / 4, posinf=1e307, neginf=-1e307) for edge in (column.low, column.high))
    return bottoms[codes] / 2 + tops[codes] / 2, tops[low], bottoms[high]


def log_likelihood_ratios(sums: CodeSums) -> Floats:
    """The ratio log P(1 | code) / P(0 | code) [n_codes], half a percent of a mean code's weight added to both."""
    prior = 0.005 * max(1.0, float(sums.weight.sum()) / len(sums.weight))
    return np.asarray(np.log((sums.positive + prior) / (sums.weight - sums.positive + prior)))


LEAST_STRENGTH = 1e-3


class Best(NamedTuple):
    """Per column and move [K, M]: the least objective (infinity: none allowed), the order and the prefix of it that
    gives it, the side whose strength is free where the other is 0, and both strengths.
    """

    objective: Floats
    order: Ints
    prefix: Ints
    side: Ints
    left: Floats
    right: Floats

    @classmethod
    def none(cls, n_columns: int, n_moves: int) -> Best:
        """Nothing found yet."""
        order, prefix, side = np.zeros((3, n_columns, n_moves), dtype=np.int64)
        left, right = np.zeros((2, n_columns, n_moves))
        return cls(np.full((n_columns, n_moves), np.inf), order, prefix, side, left, right)


class Orders(NamedTuple):
    """Orders of the codes of K columns, end to end: order v is codes[starts[v] : starts[v + 1]].

    column [V]: the one of the K columns whose codes they are; number [V]: which one of that column's orders; sorts [V]:
    whether the codes are to be sorted for each move, by the strength that suits them best, falling.
    """

    codes: Ints
    starts: Ints
    column: Ints
    number: Ints
    sorts: Bools

    @classmethod
    def of(cls, orders: Sequence[Sequence[Ints]], sorts: Sequence[bool]) -> Orders:
        """From the orders of each column, and whether those of the column are to be sorted."""
        every = [order for own in orders for order in own]
        counts = np.array([len(own) for own in orders], dtype=np.int64)
        return cls(
            np.concatenate([np.zeros(0, dtype=np.int64), *every]),
            np.cumsum([0, *(len(order) for order in every)], dtype=np.int64),
            np.repeat(np.arange(len(orders)), counts),
            np.array([i for own in orders for i in range(len(own))], dtype=np.int64),
            np.repeat(np.asarray(sorts, dtype=np.bool_), counts),
        )


# The least squared error ----------------------------------------------------------------------------------------------


def _stable_order(values: Floats) -> Ints:
    """As numpy's stable argsort, which takes longer to compile than all the rest here."""
    n, width = len(values), 1
    order, merged = np.arange(n), np.empty(n, dtype=np.int64)
    while width < n:
        for start in range(0, n, 2 * width):
            i, middle = start, min(start + width, n)
            j, end = middle, min(start + 2 * width, n)
            for place in range(start, end):
                if i < middle and (j >= end or values[order[i]] <= values[order[j]]):
                    merged[place] = order[i]
                    i += 1
                else:
                    merged[place] = order[j]
                    j += 1
        order, merged = merged, order
        width *= 2
    return order


@compiled
def best_splits(
    sums: tuple[Floats, Floats, Ints],
    orders: Orders,
    rest: Floats,
    constant: Floats,
    ridge: float,
    least: int,
    zero_beta: bool,
    best: Best,
) -> None:
    """Write into `best` the best prefix of the orders of each column, and both strengths, for each move.

    sums: slope and curvature [K, n_codes, M] and weight [K, n_codes]; rest [M]: the strength that does nothing;
    constant [M]: the objective at strength 0, without the ridge of the bit; least: the least weight of either side;
    zero_beta: one side's strength is 0.
    """
    for q in range(len(orders.column)):
        k, length = orders.column[q], orders.starts[q + 1] - orders.starts[q]
        own = chosen = orders.codes[orders.starts[q] : orders.starts[q + 1]]
        slope, curvature, weight = sums[0][k], sums[1][k], sums[2][k]
        w_total = 0
        for i in range(length):
            w_total += weight[own[i]]
        for m in range(len(rest)):
            if orders.sorts[q]:
                falling = np.empty(length)
                for i in range(length):
                    a, b = slope[own[i], m], curvature[own[i], m]
                    falling[i] = -(a / b if b > 0.0 else rest[m])
                chosen = own[_stable_order(falling)]
            a_total, b_total = 0.0, 0.0
            for i in range(length):
                c = chosen[i]
                a_total += slope[c, m]
                b_total += curvature[c, m]
            pull, pulled = ridge * rest[m], ridge * rest[m] * rest[m]
            w, a_sum, b_sum = 0, 0.0, 0.0
            for i in range(length - 1):
                c = chosen[i]
                w += weight[c]
                a_sum += slope[c, m]
                b_sum += curvature[c, m]
                if w < least or w_total - w < least:
                    continue
                aim_l, bend_l = a_sum + pull, b_sum + ridge
                aim_r, bend_r = a_total - a_sum + pull, b_total - b_sum + ridge
                s_l = min(max(aim_l / bend_l if bend_l > 0.0 else rest[m], LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
                s_r = min(max(aim_r / bend_r if bend_r > 0.0 else rest[m], LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
                v_l = s_l * (bend_l * s_l - 2.0 * aim_l) + pulled
                v_r = s_r * (bend_r * s_r - 2.0 * aim_r) + pulled
                # With beta = 0 one side is 0; then its parabola is `pulled` alone.
                for one in range(2 if zero_beta else 1):
                    value = v_l + v_r
                    if zero_beta:
                        value = v_l + pulled if one == 0 else pulled + v_r
                    value += constant[m]
                    if value < best.objective[k, m]:
                        best.objective[k, m] = value
                        best.order[k, m], best.prefix[k, m], best.side[k, m] = orders.number[q], i + 1, one
                        best.left[k, m] = 0.0 if one == 1 else s_l
                        best.right[k, m] = 0.0 if zero_beta and one == 0 else s_r


# Where plain errors count ---------------------------------------------------------------------------------------------


class MoveTables(NamedTuple):
    """What the scan needs to know of M moves over C cells, each of which turns P into U + V a.

    low, high [M, I]: the allowed intervals of strengths, ascending (padded with NaN); n [M]: how many; bucket [M, C]:
    the first of them in which the cell is decided positive (n where in none). rest [M]: the strength that does nothing,
    towards which the ridge pulls; constant [M]: the objective at a = 0.
    """

    low: Floats
    high: Floats
    n: Ints
    bucket: Ints
    rest: Floats
    constant: Floats


class ScanRule(NamedTuple):
    """What counts: weights of one unit of error and of squared error, ridge, least weight of a side, and whether one
    side's strength is 0, which is then the first interval.

    one: only the best move of all is wanted; a candidate that cannot be it may be skipped, one that equals it never is.
    """

    error: float
    brier: float
    ridge: float
    least: int
    zero_beta: bool
    one: bool


@compiled
def scan_splits(
    histogram: Histogram,
    tables: MoveTables,
    orders: Ints,
    number: int,
    sums: tuple[Floats, Floats],
    rule: ScanRule,
    reach: float,
    k: int,
    best: Best,
) -> None:
    """Write into row k of `best` what is better: the prefix of an order of codes and both strengths, for each move.

    orders [M or 1, L]: the codes in the order in which they join the left side, which has 1 .. L - 1 of them; number:
    which order that is; sums: slope and curvature [n_codes, M]; reach: the least objective known, of any move.
    """
    keys, weights, starts = histogram.keys, histogram.weights, histogram.starts
    length, n_codes, ridge, first = orders.shape[1], len(starts) - 1, rule.ridge, 1 if rule.zero_beta else 0
    per_code, positive = np.zeros(n_codes, dtype=np.int64), np.zeros(n_codes, dtype=np.int64)
    for c in range(n_codes):
        for e in range(starts[c], starts[c + 1]):
            per_code[c] += weights[e]
            if keys[e] % 2 == 1:
                positive[c] += weights[e]
    for m in range(len(tables.rest)):
        order = orders[m] if len(orders) > 1 else orders[0]
        low, high, bucket, rest = tables.low[m], tables.high[m], tables.bucket[m], tables.rest[m]
        if not rule.one:
            reach = best.objective[k, m]
        n = tables.n[m]
        net, total_net = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
        w_total, y_total = 0, 0
        a_total, b_total = 0.0, 0.0
        for i in range(length):
            c = order[i]
            w_total += per_code[c]
            y_total += positive[c]
            a_total += rule.brier * sums[0][c, m]
            b_total += rule.brier * sums[1][c, m]
            for e in range(starts[c], starts[c + 1]):
                total_net[bucket[keys[e] // 2]] += weights[e] if keys[e] % 2 == 1 else -weights[e]
        w, y = 0, 0
        a_sum, b_sum = 0.0, 0.0
        pull, pulled = ridge * rest, ridge * rest * rest
        for i in range(length - 1):
            c = order[i]
            w += per_code[c]
            y += positive[c]
            a_sum += rule.brier * sums[0][c, m]
            b_sum += rule.brier * sums[1][c, m]
            for e in range(starts[c], starts[c + 1]):
                net[bucket[keys[e] // 2]] += weights[e] if keys[e] % 2 == 1 else -weights[e]
            if w < rule.least or w_total - w < rule.least:
                continue
            aim_l, bend_l = a_sum + pull, b_sum + ridge
            aim_r, bend_r = a_total - a_sum + pull, b_total - b_sum + ridge
            top_l = aim_l / bend_l if bend_l > 0.0 else rest
            top_r = aim_r / bend_r if bend_r > 0.0 else rest
            # The least error of any interval and the lowest point of the parabola bound the objective from below.
            won_l, won_r = 0, 0
            most_l, most_r = np.int64(-(2**62)), np.int64(-(2**62))
            for j in range(n):
                won_l += net[j]
                won_r += total_net[j] - net[j]
                most_l = max(most_l, won_l)
                most_r = max(most_r, won_r)
            at_l, at_r = min(max(top_l, 0.0), 1.0), min(max(top_r, 0.0), 1.0)
            bound = rule.error * (y - most_l) + at_l * (bend_l * at_l - 2.0 * aim_l)
            bound += rule.error * (y_total - y - most_r) + at_r * (bend_r * at_r - 2.0 * aim_r)
            bound += tables.constant[m] + 2.0 * pulled
            if bound > reach + 1e-7 * (1.0 + abs(reach)):
                continue
            best_l, best_r = np.inf, np.inf
            s_l, s_r = 0.0, 0.0
            won_l, won_r = 0, 0
            for j in range(n):
                won_l += net[j]
                won_r += total_net[j] - net[j]
                if j < first:
                    continue
                s = min(max(top_l, low[j]), high[j])
                value = rule.error * (y - won_l) + s * (bend_l * s - 2.0 * aim_l)
                if value < best_l:
                    best_l = value
                    s_l = s
                s = min(max(top_r, low[j]), high[j])
                value = rule.error * (y_total - y - won_r) + s * (bend_r * s - 2.0 * aim_r)
                if value < best_r:
                    best_r = value
                    s_r = s
            for one in range(1 + first):
                left, right = best_l, best_r
                if rule.zero_beta and one == 0:
                    right = rule.error * (y_total - y - (total_net[0] - net[0]))
                elif rule.zero_beta:
                    left = rule.error * (y - net[0])
                value = (left + pulled) + (right + pulled) + tables.constant[m]
                if value < best.objective[k, m]:
                    best.objective[k, m] = value
                    best.order[k, m], best.prefix[k, m], best.side[k, m] = number, i + 1, one
                    best.left[k, m] = 0.0 if one == 1 else s_l
                    best.right[k, m] = 0.0 if rule.zero_beta and one == 0 else s_r
                    reach = min(reach, value)
