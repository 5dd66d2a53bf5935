"""Coordinate descent for the restricted noisy-or with an L1 prior: exact zeros, and a certificate of the maximum.

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

from rulekit.errors import InputError
from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.strengths import STRONGEST, Strengths, objective, violation
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.learners.sums_of_rows.kernels import compiled

LEAK_FLOOR = 1e-9
"""The leak is never below it, so that every positive row has a likelihood; it costs so much a negative row."""

_LONGEST = 5.0
_FULL_EVERY = 10
_LARGE, _SMALL = 1e12, 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """Strengths, their objective, the largest violation of the conditions of a maximum (weight), and the sweeps."""

    strengths: Strengths
    objective: float
    violation: float
    sweeps: int


def coordinate_descent(
    incidence: Incidence,
    start: Strengths | None = None,
    *,
    prior: float = 2.0,
    free: Bools | None = None,
    tolerance: float = 1e-4,
    sweeps: int = 1000,
    check: Callable[[], None] | None = None,
) -> Certified:
    """The strengths of the largest objective, log-likelihood less prior times all strengths but the leak.

    Parameters
    ----------
    incidence : Incidence
        The rows. What is absent must be cells of its own, as it is in rows of codes.
    start : Strengths, optional
        To go on from, for example those of another prior.
    prior : float, default 2
        The L1 penalty, as the prior of EM.
    free : ndarray of bool [n_cells], optional
        The cells that are causes; the others have strength 0.
    tolerance : float, default 1e-4
        Stop where no slope violates the conditions by more than this, for each unit of positive weight.
    sweeps : int, default 1000
        The most passes over the strengths.
    check : callable, optional
        Called between sweeps; it raises to stop.

    Raises
    ------
    InputError
        Where absent attributes are no cells.

    """
    if incidence.absent:
        why = "coordinate descent learns no strengths of absent words"
        raise InputError(why, where="noisy-or", fix="use EM, or the restricted noisy-or")
    first = Strengths(np.full(incidence.n_cells, 0.1), None, 0.1) if start is None else start
    a = np.append(np.minimum(first.present, STRONGEST), min(max(first.leak, LEAK_FLOOR), STRONGEST))
    if free is not None:
        a[:-1][~free] = 0.0
    linear = np.append(incidence.of_negative + prior, incidence.negative)
    descent = _Descent.of(incidence, a, linear, free)
    allowed = tolerance * incidence.positive
    done = descent.run(allowed, sweeps, check)
    found = Strengths(a[:-1].copy(), None, float(a[-1]))
    largest = violation(incidence, found, prior, LEAK_FLOOR, free)
    return Certified(found, objective(incidence, found, prior), largest, done)


@dataclass(frozen=True, slots=True, eq=False)
class _Descent:
    """What the sweeps read, and the strengths a [k + 1], the leak last, that they change in place."""

    incidence: Incidence
    starts: Any
    rows: Any
    a: Floats
    linear: Floats
    all: Any

    @classmethod
    def of(cls, incidence: Incidence, a: Floats, linear: Floats, free: Bools | None) -> _Descent:
        starts, rows = incidence.rows.by_cell()
        able = incidence.of_positive > 0.0
        a[:-1][~able] = 0.0  # of no positive row: nothing speaks for it
        able = able if free is None else able & free
        return cls(incidence, starts, rows, a, linear, np.append(np.flatnonzero(able), incidence.n_cells))

    @np.errstate(over="ignore", invalid="ignore")
    def run(self, allowed: float, sweeps: int, check: Callable[[], None] | None) -> int:
        active, wait = self.all, 0
        state = np.column_stack([self.incidence.weights, self.incidence.weights])  # side by side: read together
        for sweep in range(sweeps):
            if check is not None:
                check()
            full = wait == 0
            chosen = self.all if full else active
            if full:  # what has been rounded since is forgotten
                state[:, 1] = np.expm1(self.a[-1] + self.incidence.rows.row_sums(self.a[:-1]))
            largest = np.zeros(len(chosen))
            _sweep(chosen, self.starts, self.rows, self.linear, self.a, state, largest)
            worst = float(largest.max(initial=0.0))
            if full and worst <= allowed:
                return sweep + 1
            active = chosen[(self.a[chosen] > 0.0) | (largest > 0.0)]
            wait = 0 if worst <= allowed else (wait + 1) % _FULL_EVERY
        return sweeps


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
