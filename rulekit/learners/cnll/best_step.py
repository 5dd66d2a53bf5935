"""The best next step of a formula: over columns, conditions, moves and both strengths, exactly.

Ties are broken by objective, then column, condition (order, prefix) and move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.learners.cnll.formula_on_cells import Formula
from rulekit.learners.cnll.split_search import (
    LEAST_STRENGTH,
    BestSplits,
    CodeOrders,
    CodeSums,
    add_code_sums,
    best_splits,
    code_orders,
    fixed_lines,
)
from rulekit.learners.contract import NO_WATCH, Watch
from rulekit.learners.data.binning import columns_in_matrix, matrix_of, side_by_side
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.noisy_formulas import FIRST, Move, NoisyBit, completed
from rulekit.learners.sums_of_rows.kernels import compiled, run_threads

_BLOCK = 1 << 21
_CACHED = 1 << 18
_WORTH_THREADS = 200_000
_MOST_KEPT = 32


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The ridge, and the least weight of either side of a condition.

    watch: until when a step may be looked for; a search that is late raises OutOfTimeError between columns.
    """

    ridge: float
    min_rows: float = 1.0
    n_threads: int = 1
    watch: Watch = NO_WATCH


@dataclass(frozen=True, slots=True, eq=False)
class NextBit:
    """A move with the bit that it adds, and the objective that the formula then has."""

    move: Move
    bit: NoisyBit
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums:
    """Columns that are counted together: positions [k] among those asked for; slope, curvature [k, n_codes, M]."""

    at: Ints
    slope: Floats
    curvature: Floats


@dataclass(frozen=True, slots=True, eq=False)
class StepSearch:
    """The best of every column with every move, and what is needed to make it a step."""

    formula: Formula
    moves: list[Move]
    columns: Ints
    rest: Floats
    best: BestSplits
    groups: list[ColumnSums]

    def step(self, k: int, m: int) -> NextBit:
        """The step that takes the best of move m in the k-th column."""
        best, column = self.best, int(self.columns[k])
        binned, sums = self.formula.problem.columns[column], self._sums(k)
        order = code_orders(binned, sums, self.rest)[int(best.order[k, m])]
        present = sums.weight > 0
        condition = np.zeros_like(present)
        condition[order[m if len(order) > 1 else 0][: best.prefix[k, m]]] = True
        known, condition = completed(binned, present, condition)
        left, right = float(best.left[k, m]), float(best.right[k, m])
        if right > left:  # the condition holds on the side with the larger strength
            condition, left, right = known & ~condition, right, left
        bit = NoisyBit(column, condition, known, left, right, float(self.rest[m]))
        return NextBit(self.moves[m], bit, float(best.objective[k, m]))

    def _sums(self, k: int) -> CodeSums:
        group = next(group for group in self.groups if k in group.at)
        at, column = int(np.flatnonzero(group.at == k)[0]), int(self.columns[k])
        n_codes = self.formula.problem.columns[column].n_codes
        return CodeSums(group.slope[at, :n_codes], group.curvature[at, :n_codes], self.formula.code_weights(column))

    def least(self) -> Floats:
        """The least objective of each move [M]; infinity where none is allowed."""
        none = np.full((1, len(self.moves)), np.inf)
        return np.asarray(np.concatenate([self.best.objective, none]).min(axis=0))

    def step_of(self, m: int) -> NextBit:
        """The best step of a move that has one."""
        return self.step(int(self.best.objective[:, m].argmin()), m)


def best_step(formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints) -> NextBit | None:
    """The step with the smallest objective over all `columns` and `moves`, or None where no condition is allowed."""
    ridge_so_far = settings.ridge * formula.pull()
    results = _searched(formula, moves, settings, columns, np.full(len(moves), ridge_so_far))
    best = results.best
    if best.objective.size == 0 or not np.isfinite(least := best.objective.min()):
        return None
    k, m = np.nonzero(best.objective == least)
    at = np.lexsort((m, best.prefix[k, m], best.order[k, m], k))[0]
    return results.step(int(k[at]), int(m[at]))


def best_replacements(formula: Formula, which: list[int], settings: SearchSettings, columns: Ints) -> StepSearch:
    """For each of some bits, as a move, the best condition and strengths in its place, all others staying."""
    moves = [Move("bit", formula.tree.node_of_bit(bit)) if len(formula.bits) > 1 else FIRST for bit in which]
    ridges = np.array([settings.ridge * formula.pull(without=bit) for bit in which])
    return _searched(formula, moves, settings, columns, ridges)


def _searched(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints, ridges: Floats
) -> StepSearch:
    rest = rest_strengths(formula, moves)
    groups, constant = _sums(formula, moves, settings, columns)
    if not groups:
        return StepSearch(formula, moves, columns, rest, BestSplits.none(0, len(moves)), groups)
    constant = constant + ridges
    least = max(1, int(np.ceil(settings.min_rows / formula.problem.weight_unit - 1e-9)))

    def judge(group: ColumnSums) -> BestSplits:
        settings.watch.check()
        orders, weight = _orders(formula, columns[group.at], group.slope.shape[1])
        best = BestSplits.none(len(group.at), len(moves))
        best_splits((group.slope, group.curvature, weight), orders, rest, constant, settings.ridge, least, best)
        return best

    worth = sum(group.slope.size for group in groups) >= _WORTH_THREADS
    found = run_threads(judge, groups, settings.n_threads if worth else 1)
    order = np.argsort(np.concatenate([group.at for group in groups]))
    best = BestSplits(*(np.concatenate(parts)[order] for parts in zip(*found, strict=True)))
    return StepSearch(formula, moves, columns, rest, best, groups)


def _orders(formula: Formula, columns: Ints, n_codes: int) -> tuple[CodeOrders, Ints]:
    """The orders of the codes of some columns, and their weights [k, n_codes]; kept, since they never change."""
    key = (n_codes, columns.tobytes())
    if key not in formula.orders:
        if len(formula.orders) >= _MOST_KEPT:
            formula.orders.clear()
        weights = np.zeros((len(columns), n_codes), dtype=np.int64)
        orders, sorts, nothing = list[list[Ints]](), list[bool](), np.zeros((0, 0))
        for k, column in enumerate(columns.tolist()):
            binned, own = formula.problem.columns[column], formula.code_weights(column)
            weights[k, : len(own)] = own
            sorts.append(not binned.ordered)
            if not binned.ordered:
                present = np.flatnonzero(own)
                orders.append([present] if len(present) > 1 else [])
            else:
                orders.append([order[0] for order in code_orders(binned, CodeSums(nothing, nothing, own), nothing)])
        formula.orders[key] = CodeOrders.of(orders, sorts), weights
    return formula.orders[key]


def _sums(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints
) -> tuple[list[ColumnSums], Floats]:
    problem, n_moves = formula.problem, len(moves)
    fixed = formula.fixed_point()
    width = fixed.parts * 2 * n_moves
    threads = settings.n_threads if len(problem.labels) * len(columns) >= _WORTH_THREADS else 1
    kept = formula.kept_counts(threads)
    groups = [np.arange(len(columns))] if kept is not None else _column_groups(problem, columns, width, threads)
    parts = [
        np.zeros((len(group), max(problem.columns[columns[i]].n_codes for i in group), width), dtype=np.int64)
        for group in groups
    ]
    constant = np.zeros(n_moves)
    rows = formula.rows()
    # So many cells at a time that their lines stay small.
    block = max(1024, _BLOCK // (8 * (n_moves + 1)))
    for first in range(0, len(formula.pattern), block):
        cells = slice(first, first + block)
        u, v = formula.lines(moves, cells)
        weights = formula.counts[cells] * problem.weight_unit
        constant += np.add.reduce(weights[:, :1] * (u * u) + weights[:, 1:] * (1.0 - u) ** 2, axis=0)  # cell by cell
        table = fixed_lines(u, v, fixed)
        if kept is not None:
            kept.add_sums(rows, columns, table, first, parts[0])
            continue

        def add(k: int, table: Ints = table, first: int = first) -> None:
            settings.watch.check()
            matrix, places = matrix_of(problem.codes, columns[groups[k]])
            add_code_sums(parts[k], matrix, places, rows, fixed, table, first)

        run_threads(add, range(len(groups)), threads)
    found = []
    for group, part in zip(groups, parts, strict=True):
        slope, curvature = fixed.floats(part.reshape(-1, width), n_moves)
        shape = (*part.shape[:2], n_moves)
        found.append(ColumnSums(group, slope.reshape(shape), curvature.reshape(shape)))
    return found, constant


def _column_groups(problem: Problem, columns: Ints, width: int, threads: int) -> list[Ints]:
    """Positions in `columns` that are counted in one pass over the rows: some for each thread, and no more than keep
    their sums in the cache.
    """
    if len(columns) == 0:
        return []
    widest = max(problem.columns[column].n_codes for column in columns)
    most = max(1, _CACHED // (8 * widest * width))
    return side_by_side(columns_in_matrix(problem.codes), columns, min(most, -(-len(columns) // threads)))


def rest_strengths(formula: Formula, moves: list[Move]) -> Floats:
    """a0 [M]: the strength with which a bit does nothing where the move puts it."""
    totals = formula.counts.sum(axis=0)
    mean = float(totals[1]) / float(max(1, totals.sum()))
    rest = []
    for move in moves:
        if move.operator != "bit":
            rest.append(1.0 if move.operator == "and" else 0.0)
        elif move == FIRST:
            rest.append(mean)
        else:
            rest.append(formula.bits[formula.tree.bit[move.node]].rest)
    return np.array(rest)


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
