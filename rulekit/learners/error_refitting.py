"""A sweep of refits where plain errors count: each bit in turn gets its best strengths, the others staying.

Everything but sums over cells is compiled; those are numpy's, so that the compiled sweep and its numpy twin
(rulekit.learners.refitting) give the same bits. Shapes: C cells, T bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rulekit.learners.compiling import compiled
from rulekit.learners.formula import Formula
from rulekit.learners.objectives import MARGIN, MOST_INTERVALS, SHORTEST
from rulekit.learners.search import SearchSettings
from rulekit.learners.tree_kernels import flatten

_FALL = 1e-12

Kernel = Callable[..., Any]


def sweep_errors(formula: Formula, settings: SearchSettings) -> bool | None:
    """Give every free bit in turn its best strengths; says whether anything changed, None where numba is absent."""
    line_of, best_of, put = compiled(_line_of_bit), compiled(_best_strengths), compiled(_put)
    if line_of is None or best_of is None or put is None:
        return None
    objective, unit = settings.objective, formula.problem.weight_unit
    tree, bits, counts = formula.tree, formula.bits, formula.counts
    flat = flatten(tree)
    gates = flat.operator, flat.starts, flat.children, flat.parent
    alpha, beta = formula.strengths()
    rest = [bit.rest for bit in bits]
    holds = np.ascontiguousarray(formula.pattern.T)
    p = formula.node_probabilities()
    u, v, *terms = np.empty((6, len(counts)))
    at_ends = objective.brier == 0.0 and objective.ridge == 0.0
    scale = objective.error * unit

    def pulled(which: int, on: float, off: float) -> float:
        """The ridge of the formula where one bit has other strengths."""
        if objective.ridge == 0.0:
            return 0.0
        own = [
            (on, off) if i == which else pair for i, pair in enumerate(zip(alpha.tolist(), beta.tolist(), strict=True))
        ]
        return objective.ridge * sum((a - r) ** 2 + (b - r) ** 2 for (a, b), r in zip(own, rest, strict=True))

    def measured(errors: int, squares: Any, ridge: float) -> float:
        """The objective, added up as Formula.measure_of does."""
        return float(objective.error * (float(errors) * unit) + objective.brier * (float(squares.sum()) * unit) + ridge)

    changed = False
    wrong = put(*gates, flat.root, -1, holds[0], 0.0, 0.0, counts, p, terms[0])
    squares = terms[0].copy()
    for which in (i for i, bit in enumerate(bits) if not bit.frozen):
        node, on = tree.node_of_bit(which), holds[which]
        first = line_of(*gates, flat.root, node, on, counts, p, u, v, terms[0], terms[1])
        sums = [
            float(part.sum()) * unit * objective.brier for term in terms[:2] for part in (term[:first], term[first:])
        ]
        strengths = best_of(
            *(u, v, on, counts, *sums, scale, objective.ridge, rest[which], at_ends, settings.zero_beta), terms[2]
        )
        before = measured(wrong, squares, pulled(which, float(alpha[which]), float(beta[which])))
        after = measured(strengths[2], terms[2], pulled(which, *strengths[:2]))
        if not after < before - _FALL * (1.0 + abs(before)):
            continue
        changed = True
        alpha[which], beta[which] = strengths[:2]
        wrong = put(*gates, flat.root, node, on, *strengths[:2], counts, p, squares)
    if changed:
        formula.set_strengths(alpha, beta, p)
    return changed


def _line_of_bit(
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
    path = np.empty(len(operator) + 1, dtype=np.int64)
    before, after = np.empty(n_cells), np.empty(n_cells)
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


def _best_strengths(
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
    wrong = 0
    for c in range(n_cells):
        x = u[c] + v[c] * (found[0] if holds[c] else found[1])
        wrong += counts[c, 0] if x > 0.5 else counts[c, 1]
        squares[c] = counts[c, 1] * ((1.0 - x) * (1.0 - x)) + counts[c, 0] * (x * x)
    return found[0], found[1], wrong


def _put(
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
    """Give a bit (-1: none) its strengths in p [nodes, C]; the weight of the errors, and each cell's squared error."""
    n_cells = p.shape[1]
    product = np.empty(n_cells)
    if leaf >= 0:
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
    wrong = 0
    for c in range(n_cells):
        x = p[root, c]
        wrong += counts[c, 0] if x > 0.5 else counts[c, 1]
        squares[c] = counts[c, 1] * ((1.0 - x) * (1.0 - x)) + counts[c, 0] * (x * x)
    return wrong
