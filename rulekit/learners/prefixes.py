"""The best prefix of an order of codes for the squared error, with the strengths of both sides in closed form.

A move turns the probability P of a cell into U + V a. With A = sum of w V (y - U) and B = sum of w V^2 over the rows
on one side of a condition, the squared error of that side is a parabola in its strength a; with the ridge

    -2 a (A + kappa a0) + a^2 (B + kappa) + kappa a0^2          (findings/small_models.md, section 1)

so the best a is known at once, and no interval between ratios is looked at as it is where errors count.
Shapes: M moves, L codes in an order. The kernel has a numpy twin with the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.compiling import compiled
from rulekit.learners.counting import Floats, Ints
from rulekit.learners.squares import CodeSums

LEAST_STRENGTH = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """Per move [M]: the least objective (infinity: none allowed), the order and the prefix of it that gives it,
    the side whose strength is free where the other is 0, and both strengths.
    """

    objective: Floats
    order: Ints
    prefix: Ints
    side: Ints
    left: Floats
    right: Floats

    @classmethod
    def none(cls, n_moves: int) -> Best:
        """Nothing found yet."""
        order, prefix, side = np.zeros((3, n_moves), dtype=np.int64)
        return cls(np.full(n_moves, np.inf), order, prefix, side, np.zeros(n_moves), np.zeros(n_moves))


def best_prefixes(
    sums: CodeSums, orders: list[Ints], rest: Floats, constant: Floats, ridge: float, least: int, zero_beta: bool
) -> Best:
    """The best prefix of the orders [M or 1, L] of codes, and both strengths, for each move.

    rest [M]: the strength that does nothing; constant [M]: the objective at strength 0, without the ridge of the bit;
    least: the least weight of either side; zero_beta: one side's strength is 0.
    """
    best = Best.none(len(rest))
    kernel: Any = compiled(_best_prefixes) or _best_with_numpy
    for number, order in enumerate(orders):
        kernel(
            number,
            np.ascontiguousarray(order),
            sums.slope,
            sums.curvature,
            sums.weight,
            rest,
            constant,
            ridge,
            least,
            zero_beta,
            best.objective,
            best.order,
            best.prefix,
            best.side,
            best.left,
            best.right,
        )
    return best


def _best_prefixes(
    number: int,
    orders: Any,
    slope: Any,
    curvature: Any,
    weight: Any,
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
    length = orders.shape[1]
    for m in range(len(rest)):
        codes = orders[m] if len(orders) > 1 else orders[0]
        w_total, a_total, b_total = 0, 0.0, 0.0
        for i in range(length):
            c = codes[i]
            w_total += weight[c]
            a_total += slope[c, m]
            b_total += curvature[c, m]
        pull, pulled = ridge * rest[m], ridge * rest[m] * rest[m]
        w, a_sum, b_sum = 0, 0.0, 0.0
        for i in range(length - 1):
            c = codes[i]
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
                if v_l + pulled + constant[m] < objective[m]:
                    objective[m] = v_l + pulled + constant[m]
                    order[m], prefix[m], side[m], left[m], right[m] = number, i + 1, 0, s_l, 0.0
                if pulled + v_r + constant[m] < objective[m]:
                    objective[m] = pulled + v_r + constant[m]
                    order[m], prefix[m], side[m], left[m], right[m] = number, i + 1, 1, 0.0, s_r
            elif v_l + v_r + constant[m] < objective[m]:
                objective[m] = v_l + v_r + constant[m]
                order[m], prefix[m], side[m], left[m], right[m] = number, i + 1, 0, s_l, s_r


def _best_with_numpy(
    number: int,
    orders: Ints,
    slope: Floats,
    curvature: Floats,
    weight: Ints,
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
    for m in range(len(rest)):
        codes = orders[m] if len(orders) > 1 else orders[0]
        w, a, b = np.cumsum(weight[codes]), np.cumsum(slope[codes, m]), np.cumsum(curvature[codes, m])
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
        if totals[s, p] < objective[m]:
            objective[m] = totals[s, p]
            order[m], prefix[m], side[m], left[m], right[m] = number, p + 1, s, ways[s][1][p], ways[s][2][p]


def _parabola(aim: Floats, bend: Floats, rest: float) -> tuple[Floats, Floats]:
    """The least value of a (bend a - 2 aim) for allowed strengths a, and the strength."""
    curved = bend > 0.0
    top = np.where(curved, aim / np.where(curved, bend, 1.0), rest)
    strength = np.minimum(np.maximum(top, LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
    return strength * (bend * strength - 2.0 * aim), strength
