"""Gated noisy-ors whose causes are conjunctions: first the conjunctions, then the words that inhibit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.learning.noisy_dnf import Breadth, Conjunction, covered, fit_conjunctions
from rulekit.learners.noisy_or.fitting.gated import Gated, fit_gated
from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.noisy_or.fitting.strengths import Strengths
from rulekit.learners.sums_of_rows.histograms import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class GatedDNF:
    """Conjunctions, and a gated noisy-or over the cells of the rows and, behind them, the conjunctions."""

    conjunctions: tuple[Conjunction, ...]
    gated: Gated

    def cells(self, rows: RowCells) -> RowCells:
        """The rows with the conjunctions that hold on each behind their own cells."""
        return beside(rows, covered(rows, self.conjunctions))

    def activations(self, rows: RowCells) -> Floats:
        """-log P(C = 0 | row) [n]."""
        return self.gated.activations(self.cells(rows))

    def probabilities(self, rows: RowCells) -> Floats:
        """P(C = 1 | row) [n]."""
        return self.gated.probabilities(self.cells(rows))


def fit_gated_conjunctions(
    rows: RowCells,
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
    k, n = rows.n_cells, len(found.conjunctions)
    cells = beside(rows, covered(rows, found.conjunctions))
    rule = np.arange(k + n) >= k
    start = Strengths(np.append(np.zeros(k), found.strengths.present), None, found.strengths.leak)
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
    kept = np.flatnonzero(gated.causes.present[k:] > 0.0)
    chosen = np.concatenate([np.arange(k), k + kept])
    own = Strengths(gated.causes.present[chosen], None, gated.causes.leak)
    other = Strengths(gated.inhibitors.present[chosen], None, gated.inhibitors.leak)
    return GatedDNF(tuple(found.conjunctions[i] for i in kept), Gated(own, other, gated.objective))


def beside(rows: RowCells, other: RowCells) -> RowCells:
    """The same rows with the cells and attributes of another one behind their own."""
    indptr = rows.indptr + other.indptr
    indices = np.empty(indptr[-1], dtype=np.int32)
    own = np.arange(len(rows.indices)) + np.repeat(other.indptr[:-1], rows.lengths)
    indices[own] = rows.indices
    further = np.arange(len(other.indices)) + np.repeat(rows.indptr[1:], other.lengths)
    indices[further] = other.indices + np.int32(rows.n_cells)
    behind = other.attribute + np.int32(rows.attribute.max(initial=-1) + 1)
    return RowCells(indptr, indices, np.concatenate([rows.attribute, behind]))
