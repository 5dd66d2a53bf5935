"""A question with two answers about binned rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.codes import Codes
from rulekit.learners.counting.histograms import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Binned columns, labels [n] of 0 and 1, quantised weights [n] and what one unit of them weighs."""

    columns: tuple[BinnedColumn, ...]
    codes: Codes
    labels: Ints
    weights: Ints
    weight_unit: float

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum()) * self.weight_unit

    @property
    def positive(self) -> float:
        """The weight of the rows with label 1."""
        return float(self.weights[self.labels == 1].sum()) * self.weight_unit

    @property
    def share(self) -> float:
        """The share of the weight that has label 1."""
        return float(self.weights[self.labels == 1].sum()) / float(self.weights.sum())

    def take(self, rows: npt.NDArray[Any]) -> Problem:
        """Some of the rows: a Boolean mask [n] or row numbers."""
        labels = self.labels[rows]
        # Weights that are one number seen n times stay so: see share_equal.
        each = self.weights.strides == (0,) and len(self.weights) > 0
        weights = np.broadcast_to(self.weights[:1], labels.shape) if each else self.weights[rows]
        return Problem(self.columns, self.codes.take(rows), labels, weights, self.weight_unit)
