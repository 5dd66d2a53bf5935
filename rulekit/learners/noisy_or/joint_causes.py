"""Causes that are conditions on several columns together, and the search for the one that gains most likelihood.

A joint cause holds where all its conditions do. Conditions on one column are one set of codes: two bounds are an
interval. A missing cell meets no condition, but where that it is missing may be one.

The search goes from few conditions to many: the best conjunctions of each length are lengthened by all conditions on
all columns at once. What a conjunction gains is added up for a few strengths that it may have, by code of each column,
so that the sums of all conditions on a column follow from those of its codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import And, Node
from rulekit.learners.contract import Watch
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause, Causes
from rulekit.learners.noisy_or.likelihood import exact_gains
from rulekit.learners.sums_of_rows.kernels import compiled

TRIED = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9, 2.5])
"""The strengths that a further cause is tried with, from a probability of .1 to one of 92 %: causes of a rare class act
seldom.
"""


@dataclass(frozen=True, slots=True, eq=False)
class JointCause:
    """Conditions that hold together, one for each of its columns, ascending."""

    parts: tuple[Cause, ...] = ()

    def holds(self, codes: Codes) -> Bools:
        """The rows [n] on which all conditions hold; there is one at least."""
        return np.asarray(np.logical_and.reduce([part.holds(codes) for part in self.parts]))

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        """The conditions as a Boolean node."""
        nodes = [condition_node(columns[part.column], part.condition) for part in self.parts]
        return nodes[0] if len(nodes) == 1 else And(nodes)

    def same(self, other: JointCause) -> bool:
        """Whether these are the same conditions."""
        pairs = zip(self.parts, other.parts, strict=False)
        return len(self.parts) == len(other.parts) and all(a.same(b) for a, b in pairs)

    def narrowed(self, cause: Cause) -> JointCause:
        """The conjunction with one more condition, which narrows the one on the same column."""
        own = {part.column: part for part in self.parts}
        before = own.get(cause.column)
        own[cause.column] = Cause(cause.column, cause.condition & before.condition) if before else cause
        return JointCause(tuple(own[column] for column in sorted(own)))

    def without(self, part: Cause) -> JointCause:
        """The conjunction of its other conditions."""
        return JointCause(tuple(own for own in self.parts if not own.same(part)))

    def literals(self, ordered: Bools) -> int:
        """How many bounds and sets of levels a reader sees; ordered [n_columns]: columns whose codes have an order."""
        return sum(
            max(1, int(np.count_nonzero(np.diff(part.condition[1:].astype(np.int8))))) if ordered[part.column] else 1
            for part in self.parts
        )


@dataclass(frozen=True, slots=True, eq=False)
class Breadth:
    """How wide the search is: the most literals, and conjunctions that are lengthened.

    apart [columns, columns]: which may not stand in one cause; [0, 0] where all may.
    """

    literals: int = 4
    conjunctions: int = 8
    apart: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def allows(self, cause: JointCause, column: int) -> bool:
        """Whether a condition on a column may join a cause."""
        return not len(self.apart) or not any(self.apart[column, part.column] for part in cause.parts)


def ordered_columns(causes: Sequence[Causes]) -> Bools:
    """Which columns [n_columns] have codes with an order."""
    ordered = np.zeros(1 + max((each.column for each in causes), default=0), dtype=bool)
    ordered[[each.column for each in causes if each.ordered]] = True
    return ordered


def cost_of_literal(causes: Sequence[Causes]) -> float:
    """What a literal beyond the first must gain, in nats: it takes as many to say which of the conditions it is."""
    return math.log(max(1, sum(each.n_conditions for each in causes)))


@dataclass(frozen=True, slots=True, eq=False)
class Rise:
    """By how much a further cause raises the log-likelihood of each row: values [n, len(TRIED)], summed exactly.

    weights [n]: of the rows; prior: what a unit of strength costs.
    """

    values: Floats
    weights: Floats
    prior: float

    @classmethod
    def of(cls, reached: Callable[[float], Floats], weights: Floats, prior: float) -> Rise:
        """Of the log-likelihood [n] that is reached where activations rise by a strength, times the weights [n].

        Sums do not depend on the order of the rows.
        """
        return cls(exact_gains(gains(reached, TRIED), weights), weights, prior)


def gains(reached: Callable[[float], Floats], rises: Floats) -> Floats:
    """What each row gains [n, n_rises] by rises, of which `reached` says the log-likelihood [n]."""
    before = reached(0.0)
    return np.stack([reached(rise) - before for rise in rises.tolist()], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Extension:
    """A conjunction to be: its worth, which one it lengthens, the condition, and the sums that tell it from twins."""

    worth: float
    parent: int
    causes: Causes
    place: int
    twin: bytes


def best_joint_cause(
    problem: Problem, causes: Sequence[Causes], rise: Rise, least: float, breadth: Breadth, watch: Watch
) -> tuple[float, JointCause] | None:
    """The joint cause that raises the log-likelihood most, and by how much; None where none raises it.

    causes: the conditions by column; least: the weight of the rows on which it holds.
    """
    ordered, cost = ordered_columns(causes), cost_of_literal(causes)
    rows = np.flatnonzero(rise.weights > 0.0)
    parents: list[tuple[JointCause, Ints]] = [(JointCause(), rows)]
    best: tuple[float, JointCause] | None = None
    for _ in range(breadth.literals):
        watch.check()
        found: list[tuple[JointCause, Ints]] = []
        for extension in _extensions(problem, causes, rise, least, breadth, parents):
            before, held = parents[extension.parent]
            cause = extension.causes.cause(extension.place)
            if not breadth.allows(before, cause.column):
                continue
            longer = before.narrowed(cause)
            literals = longer.literals(ordered)
            if literals > breadth.literals:
                continue
            worth = extension.worth - cost * (literals - 1)
            if worth > (0.0 if best is None else best[0]):
                best = worth, longer
            found.append((longer, held[cause.condition[problem.codes[cause.column][held]]]))
            if len(found) == breadth.conjunctions:
                break
        if not found:
            break
        parents = found
    return best


def _extensions(
    problem: Problem,
    causes: Sequence[Causes],
    rise: Rise,
    least: float,
    breadth: Breadth,
    parents: Sequence[tuple[JointCause, Ints]],
) -> list[_Extension]:
    """Conditions that make the parents longer, the best first, of which none hold on the same rows as another."""
    starts = np.concatenate([[0], np.cumsum([len(rows) for _, rows in parents])]).astype(np.int64)
    rows = np.concatenate([rows for _, rows in parents])
    channels = np.column_stack([rise.values, rise.weights])
    weight = np.array([rise.weights[held].sum() for _, held in parents])
    found: list[_Extension] = []
    for each in causes:
        by_code = np.zeros((len(parents), each.n_codes, channels.shape[1]))
        add_by_code(problem.codes[each.column], rows, starts, channels, by_code)
        flat = each.sums(by_code.transpose(1, 0, 2).reshape(each.n_codes, -1))
        sums = flat.reshape(-1, *by_code.shape[::2])  # [conditions, parents, channels]
        held = sums[:, :, -1]
        worth = (sums[:, :, :-1] - rise.prior * TRIED).max(axis=2, initial=-np.inf)
        worth[(held < least) | (held >= weight)] = -np.inf
        for parent in range(len(parents)):
            top = np.argsort(-worth[:, parent], kind="stable")[: breadth.conjunctions]
            found += [
                _Extension(float(worth[place, parent]), parent, each, place, sums[place, parent].tobytes())
                for place in top.tolist()
                if worth[place, parent] > -np.inf
            ]
    found.sort(key=lambda extension: -extension.worth)
    return list({extension.twin: extension for extension in reversed(found)}.values())[::-1]


@compiled
def add_by_code(codes: Any, rows: Any, starts: Any, values: Any, sums: Any) -> None:
    """Add the values [n, m] of the rows of each part, one after the other, to its sums [parts, n_codes, m]."""
    for parent in range(len(starts) - 1):
        for at in range(starts[parent], starts[parent + 1]):
            row = rows[at]
            code = codes[row]
            for k in range(values.shape[1]):
                sums[parent, code, k] += values[row, k]
