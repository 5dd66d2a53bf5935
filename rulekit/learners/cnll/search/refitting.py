"""Refitting the strengths of a formula whose conditions stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rulekit.learners.cnll.formula.noisy_formula import Formula
from rulekit.learners.cnll.formula.objectives import allowed_intervals
from rulekit.learners.cnll.formula.prefixes import LEAST_STRENGTH
from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree
from rulekit.learners.cnll.formula.tree_kernels import flatten
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.error_refitting import sweep_errors
from rulekit.learners.cnll.search.refit_kernels import sweep_squares
from rulekit.learners.cnll.search.scanning import best_strengths
from rulekit.learners.counting.compiling import compiled
from rulekit.learners.counting.histograms import Bools, Floats, Ints

_GAIN = 1e-12


def sweep(formula: Formula, settings: SearchSettings) -> bool:
    """Give every bit in turn its best strengths, the others staying; says whether anything changed."""
    free = [i for i, bit in enumerate(formula.bits) if not bit.frozen]
    if settings.objective.error:
        done = sweep_errors(formula, settings) if free else False
        if done is not None:
            return done
        changes = [_refit_errors(formula, which, settings) for which in free]
        return any(changes)
    return _sweep_squares(formula, settings)


def _sweep_squares(formula: Formula, settings: SearchSettings) -> bool:
    """A sweep for the least squared error, where there is no other: compiled, or with numpy to the same bits."""
    objective, _ = formula.measure(settings.objective)
    alpha, beta = formula.strengths()
    rest = np.array([bit.rest for bit in formula.bits])
    fixed = np.array([bit.frozen for bit in formula.bits], dtype=np.bool_)
    holds, p = np.ascontiguousarray(formula.pattern.T), formula.node_probabilities()
    bits = alpha, beta, rest, fixed, holds, formula.counts
    scale = formula.problem.weight_unit, settings.objective.ridge, settings.zero_beta, _GAIN * (1.0 + objective)
    kernel = compiled(sweep_squares)
    if kernel is None:
        changed = _sweep_with_numpy(formula.tree, *bits, *scale, p)
    else:
        flat = flatten(formula.tree)
        leaf = np.array([formula.tree.node_of_bit(i) for i in range(len(alpha))], dtype=np.int64)
        gates = flat.operator, flat.starts, flat.children, flat.parent, flat.root
        changed = bool(kernel(*gates, leaf, *bits, *scale, p))
    if changed:
        formula.set_strengths(alpha, beta, p)
    return changed


def _sweep_with_numpy(
    tree: ReadOnceTree,
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
    """As `refit_kernels.sweep_squares`, in place."""
    negative, positive = counts[:, 0] * unit, counts[:, 1] * unit
    changed = False
    for t in np.flatnonzero(~fixed).tolist():
        leaf = tree.node_of_bit(t)
        v = tree.derivatives(p)[leaf]
        line = p[tree.root] - v * p[leaf]
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
        p[:] = tree.probabilities(np.where(holds, alpha[:, np.newaxis], beta[:, np.newaxis]))
    return changed


def _refit_errors(formula: Formula, which: int, settings: SearchSettings) -> bool:
    """Give bit `which` its best strengths, the rest of the formula staying; says whether the objective fell."""
    objective, unit = settings.objective, formula.problem.weight_unit
    move = Move("bit", formula.tree.node_of_bit(which))
    u, slope, whole = formula.lines([move])
    u, slope = u.T, slope.T
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
    before, _ = formula.measure_of(whole, objective, formula.bits)
    line = u[0] + slope[0] * np.where(formula.pattern[:, which], *strengths)
    after, _ = formula.measure_of(line, objective, bits)
    if not after < before - 1e-12 * (1.0 + abs(before)):
        return False
    formula.bits = bits
    return True
