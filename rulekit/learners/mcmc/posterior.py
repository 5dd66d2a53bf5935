"""How probable a rule set is, given the rows: a prior on its size, and one of two likelihoods, both on counts.

bernoulli: yes has one probability where the rules hold and another elsewhere, both summed out under even priors; where
yes is rarer inside, the rules say nothing and there is one probability. noisy-logical (A. Yuille and H. Lu, The
Noisy-Logical Distribution and its Application to Causal Inference, 2008): each clause that holds makes a yes with a
probability of its own, and so does a leak that always holds; the walk draws them from a grid. Literals and rows are the
bits of integers, which Python counts and joins fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import NamedTuple

import numpy as np

from rulekit.arrays import Bools
from rulekit.graph.nodes import Node
from rulekit.learners.data.problem import FixedColumn, Problem, simple_conditions
from rulekit.learners.models.plain import Clause

_MOST_BITS = 1 << 30


def bits_of(truth: Bools) -> int:
    """Truth values [n] as an integer, the first the lowest bit."""
    return int.from_bytes(np.packbits(truth, bitorder="little").tobytes(), "little")


@dataclass(frozen=True, slots=True, eq=False)
class Literals:
    """Conditions [n_codes] on columns, of which no two hold on the same rows.

    rows: where each holds; siblings: by literal those of its column.
    """

    conditions: tuple[tuple[int, Bools], ...]
    rows: tuple[int, ...]
    siblings: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, problem: Problem) -> Literals:
        """Fixed conditions, then quantile cuts, frequent levels and missing cells; and the contrary of each."""
        found: dict[int, tuple[int, Bools]] = {}
        fixed = [isinstance(column, FixedColumn) for column in problem.columns]
        for j in sorted(range(len(fixed)), key=lambda j: not fixed[j]):
            known = np.arange(problem.columns[j].n_codes) > 0
            for condition in simple_conditions(problem, j):
                for each in (condition, ~condition if condition[0] else known & ~condition):
                    found.setdefault(bits_of(each[problem.codes[j]]), (j, each))
        kept = {rows: own for rows, own in found.items() if 0 < rows.bit_count() < len(problem.labels)}
        names = [problem.columns[j].feature.name for j, _ in kept.values()]
        siblings = tuple(tuple(k for k, other in enumerate(names) if other == name) for name in names)
        return cls(tuple(kept.values()), tuple(kept), siblings)

    def numbers(self, problem: Problem, clauses: Sequence[Sequence[Node]]) -> tuple[tuple[int, ...], ...]:
        """Clauses of fixed conditions by the numbers of their literals, without what all rows satisfy or none."""
        held = {
            c.node: bits_of(problem.codes[j] == 2) for j, c in enumerate(problem.columns) if isinstance(c, FixedColumn)
        }
        place = {rows: number for number, rows in enumerate(self.rows)}
        own = ({place[held[node]] for node in clause if held[node] in place} for clause in clauses)
        return tuple(sorted({tuple(sorted(clause)) for clause in own if clause}))

    def clause(self, literals: Sequence[int]) -> Clause:
        """By column the codes on which all of some literals hold."""
        clause: Clause = {}
        for column, condition in (self.conditions[literal] for literal in literals):
            clause[column] = condition & clause.get(column, condition)
        return clause


@dataclass(frozen=True, slots=True, eq=False)
class RowBits:
    """All rows, the positive and the other ones, and by bit of their whole weights what it counts and who has it."""

    all: int
    yes: int
    no: int
    planes: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, problem: Problem) -> RowBits:
        everyone, yes = (1 << len(problem.labels)) - 1, bits_of(np.asarray(problem.labels == 1))
        unit = int(np.gcd.reduce(problem.weights)) or 1
        weights = problem.weights // unit
        planes = tuple(
            (problem.weight_unit * unit * 2.0**bit, bits_of(np.asarray(weights >> bit & 1, dtype=bool)))
            for bit in range(int(weights.max()).bit_length())
        )
        return cls(everyone, yes, everyone ^ yes, planes)

    def count(self, rows: int) -> float:
        if len(self.planes) == 1 and self.planes[0][1] == self.all:
            return self.planes[0][0] * rows.bit_count()
        return sum(weight * (rows & plane).bit_count() for weight, plane in self.planes)


GRID = (0.001, 0.002, 0.005, *(k / 100 for k in range(1, 100)), 0.995, 0.998, 0.999)
"""The strengths of noisy clauses and of the leak."""

Clauses = tuple[tuple[int, ...], ...]


class WalkedRules(NamedTuple):
    """Clauses, each of the numbers of its literals and the place of its strength, and the place of the leak's."""

    parts: tuple[tuple[tuple[int, ...], int], ...] = ()
    leak: int = 0

    @property
    def clauses(self) -> Clauses:
        return tuple(clause for clause, _ in self.parts)

    @property
    def size(self) -> int:
        return sum(len(clause) for clause, _ in self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The log probability of rule sets, up to a constant.

    price: by how much a literal makes a rule set less probable, in nats; most: literals. grid: strengths, or one word.
    """

    literals: Literals
    rows: RowBits
    price: float
    most: int
    grid: tuple[float, ...] = (0.0,)
    _held: dict[tuple[int, ...], int] = field(default_factory=dict)

    def __call__(self, state: WalkedRules) -> float:
        """The log probability of a state; minus infinity where it has too many literals, or one that says nothing."""
        if state.size > self.most or not all(self.held(clause) for clause in state.clauses):
            return -math.inf
        prior = -self.price * state.size - (1 + len(state.parts)) * math.log(len(self.grid))
        if len(self.grid) > 1:
            return prior + self._noisy(state)
        yes, no, other_yes, other_no = self.counts(state)
        if yes * other_no < no * other_yes:
            return prior + _log_beta(yes + other_yes, no + other_no)
        return prior + (_log_beta(yes, no) + _log_beta(other_yes, other_no))

    def held(self, clause: tuple[int, ...]) -> int:
        """The rows on which a clause holds; none where a literal of it follows from the others."""
        rows = self._held.get(clause)
        if rows is None:
            own = [self.literals.rows[literal] for literal in clause]
            rows = reduce(and_, own)
            if any(reduce(and_, own[:k] + own[k + 1 :], self.rows.all) == rows for k in range(len(own))):
                rows = 0
            if len(self._held) * self.rows.all.bit_length() > _MOST_BITS:
                self._held.clear()
            self._held[clause] = rows
        return rows

    def counts(self, state: WalkedRules) -> tuple[float, float, float, float]:
        """The weight of yes and of no where the rules hold, and of both elsewhere."""
        rows, held = self.rows, 0
        for clause, _ in state.parts:
            held |= self.held(clause)
        yes, no = rows.count(held & rows.yes), rows.count(held & rows.no)
        return yes, no, rows.count(rows.yes) - yes, rows.count(rows.no) - no

    def _noisy(self, state: WalkedRules) -> float:
        """Of a noisy-or of the clauses and the leak, over the rows by which clauses hold."""
        cells, count, total = [(1.0 - self.grid[state.leak], self.rows.all)], self.rows.count, 0.0
        for clause, place in state.parts:
            held, stays = self.held(clause), 1.0 - self.grid[place]
            inside = [(stay * stays, rows & held) for stay, rows in cells]
            cells = [*inside, *((stay, rows ^ own) for (stay, rows), (_, own) in zip(cells, inside, strict=True))]
            cells = [cell for cell in cells if cell[1]]
        for stay, rows in cells:
            yes = count(rows & self.rows.yes)
            total += yes * math.log1p(-stay) + (count(rows) - yes) * math.log(stay)
        return total


def _log_beta(yes: float, no: float) -> float:
    return math.lgamma(yes + 1.0) + math.lgamma(no + 1.0) - math.lgamma(yes + no + 2.0)
