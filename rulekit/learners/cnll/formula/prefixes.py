"""The best prefix of an order of codes for the squared error, with the strengths of both sides in closed form.

A move turns the probability P of a cell into U + V a. With A = sum of w V (y - U) and B = sum of w V^2 over the rows
on one side of a condition, the squared error of that side is a parabola in its strength a; with the ridge

    -2 a (A + kappa a0) + a^2 (B + kappa) + kappa a0^2

so the best a is known at once, and no interval between ratios is looked at as it is where errors count.
Shapes: K columns, M moves. All columns are judged in one call. The kernel has a numpy twin with the same bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.counting.compiling import compiled
from rulekit.learners.counting.histograms import Bools, Floats, Ints

LEAST_STRENGTH = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Best:
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


@dataclass(frozen=True, slots=True, eq=False)
class Orders:
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


def best_prefixes(
    sums: tuple[Floats, Floats, Ints],
    orders: Orders,
    rest: Floats,
    constant: Floats,
    ridge: float,
    least: int,
    zero_beta: bool,
) -> Best:
    """The best prefix of the orders of each column, and both strengths, for each move.

    sums: slope and curvature [K, n_codes, M] and weight [K, n_codes]; rest [M]: the strength that does nothing;
    constant [M]: the objective at strength 0, without the ridge of the bit; least: the least weight of either side;
    zero_beta: one side's strength is 0.
    """
    best = Best.none(len(sums[0]), len(rest))
    kernel: Any = compiled(_best_prefixes) or _best_with_numpy
    kernel(
        *(orders.codes, orders.starts, orders.column, orders.number, orders.sorts),
        *(*sums, rest, constant, ridge, least, zero_beta),
        *(best.objective, best.order, best.prefix, best.side, best.left, best.right),
    )
    return best


def _best_prefixes(
    codes: Any,
    starts: Any,
    column: Any,
    number: Any,
    sorts: Any,
    slopes: Any,
    curvatures: Any,
    weights: Any,
    rest: Any,
    constant: Any,
    ridge: float,
    least: int,
    zero_beta: bool,
    objective: Any,
    order: Any,
    prefix: Any,
    side: Any,
    left: Any,
    right: Any,
) -> None:
    for q in range(len(column)):
        k, length = column[q], starts[q + 1] - starts[q]
        own, chosen = codes[starts[q] : starts[q + 1]], codes[starts[q] : starts[q + 1]]
        slope, curvature, weight = slopes[k], curvatures[k], weights[k]
        w_total = 0
        for i in range(length):
            w_total += weight[own[i]]
        for m in range(len(rest)):
            if sorts[q]:
                falling = np.empty(length)
                for i in range(length):
                    a, b = slope[own[i], m], curvature[own[i], m]
                    falling[i] = -(a / b if b > 0.0 else rest[m])
                chosen = own[np.argsort(falling, kind="mergesort")]
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
                if zero_beta:
                    if v_l + pulled + constant[m] < objective[k, m]:
                        objective[k, m] = v_l + pulled + constant[m]
                        order[k, m], prefix[k, m], side[k, m] = number[q], i + 1, 0
                        left[k, m], right[k, m] = s_l, 0.0
                    if pulled + v_r + constant[m] < objective[k, m]:
                        objective[k, m] = pulled + v_r + constant[m]
                        order[k, m], prefix[k, m], side[k, m] = number[q], i + 1, 1
                        left[k, m], right[k, m] = 0.0, s_r
                elif v_l + v_r + constant[m] < objective[k, m]:
                    objective[k, m] = v_l + v_r + constant[m]
                    order[k, m], prefix[k, m], side[k, m] = number[q], i + 1, 0
                    left[k, m], right[k, m] = s_l, s_r


def _best_with_numpy(
    codes: Ints,
    starts: Ints,
    column: Ints,
    number: Ints,
    sorts: Bools,
    slopes: Floats,
    curvatures: Floats,
    weights: Ints,
    rest: Floats,
    constant: Floats,
    ridge: float,
    least: int,
    zero_beta: bool,
    objective: Floats,
    order: Ints,
    prefix: Ints,
    side: Ints,
    left: Floats,
    right: Floats,
) -> None:
    for q, m in itertools.product(range(len(column)), range(len(rest))):
        k, chosen = column[q], codes[starts[q] : starts[q + 1]]
        slope, curvature = slopes[k, :, m], curvatures[k, :, m]
        if sorts[q]:
            chosen = by_strength(chosen, slope, curvature, rest[m])
        w, a, b = np.cumsum(weights[k][chosen]), np.cumsum(slope[chosen]), np.cumsum(curvature[chosen])
        allowed = (w[:-1] >= least) & (w[-1] - w[:-1] >= least)
        if not allowed.any():
            continue
        pull, pulled = ridge * rest[m], ridge * rest[m] * rest[m]
        v_l, s_l = _parabola(a[:-1] + pull, b[:-1] + ridge, rest[m])
        v_r, s_r = _parabola(a[-1] - a[:-1] + pull, b[-1] - b[:-1] + ridge, rest[m])
        v_l, v_r, none = v_l + pulled, v_r + pulled, np.zeros(len(s_l))
        ways = [(v_l + pulled, s_l, none), (pulled + v_r, none, s_r)] if zero_beta else [(v_l + v_r, s_l, s_r)]
        totals = np.where(allowed, np.stack([way[0] for way in ways]) + constant[m], np.inf)
        p, s = divmod(int(np.argmin(totals.T)), len(ways))
        if totals[s, p] < objective[k, m]:
            objective[k, m] = totals[s, p]
            order[k, m], prefix[k, m], side[k, m] = number[q], p + 1, s
            left[k, m], right[k, m] = ways[s][1][p], ways[s][2][p]


def by_strength(codes: Ints, slope: Floats, curvature: Floats, rest: float) -> Ints:
    """Codes by the strength that suits them best for one move, falling; slope, curvature [n_codes]."""
    a, b = slope[codes], curvature[codes]
    ratio = np.where(b > 0.0, a / np.where(b > 0.0, b, 1.0), rest)
    return codes[np.argsort(-ratio, kind="stable")]


def _parabola(aim: Floats, bend: Floats, rest: float) -> tuple[Floats, Floats]:
    """The least value of a (bend a - 2 aim) for allowed strengths a, and the strength."""
    curved = bend > 0.0
    top = np.where(curved, aim / np.where(curved, bend, 1.0), rest)
    strength = np.minimum(np.maximum(top, LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
    return strength * (bend * strength - 2.0 * aim), strength
