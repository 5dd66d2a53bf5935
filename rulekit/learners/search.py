"""The best next step of a formula: over columns, conditions, moves and both strengths, exactly.

Ties are broken by objective, then column, condition (order, prefix, side) and move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.learners.binning import BinnedColumn
from rulekit.learners.codes import matrix_of, side_by_side
from rulekit.learners.counting import Bools, Floats, Histogram, Ints, count, count_dense
from rulekit.learners.formula import Bit, Formula, Problem
from rulekit.learners.objectives import Objective, allowed_intervals
from rulekit.learners.prefixes import Best, best_prefixes
from rulekit.learners.read_once import FIRST, Move
from rulekit.learners.scanning import MoveTables, ScanResult, ScanRule, scan
from rulekit.learners.squares import CodeSums, add_code_sums, fixed_lines, sums_of_entries
from rulekit.learners.threads import run_threads
from rulekit.learners.weak_features import Weak, code_orders, complete

_BLOCK = 1 << 21
_CACHED = 1 << 18
_DENSE = 1 << 18
_WORTH_THREADS = 200_000


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """objective; weak features; whether beta is fixed at 0; the least weight of either side of a condition."""

    objective: Objective
    weak: Weak = "threshold"
    zero_beta: bool = False
    min_rows: float = 1.0
    n_threads: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A move with the bit that it adds, and the objective that the formula then has."""

    move: Move
    bit: Bit
    objective: float


@dataclass(frozen=True, slots=True, eq=False)
class ColumnResult:
    """What was found in one column: the best of each move, the orders of codes that were tried, which codes occur."""

    best: Best
    orders: list[Ints]
    present: Bools


def best_step(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64], ridge_so_far: float
) -> Step | None:
    """The step with the smallest objective over all `columns` and `moves`, or None where no condition is allowed.

    ridge_so_far: the ridge terms of the bits that stay, already times kappa.
    """
    ridges = np.full(len(moves), ridge_so_far)
    results = _search(formula, moves, settings, columns, ridges, one=True)
    if not results:
        return None
    number = np.repeat(np.arange(len(results)), len(moves))
    move = np.tile(np.arange(len(moves)), len(results))
    fields = [np.concatenate([getattr(r.best, name) for r in results]) for name in ("side", "prefix", "order")]
    objective = np.concatenate([result.best.objective for result in results])
    at = int(np.lexsort((move, *fields, number, objective))[0])
    if not np.isfinite(objective[at]):
        return None
    k, m = int(number[at]), int(move[at])
    return _step(formula, moves[m], int(columns[k]), results[k], m)


def steps_by_column(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64], ridge_so_far: float
) -> list[Step]:
    """The best step of every column with every move, of those that are allowed; arguments as in `best_step`."""
    results = _search(formula, moves, settings, columns, np.full(len(moves), ridge_so_far), one=False)
    return [
        _step(formula, move, column, result, m)
        for column, result in zip(columns.tolist(), results, strict=True)
        for m, move in enumerate(moves)
        if np.isfinite(result.best.objective[m])
    ]


def sums_by_code(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64]
) -> tuple[list[CodeSums], Floats]:
    """The sums of the squared error by the codes of each column, and the squared error [M] at strength 0."""
    return _sums(formula, moves, settings, columns)


def best_replacements(
    formula: Formula, which: list[int], settings: SearchSettings, columns: npt.NDArray[np.int64], ridges: Floats
) -> list[Step | None]:
    """For each of some bits the best condition and strengths in its place, the rest of the formula staying.

    ridges: per bit the ridge terms of the others, already times kappa.
    """
    moves = [Move("bit", formula.tree.node_of_bit(bit)) if len(formula.bits) > 1 else FIRST for bit in which]
    results = _search(formula, moves, settings, columns, ridges, one=False)
    if not results:
        return [None] * len(moves)
    objective = np.stack([result.best.objective for result in results])
    chosen = np.argmin(objective, axis=0)
    return [
        _step(formula, move, int(columns[k]), results[k], m) if np.isfinite(objective[k, m]) else None
        for m, (move, k) in enumerate(zip(moves, chosen.tolist(), strict=True))
    ]


def _search(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints, ridges: Floats, *, one: bool
) -> list[ColumnResult]:
    """The best of every column; with `one`, a move that cannot be the best of all may be left out."""
    rest = rest_strengths(formula, moves)
    if settings.objective.error == 0.0:
        return _search_squares(formula, moves, settings, columns, rest, ridges)
    return _search_errors(formula, moves, settings, columns, rest, ridges, one)


def _search_squares(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints, rest: Floats, ridges: Floats
) -> list[ColumnResult]:
    problem = formula.problem
    sums, constant = _sums(formula, moves, settings, columns)
    least = max(1, int(np.ceil(settings.min_rows / problem.weight_unit - 1e-9)))
    ridge = settings.objective.ridge
    found = []
    for column, own in zip(columns.tolist(), sums, strict=True):
        orders = code_orders(problem.columns[column], settings.weak, own, rest)
        best = best_prefixes(own, orders, rest, constant + ridges, ridge, least, settings.zero_beta)
        found.append(ColumnResult(best, orders, own.weight > 0))
    return found


def _sums(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: Ints
) -> tuple[list[CodeSums], Floats]:
    """The sums of each column, and the squared error [M] at strength 0."""
    problem, n_moves = formula.problem, len(moves)
    fixed = formula.fixed_point()
    width = fixed.parts * 2 * n_moves
    groups = _column_groups(problem, columns, width)
    parts = [
        np.zeros((len(group), max(problem.columns[columns[i]].n_codes for i in group), width), dtype=np.int64)
        for group in groups
    ]
    constant = np.zeros(n_moves)
    threads = settings.n_threads if len(problem.labels) * len(columns) >= _WORTH_THREADS else 1
    rows = formula.rows()
    # So many cells at a time that their lines stay small.
    block = max(1024, _BLOCK // (8 * (n_moves + 1)))
    for first in range(0, len(formula.pattern), block):
        cells = slice(first, first + block)
        u, v, _ = formula.lines(moves, cells)
        constant += _squares_at_zero(u, formula.counts[cells], problem.weight_unit)

        table = fixed_lines(u, v, fixed)

        def add(k: int, table: Ints = table, first: int = first) -> None:
            matrix, places = matrix_of(problem.codes, columns[groups[k]])
            add_code_sums(parts[k], matrix, places, rows, fixed, table, first)

        run_threads(add, range(len(groups)), threads)
    place = {int(i): (part, at) for part, group in zip(parts, groups, strict=True) for at, i in enumerate(group)}
    found = []
    for i, column in enumerate(columns.tolist()):
        part, at = place[i]
        n_codes = problem.columns[column].n_codes
        found.append(CodeSums(*fixed.floats(part[at, :n_codes], n_moves), *formula.code_weights(column)))
    return found, constant


def _column_groups(problem: Problem, columns: Ints, width: int) -> list[Ints]:
    """Positions in `columns` that are counted in one pass over the rows, as many as keep their sums in the cache."""
    if len(columns) == 0:
        return []
    widest = max(problem.columns[column].n_codes for column in columns)
    most = max(1, _CACHED // (8 * widest * width))
    return side_by_side(problem.codes, columns, min(most, -(-len(columns) // 2)))


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
) -> list[ColumnResult]:
    problem, objective = formula.problem, settings.objective
    u, v, _ = formula.lines(moves)
    intervals = allowed_intervals(u.T, v.T, objective, settings.zero_beta)
    constant = objective.brier * _squares_at_zero(u, formula.counts, problem.weight_unit) + ridges
    tables = MoveTables(intervals.bucket, intervals.low, intervals.high, intervals.n, rest, constant)
    least = max(1, int(np.ceil(settings.min_rows / problem.weight_unit - 1e-9)))
    scale = objective.error * problem.weight_unit
    threads = settings.n_threads if len(problem.labels) * len(columns) >= _WORTH_THREADS else 1
    best_so_far = [np.inf]
    counted = _counted_columns(formula, moves, (u, v), columns, threads)

    def search(i: int) -> ColumnResult:
        binned = problem.columns[columns[i]]
        histogram, sums = counted[i]
        weighted = (
            np.ascontiguousarray(objective.brier * sums.slope.T),
            np.ascontiguousarray(objective.brier * sums.curvature.T),
        )
        orders = code_orders(binned, settings.weak, sums, rest)
        best = Best.none(len(moves))
        for variant, order in enumerate(orders):
            full = np.ascontiguousarray(np.broadcast_to(order, (len(moves), order.shape[1])))
            for side, (left, right) in enumerate(_sides(settings.zero_beta, int(intervals.n.max()))):
                rule = ScanRule(scale, objective.ridge, least, *left, *right)
                found = scan(histogram, tables, full, weighted, rule, best_so_far[0], one)
                _keep_better(best, found, variant, side)
        # Only one number is shared between threads: whatever a thread reads, what is left out cannot be the best.
        if one:
            best_so_far[0] = min(best_so_far[0], float(best.objective.min()))
        return ColumnResult(best, orders, sums.weight > 0)

    return run_threads(search, range(len(columns)), threads)


def _counted_columns(
    formula: Formula, moves: list[Move], lines: tuple[Floats, Floats], columns: Ints, threads: int
) -> list[tuple[Histogram, CodeSums]]:
    """Each column counted by code and key, and its sums.

    Rows are counted as they come where the counts of a column stay in the cache, else cell by cell.
    """
    problem, rows, fixed = formula.problem, formula.rows(), formula.fixed_point()
    table, n_keys = fixed_lines(*lines, fixed), 2 * len(formula.pattern)
    n_codes = [problem.columns[column].n_codes for column in columns]
    widest = max(n_codes, default=1)
    together = min(max(1, _DENSE // (widest * n_keys)), max(1, -(-len(columns) // 2)))
    dense = widest * n_keys <= min(16 * _DENSE, max(1024, 2 * len(problem.labels)))
    found: dict[int, tuple[Histogram, CodeSums]] = {}

    def count_group(group: Ints) -> None:
        matrix, places = matrix_of(problem.codes, columns[group])
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


def _keep_better(best: Best, found: ScanResult, variant: int, side: int) -> None:
    """Take over what is better; of equals the lower order, then the shorter prefix, then the first side stays."""
    earlier = (found.objective == best.objective) & (best.order == variant) & (found.prefix < best.prefix)
    better = (found.objective < best.objective) | (earlier & np.isfinite(found.objective))
    for name in ("objective", "prefix", "left", "right"):
        getattr(best, name)[better] = getattr(found, name)[better]
    best.order[better] = variant
    best.side[better] = side


def _sides(zero_beta: bool, k: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The intervals that the left and the right side may use; with beta = 0 one of them only the first, which is 0."""
    return [((1, k), (0, 1)), ((0, 1), (1, k))] if zero_beta else [((0, k), (0, k))]


def _step(formula: Formula, move: Move, column: int, result: ColumnResult, m: int) -> Step:
    """The step that takes the best of move m in a column."""
    best, binned = result.best, formula.problem.columns[column]
    order = result.orders[int(best.order[m])]
    prefix = order[m if len(order) > 1 else 0][: best.prefix[m]]
    rest = float(rest_strengths(formula, [move])[0])
    bit = _bit(binned, column, result.present, prefix, (float(best.left[m]), float(best.right[m])), rest)
    return Step(move, bit, float(best.objective[m]))


def _bit(
    binned: BinnedColumn,
    column: int,
    present: Bools,
    prefix: npt.NDArray[np.int64],
    strengths: tuple[float, float],
    rest: float,
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
