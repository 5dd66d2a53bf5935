"""Gated noisy-ors whose causes are conjunctions: first the conjunctions, then the words that inhibit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from benchmarks.learning.noisy_dnf import Breadth, Conjunction, covered, fit_conjunctions
from rulekit.arrays import Floats, Ints
from rulekit.learners.noisy_or.likelihood import Strengths
from rulekit.learners.papers.noisy_or.gated import GatedStrengths, fit_gated, log_negative


@dataclass(frozen=True, slots=True, eq=False)
class GatedDNF:
    """Conjunctions of the cells of rows as causes, and the cells as inhibitors; None: the cells are both."""

    conjunctions: tuple[Conjunction, ...] | None
    gated: GatedStrengths

    def _sums(self, rows: csr_array) -> tuple[Floats, Floats]:
        causes = rows if self.conjunctions is None else covered(rows, self.conjunctions)
        return self.gated.causes.activations(causes), self.gated.inhibitors.activations(rows)

    def activations(self, rows: csr_array) -> Floats:
        """-log P(C = 0 | row) [n]."""
        return np.asarray(-log_negative(*self._sums(rows)))

    def probabilities(self, rows: csr_array) -> Floats:
        """P(C = 1 | row) [n]."""
        s, h = self._sums(rows)
        return np.asarray(-np.expm1(-s) * np.exp(-h))


def fit_gated_conjunctions(
    rows: csr_array,
    labels: npt.NDArray[Any],
    *,
    prior: float = 8.0,
    prior_of_inhibitors: float = 2.0,
    depth: int = 4,
    absent: bool = True,
    weights: Floats | Ints | None = None,
    breadth: Breadth | None = None,
    check: Callable[[], None] | None = None,
) -> GatedDNF:
    """Fit conjunctions as `fit_conjunctions` does, then their strengths anew beside inhibitors, which are cells.

    The parameters are those of `fit_conjunctions` and of `fit_gated`; conjunctions that become 0 are dropped.
    """
    found = fit_conjunctions(
        rows, labels, prior=prior, depth=depth, absent=absent, weights=weights, breadth=breadth, check=check
    )
    gated = fit_gated(
        covered(rows, found.conjunctions),
        rows,
        labels,
        found.strengths,
        prior=prior,
        prior_of_inhibitors=prior_of_inhibitors,
        weights=weights,
        check=check or (lambda: None),
    )
    kept = np.flatnonzero(gated.causes.cells > 0.0)
    own = Strengths(gated.causes.cells[kept], gated.causes.leak)
    return GatedDNF(tuple(found.conjunctions[i] for i in kept), replace(gated, causes=own))
