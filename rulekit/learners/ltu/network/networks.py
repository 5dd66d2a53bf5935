"""A network as it stands between two passes: its shape, its weights, and what is needed to train on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.ltu.network.kernels import State, Steps, Wiring, margins_of
from rulekit.learners.ltu.network.rules import FixedIncrement, Rule, Winnow
from rulekit.learners.ltu.nodes.conditions import as_signs, of_complements, of_signs, with_complements
from rulekit.learners.ltu.shape import Shape
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints

_NO_TABLE = np.ones(1)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Units over inputs as the rule sees them: k of them, of d inputs whose conditions [d] are 0 and 1.

    state: weights [m, k] and what belongs to them; shown: the rows shown so far; names [m]: the number of each unit in
    the shape that training began with.
    """

    rule: Rule
    shape: Shape
    conditions: Bools
    state: State
    shown: int
    names: Ints

    @classmethod
    def new(cls, rule: Rule, shape: Shape, conditions: Bools) -> Network:
        """One that has seen no row.

        Raises InputError where the rule needs conditions and there are numbers.
        """
        m, d = shape.size, len(conditions)
        if isinstance(rule, Winnow):
            if not conditions.all():
                numbers = int(np.count_nonzero(~conditions))
                raise InputError(
                    f"Winnow takes conditions that hold or do not, and {numbers} inputs are numbers",
                    fix="cut them into conditions (max_bins), or learn by fixed increments",
                )
            k = 2 * d
            weights, biases = np.ones((m, k)), np.full(m, -rule.threshold_of(d))
        else:
            k = d
            weights, biases = np.zeros((m, k)), np.zeros(m)
        counts = [np.zeros((m, k if isinstance(rule, Winnow) else 0), dtype=np.int64) for _ in range(2)]
        state = State(weights, biases, counts[0], counts[1], np.zeros((m, k + 1)), np.zeros(m, dtype=np.int64))
        return cls(rule, shape, conditions, state, 0, np.arange(m))

    @property
    def wiring(self) -> Wiring:
        """The shape as kernels take it."""
        return Wiring(self.shape.left, self.shape.right, self.shape.ways)

    @property
    def steps(self) -> Steps:
        """The rule as kernels take it."""
        if isinstance(self.rule, FixedIncrement):
            return Steps(False, False, _NO_TABLE, _NO_TABLE)
        return Steps(True, self.rule.cancels, self.rule.rises, self.rule.falls)

    def seen(self, inputs: Floats) -> Floats:
        """The inputs [n, k] as the rule sees rows of inputs [n, d].

        Raises InputError where there are other inputs than the network was made for.
        """
        if inputs.shape[1] != len(self.conditions):
            raise InputError(f"the network has {len(self.conditions)} inputs and the rows have {inputs.shape[1]}")
        of_conditions = inputs[:, self.conditions]
        if ((of_conditions != 0.0) & (of_conditions != 1.0)).any():
            raise InputError("conditions are 0 or 1, and a row has another value for one")
        if isinstance(self.rule, Winnow):
            return with_complements(inputs, self.conditions)
        return as_signs(inputs, self.conditions)

    def fires(self, seen: Floats) -> Bools:
        """Which units fire on which rows [n, m], of what the rule sees [n, k]."""
        return np.asarray(margins_of(seen, self.state.weights, self.state.biases) >= 0.0)

    @property
    def tree(self) -> LTUTree:
        """The units over the inputs as they are, conditions 0 and 1."""
        return self.tree_of(self.state.weights, self.state.biases)

    @property
    def averaged(self) -> LTUTree:
        """The same with weights that are the mean of those that all rows so far were shown to."""
        if not self.shown:
            return self.tree
        own = np.hstack([self.state.weights, self.state.biases[:, None]])
        means = (self.state.sums + (self.shown - self.state.since)[:, None] * own) / self.shown
        return self.tree_of(means[:, :-1], means[:, -1])

    def tree_of(self, weights: Floats, biases: Floats) -> LTUTree:
        """The tree of this shape with other weights [m, k] and biases [m]."""
        back = of_complements if isinstance(self.rule, Winnow) else of_signs
        found = [back(unit, float(bias), self.conditions) for unit, bias in zip(weights, biases, strict=True)]
        return LTUTree(self.shape, np.array([own for own, _ in found]), np.array([bias for _, bias in found]))

    def kept(self, shape: Shape, units: Ints) -> Network:
        """The network of another shape with some of the units."""
        state = State._make(part[units] for part in self.state)
        return replace(self, shape=shape, state=state, names=self.names[units])

    def after(self, shown: int) -> Network:
        """The network when so many more rows were shown to it."""
        return replace(self, shown=self.shown + shown)

    def copied(self) -> Network:
        """One whose state may be changed in place."""
        return replace(self, state=State._make(part.copy() for part in self.state))
