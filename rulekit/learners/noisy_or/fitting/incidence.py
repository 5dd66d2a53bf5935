"""The rows as the noisy-or sees them: positive rows one by one, of the negative ones only the weight of each cell.

The logarithm of P(C = 0 | a) = exp(-s) is linear in the strengths, so that the negative rows enter the conditional
log-likelihood by sums alone. Equal positive rows are one row that weighs more, and they stand in an order that follows
from what they hold: nothing that is learned depends on the order of the rows, and a row of weight 2 is two rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.sums_of_rows.histograms import Floats, Ints, exact_sum


@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """The distinct positive rows with their weights [n], and what positive and negative rows weigh by cell [n_cells].

    absent: the attributes are binary, one cell each, and each has a further cell that nothing stores: it is absent.
    """

    rows: RowCells
    weights: Floats
    of_positive: Floats
    of_negative: Floats
    positive: float
    negative: float
    absent: bool

    @classmethod
    def of(
        cls,
        rows: RowCells,
        labels: npt.NDArray[Any],
        weights: Floats | Ints | None = None,
        *,
        absent: bool = False,
    ) -> Incidence:
        """The rows with their labels [n] of 0 and 1 and weights [n] >= 0; rows of weight 0 are left out.

        Sums of weights that are whole numbers below 2^53 are exact. Raises InputError where no row is positive.
        """
        each = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        chosen = (np.asarray(labels) == 1) & (each > 0.0)
        if not np.any(chosen):
            raise InputError("no row of the class has any weight", where="noisy-or", fix="pass rows of both classes")
        # All but the positive ones by one subtraction would be rounded twice where the weights are not whole numbers.
        of_negative = rows.cell_sums(np.where(chosen, 0.0, each))
        distinct, own = merged(rows.take(chosen), each[chosen])
        of_positive = distinct.cell_sums(own)
        negative = exact_sum(each[~chosen])
        return cls(distinct, own, of_positive, of_negative, exact_sum(own), negative, absent)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return self.positive + self.negative

    @property
    def n_cells(self) -> int:
        return self.rows.n_cells


def merged(rows: RowCells, weights: Floats) -> tuple[RowCells, Floats]:
    """The rows in an order of their own, equal ones as one row of the sum of their weights."""
    first, second = _fingerprints(rows)
    order = np.lexsort((weights, second, first))
    same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    ahead = np.concatenate([[False], same])
    if np.any(same) and not _equal(rows, order[1:][same], order[:-1][same]):
        ahead[:] = False
    starts = np.flatnonzero(~ahead)
    return rows.take(order[starts]), np.add.reduceat(weights[order], starts)


def _equal(rows: RowCells, some: Ints, others: Ints) -> bool:
    if not np.array_equal(rows.lengths[some], rows.lengths[others]):
        return False
    return np.array_equal(rows.take(some).indices, rows.take(others).indices)


def _fingerprints(rows: RowCells) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Two numbers [n] of what each row holds: sums of mixed cell numbers, modulo 2^64."""
    mixed = _mix(np.arange(1, rows.n_cells + 1, dtype=np.uint64))
    found = []
    for values in (mixed, _mix(mixed)):
        sums = np.zeros(len(rows), dtype=np.uint64)
        for start, end in rows.parts():
            before = rows.indptr[start : end + 1] - rows.indptr[start]
            held = rows.indices[rows.indptr[start] : rows.indptr[end]]
            up_to = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values[held], dtype=np.uint64)])
            sums[start:end] = np.diff(up_to[before])
        found.append(sums)
    return found[0], found[1]


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers without any visible order: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    values = values * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
