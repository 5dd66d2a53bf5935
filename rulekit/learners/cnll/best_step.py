"""The best next step of a formula: over columns, conditions, moves and both strengths, exactly.

Ties are broken by objective, then column, condition (order, prefix) and move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.learners.cnll.formula_on_cells import Formula
from rulekit.learners.cnll.gradient_sums import CodeSums, add_code_sums, fixed_lines
from rulekit.learners.cnll.split_search import BestSplits, CodeOrders, best_splits, code_orders
from rulekit.learners.contract import NO_WATCH, Watch
from rulekit.learners.data.codes import matrix_of, side_by_side
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.noisy_formulas import FIRST, Move, NoisyBit, completed
from rulekit.learners.sums_of_rows.kernels import run_threads

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
    """The best of every column; ridges [M]: the ridge terms of the bits that stay."""
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
    """The sums of each group of columns, and the squared error [M] at strength 0."""
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
        constant += _squares_at_zero(u, formula.counts[cells], problem.weight_unit)

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
    return side_by_side(problem.codes, columns, min(most, -(-len(columns) // threads)))


def _squares_at_zero(u: Floats, counts: Ints, unit: float) -> Floats:
    """Sum of w (y - U)^2 [M] over the cells [C]; added cell by cell."""
    weights = counts * unit
    total = weights[:, :1] * (u * u) + weights[:, 1:] * (1.0 - u) ** 2
    return np.asarray(np.add.reduce(total, axis=0))


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
