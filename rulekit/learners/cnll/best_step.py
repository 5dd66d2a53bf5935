"""The best next step of a formula: over columns, conditions, moves and both strengths, exactly.

Ties are broken by objective, then column, condition (order, prefix) and move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.learners.cnll.formula_on_cells import Formula, GrowthSettings
from rulekit.learners.cnll.split_search import LEAST_STRENGTH, BestSplits, CodeOrders, best_splits, code_orders
from rulekit.learners.data.binning import columns_in_matrix, matrix_of, side_by_side
from rulekit.learners.models.noisy_formulas import FIRST, Move, NoisyBit, completed
from rulekit.learners.sums_of_rows.kernels import compiled, run_threads

_BLOCK = 1 << 21
_CACHED = 1 << 18
_WORTH_THREADS = 200_000
_MOST_KEPT = 32


@dataclass(frozen=True, slots=True, eq=False)
class GrownStep:
    """A move with the bit that it adds or changes, and the objective that it claims.

    replaced: the place of the bit that has another condition (None: the bit was added). after: the objective once the
    step is made and the strengths are refitted.
    """

    move: Move
    bit: NoisyBit
    claimed: float
    replaced: int | None = None
    after: float = 0.0


ColumnSums = tuple[Ints, Floats, Floats]
"""Columns counted together: positions [k] among those asked for; slope, curvature [k, n_codes, M]."""


@dataclass(frozen=True, slots=True, eq=False)
class StepSearch:
    """The best of every column with every move, and what is needed to make it a step."""

    formula: Formula
    moves: list[Move]
    columns: Ints
    rest: Floats
    best: BestSplits
    groups: list[ColumnSums]

    def step(self, k: int, m: int) -> GrownStep:
        """The step that takes the best of move m in the k-th column."""
        best, column, rest = self.best, int(self.columns[k]), float(self.rest[m])
        binned, weight = self.formula.problem.columns[column], self.formula.code_weights(column)
        order = code_orders(binned, np.flatnonzero(weight))[int(best.order[k, m])]
        if not binned.ordered:
            at, slope, curvature = next(group for group in self.groups if k in group[0])
            a, b = (sums[at == k][0, order, m] for sums in (slope, curvature))
            order = order[np.argsort(-np.where(b > 0.0, a / np.where(b > 0.0, b, 1.0), rest), kind="stable")]
        present = weight > 0
        condition = np.zeros_like(present)
        condition[order[: best.prefix[k, m]]] = True
        known, condition = completed(binned, present, condition)
        left, right = float(best.left[k, m]), float(best.right[k, m])
        if right > left:  # the condition holds on the side with the larger strength
            condition, left, right = known & ~condition, right, left
        return GrownStep(
            self.moves[m], NoisyBit(column, condition, known, left, right, rest), float(best.objective[k, m])
        )


def best_step(formula: Formula, moves: list[Move], settings: GrowthSettings, columns: Ints) -> GrownStep | None:
    """The step with the smallest objective over all `columns` and `moves`, or None where no condition is allowed."""
    found = _searched(formula, moves, settings, columns, np.full(len(moves), settings.ridge * formula.pull()))
    best = found.best
    least = best.objective.min(initial=np.inf)
    if not np.isfinite(least):
        return None
    k, m = np.nonzero(best.objective == least)
    at = np.lexsort((m, best.prefix[k, m], best.order[k, m], k))[0]
    return found.step(int(k[at]), int(m[at]))


def best_replacements(formula: Formula, which: list[int], settings: GrowthSettings, columns: Ints) -> StepSearch:
    """For each of some bits, as a move, the best condition and strengths in its place, all others staying."""
    moves = [Move("bit", formula.tree.node_of_bit(bit)) if len(formula.bits) > 1 else FIRST for bit in which]
    ridges = np.array([settings.ridge * formula.pull(without=bit) for bit in which])
    return _searched(formula, moves, settings, columns, ridges)


def _searched(
    formula: Formula, moves: list[Move], settings: GrowthSettings, columns: Ints, ridges: Floats
) -> StepSearch:
    rest = rest_strengths(formula, moves)
    groups, constant = _sums(formula, moves, settings, columns)
    if not groups:
        return StepSearch(formula, moves, columns, rest, BestSplits.none(0, len(moves)), groups)
    constant = constant + ridges
    least = max(1, int(np.ceil(settings.min_rows / formula.problem.weight_unit - 1e-9)))

    def judge(group: ColumnSums) -> BestSplits:
        settings.watch.check()
        at, slope, curvature = group
        orders, weight = _orders(formula, columns[at], slope.shape[1])
        best = BestSplits.none(len(at), len(moves))
        best_splits((slope, curvature, weight), orders, rest, constant, settings.ridge, least, best)
        return best

    worth = sum(slope.size for _, slope, _ in groups) >= _WORTH_THREADS
    found = run_threads(judge, groups, settings.n_threads if worth else 1)
    order = np.argsort(np.concatenate([at for at, _, _ in groups]))
    best = BestSplits(*(np.concatenate(parts)[order] for parts in zip(*found, strict=True)))
    return StepSearch(formula, moves, columns, rest, best, groups)


def _orders(formula: Formula, columns: Ints, n_codes: int) -> tuple[CodeOrders, Ints]:
    """The orders of the codes of some columns, and their weights [k, n_codes]; kept, since they never change."""
    key = (n_codes, columns.tobytes())
    if key not in formula.orders:
        if len(formula.orders) >= _MOST_KEPT:
            formula.orders.clear()
        weights = np.zeros((len(columns), n_codes), dtype=np.int64)
        for k, column in enumerate(columns.tolist()):
            own = formula.code_weights(column)
            weights[k, : len(own)] = own
        formula.orders[key] = CodeOrders.of([formula.problem.columns[column] for column in columns], weights), weights
    return formula.orders[key]


def _sums(
    formula: Formula, moves: list[Move], settings: GrowthSettings, columns: Ints
) -> tuple[list[ColumnSums], Floats]:
    problem, n_moves = formula.problem, len(moves)
    fixed = formula.fixed_point
    width = fixed.parts * 2 * n_moves
    threads = settings.n_threads if len(problem.labels) * len(columns) >= _WORTH_THREADS else 1
    kept = formula.kept_counts(threads)
    groups = [np.arange(len(columns))]
    if kept is None:  # some for each thread, and no more than keep their sums in the cache
        widest = max((problem.columns[column].n_codes for column in columns), default=1)
        most = min(_CACHED // (8 * widest * width), -(-len(columns) // threads))
        groups = side_by_side(columns_in_matrix(problem.codes), columns, max(1, most))
    parts = [
        np.zeros((len(group), max(problem.columns[columns[i]].n_codes for i in group), width), dtype=np.int64)
        for group in groups
    ]
    constant = np.zeros(n_moves)
    # So many cells at a time that their lines stay small.
    block = max(1024, _BLOCK // (8 * (n_moves + 1)))
    for first in range(0, len(formula.cells.holds), block):
        cells = slice(first, first + block)
        u, v = formula.lines(moves, cells)
        weights = formula.cells.counts[cells] * problem.weight_unit
        constant += np.add.reduce(weights[:, :1] * (u * u) + weights[:, 1:] * (1.0 - u) ** 2, axis=0)  # cell by cell
        table = fixed.lines(u, v)
        if kept is not None:
            kept.add_sums(formula.cells, columns, table, first, parts[0])
            continue

        def add(k: int, table: Ints = table, first: int = first) -> None:
            settings.watch.check()
            matrix, places = matrix_of(problem.codes, columns[groups[k]])
            fixed.add_sums(parts[k], matrix, places, formula.cells, table, first)

        run_threads(add, range(len(groups)), threads)
    found = []
    for group, part in zip(groups, parts, strict=True):
        slope, curvature = fixed.floats(part.reshape(-1, width), n_moves)
        shape = (*part.shape[:2], n_moves)
        found.append((group, slope.reshape(shape), curvature.reshape(shape)))
    return found, constant


def rest_strengths(formula: Formula, moves: list[Move]) -> Floats:
    """a0 [M]: the strength with which a bit does nothing where the move puts it."""
    totals = formula.cells.counts.sum(axis=0)
    mean = float(totals[1]) / float(max(1, totals.sum()))

    def rest(move: Move) -> float:
        if move.operator != "bit":
            return float(move.operator == "and")
        return mean if move == FIRST else formula.bits[formula.tree.bit[move.node]].rest

    return np.array([rest(move) for move in moves])


_FALL = 1e-12


def sweep(formula: Formula, ridge: float) -> bool:
    """Give every free bit in turn its best strengths, the others staying; says whether anything changed."""
    fixed = np.array([bit.frozen for bit in formula.bits], dtype=np.bool_)
    if fixed.all():
        return False
    alpha, beta = formula.strengths()
    p, holds = formula.node_probabilities(), np.ascontiguousarray(formula.cells.holds.T)
    slack = _FALL * (1.0 + formula.measure(ridge)[0])
    rest = np.array([bit.rest for bit in formula.bits])
    cells, how = (holds, formula.cells.counts), (formula.problem.weight_unit, ridge, slack)
    changed = bool(sweep_squares(formula.flat, (alpha, beta), (rest, fixed), cells, how, p))
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
def sweep_squares(tree: Any, strengths: Any, bits: Any, cells: Any, how: Any, p: Any) -> bool:
    """Give each bit in turn the strengths of the least squared error, in place; says whether any of them changed.

    strengths: alpha, beta [T]; bits: rest, fixed [T]; cells: which hold [T, C], counts [C, 2]; how: the unit of weight,
    the ridge, and the gain up to which no change is made; p [nodes, C].
    """
    (alpha, beta), (rest, fixed), (holds, counts), (unit, ridge, slack) = strengths, bits, cells, how
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
