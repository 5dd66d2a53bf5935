"""Passes over a read-once tree for many cells at once, compiled: the lines of moves, and a sweep of refits.

The formulas are those of rulekit.learners.read_once, which the numpy twins here call; the compiled loops make the same
operations in the same order, cell by cell.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.compiling import compiled
from rulekit.learners.counting import Bools, Floats, Ints
from rulekit.learners.prefixes import LEAST_STRENGTH
from rulekit.learners.read_once import Move, ReadOnceTree

_OPERATORS = {"bit": 0, "and": 1, "or": 2}


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """A tree as arrays: order (parents first), operator, bit, and the children of node i from starts[i] on; parent."""

    order: Ints
    operator: Ints
    bit: Ints
    starts: Ints
    children: Ints
    parent: Ints
    root: int


def flatten(tree: ReadOnceTree) -> FlatTree:
    """The arrays of a tree; made once for each tree as it is."""
    if isinstance(tree.flat, FlatTree):
        return tree.flat
    counts = [len(below) for below in tree.children]
    tree.flat = flat = FlatTree(
        np.array(tree.order(), dtype=np.int64),
        np.array([_OPERATORS[operator] for operator in tree.operator], dtype=np.int64),
        np.array(tree.bit, dtype=np.int64),
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        np.array([child for below in tree.children for child in below], dtype=np.int64),
        np.array(tree.parent, dtype=np.int64),
        tree.root,
    )
    return flat


def cell_lines(
    tree: ReadOnceTree, strengths: tuple[Floats, Floats], pattern: Bools, moves: list[Move]
) -> tuple[Floats, Floats, Floats]:
    """U and V [C, M]: the probability of a cell after a move is U + V a; and the probability [C] as it is.

    strengths: alpha and beta [T] of the bits; pattern [C, T]: which conditions hold in a cell.
    """
    kernel = compiled(_cell_lines)
    if kernel is None or tree.root < 0:
        alpha, beta = strengths
        bits = np.where(pattern.T, alpha[:, None], beta[:, None])
        p = tree.probabilities(bits) if tree.root >= 0 else np.zeros((0, len(pattern)))
        u, v = tree.lines(moves, p, tree.derivatives(p))
        whole = p[tree.root] if tree.root >= 0 else np.zeros(len(pattern))
        return np.ascontiguousarray(u.T), np.ascontiguousarray(v.T), whole
    flat = flatten(tree)
    u, v = np.empty((len(pattern), len(moves))), np.empty((len(pattern), len(moves)))
    whole = np.empty(len(pattern))
    operators = np.array([_OPERATORS[move.operator] for move in moves], dtype=np.int64)
    nodes = np.array([move.node for move in moves], dtype=np.int64)
    kernel(
        flat.order,
        flat.operator,
        flat.bit,
        flat.starts,
        flat.children,
        flat.root,
        *strengths,
        pattern,
        operators,
        nodes,
        u,
        v,
        whole,
    )
    return u, v, whole


def _cell_lines(
    order: Any,
    operator: Any,
    bit: Any,
    starts: Any,
    children: Any,
    root: int,
    alpha: Any,
    beta: Any,
    pattern: Any,
    move_operator: Any,
    move_node: Any,
    u: Any,
    v: Any,
    wholes: Any,
) -> None:
    n_nodes = len(operator)
    p, d, after = np.empty(n_nodes), np.empty(n_nodes), np.empty(len(children) + 1)
    for cell in range(len(pattern)):
        for i in range(len(order) - 1, -1, -1):
            node = order[i]
            if bit[node] >= 0:
                p[node] = alpha[bit[node]] if pattern[cell, bit[node]] else beta[bit[node]]
                continue
            product = 1.0
            if operator[node] == 1:
                for e in range(starts[node], starts[node + 1]):
                    product = product * p[children[e]]
                p[node] = product
            else:
                for e in range(starts[node], starts[node + 1]):
                    product = product * (1.0 - p[children[e]])
                p[node] = 1.0 - product
        d[root] = 1.0
        for i in range(len(order)):
            node = order[i]
            low, high = starts[node], starts[node + 1]
            if low == high:
                continue
            both = operator[node] == 1
            after[high - 1] = 1.0
            for e in range(high - 1, low, -1):
                c = p[children[e]]
                after[e - 1] = after[e] * (c if both else 1.0 - c)
            before = 1.0
            for e in range(low, high):
                c = p[children[e]]
                d[children[e]] = d[node] * before * after[e]
                before = before * (c if both else 1.0 - c)
        whole = p[root]
        wholes[cell] = whole
        for m in range(len(move_node)):
            node = move_node[m]
            if node < 0:
                u[cell, m] = 0.0
                v[cell, m] = 1.0
            elif move_operator[m] == 2:
                u[cell, m] = whole
                v[cell, m] = d[node] * (1.0 - p[node])
            elif move_operator[m] == 1:
                u[cell, m] = whole - d[node] * p[node]
                v[cell, m] = d[node] * p[node]
            else:
                u[cell, m] = whole - d[node] * p[node]
                v[cell, m] = d[node]


def refit_sweep(
    tree: ReadOnceTree,
    alpha: Floats,
    beta: Floats,
    rest: Floats,
    fixed: Bools,
    pattern: Bools,
    counts: Ints,
    unit: float,
    ridge: float,
    zero_beta: bool,
    slack: float,
    p: Floats,
) -> bool:
    """Give each bit in turn the strengths of the least squared error, in place; says whether any of them changed.

    alpha, beta, rest, fixed [T]; counts [C, 2] by label; p [nodes, C]: the probability of every node, which follows the
    strengths. A change that gains no more than `slack` is not made.
    """
    kernel: Any = compiled(_refit_sweep) or _sweep_with_numpy
    flat = flatten(tree)
    changed = kernel(
        flat.operator,
        np.array([tree.node_of_bit(i) for i in range(len(alpha))], dtype=np.int64),
        flat.starts,
        flat.children,
        flat.parent,
        flat.root,
        alpha,
        beta,
        rest,
        fixed,
        np.ascontiguousarray(pattern.T),
        counts,
        unit,
        ridge,
        zero_beta,
        slack,
        p,
    )
    return bool(changed)


def _refit_sweep(
    operator: Any,
    leaf: Any,
    starts: Any,
    children: Any,
    parent: Any,
    root: int,
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
    n_cells = p.shape[1]
    v, before, after = np.empty(n_cells), np.empty(n_cells), np.empty(n_cells)
    path = np.empty(len(operator) + 1, dtype=np.int64)
    changed = False
    for t in range(len(alpha)):
        if fixed[t]:
            continue
        node, depth = leaf[t], 0
        while node != root:
            path[depth] = node
            depth += 1
            node = parent[node]
        for c in range(n_cells):
            v[c] = 1.0
        for i in range(depth - 1, -1, -1):
            child = path[i]
            gate = parent[child]
            both = operator[gate] == 1
            for c in range(n_cells):
                before[c] = 1.0
                after[c] = 1.0
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
        s_on = alpha[t]
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
        for c in range(n_cells):
            own[c] = s_on if holds[t, c] else s_off
        for i in range(depth):
            gate = parent[path[i]]
            both = operator[gate] == 1
            for c in range(n_cells):
                before[c] = 1.0
            for e in range(starts[gate], starts[gate + 1]):
                other = p[children[e]]
                for c in range(n_cells):
                    before[c] = before[c] * (other[c] if both else 1.0 - other[c])
            for c in range(n_cells):
                p[gate, c] = before[c] if both else 1.0 - before[c]
    return changed


def _sweep_with_numpy(
    operator: Ints,
    leaf: Ints,
    starts: Ints,
    children: Ints,
    parent: Ints,
    root: int,
    alpha: Floats,
    beta: Floats,
    rest: Floats,
    fixed: Bools,
    holds: Bools,
    counts: Ints,
    unit: float,
    ridge: float,
    zero_beta: bool,
    slack: float,
    p: Floats,
) -> bool:
    negative, positive = counts[:, 0] * unit, counts[:, 1] * unit
    changed = False

    def factors(gate: int, nodes: Ints) -> list[Floats]:
        return [p[node] if operator[gate] == 1 else 1.0 - p[node] for node in nodes]

    for t in np.flatnonzero(~fixed).tolist():
        path = [int(leaf[t])]
        while path[-1] != root:
            path.append(int(parent[path[-1]]))
        v = np.ones(p.shape[1])
        for child, gate in reversed(list(itertools.pairwise(path))):
            below = children[starts[gate] : starts[gate + 1]]
            at = int(np.flatnonzero(below == child)[0])
            before, after = np.ones(p.shape[1]), np.ones(p.shape[1])
            for factor in factors(gate, below[:at]):
                before = before * factor
            for factor in reversed(factors(gate, below[at + 1 :])):
                after = after * factor
            v = v * before * after
        line = p[root] - v * p[leaf[t]]
        a = v * (positive * (1.0 - line) - negative * line)
        b = v * v * (positive + negative)
        gain = 0.0
        found: list[float] = []
        for side, old in ((holds[t], alpha[t]), (~holds[t], beta[t])):
            if zero_beta and len(found) == 1:
                found.append(0.0)
                continue
            # bincount adds one cell after the other, as the compiled loop does; a sum would add in pairs.
            aim = float(np.bincount(side, a, 2)[1]) + ridge * float(rest[t])
            bend = float(np.bincount(side, b, 2)[1]) + ridge
            best = aim / bend if bend > 0.0 else float(rest[t])
            found.append(min(max(best, LEAST_STRENGTH), 1.0 - LEAST_STRENGTH))
            gain += old * (bend * old - 2.0 * aim) - found[-1] * (bend * found[-1] - 2.0 * aim)
        if not gain > slack:
            continue
        changed = True
        alpha[t], beta[t] = found
        p[leaf[t]] = np.where(holds[t], *found)
        for gate in path[1:]:
            product = np.ones(p.shape[1])
            for factor in factors(gate, children[starts[gate] : starts[gate + 1]]):
                product = product * factor
            p[gate] = product if operator[gate] == 1 else 1.0 - product
    return changed
