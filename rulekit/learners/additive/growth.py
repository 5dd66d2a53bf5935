"""The path of rules: one after another, all weights fitted anew each time; then each rule is looked at once more."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Ints
from rulekit.learners.additive.corrective import Loss, RuleCells, RuleWeights, newton
from rulekit.learners.additive.extensions import CURVATURE, Base, Extension, extensions, gain_of
from rulekit.learners.additive.layout import Layout, Literals, Penalties, clause_of, with_literal
from rulekit.learners.additive.rows import (
    RowNumbers,
    Values,
    all_rows,
    mark,
    mask_of,
    others,
    parted,
    rows_of,
    sums_by_code,
    values_of,
)
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
        if not self.values.total[CURVATURE]:
            return rules[0]
        bases = self.bases([Held(rule.literals, rule.rows, rule.sign) for rule in rules])
        gains = [gain_of(base.total, self.values, penalties.damping) for base in bases]
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
        found = extensions(slopes.layout, bases, slopes.values, penalties, 1 if last and not known else width)
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


@dataclass(frozen=True, slots=True, eq=False)
class KnownRule:
    """A rule that is known; sign: of its weight (0: any)."""

    literals: Literals
    sign: int
    role: Role

    def rule(self, problem: Problem) -> WeightedRule:
        """It as a rule on the rows of a problem."""
        n = len(problem.labels)
        return WeightedRule.of(
            Held(self.literals, rows_of(problem.codes, n, self.literals), self.sign), 0.0, n, self.role
        )


_STEPS, _LAST_STEPS = 2, 10


@dataclass(frozen=True, slots=True, eq=False)
class GrownSum:
    """Rules and their weights on the training rows."""

    rules: tuple[WeightedRule, ...]
    cells: RuleCells
    at: RuleWeights

    @property
    def stays(self) -> bool:
        """Whether none of its rules may leave."""
        return all(rule.role != "free" for rule in self.rules)

    def loss(self, problem: Problem, penalties: Penalties) -> Loss:
        signs = np.array([rule.sign for rule in self.rules], dtype=np.float64)
        return Loss(self.cells, penalties.ridge, problem.weight_unit, signs)

    def fitted(self, problem: Problem, penalties: Penalties, steps: int) -> GrownSum:
        """The same rules with better weights."""
        return replace(self, at=newton(self.loss(problem, penalties), self.at, steps))

    def with_rule(self, problem: Problem, rule: WeightedRule) -> GrownSum:
        """With one rule more, of no weight yet."""
        cells = self.cells.with_rule(rule.mask, problem.labels, problem.weights)
        return GrownSum((*self.rules, rule), cells, replace(self.at, weights=np.append(self.at.weights, 0.0)))

    def without(self, k: int) -> GrownSum:
        """Without one rule."""
        rules = (*self.rules[:k], *self.rules[k + 1 :])
        return GrownSum(rules, self.cells.without(k), replace(self.at, weights=np.delete(self.at.weights, k)))

    def first_last(self) -> GrownSum:
        """With the first rule at the end."""
        cells = replace(self.cells, holds=np.roll(self.cells.holds, -1, axis=1))
        at = replace(self.at, weights=np.roll(self.at.weights, -1))
        return GrownSum((*self.rules[1:], self.rules[0]), cells, at)

    def without_rows(self) -> GrownSum:
        """The same, no longer saying which cell each row has: no rule can be added, and weights still be fitted."""
        return replace(self, cells=replace(self.cells, cell=np.zeros(0, dtype=np.int32)))

    def exchanged(self, problem: Problem, k: int, rule: WeightedRule) -> GrownSum:
        """With another rule in the place of one, at the end."""
        cells = self.cells.exchanged(k, rule.mask, problem.labels, problem.weights)
        rules = (*self.rules[:k], *self.rules[k + 1 :], rule)
        weights = np.append(np.delete(self.at.weights, k), self.at.weights[k])
        return GrownSum(rules, cells, replace(self.at, weights=weights))


def begun(problem: Problem, penalties: Penalties, known: Sequence[KnownRule] = ()) -> GrownSum:
    """The sum of the known rules that stay alone."""
    cells = RuleCells.of_all(problem.labels, problem.weights)
    found = GrownSum((), cells, RuleWeights(0.0, np.zeros(0), np.inf))
    for each in known:
        if each.role != "free":
            found = found.with_rule(problem, each.rule(problem))
    return found.fitted(problem, penalties, _LAST_STEPS)


def grown(
    problem: Problem,
    layout: Layout,
    penalties: Penalties,
    most: int,
    n_threads: int,
    watch: Watch,
    width: int = 5,
    known: Sequence[KnownRule] = (),
) -> Iterator[GrownSum]:
    """Sums of 1, 2, .. rules; the first one has all that stay, then come the other known ones, best first."""
    found = begun(problem, penalties, known)
    if found.rules:
        yield found
    left = [each.rule(problem) for each in known if each.role == "free"]
    for _ in range(most - len(found.rules)):
        slopes = Slopes.of(problem, layout, found.cells, found.at, n_threads)
        marks = {rule.mark for rule in found.rules}
        left = [rule for rule in left if rule.mark not in marks and 0 < len(rule.rows) < len(problem.labels)]
        rule = slopes.best_of(left, penalties) if left else best_rule(slopes, penalties, watch, width, marks)
        if rule is None:
            return
        found = found.with_rule(problem, rule).fitted(problem, penalties, _STEPS)
        yield found


def polished(
    found: GrownSum,
    problem: Problem,
    layout: Layout,
    penalties: Penalties,
    n_threads: int,
    watch: Watch,
    passes: int = 2,
    width: int = 5,
) -> GrownSum:
    """The sum after passes over its rules, each of which may exchange, lose or get a literal, at last be another."""
    found = found.fitted(problem, penalties, _LAST_STEPS)
    for n in range(passes):
        for _ in range(len(found.rules)):  # the rule that is looked at goes to the end
            watch.check()
            found = _reconsidered(found, problem, layout, penalties, n_threads, watch, width * (n == passes - 1))
    return found.fitted(problem, penalties, _LAST_STEPS)


def _reconsidered(
    found: GrownSum, problem: Problem, layout: Layout, penalties: Penalties, n_threads: int, watch: Watch, width: int
) -> GrownSum:
    """The first rule exchanged for the best one like it, where that lowers the loss, else moved to the end."""
    rule = found.rules[0]
    if rule.role != "free":
        return found.first_last()
    without = replace(found.at, weights=np.concatenate([[0.0], found.at.weights[1:]]))
    slopes = Slopes.of(problem, layout, found.cells, without, n_threads)
    moved = found.first_last()
    if not slopes.values.total[CURVATURE]:
        return moved
    n, literals = len(problem.labels), rule.literals
    shorter = [literals[:i] + literals[i + 1 :] for i in range(len(literals))]
    tried = [Held(each, rows_of(problem.codes, n, each), rule.sign) for each in shorter]
    if len(literals) < penalties.most:
        tried.append(Held(literals, rule.rows, rule.sign))
    bases = slopes.bases(tried)
    known = {other.mark for other in found.rules[1:]}
    candidates = [
        (each.value, slopes.extended(each, tried, bases))
        for each in extensions(layout, bases, slopes.values, penalties, 1)
    ]
    for base, own in zip(bases, tried, strict=True):
        if own.literals and own.literals is not literals:
            price = 2.0 * penalties.per_literal * (len(own.literals) - 1)
            candidates.append((gain_of(base.total, slopes.values, penalties.damping) - price, own))
    rules = [WeightedRule.of(own, value, n) for value, own in candidates]
    if width:
        anew = best_rule(slopes, penalties, watch, width, known)
        rules += [] if anew is None else [anew]
    rules = [each for each in rules if each.mark not in known]
    if not rules:
        return moved
    best = max(rules, key=lambda each: each.value)
    if best.mark == rule.mark:
        return moved
    other = found.exchanged(problem, 0, best).fitted(problem, penalties, _STEPS)
    price = penalties.per_literal * (len(best.literals) - len(literals))
    return other if other.at.loss + price < found.at.loss else moved
