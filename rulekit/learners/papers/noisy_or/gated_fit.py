"""The gated noisy-or: causes of which any may act, unless one of the inhibitors does.

P(C = 1 | a) = exp(-h) (1 - exp(-s)), where s is the sum of the strengths of the causes that a row holds and h that of
its inhibitors: And(Or(causes), Not(Or(inhibitors))) with hidden bits of which none occurs twice. The log-likelihood is
concave in neither, so that what is found depends on the start, which is a noisy-or and inhibitors that hardly act.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.noisy_or.likelihood import STRONGEST, Strengths, log_positive, merged
from rulekit.learners.sums_of_rows.kernels import one_blas_thread

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FIRST = 1e-3
_LEAST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class GatedStrengths:
    """Strengths of causes and of inhibitors, and the objective that they were found by."""

    causes: Strengths
    inhibitors: Strengths
    objective: float

    def activations(self, rows: csr_array) -> Floats:
        """-log P(C = 0 | row) [n], which is what a threshold cuts; it is that of the causes where nothing inhibits."""
        return np.asarray(-log_negative(self.causes.activations(rows), self.inhibitors.activations(rows)))

    def probabilities(self, rows: csr_array) -> Floats:
        s, h = self.causes.activations(rows), self.inhibitors.activations(rows)
        return np.asarray(np.exp(log_positive(s) - h))


def log_negative(s: Floats, h: Floats) -> Floats:
    """The log of P(C = 0), log(1 - exp(-h) + exp(-h - s)) [n], without loss of digits."""
    return np.asarray(np.logaddexp(log_positive(h), -h - s))


def log_likelihoods(s: Floats, h: Floats, positive: Bools) -> Floats:
    """The log of P(C = the label) [n] of rows with these activations [n] of causes and inhibitors."""
    return np.where(positive, log_positive(s) - h, log_negative(s, h))


def fit_gated(
    rows: csr_array,
    labels: npt.NDArray[Any],
    start: Strengths,
    *,
    start_of_inhibitors: Strengths | None = None,
    prior: float = 1.0,
    prior_of_inhibitors: float = 0.3,
    causes: Bools | None = None,
    inhibitors: Bools | None = None,
    weights: Floats | Ints | None = None,
    iterations: int = 300,
    check: Callable[[], None] | None = None,
) -> GatedStrengths:
    """Fit a gated noisy-or by L-BFGS-B, with L1 penalties on all strengths but those of the two leaks.

    start: a noisy-or of these cells, as coordinate descent finds it; start_of_inhibitors: to go on from (None: those
    that hardly act). prior, prior_of_inhibitors: the penalty of a unit of strength, in nats. causes, inhibitors
    [n_cells]: which cells may be one or the other (None: all). check: called before each evaluation, may raise.
    """
    from scipy.optimize import minimize

    k = rows.shape[1]
    of_causes = np.flatnonzero(np.ones(k, dtype=bool) if causes is None else causes)
    of_inhibitors = np.flatnonzero(np.ones(k, dtype=bool) if inhibitors is None else inhibitors)
    penalties = np.concatenate(
        [np.full(len(of_causes), prior), [0.0], np.full(len(of_inhibitors), prior_of_inhibitors), [0.0]]
    )
    problem = _GatedRows.of(rows, labels, weights, of_causes, of_inhibitors)
    gate = start_of_inhibitors or Strengths(np.full(k, _FIRST), _FIRST)
    x = np.concatenate([start.cells[of_causes], [max(start.leak, _LEAST)], gate.cells[of_inhibitors], [gate.leak]])
    least = np.zeros(len(x))
    least[len(of_causes)] = _LEAST

    def loss(x: Floats) -> tuple[float, Floats]:
        if check is not None:
            check()
        value, slope = problem.likelihood(x)
        return float(penalties @ x) - value, penalties - slope

    bounds = np.column_stack([least, np.full(len(x), STRONGEST)])
    with one_blas_thread():  # its matrices are so small that threads only wait for each other
        found = minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
    own, other = problem.strengths(np.asarray(found.x))
    return GatedStrengths(own, other, -float(found.fun))


@dataclass(frozen=True, slots=True, eq=False)
class _GatedRows:
    """Distinct rows with their labels and weights, positive ones first, and which cells are causes or inhibitors."""

    rows: csr_array
    weights: Floats
    n_positive: int
    causes: Ints
    inhibitors: Ints

    @classmethod
    def of(cls, rows: csr_array, labels: Any, weights: Any, causes: Ints, inhibitors: Ints) -> _GatedRows:
        from scipy.sparse import vstack

        each = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        positive = np.asarray(labels) == 1
        first, own = merged(rows[np.flatnonzero(positive)], each[positive])
        second, other = merged(rows[np.flatnonzero(~positive)], each[~positive])
        joined = vstack([first, second], format="csr")
        return cls(joined, np.concatenate([own, other]), first.shape[0], causes, inhibitors)

    def strengths(self, x: Floats) -> tuple[Strengths, Strengths]:
        """Causes and inhibitors of parameters: strengths of the causes, their leak, then the same of inhibitors."""
        n = len(self.causes)
        return self._spread(x[:n], self.causes, x[n]), self._spread(x[n + 1 : -1], self.inhibitors, x[-1])

    def _spread(self, values: Floats, cells: Ints, leak: float) -> Strengths:
        all_cells = np.zeros(self.rows.shape[1])
        all_cells[cells] = values
        return Strengths(all_cells, float(leak))

    def likelihood(self, x: Floats) -> tuple[float, Floats]:
        own, other = self.strengths(x)
        s, h = own.activations(self.rows), other.activations(self.rows)
        positive, negative = log_positive(s) - h, log_negative(s, h)
        n = self.n_positive
        value = float((self.weights[:n] * positive[:n]).sum() + (self.weights[n:] * negative[n:]).sum())
        by_s, by_h = np.empty(len(s)), np.full(len(s), -1.0)
        by_s[:n] = 1.0 / np.expm1(np.minimum(s[:n], 700.0))
        by_s[n:] = -np.exp(-h[n:] - s[n:] - negative[n:])
        by_h[n:] = np.exp(positive[n:] - negative[n:])
        by_s, by_h = by_s * self.weights, by_h * self.weights
        of_causes, of_inhibitors = (self.rows.T @ by_s)[self.causes], (self.rows.T @ by_h)[self.inhibitors]
        return value, np.concatenate([of_causes, [by_s.sum()], of_inhibitors, [by_h.sum()]])
