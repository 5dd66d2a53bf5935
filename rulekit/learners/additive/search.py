"""The search for a conjunction: a beam over rules, each literal the best one for all rows of the rule."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Ints
from rulekit.learners.additive.corrective import RuleCells, RuleWeights
from rulekit.learners.additive.extensions import CURVATURE, Base, Extension, Sums, extensions, gain_of
from rulekit.learners.additive.layout import Layout
from rulekit.learners.additive.literals import Literals, Penalties, clause_of, with_literal
from rulekit.learners.additive.rows import all_rows, mark, mask_of, others, parted
from rulekit.learners.additive.sums import RowNumbers, Values, sums_by_code, values_of
from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.rule_sets import Clause
from rulekit.learners.sums_of_rows.kernels import run_threads

Role = Literal["free", "stays", "decides"]
"""What becomes of a rule: it may change and leave, it stays, or it stays and outweighs all others."""

_WIDTH = 5
_BETTER = 1.01


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A rule that may get one literal more; left: the rows that it has not of another one, whose sums are known."""

    literals: Literals
    rows: RowNumbers
    sign: int
    left: RowNumbers | None = None
    of: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRule:
    """A conjunction, its rows and their `mark`, what it was worth when found, and the sign of its weight (0: any).

    clause: the literals by column. bits: which of the n rows it has, eight in a byte, since it stays while others are
    looked for.
    """

    literals: Literals
    clause: Clause
    bits: npt.NDArray[np.uint8]
    n: int
    mark: int
    value: float
    sign: int
    role: Role = "free"

    @property
    def mask(self) -> Bools:
        """Which rows [n] it has."""
        return np.unpackbits(self.bits, count=self.n).view(bool)

    @property
    def rows(self) -> RowNumbers:
        """Their numbers."""
        return np.flatnonzero(self.mask).astype(np.uint32)

    @classmethod
    def of(cls, held: Held, value: float, n: int, role: Role = "free") -> WeightedRule:
        """A rule of that value, of n rows."""
        bits, clause = np.packbits(mask_of(held.rows, n)), clause_of(held.literals)
        return cls(held.literals, clause, bits, n, mark(held.rows, n), value, held.sign, role)


@dataclass(frozen=True, eq=False)
class Slopes:
    """What is searched with: the values of each row, and their sums."""

    problem: Problem
    layout: Layout
    values: Values
    n_threads: int

    @classmethod
    def of(cls, problem: Problem, layout: Layout, cells: RuleCells, at: RuleWeights, n_threads: int) -> Slopes:
        """Of the scores of all rows."""
        values = values_of(cells, at, problem.labels, problem.weights, problem.weight_unit)
        return cls(problem, layout, values, n_threads)

    @property
    def over(self) -> Sums:
        return Sums(self.values.total, self.values.units)

    @cached_property
    def everything(self) -> Base:
        """The rule without any literal."""
        rows = np.array_split(all_rows(len(self.problem.labels)), self.n_threads)
        return self._base_of((), np.sum(run_threads(self._sums, rows, self.n_threads), axis=0), 0)

    def base(self, held: Held) -> Base:
        """A rule that may get one literal more; of it and what it has not the fewer rows are added up."""
        n, left, of = len(self.problem.labels), held.left, held.of
        if len(held.rows) == n:
            return self.everything
        if of is None and 2 * len(held.rows) > n:
            left, of = others(held.rows, n), self.everything.sums
        if left is not None and of is not None and len(left) < len(held.rows):
            return self._base_of(held.literals, of - self._sums(left), held.sign)
        return self._base_of(held.literals, self._sums(held.rows), held.sign)

    def _sums(self, rows: RowNumbers) -> Ints:
        return sums_by_code(self.problem.codes, self.layout, rows, self.values)

    def _base_of(self, literals: Literals, sums: Ints, sign: int) -> Base:
        first = slice(0, int(self.layout.offsets[1])) if len(self.layout.columns) else slice(0, 0)
        return Base(literals, sums, sums[first].sum(axis=0), sign)

    def best_of(self, rules: Sequence[WeightedRule], penalties: Penalties) -> WeightedRule:
        """The rule of the largest gain among some; the first one where the sums are certain of every row."""
        if not self.over.everything[CURVATURE]:
            return rules[0]
        bases = self.bases([Held(rule.literals, rule.rows, rule.sign) for rule in rules])
        gains = [gain_of(base.total, self.over, penalties.damping) for base in bases]
        return rules[gains.index(max(gains))]

    def bases(self, rules: Sequence[Held]) -> list[Base]:
        """The same of several, side by side."""
        # What all of them need is found before, by all threads together.
        _ = self.everything
        return run_threads(self.base, rules, self.n_threads)

    def extended(self, extension: Extension, kept: Sequence[Held], bases: Sequence[Base]) -> Held:
        """The rule that an extension makes of its base."""
        base, literal = kept[extension.base], extension.literal
        inside, outside = parted(self.problem.codes, base.rows, literal)
        literals, sign = with_literal(base.literals, literal), base.sign or extension.sign
        if len(outside) >= len(inside):  # the rule's own rows are added up
            return Held(literals, inside, sign)
        return Held(literals, inside, sign, outside, bases[extension.base].sums)


def best_rule(
    slopes: Slopes, penalties: Penalties, watch: Watch, width: int = _WIDTH, known: Container[int] = ()
) -> WeightedRule | None:
    """The conjunction of the largest gain; one with more literals must be a hundredth better.

    known: the `mark` of rules that stand already; one on the same rows would only halve what its weight is penalised.
    """
    n = len(slopes.problem.labels)
    kept = [Held((), all_rows(n), 0)]
    best: WeightedRule | None = None
    for length in range(1, penalties.most + 1):
        watch.check()
        bases = slopes.bases(kept)
        last = length == penalties.most
        found = extensions(slopes.layout, bases, slopes.over, penalties, 1 if last and not known else width)
        if last and best is not None:
            found = [each for each in found if each.value > _BETTER * best.value]
        if not found:
            break
        grown = list[Held]()
        taken = False
        for each in found:
            if last and taken:
                break
            held = slopes.extended(each, kept, bases)
            grown.append(held)
            if not taken and (best is None or each.value > _BETTER * best.value):
                rule = WeightedRule.of(held, each.value, n)
                if rule.mark not in known:
                    taken, best = True, rule
        kept = grown
    return best
