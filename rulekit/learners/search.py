"""The best next step of a formula: over columns, conditions, moves and both strengths, exactly.

Ties are broken by objective, then column, condition (order, prefix, side) and move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rulekit.learners.binning import BinnedColumn
from rulekit.learners.counting import Floats, Histogram, count
from rulekit.learners.formula import Bit, Formula
from rulekit.learners.objectives import Intervals, Objective, allowed_intervals
from rulekit.learners.read_once import FIRST, Move
from rulekit.learners.scanning import MoveTables, ScanRule, best_strengths, code_sums, scan
from rulekit.learners.weak_features import Weak, code_orders, complete


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """objective; weak features; whether beta is fixed at 0; the least weight of either side of a condition."""

    objective: Objective
    weak: Weak = "threshold"
    zero_beta: bool = False
    min_rows: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A move with the bit that it adds, and the objective that the formula then has."""

    move: Move
    bit: Bit
    objective: float


def best_step(
    formula: Formula, moves: list[Move], settings: SearchSettings, columns: npt.NDArray[np.int64], ridge_so_far: float
) -> Step | None:
    """The step with the smallest objective over all `columns` and `moves`, or None where no condition is allowed.

    ridge_so_far: the ridge terms of the bits that stay, already times kappa.
    """
    problem = formula.problem
    tables, intervals, u = move_tables(formula, moves, settings, ridge_so_far)
    keys = 2 * formula.cell + problem.labels
    error_scale = settings.objective.error * problem.weight_unit
    least = int(np.ceil(settings.min_rows / problem.weight_unit - 1e-9))
    best: tuple[float, int, int, int, int, int] | None = None
    found: Step | None = None
    for column in columns:
        binned = problem.columns[column]
        histogram = count(problem.codes[column], keys, problem.weights, binned.n_codes, 2 * len(u[0]))
        sums = code_sums(histogram, tables, problem.weight_unit)
        weighted = (settings.objective.brier * sums[0], settings.objective.brier * sums[1])
        for variant, order in enumerate(code_orders(binned, settings.weak, histogram, sums, tables.rest)):
            for side, (left, right) in enumerate(_sides(settings.zero_beta, int(intervals.n.max()))):
                rule = ScanRule(error_scale, settings.objective.ridge, max(1, least), *left, *right)
                result = scan(histogram, tables, order, weighted, rule, best[0] if best else np.inf)
                m = int(np.lexsort((np.arange(len(moves)), result.prefix, result.objective))[0])
                key = (float(result.objective[m]), int(column), variant, int(result.prefix[m]), side, m)
                if np.isfinite(key[0]) and (best is None or key < best):
                    best = key
                    prefix = order[m][: result.prefix[m]]
                    strengths = (float(result.left[m]), float(result.right[m]))
                    bit = _bit(binned, int(column), histogram, prefix, strengths, float(tables.rest[m]))
                    found = Step(moves[m], bit, key[0])
    return found


def _sides(zero_beta: bool, k: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The intervals that the left and the right side may use; with beta = 0 one of them only the first, which is 0."""
    return [((1, k), (0, 1)), ((0, 1), (1, k))] if zero_beta else [((0, k), (0, k))]


def _bit(
    binned: BinnedColumn,
    column: int,
    histogram: Histogram,
    prefix: npt.NDArray[np.int64],
    strengths: tuple[float, float],
    rest: float,
) -> Bit:
    """The bit whose condition holds on the side with the larger strength; codes that did not occur take a side too."""
    present = np.diff(histogram.starts) > 0
    condition = np.zeros_like(present)
    condition[prefix] = True
    known, condition = complete(binned, present, condition)
    left, right = strengths
    if right > left:
        condition, left, right = known & ~condition, right, left
    return Bit(column, condition, known, left, right, rest)


def move_tables(
    formula: Formula, moves: list[Move], settings: SearchSettings, ridge_so_far: float
) -> tuple[MoveTables, Intervals, Floats]:
    """The tables of the scan, the allowed intervals, and U [M, C] of the moves."""
    problem, objective = formula.problem, settings.objective
    p, v = formula.passes() if formula.bits else (np.zeros((0, len(formula.pattern))),) * 2
    u, slope = formula.tree.lines(moves, p, v)
    intervals = allowed_intervals(u, slope, objective, settings.zero_beta)
    labels = np.array([0.0, 1.0])
    slopes = (slope[:, :, None] * (labels - u[:, :, None])).reshape(len(moves), -1)
    curvatures = np.repeat(slope * slope, 2, axis=1)
    weights = formula.counts * problem.weight_unit
    constant = objective.brier * ((labels - u[:, :, None]) ** 2 * weights).sum(axis=(1, 2)) + ridge_so_far
    rest = rest_strengths(formula, moves)
    tables = MoveTables(
        intervals.bucket, slopes, curvatures, intervals.low, intervals.high, intervals.n, rest, constant
    )
    return tables, intervals, u


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


def refit(formula: Formula, which: int, settings: SearchSettings) -> bool:
    """Give bit `which` its best strengths, the rest of the formula staying; says whether the objective fell."""
    objective, unit = settings.objective, formula.problem.weight_unit
    move = Move("bit", formula.tree.node_of_bit(which))
    p, v = formula.passes()
    u, slope = formula.tree.lines([move], p, v)
    intervals = allowed_intervals(u, slope, objective, settings.zero_beta)
    k, bit = int(intervals.n[0]), formula.bits[which]
    strengths = []
    for holds in (True, False):
        side = formula.pattern[:, which] == holds
        negative, positive = formula.counts[side, 0], formula.counts[side, 1]
        line_u, line_v = u[0, side], slope[0, side]
        a = float((line_v * (positive * (1.0 - line_u) - negative * line_u)).sum()) * unit * objective.brier
        b = float((line_v * line_v * (positive + negative)).sum()) * unit * objective.brier
        net = np.bincount(intervals.bucket[0, side], positive - negative, k + 1).astype(np.int64)
        first, last = (0, k) if not settings.zero_beta else ((1, k) if holds else (0, 1))
        _, strength = best_strengths(
            np.array([a]),
            np.array([b]),
            np.array([positive.sum()]),
            np.cumsum(net)[None, :k],
            intervals.low[0],
            intervals.high[0],
            scale=objective.error * unit,
            ridge=objective.ridge,
            rest=bit.rest,
            first=first,
            last=last,
        )
        strengths.append(float(strength[0]))
    changed = replace(bit, alpha=strengths[0], beta=strengths[1])
    bits = [changed if i == which else other for i, other in enumerate(formula.bits)]
    before, _ = formula.measure_of(p[formula.tree.root], objective, formula.bits)
    line = u[0] + slope[0] * np.where(formula.pattern[:, which], *strengths)
    after, _ = formula.measure_of(line, objective, bits)
    if not after < before - 1e-12 * (1.0 + abs(before)):
        return False
    formula.bits = bits
    return True
