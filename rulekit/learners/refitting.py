"""Refitting the strengths of a formula whose conditions stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rulekit.learners.error_refitting import sweep_errors
from rulekit.learners.formula import Formula
from rulekit.learners.objectives import allowed_intervals
from rulekit.learners.read_once import Move
from rulekit.learners.scanning import best_strengths
from rulekit.learners.search import SearchSettings
from rulekit.learners.tree_kernels import refit_sweep

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
    objective, _ = formula.measure(settings.objective)
    alpha, beta = formula.strengths()
    p = formula.node_probabilities()
    changed = refit_sweep(
        formula.tree,
        alpha,
        beta,
        np.array([bit.rest for bit in formula.bits]),
        np.array([bit.frozen for bit in formula.bits], dtype=np.bool_),
        formula.pattern,
        formula.counts,
        formula.problem.weight_unit,
        settings.objective.ridge,
        settings.zero_beta,
        _GAIN * (1.0 + objective),
        p,
    )
    if changed:
        formula.set_strengths(alpha, beta, p)
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
