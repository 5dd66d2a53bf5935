"""A tree of linear threshold units over numbers: what is fitted, before it is rounded and written in users' units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rulekit.learners.ltu.shape import Shape
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class LTUTree:
    """Unit k fires where biases[k] + weights[k] @ inputs >= 0; weights [m, d], biases [m]; shape: of the m units."""

    shape: Shape
    weights: Floats
    biases: Floats

    @property
    def size(self) -> int:
        """The number of units."""
        return self.shape.size

    @property
    def live(self) -> Ints:
        """The inputs that some unit gives a weight."""
        return np.flatnonzero(self.weights.any(axis=0))

    def margins(self, inputs: Floats) -> Floats:
        """The sums [n, m] of rows of inputs [n, d]."""
        return np.asarray(inputs @ self.weights.T + self.biases)

    def decides(self, inputs: Floats) -> Bools:
        """The rows [n] that are answered by yes."""
        return self.shape.decides(self.margins(inputs) >= 0.0)

    def kept(self, shape: Shape, units: Ints) -> LTUTree:
        """The tree of another shape with some of the units."""
        return LTUTree(shape, self.weights[units], self.biases[units])

    def without_idle(self, inputs: Floats) -> LTUTree:
        """The tree without units that all rows that come to them, [n, d], pass on the same side; the root stays."""
        return self.without_idle_where(self.margins(inputs) >= 0.0)

    def without_idle_where(self, fires: Bools) -> LTUTree:
        """The same, where units fire on rows as said [n, m]."""
        tree, unit = self, 0
        while unit < tree.size:
            way = tree.shape.ways[unit]
            here = ((way == 0) | (way == np.where(fires, 1, -1))).all(axis=1)
            own = fires[here, unit]
            passing = None if own.any() and not own.all() else tree.shape.passing(unit, bool(own.any()))
            if passing is None:
                unit += 1
            else:
                tree, fires = tree.kept(*passing), fires[:, passing[1]]
        return tree

    def over(self, inputs: Ints, n_inputs: int) -> LTUTree:
        """The tree over all inputs, so many, of which it has seen some, by their numbers [d]."""
        weights = np.zeros((self.size, n_inputs))
        weights[:, inputs] = self.weights
        return replace(self, weights=weights)
