"""L-BFGS of many problems at once: each goes its own way, and one call evaluates all that are not finished.

Steps meet the conditions of Armijo and of curvature (weak Wolfe), found by halving and doubling. The direction is that
of the compact form (Byrd, Nocedal & Schnabel, 1994, equation 3.1), which takes a few products of small matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints

Numbers = npt.NDArray[np.floating]
Function = Callable[[Numbers, Ints], tuple[Floats, Numbers]]
"""Losses [b] and gradients [b, P] of points [b, P] of the problems of these numbers [b]."""

_HISTORY = 8
_ARMIJO, _CURVATURE = 1e-4, 0.9
_MOST_TRIALS = 12
_AGES = np.arange(_HISTORY)
_NOT_OLDER = np.array([(_AGES[:, None] - k - 1) % _HISTORY <= (_AGES - k - 1) % _HISTORY for k in range(_HISTORY)])
"""By the newest place k: which pairs of places [h, h] are in the order in which they were written."""


@dataclass(slots=True, eq=False)
class _Pairs:
    """The last steps and changes of the gradient of b problems [b, h, P], zeros where there are none.

    across [b, h, h]: products of steps and changes; among [b, h, h]: of changes; newest: the place last written.
    """

    steps: Numbers
    changes: Numbers
    across: Floats
    among: Floats
    newest: int = 0

    @classmethod
    def none(cls, b: int, size: int, dtype: npt.DTypeLike) -> _Pairs:
        vectors, products = (b, _HISTORY, size), (b, _HISTORY, _HISTORY)
        return cls(np.zeros(vectors, dtype), np.zeros(vectors, dtype), np.zeros(products), np.zeros(products))

    def keep(self, which: Bools) -> None:
        self.steps, self.changes = self.steps[which], self.changes[which]
        self.across, self.among = self.across[which], self.among[which]

    def add(self, step: Numbers, change: Numbers) -> None:
        """A pair of each problem [b, P], which takes the place of the oldest; one of zeros where nothing is learned."""
        k = self.newest = (self.newest + 1) % _HISTORY
        self.steps[:, k], self.changes[:, k] = step, change
        of_changes = self.changes @ np.stack([step, change], axis=2)
        self.across[:, k, :] = of_changes[:, :, 0]
        self.across[:, :, k] = (self.steps @ change[:, :, None])[:, :, 0]
        self.among[:, k, :] = self.among[:, :, k] = of_changes[:, :, 1]

    def direction(self, gradient: Numbers) -> Numbers:
        """Where to go [b, P]: against the gradient times the inverse of what is known of the second derivatives."""
        ahead = (self.steps @ gradient[:, :, None])[:, :, 0].astype(np.float64)
        behind = (self.changes @ gradient[:, :, None])[:, :, 0].astype(np.float64)
        curvatures = np.einsum("bkk->bk", self.across)
        some = curvatures > 0.0
        upper = np.where(_NOT_OLDER[self.newest], self.across, 0.0)
        np.einsum("bkk->bk", upper)[:] = np.where(some, curvatures, 1.0)
        own, square = curvatures[:, self.newest], self.among[:, self.newest, self.newest]
        scale = np.divide(own, square, out=np.ones(len(own)), where=square > 0.0)
        shares = np.linalg.solve(upper, ahead[:, :, None])
        middle = curvatures[:, :, None] * shares + scale[:, None, None] * (self.among @ shares - behind[:, :, None])
        of_steps = np.linalg.solve(upper.swapaxes(1, 2), middle)[:, None, :, 0].astype(gradient.dtype)
        of_changes = (scale[:, None] * shares[:, :, 0])[:, None, :].astype(gradient.dtype)
        found = scale[:, None].astype(gradient.dtype) * gradient
        found += (of_steps @ self.steps)[:, 0]
        found -= (of_changes @ self.changes)[:, 0]
        return np.asarray(-found)


@dataclass(slots=True, eq=False)
class _State:
    """Problems that are not finished: number [b], point, gradient, direction [b, P], loss, slope, step and its bounds.

    trials: of the step so far; taken: steps so far.
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
    pairs: _Pairs

    def keep(self, which: Bools) -> None:
        """Forget the other problems."""
        self.pairs.keep(which)
        for own in fields(self)[:-1]:
            setattr(self, own.name, getattr(self, own.name)[which])


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
        trial = state.point + state.step[:, None].astype(start.dtype) * state.direction
        with np.errstate(over="ignore", invalid="ignore"):  # a step too long is halved
            loss, gradient = function(trial, state.number)
        slope = _dots(gradient, state.direction)
        low_enough = loss <= state.loss + _ARMIJO * state.step * state.slope
        given_up = state.trials >= _MOST_TRIALS
        accepted = low_enough & ((slope >= _CURVATURE * state.slope) | given_up)
        finished = given_up & ~low_enough
        if not accepted.all():
            _change_step(state, low_enough)
        if accepted.any():
            finished |= _accept(state, accepted, trial, loss, gradient, tolerance) | (state.taken >= most_steps)
        if finished.any():
            done = state.number[finished]
            points[done], losses[done] = state.point[finished], state.loss[finished]
            state.keep(~finished)
    return points, losses


def _dots(a: Numbers, b: Numbers) -> Floats:
    return np.asarray((a * b).sum(axis=1, dtype=np.float64))


def _begun(function: Function, start: Numbers) -> _State:
    b, size = start.shape
    loss, gradient = function(start, np.arange(b))
    square = _dots(gradient, gradient)
    return _State(
        number=np.arange(b),
        point=start.copy(),
        loss=loss,
        gradient=gradient,
        direction=-gradient,
        slope=-square,
        step=1.0 / np.maximum(np.sqrt(square), 1e-12),
        low=np.zeros(b),
        high=np.full(b, np.inf),
        trials=np.zeros(b, dtype=np.int64),
        taken=np.zeros(b, dtype=np.int64),
        pairs=_Pairs.none(b, size, start.dtype),
    )


def _change_step(state: _State, low_enough: Bools) -> None:
    """Halve the step where the loss is too high, else lengthen it."""
    state.high = np.where(low_enough, state.high, state.step)
    state.low = np.where(low_enough, state.step, state.low)
    with np.errstate(invalid="ignore"):
        state.step = np.where(np.isfinite(state.high), 0.5 * (state.low + state.high), 2.0 * state.step)
    state.trials = state.trials + 1


def _accept(state: _State, accepted: Bools, trial: Numbers, loss: Floats, gradient: Numbers, tolerance: float) -> Bools:
    """Go on from the trial points that are accepted; the problems [b] that are finished with that."""
    step, change = trial - state.point, gradient - state.gradient
    useful = accepted & (_dots(step, change) > 1e-10 * np.sqrt(_dots(change, change) * _dots(step, step)))
    if not useful.all():
        step[~useful], change[~useful] = 0.0, 0.0
    state.pairs.add(step, change)
    finished = accepted & (state.loss - loss <= tolerance * np.abs(loss))
    if accepted.all():
        state.point, state.loss, state.gradient = trial, loss, gradient
    else:
        state.point[accepted], state.loss[accepted] = trial[accepted], loss[accepted]
        state.gradient[accepted] = gradient[accepted]
    direction = state.pairs.direction(state.gradient)
    slope = _dots(direction, state.gradient)
    uphill = ~((slope < 0.0) & np.isfinite(slope))
    if uphill.any():
        direction[uphill] = -state.gradient[uphill]
        slope[uphill] = -_dots(direction[uphill], direction[uphill])
    if accepted.all():
        state.direction = direction
    else:
        state.direction[accepted] = direction[accepted]
    state.slope = np.where(accepted, slope, state.slope)
    state.step = np.where(accepted, 1.0, state.step)
    state.low = np.where(accepted, 0.0, state.low)
    state.high = np.where(accepted, np.inf, state.high)
    state.trials = np.where(accepted, 0, state.trials)
    state.taken = state.taken + accepted
    return finished | (accepted & (state.slope > -1e-14))
