"""The rows that units are fitted to: inputs, the share of label 1 among equal rows, and how many rows each is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """inputs [n, d], targets [n]: the share of rows of label 1, weights [n]: how many rows each stands for."""

    inputs: Floats
    targets: Floats
    weights: Floats

    @property
    def total(self) -> float:
        """How many rows there are."""
        return float(self.weights.sum())

    @property
    def share(self) -> float:
        """The share of label 1 among all rows; a half of none."""
        total = self.total
        return float(self.weights @ self.targets) / total if total else 0.5

    def at(self, rows: Bools | Ints) -> Rows:
        """Some of the rows."""
        return Rows(self.inputs[rows], self.targets[rows], self.weights[rows])

    def of(self, inputs: Ints) -> Rows:
        """The rows with some of their inputs, by number."""
        return replace(self, inputs=self.inputs[:, inputs])

    def wrong(self, yes: Bools) -> float:
        """How many rows are decided wrongly; yes [n]: which are decided by yes."""
        return float(self.weights @ np.where(yes, 1.0 - self.targets, self.targets))

    def merged(self) -> Rows:
        """The same with equal rows as one, where that makes half as many of them; in a fixed order."""
        n, d = self.inputs.shape
        if not n or not d or d > _MOST_COMPARED:
            return self
        codes = _codes(self.inputs, n // 2)
        if codes is None:
            return self
        _, first, of = np.unique(codes, return_index=True, return_inverse=True)
        weights, yes = (
            np.bincount(of, own, len(first)).astype(np.float64) for own in (self.weights, self.weights * self.targets)
        )
        return Rows(self.inputs[first], yes / weights, weights)


_MOST_COMPARED = 64


def _codes(inputs: Floats, most: int) -> Ints | None:
    """A number [n] for each row, the same for equal ones; None where there are more than so many."""
    found = np.zeros(len(inputs), dtype=np.int64)
    for column in inputs.T:
        values, own = np.unique(column, return_inverse=True)
        if len(values) > most:
            return None
        _, found = np.unique(found * len(values) + own, return_inverse=True)
        if found.max(initial=0) >= most:
            return None
    return found
