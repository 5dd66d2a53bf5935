"""L-BFGS of many problems at once: each goes its own way, and one call evaluates all that are not finished.

Steps meet the conditions of Armijo and of curvature (weak Wolfe), found by halving and doubling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting.histograms import Bools, Floats, Ints

Numbers = npt.NDArray[np.floating]
Function = Callable[[Numbers, Ints], tuple[Floats, Numbers]]
"""Losses [b] and gradients [b, P] of points [b, P] of the problems of these numbers [b]."""

_HISTORY = 8
_ARMIJO, _CURVATURE = 1e-4, 0.9
_MOST_TRIALS = 12


@dataclass(slots=True, eq=False)
class _State:
    """Problems that are not finished: number [b], point, gradient, direction [b, P], loss, slope, step and its bounds.

    steps, changes [h, b, P]: the last ones, newest first; curvatures [h, b]: their products, 0 where there is none.
    """

    number: Ints
    point: Numbers
    loss: Floats
    gradient: Numbers
    direction: Numbers
    slope: Floats
    step: Floats
    low: Floats
    high: Floats
    trials: Ints
    taken: Ints
    steps: Numbers
    changes: Numbers
    curvatures: Floats

    def keep(self, which: Bools) -> None:
        """Forget the other problems."""
        for name in self.__slots__:
            own = getattr(self, name)
            setattr(self, name, own[:, which] if name in ("steps", "changes", "curvatures") else own[which])


def minimise(
    function: Function, start: Numbers, most_steps: int, tolerance: float, check: Callable[[], None] = lambda: None
) -> tuple[Numbers, Floats]:
    """Points [B, P] of small loss and their losses [B], from start [B, P] in at most so many steps each.

    A problem is finished when a step lowers its loss by less than `tolerance` times the loss. check: called at every
    evaluation, may raise.
    """
    points, losses = start.copy(), np.zeros(len(start))
    state = _begun(function, start)
    losses[:] = state.loss
    while len(state.number):
        check()
        trial = state.point + (state.step[:, None] * state.direction).astype(start.dtype)
        loss, gradient = function(trial, state.number)
        slope = _dots(gradient, state.direction)
        low_enough = loss <= state.loss + _ARMIJO * state.step * state.slope
        given_up = state.trials >= _MOST_TRIALS
        accepted = low_enough & ((slope >= _CURVATURE * state.slope) | given_up)
        finished = given_up & ~low_enough
        _change_step(state, low_enough)
        if accepted.any():
            finished |= _accept(state, accepted, trial, loss, gradient, tolerance)
            points[state.number[accepted]] = state.point[accepted]
            losses[state.number[accepted]] = state.loss[accepted]
            finished |= state.taken >= most_steps
        if finished.any():
            state.keep(~finished)
    return points, losses


def _dots(a: Numbers, b: Numbers) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a, b), dtype=np.float64)


def _begun(function: Function, start: Numbers) -> _State:
    b, size = start.shape
    number = np.arange(b)
    loss, gradient = function(start, number)
    length = np.sqrt(_dots(gradient, gradient))
    return _State(
        number=number,
        point=start.copy(),
        loss=loss,
        gradient=gradient,
        direction=-gradient,
        slope=-(length**2),
        step=1.0 / np.maximum(length, 1e-12),
        low=np.zeros(b),
        high=np.full(b, np.inf),
        trials=np.zeros(b, dtype=np.int64),
        taken=np.zeros(b, dtype=np.int64),
        steps=np.zeros((_HISTORY, b, size), dtype=start.dtype),
        changes=np.zeros((_HISTORY, b, size), dtype=start.dtype),
        curvatures=np.zeros((_HISTORY, b)),
    )


def _change_step(state: _State, low_enough: Bools) -> None:
    """Halve the step where the loss is too high, else lengthen it."""
    state.high = np.where(low_enough, state.high, state.step)
    state.low = np.where(low_enough, state.step, state.low)
    bounded = np.isfinite(state.high)
    with np.errstate(invalid="ignore"):
        state.step = np.where(bounded, 0.5 * (state.low + state.high), 2.0 * state.step)
    state.trials = state.trials + 1


def _accept(state: _State, accepted: Bools, trial: Numbers, loss: Floats, gradient: Numbers, tolerance: float) -> Bools:
    """Go on from the trial points that are accepted; the problems [b] that are finished with that."""
    at = np.flatnonzero(accepted)
    step, change = trial[at] - state.point[at], gradient[at] - state.gradient[at]
    product = _dots(step, change)
    useful = product > 1e-10 * _dots(change, change) ** 0.5 * _dots(step, step) ** 0.5
    for history, newest in ((state.steps, step), (state.changes, change)):
        own = at[useful]
        history[1:, own] = history[:-1, own]
        history[0, own] = newest[useful]
    state.curvatures[1:, at[useful]] = state.curvatures[:-1, at[useful]]
    state.curvatures[0, at[useful]] = product[useful]
    gain = state.loss[at] - loss[at]
    state.point[at], state.loss[at], state.gradient[at] = trial[at], loss[at], gradient[at]
    state.direction[at] = _direction(state, at)
    slope = _dots(state.direction[at], gradient[at])
    uphill = slope >= 0.0
    state.direction[at[uphill]] = -gradient[at[uphill]]
    state.slope[at] = np.where(uphill, -_dots(gradient[at], gradient[at]), slope)
    state.step[at], state.low[at], state.high[at], state.trials[at] = 1.0, 0.0, np.inf, 0
    state.taken[at] += 1
    finished = np.zeros(len(accepted), dtype=bool)
    finished[at] = (gain <= tolerance * np.abs(loss[at])) | (state.slope[at] > -1e-14)
    return finished


def _direction(state: _State, at: Ints) -> Numbers:
    """The two-loop recursion for problems by their places (Nocedal, 1980)."""
    found = -state.gradient[at]
    curvatures = state.curvatures[:, at]
    inverse = np.divide(1.0, curvatures, out=np.zeros_like(curvatures), where=curvatures > 0.0)
    depth = int((curvatures > 0.0).any(axis=1).sum())
    shares = np.zeros((depth, len(at)))
    steps, changes = state.steps[:depth, at], state.changes[:depth, at]
    for k in range(depth):
        shares[k] = inverse[k] * _dots(steps[k], found)
        found = found - shares[k, :, None].astype(found.dtype) * changes[k]
    if depth:
        squares = _dots(changes[0], changes[0])
        scale = np.divide(curvatures[0], squares, out=np.ones(len(at)), where=squares > 0.0)
        found = found * scale[:, None].astype(found.dtype)
    for k in reversed(range(depth)):
        back = shares[k] - inverse[k] * _dots(changes[k], found)
        found = found + back[:, None].astype(found.dtype) * steps[k]
    return found
