"""Coordinate descent for the noisy-or with an L1 prior: exact zeros, and a maximum that is known when it is reached.

The objective is concave (log(1 - exp(-s)) is, and s is linear), so that its maximum is known when it is reached: where
no strength violates the conditions of Karush, Kuhn and Tucker. One step is a projected step of Newton on one strength,
by the positive rows that hold its cell. Strengths that stay 0 are left out until the next sweep over all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.noisy_or.likelihood import STRONGEST, Incidence, Strengths
from rulekit.learners.sums_of_rows.kernels import compiled

LEAK_FLOOR = 1e-9
"""The leak is never below it, so that every positive row has a likelihood; it costs so much a negative row."""

_LONGEST = 5.0
_FULL_EVERY = 10
_LARGE, _SMALL = 1e12, 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Descended:
    """Strengths, the sweeps, and by how much (a weight) the last one saw the conditions of a maximum violated."""

    strengths: Strengths
    violation: float
    sweeps: int


@np.errstate(over="ignore", invalid="ignore")
def coordinate_descent(
    incidence: Incidence,
    start: Strengths | None = None,
    *,
    prior: float = 2.0,
    tolerance: float = 1e-4,
    sweeps: int = 1000,
    check: Callable[[], None] | None = None,
) -> Descended:
    """The strengths of the largest objective, log-likelihood less prior times all strengths but the leak.

    Parameters
    ----------
    incidence : Incidence
        The rows.
    start : Strengths, optional
        To go on from, for example those of another prior.
    prior : float, default 2
        The L1 penalty, as the prior of EM.
    tolerance : float, default 1e-4
        Stop where no slope violates the conditions by more than this, for each unit of positive weight.
    sweeps : int, default 1000
        The most passes over the strengths.
    check : callable, optional
        Called between sweeps; it raises to stop.

    """
    first = Strengths(np.full(incidence.n_cells, 0.1), 0.1) if start is None else start
    able = incidence.of_positive > 0.0
    a = np.append(np.minimum(first.cells, STRONGEST), min(max(first.leak, LEAK_FLOOR), STRONGEST))
    a[:-1][~able] = 0.0  # of no positive row: nothing speaks for it
    linear = np.append(incidence.of_negative + prior, incidence.negative)
    every = np.append(np.flatnonzero(able), incidence.n_cells)
    by_cell = incidence.rows.tocsc()
    state = np.column_stack([incidence.weights, incidence.weights])  # side by side: read together
    active, wait, worst, done = every, 0, math.inf, 0
    while done < sweeps:
        done += 1
        if check is not None:
            check()
        full = wait == 0
        chosen = every if full else active
        if full:  # what has been rounded since is forgotten
            state[:, 1] = np.expm1(a[-1] + incidence.rows @ a[:-1])
        largest = np.zeros(len(chosen))
        _sweep(chosen, by_cell.indptr, by_cell.indices, linear, a, state, largest)
        worst = float(largest.max(initial=0.0))
        if full and worst <= tolerance * incidence.positive:
            break
        active = chosen[(a[chosen] > 0.0) | (largest > 0.0)]
        wait = 0 if worst <= tolerance * incidence.positive else (wait + 1) % _FULL_EVERY
    return Descended(Strengths(a[:-1].copy(), float(a[-1])), worst, done)


def _violation(slope: float, strength: float, floor: float) -> float:
    if strength <= floor:
        return max(slope, 0.0)
    if strength >= STRONGEST:
        return max(-slope, 0.0)
    return abs(slope)


def _move(slope: float, curvature: float, strength: float, floor: float) -> float:
    """The step of Newton, within the bounds; upwards it is never too long, as the slope is convex."""
    if curvature > 0.0:
        step = slope / curvature
    else:
        step = -math.inf if slope < 0.0 else 0.0
    step = min(step, _LONGEST)
    return min(max(strength + step, floor), STRONGEST) - strength


def _excess(before: float, move: float) -> float:
    """The value of exp(s) - 1 after s has moved; infinite where that is no double."""
    s = math.log1p(before) + move
    return math.expm1(s) if s < 709.0 else math.inf


@compiled
def _sweep(chosen: Any, starts: Any, rows: Any, linear: Any, a: Any, state: Any, largest: Any) -> None:
    # state [n, 2]: of each row the weight and exp(s) - 1, which a move changes without an exponential of its own
    leak = len(starts) - 1
    for place in range(len(chosen)):
        cell = chosen[place]
        all_rows = cell == leak
        first, last = (0, len(state)) if all_rows else (starts[cell], starts[cell + 1])
        slope, curvature = 0.0, 0.0
        for at in range(first, last):
            i = at if all_rows else rows[at]
            odds = 1.0 / state[i, 1]
            each = state[i, 0] * odds
            slope += each
            curvature += each * (1.0 + odds)
        slope -= linear[cell]
        floor = LEAK_FLOOR if all_rows else 0.0
        largest[place] = _violation(slope, a[cell], floor)
        move = _move(slope, curvature, a[cell], floor)
        if move == 0.0:
            continue
        a[cell] += move
        growth = math.expm1(move)
        for at in range(first, last):
            i = at if all_rows else rows[at]
            before = state[i, 1]
            after = before + growth * (1.0 + before)
            if not (after > 0.1 * before and after < _LARGE and after > _SMALL):
                after = _excess(before, move)
            state[i, 1] = after
