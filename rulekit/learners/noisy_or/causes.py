"""What may be a cause: conditions on one column or on several, and the search for the one that gains most likelihood.

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
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import And, Node
from rulekit.learners.contract import Watch
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import Problem, condition_node
from rulekit.learners.noisy_or.likelihood import exact_gains
from rulekit.learners.sums_of_rows.kernels import compiled
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """A condition [n_codes] on the codes of one column; it does not hold where the column is missing, or only there."""

    column: int
    condition: Bools

    def holds(self, codes: Codes) -> Bools:
        return np.asarray(self.condition[codes[self.column]])

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        return condition_node(columns[self.column], self.condition)

    def contrary(self, first: int) -> Cause:
        """What holds where a known cell does not meet the condition; first: the first code of a known value."""
        return Cause(self.column, ~self.condition & (np.arange(len(self.condition)) >= first))

    def same(self, other: AnyCause) -> bool:
        if not isinstance(other, Cause) or self.column != other.column:
            return False
        return np.array_equal(self.condition, other.condition)


@dataclass(frozen=True, slots=True)
class Causes:
    """The possible causes of one column: n_below `x <= c`, n_above `x > c`, or levels and their contraries; missing.

    first: the first code of a known value; rare levels, which share a code with those never seen, are one level.
    """

    column: int
    n_codes: int
    first: int
    ordered: bool
    contraries: bool
    direction: int
    missing: bool

    @classmethod
    def of(cls, index: int, column: BinnedColumn, *, general: bool, missing: bool, direction: int) -> Causes:
        """Those of a column.

        general: contraries of Boolean columns and of levels, too. missing: whether a missing cell may be one.
        direction: +1 `x > c` alone, -1 `x <= c` alone.
        """
        first = FIRST_LEVEL_CODE if column.feature.kind == "categorical" and column.ordered else 1
        both = general or (column.ordered and column.feature.kind != "boolean")
        return cls(index, column.n_codes, first, column.ordered, both, direction, missing)

    @property
    def n_conditions(self) -> int:
        return self._n_of_a_side * self._sides + int(self.missing)

    @property
    def _n_of_a_side(self) -> int:
        return max(0, self.n_codes - self.first - int(self.ordered))

    @property
    def _sides(self) -> int:
        return 1 if self.direction else 1 + int(self.contraries)

    def sums(self, by_code: Floats) -> Floats:
        """The sums [n_causes, m] of values by code [n_codes, m]: of the codes on which each cause holds."""
        known = by_code[self.first :]
        if self.ordered:
            below = np.cumsum(known, axis=0)
            parts = [below[-1:] - below[:-1], below[:-1]] if len(known) else [known, known]
        else:
            parts = [known, known.sum(axis=0) - known]
        if self.direction < 0:
            parts = parts[1:]
        elif self.direction > 0 or not self.contraries:
            parts = parts[:1]
        return np.concatenate([*parts, by_code[: int(self.missing)]])

    def cause(self, place: int) -> Cause:
        n, codes = self._n_of_a_side, np.arange(self.n_codes)
        if place >= self._sides * n:
            return Cause(self.column, codes == MISSING_CODE)
        at = self.first + place % n
        condition = codes > at if self.ordered else codes == at
        if (place >= n) != (self.direction < 0):
            condition = ~condition
        condition[: self.first] = False
        return Cause(self.column, condition)


def causes_of(
    columns: Sequence[BinnedColumn], usable: Sequence[int], *, general: bool, missing: Bools, flipped: bool
) -> list[Causes]:
    """The possible causes of the columns.

    usable: which columns may have some; missing [n_columns]: whether a missing cell may be a cause. flipped: causes
    speak against the positive class, so that the directions of monotone columns are the other way round.
    """
    directions = [-column.feature.monotone if flipped else column.feature.monotone for column in columns]
    return [
        Causes.of(k, columns[k], general=general, missing=bool(missing[k]), direction=directions[k]) for k in usable
    ]


TRIED = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9, 2.5])
"""The strengths that a further cause is tried with, from a probability of .1 to one of 92 %: causes of a rare class act
seldom.
"""


@dataclass(frozen=True, slots=True, eq=False)
class JointCause:
    """Conditions that hold together, one for each of its columns, ascending."""

    parts: tuple[Cause, ...] = ()

    def holds(self, codes: Codes) -> Bools:
        return np.asarray(np.logical_and.reduce([part.holds(codes) for part in self.parts]))

    def node(self, columns: Sequence[BinnedColumn]) -> Node:
        nodes = [condition_node(columns[part.column], part.condition) for part in self.parts]
        return nodes[0] if len(nodes) == 1 else And(nodes)

    def same(self, other: AnyCause) -> bool:
        if not isinstance(other, JointCause) or len(self.parts) != len(other.parts):
            return False
        return all(a.same(b) for a, b in zip(self.parts, other.parts, strict=True))

    def narrowed(self, cause: Cause) -> JointCause:
        """The conjunction with one more condition, which narrows the one on the same column."""
        own = {part.column: part for part in self.parts}
        before = own.get(cause.column)
        own[cause.column] = Cause(cause.column, cause.condition & before.condition) if before else cause
        return JointCause(tuple(own[column] for column in sorted(own)))

    def without(self, part: Cause) -> JointCause:
        return JointCause(tuple(own for own in self.parts if not own.same(part)))

    def literals(self, ordered: Bools) -> int:
        """How many bounds and sets of levels a reader sees; ordered [n_columns]: columns whose codes have an order."""
        return sum(
            max(1, int(np.count_nonzero(np.diff(part.condition[1:].astype(np.int8))))) if ordered[part.column] else 1
            for part in self.parts
        )


AnyCause = Cause | JointCause


@dataclass(frozen=True, slots=True, eq=False)
class Breadth:
    """How wide the search is: the most literals, and conjunctions that are lengthened.

    apart [columns, columns]: which may not stand in one cause; [0, 0] where all may.
    """

    literals: int = 4
    conjunctions: int = 8
    apart: Bools = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def allows(self, cause: JointCause, column: int) -> bool:
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


class _Extension(NamedTuple):
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
    found = list[_Extension]()
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
