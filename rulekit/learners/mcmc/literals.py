"""The literals of a table and its rows, both as the bits of integers, which Python counts and joins fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools
from rulekit.graph.nodes import Node
from rulekit.learners.data.conditions import simple_conditions
from rulekit.learners.data.problem import FixedColumn, Problem
from rulekit.learners.models.rule_sets import Clause


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
        """The rows of a problem; of equal weights there is one bit."""
        everyone, yes = (1 << len(problem.labels)) - 1, bits_of(np.asarray(problem.labels == 1))
        unit = int(np.gcd.reduce(problem.weights)) or 1
        weights = problem.weights // unit
        planes = tuple(
            (problem.weight_unit * unit * 2.0**bit, bits_of(np.asarray(weights >> bit & 1, dtype=bool)))
            for bit in range(int(weights.max()).bit_length())
        )
        return cls(everyone, yes, everyone ^ yes, planes)

    def count(self, rows: int) -> float:
        """The weight of rows."""
        if len(self.planes) == 1 and self.planes[0][1] == self.all:
            return self.planes[0][0] * rows.bit_count()
        return sum(weight * (rows & plane).bit_count() for weight, plane in self.planes)
