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
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import And, Node
from rulekit.learners.contract import NO_WATCH, Watch
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

    @property
    def literals(self) -> int:
        """How many bounds a reader sees, where the codes have an order."""
        return max(1, int(np.count_nonzero(np.diff(self.condition[1:].astype(np.int8)))))

    def contrary(self, first: int) -> Cause:
        """What holds where a known cell does not meet the condition; first: the first code of a known value."""
        return Cause(self.column, ~self.condition & (np.arange(len(self.condition)) >= first))

    @property
    def key(self) -> tuple[Any, ...]:
        """What equal causes share."""
        return self.column, self.condition.tobytes()


@dataclass(frozen=True, slots=True)
class Causes:
    """The possible causes of one column: n_below `x <= c`, n_above `x > c`, or levels and their contraries; missing.

    first: the first code of a known value; rare levels, which share a code with those never seen, are one level.
    direction: +1 `x > c` alone, -1 `x <= c` alone.
    """

    column: int
    n_codes: int
    first: int
    ordered: bool
    contraries: bool
    direction: int
    missing: bool

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


def causes_of(columns: Sequence[BinnedColumn], *, general: bool, missing: Bools, flipped: bool) -> list[Causes]:
    """The possible causes of the columns.

    general: contraries of Boolean columns and of levels, too; missing [n_columns]: whether a missing cell may be a
    cause. flipped: causes speak against the positive class, so that monotone columns have the other direction.
    """
    found = []
    for k, column in enumerate(columns):
        kind, direction = column.feature.kind, column.feature.monotone
        first = FIRST_LEVEL_CODE if kind == "categorical" and column.ordered else 1
        both = general or (column.ordered and kind != "boolean")
        own = (column.ordered, both, -direction if flipped else direction, bool(missing[k]))
        found.append(Causes(k, column.n_codes, first, *own))
    return found


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

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(part.key for part in self.parts)

    def narrowed(self, cause: Cause) -> JointCause:
        """The conjunction with one more condition, which narrows the one on the same column."""
        own = {part.column: part for part in self.parts}
        before = own.get(cause.column)
        own[cause.column] = Cause(cause.column, cause.condition & before.condition) if before else cause
        return JointCause(tuple(own[column] for column in sorted(own)))

    def without(self, part: Cause) -> JointCause:
        return JointCause(tuple(own for own in self.parts if own.key != part.key))


AnyCause = Cause | JointCause


Reached = Callable[[float], Floats]
"""The log-likelihood [n] of the rows that is reached where activations rise by a strength."""


def gains(reached: Reached, rises: Floats) -> Floats:
    """What each row gains [n, n_rises] by rises."""
    before = reached(0.0)
    return np.stack([reached(rise) - before for rise in rises.tolist()], axis=1)


class _Extension(NamedTuple):
    """A conjunction to be: its worth, which one it lengthens, the condition, and the sums that tell it from twins."""

    worth: float
    parent: int
    causes: Causes
    place: int
    twin: bytes


@dataclass(frozen=True, slots=True, eq=False)
class JointSearch:
    """What is looked for: conditions by column, joined to at most so many causes, each of which holds on enough rows.

    prior: against causes, as rows on which each did not act; least: the weight of the rows on which a cause holds.
    literals: the most of a cause; width: how many conjunctions are lengthened. apart [columns, columns]: which may not
    stand in one cause; None: all may.
    """

    causes: Sequence[Causes]
    prior: float
    most: int
    least: float
    literals: int = 4
    width: int = 8
    apart: Bools | None = None
    watch: Watch = NO_WATCH

    @property
    def cost(self) -> float:
        """What a literal beyond the first must gain, in nats: it takes as many to say which of the conditions it is."""
        return math.log(max(1, sum(each.n_conditions for each in self.causes)))

    def further(self, cause: JointCause) -> int:
        """How many literals a cause has beyond the first."""
        ordered = {each.column for each in self.causes if each.ordered}
        return sum(part.literals if part.column in ordered else 1 for part in cause.parts) - 1

    def best(self, problem: Problem, reached: Reached, weights: Floats) -> tuple[float, JointCause] | None:
        """The joint cause that raises the log-likelihood most, and by how much; None where none raises it.

        weights [n]: of the rows. Sums do not depend on their order.
        """
        gained = exact_gains(gains(reached, TRIED), weights)
        parents: list[tuple[JointCause, Ints]] = [(JointCause(), np.flatnonzero(weights > 0.0))]
        best: tuple[float, JointCause] | None = None
        for _ in range(self.literals):
            self.watch.check()
            found: list[tuple[JointCause, Ints]] = []
            for extension in self._extensions(problem, np.column_stack([gained, weights]), parents):
                before, held = parents[extension.parent]
                cause = extension.causes.cause(extension.place)
                if self.apart is not None and any(self.apart[cause.column, part.column] for part in before.parts):
                    continue
                longer = before.narrowed(cause)
                further = self.further(longer)
                if further >= self.literals:
                    continue
                worth = extension.worth - self.cost * further
                if worth > (0.0 if best is None else best[0]):
                    best = worth, longer
                found.append((longer, held[cause.condition[problem.codes[cause.column][held]]]))
                if len(found) == self.width:
                    break
            if not found:
                break
            parents = found
        return best

    def _extensions(
        self, problem: Problem, channels: Floats, parents: Sequence[tuple[JointCause, Ints]]
    ) -> list[_Extension]:
        """Conditions that make the parents longer, the best first, of which none hold on the same rows as another.

        channels [n, len(TRIED) + 1]: what rows gain by a cause of each strength, and their weights.
        """
        starts = np.concatenate([[0], np.cumsum([len(rows) for _, rows in parents])]).astype(np.int64)
        rows = np.concatenate([rows for _, rows in parents])
        weight = np.array([channels[held, -1].sum() for _, held in parents])
        found = list[_Extension]()
        for each in self.causes:
            by_code = np.zeros((len(parents), each.n_codes, channels.shape[1]))
            add_by_code(problem.codes[each.column], rows, starts, channels, by_code)
            flat = each.sums(by_code.transpose(1, 0, 2).reshape(each.n_codes, -1))
            sums = flat.reshape(-1, *by_code.shape[::2])  # [conditions, parents, channels]
            held = sums[:, :, -1]
            worth = (sums[:, :, :-1] - self.prior * TRIED).max(axis=2, initial=-np.inf)
            worth[(held < self.least) | (held >= weight)] = -np.inf
            for parent in range(len(parents)):
                top = np.argsort(-worth[:, parent], kind="stable")[: self.width]
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
