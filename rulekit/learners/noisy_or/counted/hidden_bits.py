"""What members that add up hidden causes share: causes with probabilities, and the distinct rows as they see them.

A row counts by which causes hold on it and by its label alone, so that equal ones are one row of their weight; they
stand in an order that follows from what they hold, so that nothing depends on the order of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import distinct_rows
from rulekit.learners.noisy_or.search.causes import Cause
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints

LARGEST = 1.0 - 1e-12
"""No probability is above it."""
NO_CHANCE = 1e-7
"""What acts less often is no cause."""


def has_settled(objectives: Sequence[float], iterations: int, settled: float) -> bool:
    """Whether EM ends: the last iteration has raised the objective by no more than `settled`, or there were enough."""
    return len(objectives) > iterations or (len(objectives) > 1 and objectives[-1] - objectives[-2] <= settled)


def chances_of(acted: Floats, held: Floats) -> Floats:
    """The M-step: the probabilities [k] of causes that held, and acted, so often."""
    with np.errstate(invalid="ignore", divide="ignore"):
        p = acted / held
    return np.where(held > 0.0, np.clip(p, 0.0, LARGEST), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """Causes with the probability that each acts where it holds, and that of the leak.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior.
    """

    causes: tuple[Cause, ...]
    chances: tuple[float, ...]
    leak: float
    likelihood: float = 0.0
    objective: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRows:
    """held [n, k]: whether each cause holds; labels, weights [n]; place: of each row of a table its distinct row."""

    held: Bools
    labels: Ints
    weights: Floats
    place: Ints

    @classmethod
    def of(cls, held: Sequence[Bools], labels: Ints, weights: npt.NDArray[Any], unit: float = 1.0) -> DistinctRows:
        """The rows [n] of a table; weights are whole numbers of units."""
        n = len(labels)
        matrix = np.stack(held, axis=1) if held else np.zeros((n, 0), dtype=bool)
        keys = np.concatenate([np.packbits(matrix, axis=1), _bytes(labels)], axis=1)
        first, place = distinct_rows(keys)
        total = np.asarray(np.bincount(place, weights, len(first)), dtype=np.float64)
        return cls(matrix[first], labels[first].astype(np.int64), total * unit, place)

    @property
    def held_weight(self) -> Floats:
        """The weight [k] of the rows on which each cause holds."""
        return self.sums(self.held)

    def sums(self, values: Floats | Bools) -> Floats:
        """The weighted sums [m] of numbers [n, m], row by row: a product of matrices may add in another order."""
        return np.asarray(np.add.reduce(values * self.weights[:, None], axis=0))


def _bytes(labels: Ints) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(labels, dtype=">i4").view(np.uint8).reshape(-1, 4)
