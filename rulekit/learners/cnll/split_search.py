"""The split search: the best prefix of an order of codes, with the strengths of both sides, for each column and move.

A move turns the probability P of a cell into U + V a, V >= 0. With A = sum of w V (y - U) and B = sum of w V^2 over the
rows on one side of a condition, the squared error of that side with the ridge is a parabola in its strength a,

    -2 a (A + kappa a0) + a^2 (B + kappa) + kappa a0^2

so the best a is known at once. The sides of a condition are independent.

A condition is a set of codes: a prefix of an order. An ordered column takes its codes in ascending order, with missing
tried on either side and alone. The levels of a category are sorted for each move by the strength that suits them best,
which finds the best level set for an unclipped parabola.

Shapes: K columns, M moves, L codes in an order. A tie goes to the first order, then to the shortest prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.cnll.gradient_sums import CodeSums
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.sums_of_rows.kernels import compiled

LEAST_STRENGTH = 1e-3


def code_orders(column: BinnedColumn, sums: CodeSums, rest: Floats) -> list[Ints]:
    """The orders [M or 1, L] of the codes that occur, one or two of them; none where only one code occurs."""
    present = np.flatnonzero(sums.weight)
    if len(present) < 2:
        return []
    if not column.ordered:
        slopes, curvatures = sums.slope[present].T, sums.curvature[present].T
        curved = curvatures > 0.0
        ratio = np.where(curved, slopes / np.where(curved, curvatures, 1.0), rest[:, None])
        return [present[np.argsort(-ratio, axis=1, kind="stable")]]
    orders = [present[None]]
    if present[0] == 0 and len(present) > 2:
        orders.append(np.append(present[1:], 0)[None])
    return orders


class BestSplits(NamedTuple):
    """Per column and move [K, M]: the least objective (infinity: none allowed), the order and the prefix of it that
    gives it, and both strengths.
    """

    objective: Floats
    order: Ints
    prefix: Ints
    left: Floats
    right: Floats

    @classmethod
    def none(cls, n_columns: int, n_moves: int) -> BestSplits:
        """Nothing found yet."""
        order, prefix = np.zeros((2, n_columns, n_moves), dtype=np.int64)
        left, right = np.zeros((2, n_columns, n_moves))
        return cls(np.full((n_columns, n_moves), np.inf), order, prefix, left, right)


class CodeOrders(NamedTuple):
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
    def of(cls, orders: Sequence[Sequence[Ints]], sorts: Sequence[bool]) -> CodeOrders:
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
    orders: CodeOrders,
    rest: Floats,
    constant: Floats,
    ridge: float,
    least: int,
    best: BestSplits,
) -> None:
    """Write into `best` the best prefix of the orders of each column, and both strengths, for each move.

    sums: slope and curvature [K, n_codes, M] and weight [K, n_codes]; rest [M]: the strength that does nothing;
    constant [M]: the objective at strength 0, without the ridge of the bit; least: the least weight of either side.
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
                value = v_l + v_r
                value += constant[m]
                if value < best.objective[k, m]:
                    best.objective[k, m] = value
                    best.order[k, m], best.prefix[k, m] = orders.number[q], i + 1
                    best.left[k, m], best.right[k, m] = s_l, s_r
