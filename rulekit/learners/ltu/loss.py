"""The bounded loss of many trees of one shape, its least by L-BFGS of many problems at once, and trees fitted by it.

A unit passes a row on to its right child with probability sigmoid(z), z its margin, and so a tree says yes to a row
with the sum over its gates of the products of the probabilities on the way. The loss is the mean of (that - label)^2
and half a ridge of the weights, biases left free. All trees go through a block of rows together: one product of
matrices.

In L-BFGS each problem goes its own way, and one call evaluates all that are not finished. Steps meet the conditions of
Armijo and of curvature (weak Wolfe), found by halving and doubling. The direction is that of the compact form (Byrd,
Nocedal & Schnabel, 1994, equation 3.1), which takes a few products of small matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.data.problem import mix
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape

Numbers = npt.NDArray[np.floating]
Function = Callable[[Numbers, Ints], tuple[Floats, Numbers]]
"""Losses [b] and gradients [b, P] of points [b, P] of the problems of these numbers [b]."""

Check = Callable[[], None]  # called within what takes long; may raise

_HISTORY = 8
_ARMIJO, _CURVATURE = 1e-4, 0.9
_MOST_TRIALS = 12
_AGES = np.arange(_HISTORY)
_NOT_OLDER = np.array([(_AGES[:, None] - k - 1) % _HISTORY <= (_AGES - k - 1) % _HISTORY for k in range(_HISTORY)])
"""By the newest place k: which pairs of places [h, h] are in the order in which they were written."""
_BLOCK_NUMBERS = 1 << 16
_LEAST = 1e-6
_FEW = 64
RIDGES = (1e-3, 1e-4)  # those that are tried for trees


@dataclass(slots=True, eq=False)
class _Descent:
    """Problems that are not finished: number [b], point, gradient, direction [b, P], loss, slope, step and its bounds.

    trials: of the step so far; taken: steps so far. steps, changes [b, h, P]: the last steps and changes of the
    gradient, zeros where there are none; across [b, h, h]: products of steps and changes; among [b, h, h]: of changes;
    newest: the place last written.
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
    across: Floats
    among: Floats
    newest: int = 0

    def keep(self, which: Bools) -> None:
        for own in fields(self)[:-1]:
            setattr(self, own.name, getattr(self, own.name)[which])

    def add(self, step: Numbers, change: Numbers) -> None:
        """A pair of each problem [b, P], which takes the place of the oldest; one of zeros where nothing is learned."""
        k = self.newest = (self.newest + 1) % _HISTORY
        self.steps[:, k], self.changes[:, k] = step, change
        of_changes = self.changes @ np.stack([step, change], axis=2)
        self.across[:, k, :] = of_changes[:, :, 0]
        self.across[:, :, k] = (self.steps @ change[:, :, None])[:, :, 0]
        self.among[:, k, :] = self.among[:, :, k] = of_changes[:, :, 1]

    def downhill(self) -> Numbers:
        """Where to go [b, P]: against the gradient times the inverse of what is known of the second derivatives."""
        gradient = self.gradient
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


def minimise(
    function: Function, start: Numbers, most_steps: int, tolerance: float, check: Check = lambda: None
) -> tuple[Numbers, Floats]:
    """Points [B, P] of small loss and their losses [B], from start [B, P] in at most so many steps each.

    A problem is finished when a step lowers its loss by less than `tolerance` times the loss. check: called at every
    evaluation, may raise.
    """
    b, size = start.shape
    loss, gradient = function(start, np.arange(b))
    square = _dots(gradient, gradient)
    state = _Descent(
        *(np.arange(b), start.copy(), loss, gradient, -gradient, -square),
        step=1.0 / np.maximum(np.sqrt(square), 1e-12),
        low=np.zeros(b),
        high=np.full(b, np.inf),
        trials=np.zeros(b, dtype=np.int64),
        taken=np.zeros(b, dtype=np.int64),
        steps=np.zeros((b, _HISTORY, size), start.dtype),
        changes=np.zeros((b, _HISTORY, size), start.dtype),
        across=np.zeros((b, _HISTORY, _HISTORY)),
        among=np.zeros((b, _HISTORY, _HISTORY)),
    )
    points, losses = start.copy(), loss.copy()
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
            state.high = np.where(low_enough, state.high, state.step)
            state.low = np.where(low_enough, state.step, state.low)
            with np.errstate(invalid="ignore"):
                halved = 0.5 * (state.low + state.high)
                state.step = np.where(np.isfinite(state.high), halved, 2.0 * state.step)
            state.trials = state.trials + 1
        if accepted.any():
            finished |= _accept(state, accepted, trial, loss, gradient, tolerance) | (state.taken >= most_steps)
        if finished.any():
            done = state.number[finished]
            points[done], losses[done] = state.point[finished], state.loss[finished]
            state.keep(~finished)
    return points, losses


def _dots(a: Numbers, b: Numbers) -> Floats:
    return np.asarray((a * b).sum(axis=1, dtype=np.float64))


def _accept(state: _Descent, accepted: Bools, at: Numbers, loss: Floats, gradient: Numbers, tolerance: float) -> Bools:
    """Go on from the trial points that are accepted; the problems [b] that are finished with that."""
    step, change = at - state.point, gradient - state.gradient
    useful = accepted & (_dots(step, change) > 1e-10 * np.sqrt(_dots(change, change) * _dots(step, step)))
    step[~useful], change[~useful] = 0.0, 0.0
    state.add(step, change)
    finished = accepted & (state.loss - loss <= tolerance * np.abs(loss))
    state.point[accepted], state.loss[accepted] = at[accepted], loss[accepted]
    state.gradient[accepted] = gradient[accepted]
    direction = state.downhill()
    slope = _dots(direction, state.gradient)
    uphill = ~((slope < 0.0) & np.isfinite(slope))
    direction[uphill] = -state.gradient[uphill]
    slope[uphill] = -_dots(direction[uphill], direction[uphill])
    state.direction[accepted], state.slope[accepted] = direction[accepted], slope[accepted]
    state.step[accepted], state.low[accepted], state.high[accepted] = 1.0, 0.0, np.inf
    state.trials[accepted] = 0
    state.taken += accepted
    return finished | (accepted & (state.slope > -1e-14))


@dataclass(frozen=True, slots=True, eq=False)
class FitRows:
    """inputs [n, d], targets [n]: the share of rows of label 1, weights [n]: how many rows each stands for."""

    inputs: Floats
    targets: Floats
    weights: Floats

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    @property
    def share(self) -> float:
        """The share of label 1 among all rows; a half of none."""
        total = self.total
        return float(self.weights @ self.targets) / total if total else 0.5

    def at(self, rows: Bools | Ints) -> FitRows:
        return FitRows(self.inputs[rows], self.targets[rows], self.weights[rows])

    def sampled(self, most: int, rng: np.random.Generator) -> FitRows:
        n = len(self.targets)
        return self if n <= most else self.at(np.sort(rng.choice(n, most, replace=False)))

    def of(self, inputs: Ints) -> FitRows:
        return replace(self, inputs=self.inputs[:, inputs])

    def wrong(self, yes: Bools | bool) -> float:
        """How many rows are decided wrongly; yes [n]: which are decided by yes, or whether all are."""
        return float(self.weights @ np.where(yes, 1.0 - self.targets, self.targets))

    def fires(self, weights: Floats, biases: Floats) -> Bools:
        """Which units fire on which rows [n, m]; weights [m, d], biases [m]. Inputs of no weight are not looked at."""
        live = np.flatnonzero(weights.any(axis=0))
        inputs = self.inputs if 2 * len(live) > self.inputs.shape[1] else self.inputs[:, live]
        own = weights if inputs is self.inputs else weights[:, live]
        dtype = self.inputs.dtype
        return np.asarray(inputs @ own.T.astype(dtype) + biases.astype(dtype) >= 0)

    def yes(self, tree: LTUTree) -> Bools:
        return tree.shape.decides(self.fires(tree.weights, tree.biases))

    def without_idle(self, tree: LTUTree) -> LTUTree:
        return tree.without_idle(self.fires(tree.weights, tree.biases))

    def merged(self) -> FitRows:
        """The same with equal rows as one, in a fixed order, where that makes at most half as many of them."""
        n, d = self.inputs.shape
        if n < _FEW or not d:
            return self
        hashes = np.zeros(n, dtype=np.uint64)
        for bits in np.ascontiguousarray(self.inputs.T).view(np.uint32 if self.inputs.itemsize == 4 else np.uint64):
            mix(hashes, bits)
        _, first, of = np.unique(hashes, return_index=True, return_inverse=True)
        if 2 * len(first) > n:
            return self
        weights, yes = (
            np.bincount(of, own, len(first)).astype(np.float64) for own in (self.weights, self.weights * self.targets)
        )
        return FitRows(self.inputs[first], yes / weights, weights)


@dataclass(frozen=True, slots=True, eq=False)
class TreeLoss:
    """Of trees of a shape of m units over rows of d inputs; a point is m * (d + 1) numbers, the bias of a unit last.

    flipped [B]: whether each problem is to say yes to label 0. mask [m, d]: the weights that may differ from 0; None:
    all. logistic: log loss in the place of squares.
    """

    rows: FitRows
    shape: Shape
    ridge: float
    flipped: Bools
    mask: Bools | None = None
    logistic: bool = False

    def __call__(self, points: Numbers, which: Ints) -> tuple[Floats, Numbers]:
        """Losses [b] and gradients [b, P] of points [b, P] of these problems [b]."""
        rows, m, b = self.rows, self.shape.size, len(points)
        n, d = rows.inputs.shape
        dtype = rows.inputs.dtype
        units = np.ascontiguousarray(points.reshape(b, m, d + 1).swapaxes(0, 1), dtype=dtype)
        weights, biases = units[:, :, :d].reshape(m * b, d), units[:, :, d].reshape(m * b, 1)
        flipped = self.flipped[which]
        shares = (rows.weights / rows.total).astype(dtype)
        targets = rows.targets.astype(dtype)
        losses, slopes, bias_slopes = np.zeros(b), np.zeros((m * b, d)), np.zeros(m * b)
        block = max(256, min(_BLOCK_NUMBERS // (m * b), 4 * _BLOCK_NUMBERS // max(d, 1)))
        for start in range(0, n, block):
            inputs = rows.inputs[start : start + block]
            margins = weights @ inputs.T
            margins += biases
            own = targets[start : start + block]
            wanted = np.where(flipped[:, None], 1 - own, own) if flipped.any() else own
            found, delta = self._of_block(margins.reshape(m, b, -1), wanted, shares[start : start + block])
            losses += found
            flat = delta.reshape(m * b, -1)
            slopes += flat @ inputs
            bias_slopes += flat.sum(axis=1)
        free = points.reshape(b, m, d + 1)[:, :, :d]
        ridges = np.full(b, self.ridge)
        gradient = np.empty((b, m, d + 1), dtype=points.dtype)
        gradient[:, :, :d] = slopes.reshape(m, b, d).swapaxes(0, 1) + ridges[:, None, None] * free
        gradient[:, :, d] = bias_slopes.reshape(m, b).T
        if self.mask is not None:
            gradient[:, :, :d] *= self.mask
        losses += 0.5 * ridges * np.einsum("ijk,ijk->i", free, free, dtype=np.float64)
        return losses, gradient.reshape(b, -1)

    def _of_block(self, margins: Numbers, wanted: Numbers, shares: Numbers) -> tuple[Floats, Numbers]:
        """Losses [b] of rows and their slopes by the margins [m, b, n], which are overwritten."""
        left, right = self.shape.left, self.shape.right
        m = len(left)
        fires = margins
        with np.errstate(over="ignore"):
            np.negative(fires, out=fires)
            np.exp(fires, out=fires)
        fires += 1
        np.reciprocal(fires, out=fires)
        says, gains = np.empty_like(fires), [np.empty(0, fires.dtype)] * m
        for unit in reversed(range(m)):
            if left[unit] == NONE:
                gains[unit] = says[right[unit]] if right[unit] != NONE else np.empty(0, fires.dtype)
                says[unit] = fires[unit] if right[unit] == NONE else fires[unit] * gains[unit]
            else:
                gains[unit] = (says[right[unit]] if right[unit] != NONE else 1) - says[left[unit]]
                np.multiply(fires[unit], gains[unit], out=says[unit])
                says[unit] += says[left[unit]]
        if self.logistic:
            sure = np.clip(says[0], _LEAST, 1 - _LEAST)
            terms = wanted * np.log(sure) + (1 - wanted) * np.log1p(-sure)
            losses = -np.asarray(terms @ shares, dtype=np.float64)
            reach = (sure - wanted) / (sure * (1 - sure)) * shares
        else:
            off = says[0] - wanted
            weighted = off * shares
            losses, reach = np.einsum("ij,ij->i", off, weighted).astype(np.float64), 2 * weighted
        reaches = [reach] * m
        for unit in range(m):
            own, reach = fires[unit], reaches[unit]
            if right[unit] != NONE:
                reaches[right[unit]] = reach * own
            if left[unit] != NONE:
                reaches[left[unit]] = reach - reaches[right[unit]] if right[unit] != NONE else reach * (1 - own)
            np.multiply(own, 1 - own, out=own)
            own *= reach
            if len(gains[unit]):
                own *= gains[unit]
        return losses, fires


@dataclass(frozen=True, slots=True)
class TreeTraining:
    """How a tree is trained: the ridge, squares or log loss, the most steps, and when a step gains too little."""

    l2: float
    logistic: bool = False
    steps: int = 200
    tolerance: float = 1e-6


def softened(tree: LTUTree, length: float = 4.0) -> LTUTree:
    """The same tree with the weights of each unit scaled to a length, so that it is neither too sure nor too unsure."""
    lengths = np.linalg.norm(tree.weights, axis=1)
    scale = np.where(lengths > 0.0, length / np.maximum(lengths, 1e-300), 1.0)
    return LTUTree(tree.shape, tree.weights * scale[:, None], tree.biases * scale)


def fitted(
    rows: FitRows,
    shape: Shape,
    points: Numbers,
    training: TreeTraining,
    check: Check,
    *,
    flipped: Bools | None = None,
    mask: Bools | None = None,
) -> tuple[Numbers, Floats]:
    """The points [b, P] of trees fitted by the loss, each from where it is, and their losses [b]; see TreeLoss."""
    yes = np.zeros(len(points), dtype=bool) if flipped is None else flipped
    loss = TreeLoss(rows, shape, training.l2, yes, mask, training.logistic)
    return minimise(loss, points.astype(rows.inputs.dtype), training.steps, training.tolerance, check)


def refined(tree: LTUTree, rows: FitRows, training: TreeTraining, check: Check, mask: Bools | None = None) -> LTUTree:
    """A tree with its units fitted together, from where they are, without those that then split no rows.

    mask [m, d]: the weights that may differ from 0.
    """
    d = rows.inputs.shape[1]
    live = np.arange(d) if mask is None else np.flatnonzero(mask.any(axis=0))
    seen = rows if mask is None else rows.of(live).merged()
    start = replace(tree, weights=tree.weights[:, live]).units.ravel()[None]
    points, _ = fitted(seen, tree.shape, start, training, check, mask=None if mask is None else mask[:, live])
    return rows.without_idle(LTUTree.of(tree.shape, points[0]).over(live, d))
