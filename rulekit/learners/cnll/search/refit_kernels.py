"""Compiled loops of the refits of a tree: bit by bit, for the least squared error or where plain errors count.

Sums over cells are one addition after the other in `sweep_squares`, and left to numpy where plain errors count, so that
the numpy forms (rulekit.learners.cnll.search.refitting) give the same bits. Shapes: C cells, T bits; p [nodes, C]: the
probability of every node; the tree as in rulekit.learners.cnll.formula.tree_kernels.FlatTree. All kernels are in this
file since the stamp of compiled code is that of one file; the functions that begin with an underscore are compiled into
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.learners.cnll.formula.objectives import MARGIN, MOST_INTERVALS, SHORTEST
from rulekit.learners.cnll.formula.prefixes import LEAST_STRENGTH

# Shared by the kernels ------------------------------------------------------------------------------------------------


def _slope_of_bit(
    operator: Any, starts: Any, children: Any, parent: Any, root: int, leaf: int, p: Any, path: Any, v: Any, beside: Any
) -> None:
    """The derivative v [C] of the root by a bit: on its path, the products of the siblings on either side.

    path [nodes], beside [2, C]: room for the work.
    """
    n_cells = len(v)
    before, after = beside[0], beside[1]
    node, depth = leaf, 0
    while node != root:
        path[depth] = node
        depth += 1
        node = parent[node]
    v[:] = 1.0
    for i in range(depth - 1, -1, -1):
        child = path[i]
        gate = parent[child]
        both = operator[gate] == 1
        before[:] = 1.0
        after[:] = 1.0
        e = starts[gate]
        while children[e] != child:
            other = p[children[e]]
            for c in range(n_cells):
                before[c] = before[c] * (other[c] if both else 1.0 - other[c])
            e += 1
        for f in range(starts[gate + 1] - 1, e, -1):
            other = p[children[f]]
            for c in range(n_cells):
                after[c] = after[c] * (other[c] if both else 1.0 - other[c])
        for c in range(n_cells):
            v[c] = v[c] * before[c] * after[c]


def _give(
    operator: Any,
    starts: Any,
    children: Any,
    parent: Any,
    root: int,
    leaf: int,
    holds: Any,
    on: float,
    off: float,
    p: Any,
    product: Any,
) -> None:
    """Give a bit its strengths in p, and every gate above it its probability; product [C]: room for the work."""
    n_cells = len(product)
    for c in range(n_cells):
        p[leaf, c] = on if holds[c] else off
    node = leaf
    while node != root:
        node = parent[node]
        both = operator[node] == 1
        product[:] = 1.0
        for e in range(starts[node], starts[node + 1]):
            other = p[children[e]]
            for c in range(n_cells):
                product[c] = product[c] * (other[c] if both else 1.0 - other[c])
        for c in range(n_cells):
            p[node, c] = product[c] if both else 1.0 - product[c]


def _errors(probability: Any, counts: Any, squares: Any) -> Any:
    """The weight of the errors at a probability [C], and in squares [C] (which it may be) each cell's squared error."""
    wrong = 0
    for c in range(len(probability)):
        x = probability[c]
        wrong += counts[c, 0] if x > 0.5 else counts[c, 1]
        squares[c] = counts[c, 1] * ((1.0 - x) * (1.0 - x)) + counts[c, 0] * (x * x)
    return wrong


# The least squared error ----------------------------------------------------------------------------------------------


def sweep_squares(
    operator: Any,
    starts: Any,
    children: Any,
    parent: Any,
    root: int,
    leaf: Any,
    alpha: Any,
    beta: Any,
    rest: Any,
    fixed: Any,
    holds: Any,
    counts: Any,
    unit: float,
    ridge: float,
    zero_beta: bool,
    slack: float,
    p: Any,
) -> bool:
    """Give each bit in turn the strengths of the least squared error, in place; says whether any of them changed.

    leaf, alpha, beta, rest, fixed [T]; holds [T, C]; counts [C, 2] by label. A change that gains no more than `slack`
    is not made.
    """
    n_cells = p.shape[1]
    v, beside = np.empty(n_cells), np.empty((2, n_cells))
    path = np.empty(len(operator) + 1, dtype=np.int64)
    changed = False
    for t in range(len(alpha)):
        if fixed[t]:
            continue
        _slope_of_bit(operator, starts, children, parent, root, leaf[t], p, path, v, beside)
        whole, own = p[root], p[leaf[t]]
        a_on, b_on, a_off, b_off = 0.0, 0.0, 0.0, 0.0
        for c in range(n_cells):
            line = whole[c] - v[c] * own[c]
            negative, positive = counts[c, 0] * unit, counts[c, 1] * unit
            a = v[c] * (positive * (1.0 - line) - negative * line)
            b = v[c] * v[c] * (positive + negative)
            if holds[t, c]:
                a_on += a
                b_on += b
            else:
                a_off += a
                b_off += b
        gain = 0.0
        aim, bend = a_on + ridge * rest[t], b_on + ridge
        s_on = min(max(aim / bend if bend > 0.0 else rest[t], LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
        gain += alpha[t] * (bend * alpha[t] - 2.0 * aim) - s_on * (bend * s_on - 2.0 * aim)
        s_off = 0.0
        if not zero_beta:
            aim, bend = a_off + ridge * rest[t], b_off + ridge
            s_off = min(max(aim / bend if bend > 0.0 else rest[t], LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
            gain += beta[t] * (bend * beta[t] - 2.0 * aim) - s_off * (bend * s_off - 2.0 * aim)
        if not gain > slack:
            continue
        changed = True
        alpha[t], beta[t] = s_on, s_off
        _give(operator, starts, children, parent, root, leaf[t], holds[t], s_on, s_off, p, v)
    return changed


# Where plain errors count ---------------------------------------------------------------------------------------------


def line_of_bit(
    operator: Any,
    starts: Any,
    children: Any,
    parent: Any,
    root: int,
    leaf: int,
    holds: Any,
    counts: Any,
    p: Any,
    u: Any,
    v: Any,
    slope: Any,
    curvature: Any,
) -> Any:
    """The line U + V a of a bit, and what each cell adds to slope and curvature: first the cells where it holds."""
    n_cells = p.shape[1]
    _slope_of_bit(
        operator,
        starts,
        children,
        parent,
        root,
        leaf,
        p,
        np.empty(len(operator) + 1, dtype=np.int64),
        v,
        np.empty((2, n_cells)),
    )
    whole, own = p[root], p[leaf]
    first = 0
    for c in range(n_cells):
        u[c] = whole[c] - v[c] * own[c]
        first += 1 if holds[c] else 0
    on, off = 0, first
    for c in range(n_cells):
        negative, positive = counts[c, 0], counts[c, 1]
        a = v[c] * (positive * (1.0 - u[c]) - negative * u[c])
        b = v[c] * v[c] * (positive + negative)
        if holds[c]:
            slope[on], curvature[on] = a, b
            on += 1
        else:
            slope[off], curvature[off] = a, b
            off += 1
    return first


def best_strengths_of_bit(
    u: Any,
    v: Any,
    holds: Any,
    counts: Any,
    a_on: float,
    a_off: float,
    b_on: float,
    b_off: float,
    scale: float,
    ridge: float,
    rest: float,
    at_ends: bool,
    zero_beta: bool,
    squares: Any,
) -> Any:
    """Both strengths, the weight of the errors with them, and what each cell then adds to the squared error.

    The intervals are those of objectives.allowed_intervals, the choice that of scanning.best_strengths.
    """
    n_cells = len(u)
    ratios = np.empty(n_cells)
    within = 0
    for c in range(n_cells):
        ratios[c] = (0.5 - u[c]) / v[c] if v[c] > 0.0 else (-np.inf if u[c] > 0.5 else np.inf)
        within += 1 if 0.0 <= ratios[c] < 1.0 else 0
    order = np.argsort(ratios)
    edges = np.empty(within + 2)
    edges[0] = 0.0
    # Which interval between the edges comes next after a cell's ratio; past the last edge there is none.
    raw = np.empty(n_cells, dtype=np.int64)
    n, last = 1, -1.0
    for i in range(n_cells):
        ratio = ratios[order[i]]
        if ratio < 0.0:
            raw[order[i]] = 0
        elif ratio < 1.0:
            if ratio != last:
                edges[n] = ratio
                n, last = n + 1, ratio
            raw[order[i]] = n - 1
        else:
            raw[order[i]] = n
    edges[n] = 1.0
    length = np.empty(n)
    n_long = 0
    for i in range(n):
        length[i] = edges[i + 1] - edges[i]
        n_long += 1 if length[i] >= SHORTEST else 0
    taken = np.zeros(n, dtype=np.bool_)
    if n_long == 0 or n_long > MOST_INTERVALS:
        by_length = np.argsort(-length, kind="mergesort")
        for i in range(max(1, min(n_long, MOST_INTERVALS))):
            taken[by_length[i]] = True
    else:
        for i in range(n):
            taken[i] = length[i] >= SHORTEST
    shift = 1 if zero_beta else 0
    bucket_of = np.empty(n + 1, dtype=np.int64)
    low, high = np.zeros(n + shift), np.zeros(n + shift)
    k = shift
    for i in range(n):
        bucket_of[i] = k
        if taken[i]:
            low[k], high[k] = edges[i] + MARGIN * length[i], edges[i + 1] - MARGIN * length[i]
            if at_ends:
                low[k] = high[k] = low[k] if low[k] + high[k] < 1.0 else high[k]
            k += 1
    bucket_of[n] = k
    net = np.zeros((2, k + 1), dtype=np.int64)
    positives = np.zeros(2, dtype=np.int64)
    for c in range(n_cells):
        side = 0 if holds[c] else 1
        bucket = 0 if zero_beta and ratios[c] < 0.0 else bucket_of[raw[c]]
        net[side, bucket] += counts[c, 1] - counts[c, 0]
        positives[side] += counts[c, 1]
    found = np.zeros(2)
    for side in range(2):
        aim = (a_on if side == 0 else a_off) + ridge * rest
        bend = (b_on if side == 0 else b_off) + ridge
        top = aim / bend if bend > 0.0 else rest
        start = 1 if zero_beta and side == 0 else 0
        stop = 1 if zero_beta and side == 1 else k
        won, least = 0, np.inf
        for j in range(stop):
            won += net[side, j]
            if j < start:
                continue
            s = min(max(top, low[j]), high[j])
            value = scale * (positives[side] - won) + s * (bend * s - 2.0 * aim)
            if value < least:
                least = value
                found[side] = s
    for c in range(n_cells):
        squares[c] = u[c] + v[c] * (found[0] if holds[c] else found[1])
    return found[0], found[1], _errors(squares, counts, squares)


def give_strengths(
    operator: Any,
    starts: Any,
    children: Any,
    parent: Any,
    root: int,
    leaf: int,
    holds: Any,
    on: float,
    off: float,
    counts: Any,
    p: Any,
    squares: Any,
) -> Any:
    """Give a bit (-1: none) its strengths in p; the weight of the errors, and each cell's squared error."""
    if leaf >= 0:
        _give(operator, starts, children, parent, root, leaf, holds, on, off, p, squares)
    return _errors(p[root], counts, squares)
