"""The best next step of a formula: over columns, conditions, moves and both strengths, exactly.

Ties are broken by objective, then column, condition (order, prefix, side) and move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.learners.cnll.formula.gradient_sums import CodeSums, add_code_sums, fixed_lines, sums_of_entries
from rulekit.learners.cnll.formula.noisy_formula import Bit, Formula
from rulekit.learners.cnll.formula.objectives import Objective, allowed_intervals
from rulekit.learners.cnll.formula.read_once import FIRST, Move
from rulekit.learners.cnll.formula.split_search import (
    Best,
    MoveTables,
    Orders,
    ScanRule,
    Weak,
    best_splits,
    code_orders,
    complete,
    scan_splits,
)
from rulekit.learners.contract import NO_WATCH, Watch
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import matrix_of, side_by_side
from rulekit.learners.data.problem import Problem
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Histogram, Ints, count, count_dense
from rulekit.learners.sums_of_rows.kernels import run_threads

_BLOCK = 1 << 21
_CACHED = 1 << 18
_DENSE = 1 << 18
_WORTH_THREADS = 200_000
_MOST_KEPT = 32


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """objective; weak features; whether beta is fixed at 0; the least weight of either side of a condition.

    watch: until when a step may be looked for; a search that is late raises OutOfTimeError between columns.
    """

    objective: Objective
    weak: Weak = "threshold"
    zero_beta: bool = False
    min_rows: float = 1.0
    n_threads: int = 1
    watch: Watch = NO_WATCH


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A move with the bit that it adds, and the objective that the formula then has."""

    move: Move
    bit: Bit
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Columns that are counted together: positions [k] among those asked for; slope, curvature [k, n_codes, M]."""

    at: Ints
    slope: Floats
    curvature: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The best of every column with every move, and what is needed to make it a step."""

    formula: Formula
    moves: list[Move]
    settings: SearchSettings
    columns: Ints
    rest: Floats
    best: Best
    groups: list[_Group]

    def step(self, k: int, m: int) -> Step:
        """The step that takes the best of move m in the k-th column."""
        best, column = self.best, int(self.columns[k])
        binned, sums = self.formula.problem.columns[column], _code_sums(self.formula, self.columns, self.groups, k)
        order = code_orders(binned, self.settings.weak, sums, self.rest)[int(best.order[k, m])]
        prefix = order[m if len(order) > 1 else 0][: best.prefix[k, m]]
        strengths = float(best.left[k, m]), float(best.right[k, m])
        bit = _bit(binned, column, sums.weight > 0, prefix, strengths, float(self.rest[m]))
        return Step(self.moves[m], bit, float(best.objective[k, m]))

    def least(self) -> Floats:
        """The least objective of each move [M]; infinity where none is allowed."""
        none = np.full((1, len(self.moves)), np.inf)
        return np.asarray(np.concatenate([self.best.objective, none]).min(axis=0))

    def step_of(self, m: int) -> Step:
        """The best step of a move that has one."""
        return self.step(int(self.best.objective[:, m].argmin()), m)


def best_step(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64], ridge_so_far: float
) -> Step | None:
    """The step with the smallest objective over all `columns` and `moves`, or None where no condition is allowed.

    ridge_so_far: the ridge terms of the bits that stay, already times kappa.
    """
    results = _search(formula, moves, settings, columns, np.full(len(moves), ridge_so_far), one=True)
    best = results.best
    if best.objective.size == 0 or not np.isfinite(least := best.objective.min()):
        return None
    k, m = np.nonzero(best.objective == least)
    at = np.lexsort((m, best.side[k, m], best.prefix[k, m], best.order[k, m], k))[0]
    return results.step(int(k[at]), int(m[at]))


def steps_by_column(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64], ridge_so_far: float
) -> list[Step]:
    """The best step of every column with every move, of those that are allowed; arguments as in `best_step`."""
    results = _search(formula, moves, settings, columns, np.full(len(moves), ridge_so_far), one=False)
    return [results.step(k, m) for k, m in np.argwhere(np.isfinite(results.best.objective)).tolist()]


def sums_by_code(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64]
) -> tuple[list[CodeSums], Floats]:
    """The sums of the squared error by the codes of each column, and the squared error [M] at strength 0."""
    groups, constant = _sums(formula, moves, settings, columns)
    return [_code_sums(formula, columns, groups, k) for k in range(len(columns))], constant


def _code_sums(formula: Formula, columns: Ints, groups: list[_Group], k: int) -> CodeSums:
    """The sums by code of the k-th column."""
    group = next(group for group in groups if k in group.at)
    at, n_codes = int(np.flatnonzero(group.at == k)[0]), formula.problem.columns[columns[k]].n_codes
    weights = formula.code_weights(int(columns[k]))
    return CodeSums(group.slope[at, :n_codes], group.curvature[at, :n_codes], *weights)


def best_replacements(
    formula: Formula, which: list[int], settings: SearchSettings, columns: npt.NDArray[np.int64], ridges: Floats
) -> Results:
    """For each of some bits, as a move, the best condition and strengths in its place, the rest of the formula staying.

    ridges: per bit the ridge terms of the others, already times kappa.
    """
    moves = [Move("bit", formula.tree.node_of_bit(bit)) if len(formula.bits) > 1 else FIRST for bit in which]
    return _search(formula, moves, settings, columns, ridges, one=False)


def _search(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints, ridges: Floats, *, one: bool
) -> Results:
    """The best of every column; with `one`, a move that cannot be the best of all may be left out."""
    rest = rest_strengths(formula, moves)
    if settings.objective.error == 0.0:
        best, groups = _search_squares(formula, moves, settings, columns, rest, ridges)
    else:
        best, groups = _search_errors(formula, moves, settings, columns, rest, ridges, one)
    return Results(formula, moves, settings, columns, rest, best, groups)


def _search_squares(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints, rest: Floats, ridges: Floats
) -> tuple[Best, list[_Group]]:
    groups, constant = _sums(formula, moves, settings, columns)
    if not groups:
        return Best.none(0, len(moves)), groups
    constant = constant + ridges
    least, ridge = _least(formula, settings), settings.objective.ridge

    def judge(group: _Group) -> Best:
        settings.watch.check()
        orders, weight = _orders(formula, columns[group.at], settings.weak, group.slope.shape[1])
        best = Best.none(len(group.at), len(moves))
        best_splits(
            (group.slope, group.curvature, weight), orders, rest, constant, ridge, least, settings.zero_beta, best
        )
        return best

    worth = sum(group.slope.size for group in groups) >= _WORTH_THREADS
    found = run_threads(judge, groups, settings.n_threads if worth else 1)
    order = np.argsort(np.concatenate([group.at for group in groups]))
    return Best(*(np.concatenate(parts)[order] for parts in zip(*found, strict=True))), groups


def _orders(formula: Formula, columns: Ints, weak: Weak, n_codes: int) -> tuple[Orders, Ints]:
    """The orders of the codes of some columns, and their weights [k, n_codes]; kept, since they never change."""
    key = (weak, n_codes, columns.tobytes())
    if key not in formula.orders:
        if len(formula.orders) >= _MOST_KEPT:
            formula.orders.clear()
        weights = np.zeros((len(columns), n_codes), dtype=np.int64)
        orders, sorts = list[list[Ints]](), list[bool]()
        for k, column in enumerate(columns.tolist()):
            binned, own = formula.problem.columns[column], formula.code_weights(column)
            weights[k, : len(own[0])] = own[0]
            present, nothing = np.flatnonzero(own[0]), np.zeros((0, 0))
            sorts.append(not binned.ordered)
            if not binned.ordered:
                orders.append([present] if len(present) > 1 else [])
            else:
                orders.append(
                    [order[0] for order in code_orders(binned, weak, CodeSums(nothing, nothing, *own), nothing)]
                )
        formula.orders[key] = Orders.of(orders, sorts), weights
    return formula.orders[key]


def _least(formula: Formula, settings: SearchSettings) -> int:
    """The least weight of either side of a condition, in units of the quantised weights."""
    return max(1, int(np.ceil(settings.min_rows / formula.problem.weight_unit - 1e-9)))


def _sums(formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints) -> tuple[list[_Group], Floats]:
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
        u, v, _ = formula.lines(moves, cells)
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
        found.append(_Group(group, slope.reshape(shape), curvature.reshape(shape)))
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


def _search_errors(
    formula: Formula,
    moves: list[Move],
    settings: SearchSettings,
    columns: Ints,
    rest: Floats,
    ridges: Floats,
    one: bool,
) -> tuple[Best, list[_Group]]:
    problem, objective = formula.problem, settings.objective
    u, v, _ = formula.lines(moves)
    intervals = allowed_intervals(u.T, v.T, objective, settings.zero_beta)
    constant = objective.brier * _squares_at_zero(u, formula.counts, problem.weight_unit) + ridges
    tables = MoveTables(intervals.low, intervals.high, intervals.n, intervals.bucket, rest, constant)
    scale, least = objective.error * problem.weight_unit, _least(formula, settings)
    rule = ScanRule(scale, objective.brier, objective.ridge, least, settings.zero_beta, one)
    threads = settings.n_threads if len(problem.labels) * len(columns) >= _WORTH_THREADS else 1
    least_yet = [np.inf]
    counted = _counted_columns(formula, moves, (u, v), columns, threads, settings.watch)
    best = Best.none(len(columns), len(moves))

    def search(i: int) -> None:
        settings.watch.check()
        histogram, sums = counted[i]
        for number, orders in enumerate(code_orders(problem.columns[columns[i]], settings.weak, sums, rest)):
            scan_splits(histogram, tables, orders, number, (sums.slope, sums.curvature), rule, least_yet[0], i, best)
        # Only one number is shared between threads: whatever a thread reads, what is left out cannot be the best.
        if one:
            least_yet[0] = min(least_yet[0], float(best.objective[i].min()))

    run_threads(search, range(len(columns)), threads)
    groups = [_Group(np.array([i]), sums.slope[None], sums.curvature[None]) for i, (_, sums) in enumerate(counted)]
    return best, groups


def _counted_columns(
    formula: Formula, moves: list[Move], lines: tuple[Floats, Floats], columns: Ints, threads: int, watch: Watch
) -> list[tuple[Histogram, CodeSums]]:
    """Each column counted by code and key, and its sums.

    Counts that are kept serve where all cells together have few. Else rows are counted as they come where the counts
    of a column stay in the cache, or cell by cell.
    """
    problem, rows, fixed = formula.problem, formula.rows(), formula.fixed_point()
    table, n_keys = fixed_lines(*lines, fixed), 2 * len(formula.pattern)
    n_codes = [problem.columns[column].n_codes for column in columns]
    widest = max(n_codes, default=1)
    together = max(1, min(_DENSE // (widest * n_keys), -(-len(columns) // threads)))
    dense = widest * n_keys <= min(16 * _DENSE, max(1024, 2 * len(problem.labels)))
    found: dict[int, tuple[Histogram, CodeSums]] = {}

    kept = formula.kept_counts(threads)
    by_key = None if kept is None else kept.by_key(rows)

    def count_group(group: Ints) -> None:
        watch.check()
        matrix, places = matrix_of(problem.codes, columns[group])
        histograms = by_key.histograms(columns[group]) if by_key is not None else None
        if histograms is None:
            histograms = count_dense(matrix, places, rows, widest, n_keys) if dense else None
        for at, i in enumerate(group.tolist()):
            if histograms is None:
                histogram = count(problem.codes[columns[i]], rows.grouped(), problem.weights, n_codes[i])
            else:
                own = histograms[at]
                histogram = Histogram(own.keys, own.weights, own.starts[: n_codes[i] + 1])
            whole = sums_of_entries(histogram.keys, histogram.weights, histogram.starts, table, fixed)
            floats = fixed.floats(whole, len(moves))
            found[i] = (histogram, CodeSums(*floats, *formula.code_weights(int(columns[i]))))

    run_threads(count_group, side_by_side(problem.codes, columns, together), threads)
    return [found[i] for i in range(len(columns))]


def _bit(
    binned: BinnedColumn, column: int, present: Bools, prefix: Ints, strengths: tuple[float, float], rest: float
) -> Bit:
    """The bit whose condition holds on the side with the larger strength; codes that did not occur take a side too."""
    condition = np.zeros_like(present)
    condition[prefix] = True
    known, condition = complete(binned, present, condition)
    left, right = strengths
    if right > left:
        condition, left, right = known & ~condition, right, left
    return Bit(column, condition, known, left, right, rest)


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
