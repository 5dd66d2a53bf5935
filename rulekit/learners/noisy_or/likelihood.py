"""The conditional log-likelihood of a noisy-or, from its positive rows and from what the others weigh by cell.

A cell is one value of one attribute, such as a word that is there, or a condition that holds; a row holds some cells.
s = leak + sum of the strengths of the cells that a row holds, and P(C = 0 | a) = exp(-s) (Vomlel 2003, equation 6). The
strength of a cell is -log P(A' = 0 | the attribute has this value), so that the probability that it causes the class is
1 - exp(-strength). A strength of 0 is no cause.

The logarithm of P(C = 0 | a) is linear in the strengths, so that the negative rows enter by sums alone. Equal positive
rows are one row that weighs more, and they stand in an order that follows from what they hold: nothing that is learned
depends on the order of the rows, and a row of weight 2 is two rows. Sparse matrices add one number after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.sums_of_rows.histograms import exact_sum

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STRONGEST = -float(np.log1p(-(1.0 - 1e-12)))
"""No strength is above that of the probability 1 - 1e-12: every algorithm stops there."""
_BITS = 50  # of the exact sums
_FINE = 2.0**40  # coarser than what exp and log differ by between platforms


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

    @property
    def probabilities(self) -> Floats:
        """P(A' = 1 | cell) [k] = 1 - exp(-strength)."""
        return np.asarray(-np.expm1(-self.cells))


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

        Sums of weights that are whole numbers below 2^53 are exact. Raises InputError where no row is positive.
        """
        each = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        chosen = (np.asarray(labels) == 1) & (each > 0.0)
        if not np.any(chosen):
            raise InputError("no row of the class has any weight", where="noisy-or", fix="pass rows of both classes")
        # All but the positive ones by one subtraction would be rounded twice where the weights are not whole numbers.
        of_negative = rows.T @ np.where(chosen, 0.0, each)
        distinct, own = merged(rows[np.flatnonzero(chosen)], each[chosen])
        return cls(distinct, own, distinct.T @ own, of_negative, exact_sum(own), exact_sum(each[~chosen]))

    @property
    def total(self) -> float:
        """The weight of all rows."""
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
    """The rows in an order of their own, equal ones as one row of the sum of their weights."""
    first, second = _fingerprints(rows)
    order = np.lexsort((weights, second, first))
    same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    ahead = np.concatenate([[False], same])
    if np.any(same) and (rows[order[1:][same]] != rows[order[:-1][same]]).nnz:
        ahead[:] = False
    starts = np.flatnonzero(~ahead)
    return rows[order[starts]], np.add.reduceat(weights[order], starts)


def _fingerprints(rows: csr_array) -> list[npt.NDArray[np.uint64]]:
    """Two numbers [n] of what each row holds: sums of mixed cell numbers, modulo 2^64."""
    mixed = _mix(np.arange(1, rows.shape[1] + 1, dtype=np.uint64))
    found = []
    for values in (mixed, _mix(mixed)):
        up_to = np.zeros(rows.nnz + 1, dtype=np.uint64)
        np.cumsum(values[rows.indices], out=up_to[1:])
        found.append(np.diff(up_to[rows.indptr]))
    return found


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers without any visible order: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    values = values * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
