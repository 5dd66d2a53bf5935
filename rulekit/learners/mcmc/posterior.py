"""How probable a rule set is, given the rows, and the moves of a walk over rule sets.

The probability is a prior on the size times one of two likelihoods, both on counts. bernoulli: yes has one probability
where the rules hold and another elsewhere, both summed out under even priors; where yes is rarer inside, the rules say
nothing and there is one probability. noisy-logical (A. Yuille and H. Lu, The Noisy-Logical Distribution and its
Application to Causal Inference, 2008): each clause that holds makes a yes with a probability of its own, and so does a
leak that always holds; the walk draws them from a grid. Literals and rows are the bits of integers, which Python counts
and joins fast.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import NamedTuple

import numpy as np

from rulekit.arrays import Bools
from rulekit.graph.nodes import Node
from rulekit.learners.data.problem import FixedColumn, Problem, simple_conditions
from rulekit.learners.models.plain import Clause
from rulekit.sampling import Below, Drawn

_LONGEST = 3  # literals of a clause that is drawn as a whole
_WAYS = (-20, -5, -1, 1, 5, 20)
_MOST_BITS = 1 << 30


def bits_of(truth: Bools) -> int:
    """Truth values [n] as an integer, the first the lowest bit."""
    return int.from_bytes(np.packbits(truth, bitorder="little").tobytes(), "little")


@dataclass(frozen=True, slots=True, eq=False)
class Literals:
    """Conditions [n_codes] on columns; no two of them hold on the same rows.

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
        own = ({self.rows.index(held[node]) for node in clause if held[node] in self.rows} for clause in clauses)
        return tuple(sorted({tuple(sorted(clause)) for clause in own if clause}))

    def clause(self, literals: Sequence[int]) -> Clause:
        """By column the codes on which all of some literals hold."""
        clause: Clause = {}
        for column, condition in (self.conditions[literal] for literal in literals):
            clause[column] = condition & clause.get(column, condition)
        return clause


def weight_planes(problem: Problem) -> tuple[tuple[float, int], ...]:
    """By bit of the whole weights of rows what it counts and which rows have it."""
    unit = int(np.gcd.reduce(problem.weights)) or 1
    weights = problem.weights // unit
    return tuple(
        (problem.weight_unit * unit * 2.0**bit, bits_of(np.asarray(weights >> bit & 1, dtype=bool)))
        for bit in range(int(weights.max()).bit_length())
    )


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

    rows, positive: all rows and those of label 1; planes: see `weight_planes`. price: by how much a literal makes a
    rule set less probable, in nats; most: literals. grid: strengths, or one word.
    """

    literals: Literals
    rows: int
    positive: int
    planes: tuple[tuple[float, int], ...]
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
        if clause not in self._held:
            own = [self.literals.rows[literal] for literal in clause]
            rows = reduce(and_, own)
            follows = any(reduce(and_, own[:k] + own[k + 1 :], self.rows) == rows for k in range(len(own)))
            if len(self._held) * self.rows.bit_length() > _MOST_BITS:
                self._held.clear()
            self._held[clause] = 0 if follows else rows
        return self._held[clause]

    def counts(self, state: WalkedRules) -> tuple[float, float, float, float]:
        """The weight of yes and of no where the rules hold, and of both elsewhere."""
        held = reduce(or_, map(self.held, state.clauses), 0)
        no = self.rows ^ self.positive
        inside = self.weight_of(held & self.positive), self.weight_of(held & no)
        return *inside, self.weight_of(self.positive) - inside[0], self.weight_of(no) - inside[1]

    def weight_of(self, rows: int) -> float:
        if len(self.planes) == 1 and self.planes[0][1] == self.rows:
            return self.planes[0][0] * rows.bit_count()
        return sum(weight * (rows & plane).bit_count() for weight, plane in self.planes)

    def _noisy(self, state: WalkedRules) -> float:
        """Of a noisy-or of the clauses and the leak, over the rows by which clauses hold."""
        cells, total = [(1.0 - self.grid[state.leak], self.rows)], 0.0
        for clause, place in state.parts:
            held, stays = self.held(clause), 1.0 - self.grid[place]
            sides = (stays, held), (1.0, ~held)
            cells = [(stay * own, rows & side) for own, side in sides for stay, rows in cells if rows & side]
        for stay, rows in cells:
            yes = self.weight_of(rows & self.positive)
            total += yes * math.log1p(-stay) + (self.weight_of(rows) - yes) * math.log(stay)
        return total


def _log_beta(yes: float, no: float) -> float:
    return math.lgamma(yes + 1.0) + math.lgamma(no + 1.0) - math.lgamma(yes + no + 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class RuleMoves:
    """What is drawn at a step.

    siblings: by literal those of its column; grid: how many strengths there are; known: clauses that are drawn half
    the time where a whole clause is, since chance alone hardly finds them.
    """

    siblings: tuple[tuple[int, ...], ...]
    grid: int = 1
    known: Clauses = ()

    def __call__(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """One of the moves, each as often; None where there is nothing to move."""
        return self.KINDS[below(len(self.KINDS) - (self.grid == 1))](self, state, below)

    def literal(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        n, m, size = len(state.parts), len(self.siblings), state.size
        if below(2):
            place = below(n + 1)
            clause = {*(state.parts[place][0] if place < n else ()), below(m)}
            return self._with(state, place, clause, math.log((n + 1) * m / (size + 1)), below)
        if not size:
            return None
        place, _, left = _without_one(state, below)
        return self._with(state, place, left, math.log(size / ((n + bool(left)) * m)), below)

    def other_literal(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Put another literal in the place of one, half the time of the same column."""
        if not state.parts:
            return None
        place, old, left = _without_one(state, below)
        near = self.siblings[old]
        new = near[below(len(near))] if below(2) else below(len(self.siblings))
        return None if new in left else self._with(state, place, {*left, new}, 0.0, below)

    def clause(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Add a clause, or drop one."""
        n = len(state.parts)
        if below(2):
            clause = self._drawn(below)
            return self._with(state, n, clause, -self._chance(clause) - math.log(n + 1), below)
        if not n:
            return None
        place = below(n)
        return self._with(state, place, (), self._chance(state.parts[place][0]) + math.log(n), below)

    def other_clause(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        if not state.parts:
            return None
        place, clause = below(len(state.parts)), self._drawn(below)
        return self._with(state, place, clause, self._chance(state.parts[place][0]) - self._chance(clause), below)

    def strength(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        levels = [*(level for _, level in state.parts), state.leak]
        place = below(len(levels))
        levels[place] += _WAYS[below(len(_WAYS))]
        if not 0 <= levels[place] < self.grid:
            return None
        return WalkedRules(tuple(zip(state.clauses, levels[:-1], strict=True)), levels[-1]), 0.0

    KINDS = (*(literal, other_literal) * 2, clause, other_clause, strength)

    def _with(
        self, state: WalkedRules, place: int, literals: Collection[int], ratio: float, below: Below
    ) -> Drawn[WalkedRules]:
        """The rule set with a clause in the place of another, one more, or, of no literals, one less.

        Returns None if the set has the clause already. A new clause gets a random strength.
        """
        clause, parts = tuple(sorted(literals)), list(state.parts)
        if any(clause == other for other, _ in parts):
            return None
        if place == len(parts):
            parts.append((clause, below(self.grid)))
        elif clause:
            parts[place] = clause, parts[place][1]
        else:
            del parts[place]
        ratio += (len(parts) - len(state.parts)) * math.log(self.grid)
        return WalkedRules(tuple(sorted(parts)), state.leak), ratio

    def _drawn(self, below: Below) -> Collection[int]:
        """A known clause, or one of 1 to 3 literals, each number of them as often."""
        if self.known and below(2):
            return self.known[below(len(self.known))]
        left = list(range(len(self.siblings)))
        return [left.pop(below(len(left))) for _ in range(1 + below(min(_LONGEST, len(left))))]

    def _chance(self, literals: Collection[int]) -> float:
        """The log of the probability of drawing a clause."""
        m, size = len(self.siblings), len(literals)
        chance = 1.0 / (min(_LONGEST, m) * math.comb(m, size)) if size <= _LONGEST else 0.0
        if self.known:
            chance = (chance + (tuple(sorted(literals)) in self.known) / len(self.known)) / 2.0
        return math.log(chance) if chance > 0.0 else -math.inf


def _without_one(state: WalkedRules, below: Below) -> tuple[int, int, list[int]]:
    """One of all literals: the place of its clause, the literal, and what is left of the clause."""
    every = [(place, literal) for place, (clause, _) in enumerate(state.parts) for literal in clause]
    place, literal = every[below(len(every))]
    return place, literal, [other for other in state.parts[place][0] if other != literal]
