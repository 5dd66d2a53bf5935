"""The rows that units are fitted to: inputs, the share of label 1 among equal rows, and how many rows each is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints


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

    def sampled(self, most: int, rng: np.random.Generator) -> Rows:
        """At most so many of the rows, in their order."""
        n = len(self.targets)
        return self if n <= most else self.at(np.sort(rng.choice(n, most, replace=False)))

    def of(self, inputs: Ints) -> Rows:
        """The rows with some of their inputs, by number."""
        return replace(self, inputs=self.inputs[:, inputs])

    def wrong(self, yes: Bools) -> float:
        """How many rows are decided wrongly; yes [n]: which are decided by yes."""
        return float(self.weights @ np.where(yes, 1.0 - self.targets, self.targets))

    def wrong_if(self, yes: bool) -> float:
        """How many rows are decided wrongly where all get one answer."""
        return float(self.weights @ (1.0 - self.targets if yes else self.targets))

    def fires(self, weights: Floats, biases: Floats) -> Bools:
        """Which units fire on which rows [n, m]; weights [m, d], biases [m]. Inputs of no weight are not looked at."""
        live = np.flatnonzero(weights.any(axis=0))
        inputs = self.inputs if 2 * len(live) > self.inputs.shape[1] else self.inputs[:, live]
        own = weights if inputs is self.inputs else weights[:, live]
        dtype = self.inputs.dtype
        return np.asarray(inputs @ own.T.astype(dtype) + biases.astype(dtype) >= 0)

    def yes(self, tree: LTUTree) -> Bools:
        """Which rows [n] a tree answers by yes."""
        return tree.shape.decides(self.fires(tree.weights, tree.biases))

    def without_idle(self, tree: LTUTree) -> LTUTree:
        """A tree without units that do not split the rows that come to them."""
        return tree.without_idle_where(self.fires(tree.weights, tree.biases))

    def merged(self) -> Rows:
        """The same with equal rows as one, in a fixed order, where that makes at most half as many of them."""
        n, d = self.inputs.shape
        if n < _FEW or not d:
            return self
        _, first, of = np.unique(_hashes(self.inputs), return_index=True, return_inverse=True)
        if 2 * len(first) > n:
            return self
        weights, yes = (
            np.bincount(of, own, len(first)).astype(np.float64) for own in (self.weights, self.weights * self.targets)
        )
        return Rows(self.inputs[first], yes / weights, weights)


_FEW = 64
_ODD, _MIXED = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def _hashes(inputs: Floats) -> npt.NDArray[np.uint64]:
    """A number of 64 bits [n] for each row, the same for equal ones, and for two that differ hardly ever.

    The bits of each input are mixed (with the constants of splitmix64) before they are added up with odd factors
    drawn at random: with factors of a pattern sums of some would be those of others.
    """
    width = inputs.dtype.itemsize
    bits = np.ascontiguousarray(inputs).view(np.uint32 if width == 4 else np.uint64).astype(np.uint64)
    bits += np.uint64(1)
    bits *= _ODD
    bits ^= bits >> np.uint64(30)
    bits *= _MIXED
    bits ^= bits >> np.uint64(27)
    bits *= np.random.PCG64(0).random_raw(bits.shape[1]) | np.uint64(1)
    return np.asarray(bits.sum(axis=1, dtype=np.uint64))
