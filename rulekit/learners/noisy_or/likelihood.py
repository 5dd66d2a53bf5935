"""The conditional log-likelihood of a noisy-or, and coordinate descent to its maximum.

A cell is one value of one attribute, such as a word that is there, or a condition that holds; a row holds some cells.
s = leak + sum of the strengths of the cells that a row holds, and P(C = 0 | a) = exp(-s) (Vomlel 2003, equation 6). The
strength of a cell is -log P(A' = 0 | the attribute has this value), so that the probability that it causes the class is
1 - exp(-strength). A strength of 0 is no cause.

The logarithm of P(C = 0 | a) is linear in the strengths, so that the negative rows enter by sums alone. Equal positive
rows are one row that weighs more, and they stand in an order that follows from what they hold: nothing that is learned
depends on the order of the rows, and a row of weight 2 is two rows. Sparse matrices add one number after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints, mixed
from rulekit.learners.data.folds import equal_rows
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.learners.sums_of_rows.kernels import compiled

if TYPE_CHECKING:
    from scipy.sparse import csr_array


STRONGEST = -float(np.log1p(-(1.0 - 1e-12)))
"""No strength is above that of the probability 1 - 1e-12: every algorithm stops there."""
_BITS = 50  # of the exact sums
_FINE = 2.0**40  # coarser than what exp and log differ by between platforms
LEAK_FLOOR = 1e-9
"""The leak is never below it, so that every positive row has a likelihood; it costs so much a negative row."""
_LONGEST = 5.0
_FULL_EVERY = 10
_LARGE, _SMALL = 1e12, 1e-3


def cells_held(held: Sequence[Bools], n: int) -> csr_array:
    """The cells [n, k] of rows, 1 where a condition [n] holds."""
    from scipy.sparse import csr_array

    return csr_array(np.stack(held, axis=1) if held else np.zeros((n, 0), dtype=bool), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Strengths:
    """Strengths [k] >= 0 of the cells, and of the leak (0: none)."""

    cells: Floats
    leak: float

    def activations(self, rows: csr_array) -> Floats:
        """The sum s [n] of each row: P(C = 0 | row) = exp(-s)."""
        return np.asarray(self.leak + rows @ self.cells)


@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """The distinct positive rows [n, k] with their weights [n], and what positive and negative rows weigh by cell."""

    rows: csr_array
    weights: Floats
    of_positive: Floats
    of_negative: Floats
    positive: float
    negative: float

    @classmethod
    def of(cls, rows: csr_array, labels: npt.NDArray[Any], weights: Floats | Ints | None = None) -> Incidence:
        """The rows [n, k] with their labels [n] of 0 and 1 and weights [n] >= 0; rows of weight 0 are left out.

        Sums of weights that are whole numbers below 2^53 are exact.
        """
        each = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        chosen = (np.asarray(labels) == 1) & (each > 0.0)
        # All but the positive ones by one subtraction would be rounded twice where the weights are not whole numbers.
        of_negative = rows.T @ np.where(chosen, 0.0, each)
        distinct, own = merged(rows[np.flatnonzero(chosen)], each[chosen])
        return cls(distinct, own, distinct.T @ own, of_negative, exact_sum(own), exact_sum(each[~chosen]))

    @property
    def total(self) -> float:
        return self.positive + self.negative

    @property
    def n_cells(self) -> int:
        return int(self.rows.shape[1])

    def likelihood(self, strengths: Strengths, activations: Floats | None = None) -> float:
        """The conditional log-likelihood (equation 2) in nats; activations [n]: of the positive rows, if known."""
        s = strengths.activations(self.rows) if activations is None else activations
        of_negative = self.of_negative @ strengths.cells + self.negative * strengths.leak
        return float(self.weights @ log_positive(s) - of_negative)


def log_positive(activations: Floats) -> Floats:
    """log(1 - exp(-s)) [n], without loss of digits at either end; -inf at 0."""
    with np.errstate(divide="ignore"):
        small = np.log(-np.expm1(-np.minimum(activations, 1.0)))
    return np.where(activations < 0.693, small, np.log1p(-np.exp(-np.maximum(activations, 0.5))))


def exact_gains(each: Floats, weights: Floats) -> Floats:
    """Numbers [n, m] times the weights [n] of their rows, rounded so that their sums are exact, in any order."""
    each = np.rint(each * _FINE) / _FINE * weights[:, None]
    unit = 2.0 ** (np.frexp(max(exact_sum(np.abs(each).max(axis=1, initial=0.0)), 1e-300))[1] - _BITS)
    return np.asarray(np.rint(each / unit) * unit)


def merged(rows: csr_array, weights: Floats) -> tuple[csr_array, Floats]:
    """The rows in an order of their own, that of their hashes, equal ones as one row of the sum of their weights.

    Rows are compared too, since a table can be made in which other rows share a hash; such rows stay as they are.
    """
    cells = mixed(np.arange(rows.shape[1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    up_to = np.zeros(rows.nnz + 1, dtype=np.uint64)
    np.cumsum(cells[rows.indices], out=up_to[1:])
    kind = equal_rows(np.diff(up_to[rows.indptr]))
    first = np.unique(kind, return_index=True)[1]
    if len(first) < len(kind) and (rows != rows[first[kind]]).nnz:
        return rows, weights
    return rows[first], np.asarray(np.bincount(kind, weights), dtype=np.float64)


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

    The objective is concave (log(1 - exp(-s)) is, and s is linear), so that its maximum is known when it is reached:
    where no strength violates the conditions of Karush, Kuhn and Tucker by more than `tolerance` for each unit of
    positive weight. One step is a projected step of Newton on one strength, by the positive rows that hold its cell.
    Strengths that stay 0 are left out until the next sweep over all of them. check: called between sweeps, may raise.
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


def _move(slope: float, curvature: float, strength: float, floor: float) -> float:
    """The step of Newton, within the bounds; upwards it is never too long, as the slope is convex."""
    if curvature > 0.0:
        step = slope / curvature
    else:
        step = -math.inf if slope < 0.0 else 0.0
    step = min(step, _LONGEST)
    return min(max(strength + step, floor), STRONGEST) - strength


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
        low, high = a[cell] <= floor, a[cell] >= STRONGEST
        largest[place] = max(slope, 0.0) if low else max(-slope, 0.0) if high else abs(slope)
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
                s = math.log1p(before) + move
                after = math.expm1(s) if s < 709.0 else math.inf  # where that is no double
            state[i, 1] = after
