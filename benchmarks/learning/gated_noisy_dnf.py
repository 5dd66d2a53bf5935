"""Gated noisy-ors whose causes are conjunctions: first the conjunctions, then the words that inhibit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from benchmarks.learning.noisy_dnf import Breadth, Conjunction, covered, fit_conjunctions
from rulekit.arrays import Floats, Ints
from rulekit.learners.noisy_or.likelihood import Strengths
from rulekit.learners.papers.noisy_or.gated_fit import GatedStrengths, fit_gated


@dataclass(frozen=True, slots=True, eq=False)
class GatedDNF:
    """Conjunctions, and a gated noisy-or over the cells of the rows and, behind them, the conjunctions."""

    conjunctions: tuple[Conjunction, ...]
    gated: GatedStrengths

    def cells(self, rows: csr_array) -> csr_array:
        """The rows with the conjunctions that hold on each behind their own cells."""
        return beside(rows, covered(rows, self.conjunctions))

    def activations(self, rows: csr_array) -> Floats:
        """-log P(C = 0 | row) [n]."""
        return self.gated.activations(self.cells(rows))

    def probabilities(self, rows: csr_array) -> Floats:
        """P(C = 1 | row) [n]."""
        return self.gated.probabilities(self.cells(rows))


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
    k, n = rows.shape[1], len(found.conjunctions)
    cells = beside(rows, covered(rows, found.conjunctions))
    rule = np.arange(k + n) >= k
    start = Strengths(np.append(np.zeros(k), found.strengths.cells), found.strengths.leak)
    gated = fit_gated(
        cells,
        labels,
        start,
        prior=prior,
        prior_of_inhibitors=prior_of_inhibitors,
        causes=rule,
        inhibitors=~rule,
        weights=weights,
        check=check,
    )
    kept = np.flatnonzero(gated.causes.cells[k:] > 0.0)
    chosen = np.concatenate([np.arange(k), k + kept])
    own = Strengths(gated.causes.cells[chosen], gated.causes.leak)
    other = Strengths(gated.inhibitors.cells[chosen], gated.inhibitors.leak)
    return GatedDNF(tuple(found.conjunctions[i] for i in kept), GatedStrengths(own, other, gated.objective))


def beside(rows: csr_array, other: csr_array) -> csr_array:
    """The same rows with the cells of another one behind their own."""
    return csr_array(hstack([rows, other], format="csr"))
