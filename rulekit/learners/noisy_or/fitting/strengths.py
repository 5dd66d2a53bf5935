"""The parameters of a noisy-or, their conditional log-likelihood and how far they are from its largest value.

s = leak + sum of the strengths of the cells that a row holds; P(C = 0 | a) = exp(-s) (Vomlel 2003, equation 6). The
strength of a cell is -log P(A' = 0 | the attribute has this value), so that the probability that it causes the class is
1 - exp(-strength). A strength of 0 is no cause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, exact_sum

STRONGEST = -float(np.log1p(-(1.0 - 1e-12)))
"""No strength is above that of the probability 1 - 1e-12: every algorithm stops there."""
_BITS = 50  # of the exact sums
_FINE = 2.0**40  # coarser than what exp and log differ by between platforms


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """Strengths [n_cells] >= 0 of the cells, those of absence [n_cells] (None: all 0), and of the leak (0: none)."""

    present: Floats
    absent: Floats | None
    leak: float

    def activations(self, rows: RowCells) -> Floats:
        """The sum s [n] of each row: P(C = 0 | row) = exp(-s)."""
        found = self.leak + rows.row_sums(self.present)
        if self.absent is not None:
            # The strengths of what is absent are all but those of what is there; never below 0 by rounding.
            found += np.maximum(self.absent.sum() - rows.row_sums(self.absent), 0.0)
        return found

    @property
    def probabilities(self) -> Floats:
        """P(A' = 1 | cell) [n_cells] = 1 - exp(-strength)."""
        return np.asarray(-np.expm1(-self.present))


def log_positive(activations: Floats) -> Floats:
    """log(1 - exp(-s)) [n], without loss of digits at either end; -inf at 0."""
    with np.errstate(divide="ignore"):
        small = np.log(-np.expm1(-np.minimum(activations, 1.0)))
    return np.where(activations < 0.693, small, np.log1p(-np.exp(-np.maximum(activations, 0.5))))


def log_likelihood(incidence: Incidence, strengths: Strengths, activations: Floats | None = None) -> float:
    """The conditional log-likelihood (equation 2) in nats; activations [n]: of the positive rows, if they are known."""
    s = strengths.activations(incidence.rows) if activations is None else activations
    of_negative = incidence.of_negative @ strengths.present + incidence.negative * strengths.leak
    if strengths.absent is not None:
        of_negative += (incidence.negative - incidence.of_negative) @ strengths.absent
    return float(incidence.weights @ log_positive(s) - of_negative)


def penalty(strengths: Strengths, prior: float) -> float:
    """Prior times all strengths but the leak: less it, the logarithm of Beta(1, 1 + prior) on each probability."""
    total = strengths.present.sum() + (0.0 if strengths.absent is None else strengths.absent.sum())
    return prior * float(total)


def objective(incidence: Incidence, strengths: Strengths, prior: float) -> float:
    """The log-likelihood less the penalty."""
    return log_likelihood(incidence, strengths) - penalty(strengths, prior)


def slopes(incidence: Incidence, strengths: Strengths, prior: float) -> Strengths:
    """The derivative of the objective by each strength; it is infinite where a positive row has activation 0."""
    s = strengths.activations(incidence.rows)
    with np.errstate(divide="ignore", over="ignore"):
        each = incidence.weights / np.expm1(s)
    total, held = float(each.sum()), incidence.rows.cell_sums(each)
    absent = None
    if strengths.absent is not None:
        absent = (total - held) - (incidence.negative - incidence.of_negative) - prior
    return Strengths(held - incidence.of_negative - prior, absent, total - incidence.negative)


def violation(
    incidence: Incidence, strengths: Strengths, prior: float, leak_floor: float = 0.0, free: Bools | None = None
) -> float:
    """The largest violation of the conditions of Karush, Kuhn and Tucker, in units of weight: 0 at the maximum.

    A strength that is 0 may have a slope below 0 and one at its largest value a slope above it; all others must have
    none. The objective is concave, so that strengths without violation are best ones. leak_floor: of the leak, if it
    has one; free [n_cells]: which cells may be causes (None: all).
    """
    found = slopes(incidence, strengths, prior)
    parts = [_projected(found.present, strengths.present, 0.0)]
    if found.absent is not None and strengths.absent is not None:
        parts.append(_projected(found.absent, strengths.absent, 0.0))
    if free is not None:
        parts = [part[free] for part in parts]
    parts.append(_projected(np.array([found.leak]), np.array([strengths.leak]), leak_floor))
    return float(max(np.abs(part).max(initial=0.0) for part in parts))


def _projected(slope: Floats, strength: Floats, floor: float) -> Floats:
    found = np.where(strength <= floor, np.maximum(slope, 0.0), slope)
    return np.where(strength >= STRONGEST, np.minimum(found, 0.0), found)


def exact_gains(each: Floats, weights: Floats) -> Floats:
    """Numbers [n, m] times the weights [n] of their rows, rounded so that their sums are exact, in any order."""
    each = np.rint(each * _FINE) / _FINE * weights[:, None]
    unit = 2.0 ** (np.frexp(max(exact_sum(np.abs(each).max(axis=1, initial=0.0)), 1e-300))[1] - _BITS)
    return np.asarray(np.rint(each / unit) * unit)
