"""Refitting the strengths of a formula whose conditions stay: each bit in turn gets its best ones.

Shapes: C cells, T bits; p [nodes, C]: the probability of every node; holds [T, C]; counts [C, 2] by label; tree: a
rulekit.learners.cnll.moves.FlatTree. Kernels over cells are written as loops: whole arrays take numba seconds to
compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.learners.cnll.formula_on_cells import Formula
from rulekit.learners.cnll.split_search import LEAST_STRENGTH
from rulekit.learners.sums_of_rows.kernels import compiled

_FALL = 1e-12


def sweep(formula: Formula, ridge: float) -> bool:
    """Give every free bit in turn its best strengths, the others staying; says whether anything changed."""
    fixed = np.array([bit.frozen for bit in formula.bits], dtype=np.bool_)
    if fixed.all():
        return False
    alpha, beta = formula.strengths()
    p, holds = formula.node_probabilities(), np.ascontiguousarray(formula.pattern.T)
    slack = _FALL * (1.0 + formula.measure(ridge)[0])
    rest = np.array([bit.rest for bit in formula.bits])
    how = formula.problem.weight_unit, ridge, slack
    changed = bool(sweep_squares(formula.flat, alpha, beta, rest, fixed, holds, formula.counts, *how, p))
    if changed:
        formula.set_strengths(alpha, beta, p)
    return changed


def sweeps(formula: Formula, ridge: float, most: int) -> bool:
    """At most so many sweeps over all strengths, until none helps; says whether one did."""
    done = 0
    while done < most and sweep(formula, ridge):
        done += 1
    return done > 0


def _slope_of_bit(tree: Any, leaf: int, p: Any) -> Any:
    """The derivative [C] of the root by a bit: on its path, the products of the siblings on either side."""
    n_cells = p.shape[1]
    path = [leaf]
    while path[-1] != tree.root:
        path.append(tree.parent[path[-1]])
    v, before, after = np.empty(n_cells), np.empty(n_cells), np.empty(n_cells)
    v[:] = 1.0
    for i in range(len(path) - 1, 0, -1):
        first, end = tree.starts[path[i]], tree.starts[path[i] + 1]
        both = tree.operator[path[i]] == 1
        before[:] = 1.0
        after[:] = 1.0
        while tree.children[first] != path[i - 1]:
            _multiply(before, p[tree.children[first]], both)
            first += 1
        for e in range(end - 1, first, -1):
            _multiply(after, p[tree.children[e]], both)
        for c in range(n_cells):
            v[c] = v[c] * before[c] * after[c]
    return v


def _multiply(product: Any, other: Any, both: bool) -> None:
    """Multiply [C] in place by the probability of a child, or under an or by that of its contrary."""
    for c in range(len(product)):
        product[c] *= other[c] if both else 1.0 - other[c]


def _give(tree: Any, leaf: int, holds: Any, on: float, off: float, p: Any) -> None:
    """Give a bit its strengths in p, and every gate above it its probability."""
    for c in range(p.shape[1]):
        p[leaf, c] = on if holds[c] else off
    node = leaf
    while node != tree.root:
        node = tree.parent[node]
        both = tree.operator[node] == 1
        product = p[node]
        product[:] = 1.0
        for e in range(tree.starts[node], tree.starts[node + 1]):
            _multiply(product, p[tree.children[e]], both)
        if not both:
            for c in range(p.shape[1]):
                product[c] = 1.0 - product[c]


@compiled
def sweep_squares(
    tree: Any,
    alpha: Any,
    beta: Any,
    rest: Any,
    fixed: Any,
    holds: Any,
    counts: Any,
    unit: float,
    ridge: float,
    slack: float,
    p: Any,
) -> bool:
    """Give each bit in turn the strengths of the least squared error, in place; says whether any of them changed.

    alpha, beta, rest, fixed [T]. A change that gains no more than `slack` is not made.
    """
    changed = False
    for t in range(len(alpha)):
        if fixed[t]:
            continue
        leaf = tree.leaf[t]
        v = _slope_of_bit(tree, leaf, p)
        whole, own = p[tree.root], p[leaf]
        # One addition after the other: numpy's own sums add in pairs, numba's do not.
        sums = np.zeros((2, 2))
        for c in range(len(v)):
            side = 0 if holds[t, c] else 1
            line = whole[c] - v[c] * own[c]
            negative, positive = counts[c, 0] * unit, counts[c, 1] * unit
            sums[side, 0] += v[c] * (positive * (1.0 - line) - negative * line)
            sums[side, 1] += v[c] * v[c] * (positive + negative)
        on, gain = _least_square(sums[0], alpha[t], rest[t], ridge)
        off, more = _least_square(sums[1], beta[t], rest[t], ridge)
        gain += more
        if gain > slack:
            changed = True
            alpha[t], beta[t] = on, off
            _give(tree, leaf, holds[t], on, off, p)
    return changed


def _least_square(sums: Any, old: float, rest: float, ridge: float) -> Any:
    """The best strength for slope and curvature [2] of one side, and how much better it is than the old one."""
    aim, bend = sums[0] + ridge * rest, sums[1] + ridge
    best = min(max(aim / bend if bend > 0.0 else rest, LEAST_STRENGTH), 1.0 - LEAST_STRENGTH)
    return best, old * (bend * old - 2.0 * aim) - best * (bend * best - 2.0 * aim)
