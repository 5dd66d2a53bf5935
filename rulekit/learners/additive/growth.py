"""The path of rules: one after another, all weights fitted anew each time; then each rule is looked at once more.

At last rules leave the largest sum again, one by one, and of each size the better one of the two sums stays.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Ints, distinct_rows
from rulekit.learners.additive.extensions import CURVATURE, Base, Extension, extensions
from rulekit.learners.additive.literals import (
    Layout,
    Literals,
    Loss,
    Penalties,
    RowNumbers,
    RuleWeights,
    Values,
    clause_of,
    mask_of,
    newton,
    parted,
    rows_of,
    sums_by_code,
    with_literal,
)
from rulekit.learners.contract import Watch
from rulekit.learners.data.parts import Answer
from rulekit.learners.data.parts import rows_of as rows_in_parts
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.plain import Clause, covered, multiples
from rulekit.learners.sums_of_rows.histograms import RowCells, count_cells
from rulekit.learners.sums_of_rows.kernels import run_threads

Role = Literal["free", "stays", "decides"]
"""What becomes of a rule: it may change and leave, it stays, or it stays and outweighs all others."""

_BETTER = 1.01
_STEPS, _LAST_STEPS, _ON_ALL_ROWS = 2, 10, 4
_FINEST = 20
_FEW = 3
_LOSS = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRule:
    """A conjunction, its rows, what it was worth when found, and the sign of its weight (0: any).

    clause: the literals by column. bits: which of the n rows it has, eight in a byte, since it stays while others are
    looked for.
    """

    literals: Literals
    clause: Clause
    bits: npt.NDArray[np.uint8]
    n: int
    value: float
    sign: int
    role: Role = "free"

    @property
    def mask(self) -> Bools:
        """Which rows [n] it has."""
        return np.unpackbits(self.bits, count=self.n).view(bool)

    @property
    def mark(self) -> bytes:
        """What tells its rows from other rows, but not from their complement: the bias makes up for that."""
        mask = self.mask
        return np.packbits(mask ^ mask[:1]).tobytes()

    @property
    def rows(self) -> RowNumbers:
        return np.flatnonzero(self.mask).astype(np.uint32)

    @classmethod
    def of(cls, base: Base, value: float, n: int, role: Role = "free") -> WeightedRule:
        """A rule of that value, of n rows."""
        bits, clause = np.packbits(mask_of(base.rows, n)), clause_of(base.literals)
        return cls(base.literals, clause, bits, n, value, base.sign, role)


@dataclass(frozen=True, slots=True, eq=False)
class KnownRule:
    """A rule that is known; sign: of its weight (0: any)."""

    literals: Literals
    sign: int
    role: Role

    def rule(self, problem: Problem) -> WeightedRule:
        """It as a rule on the rows of a problem."""
        n = len(problem.labels)
        base = Base(self.literals, rows_of(problem.codes, n, self.literals), self.sign)
        return WeightedRule.of(base, 0.0, n, self.role)


@dataclass(frozen=True, slots=True, eq=False)
class GrownSum:
    """Rules and their weights on the training rows."""

    rules: tuple[WeightedRule, ...]
    cells: RowCells
    at: RuleWeights

    @property
    def stay(self) -> Bools:
        """Which of its rules [K] may not leave."""
        return np.array([rule.role != "free" for rule in self.rules], dtype=bool)

    def with_rule(self, rule: WeightedRule, weight: float = 0.0) -> GrownSum:
        """With one rule more, as yet of no weight."""
        cells, _ = self.cells.with_condition(rule.mask.view(np.uint8), np.array([False, True]))
        return GrownSum((*self.rules, rule), cells, replace(self.at, weights=np.append(self.at.weights, weight)))

    def without(self, k: int) -> GrownSum:
        rules = (*self.rules[:k], *self.rules[k + 1 :])
        weights = np.delete(self.at.weights, k)
        return GrownSum(rules, self.cells.without(k)[0], replace(self.at, weights=weights))

    def without_rows(self) -> GrownSum:
        """The same, no longer saying which cell each row has: no rule can be added, and weights still be fitted."""
        return replace(self, cells=replace(self.cells, cell=np.zeros(0, dtype=np.int32)))


@dataclass(frozen=True, eq=False)
class Slopes:
    """What is searched with: the values of each row, and their sums."""

    problem: Problem
    layout: Layout
    values: Values
    n_threads: int

    @cached_property
    def everything(self) -> Base:
        """The rule without any literal."""
        rows = np.arange(len(self.problem.labels), dtype=np.uint32)
        parts = np.array_split(rows, self.n_threads)
        return self._summed(Base((), rows), np.sum(run_threads(self._sums, parts, self.n_threads), axis=0))

    def _sums(self, rows: RowNumbers) -> Ints:
        return sums_by_code(self.problem.codes, self.layout, rows, self.values)

    def _summed(self, base: Base, sums: Ints) -> Base:
        first = int(self.layout.offsets[:2][-1])
        return replace(base, sums=sums, total=sums[:first].sum(axis=0))

    def bases(self, rules: Sequence[Base]) -> list[Base]:
        """Rules with their sums, side by side; of each and what it has not the fewer rows are added up."""
        n, everything = len(self.problem.labels), self.everything  # what all need is found by all threads together

        def summed(base: Base) -> Base:
            left, of = base.left, base.of
            if len(base.rows) == n:
                return everything
            if of is None and 2 * len(base.rows) > n:
                left, of = np.flatnonzero(~mask_of(base.rows, n)).astype(np.uint32), everything.sums
            if left is not None and of is not None and len(left) < len(base.rows):
                return self._summed(base, of - self._sums(left))
            return self._summed(base, self._sums(base.rows))

        return run_threads(summed, rules, self.n_threads)

    def extended(self, extension: Extension, kept: Sequence[Base], bases: Sequence[Base]) -> Base:
        """The rule that an extension makes of its base."""
        base, literal = kept[extension.base], extension.literal
        inside, outside = parted(self.problem.codes, base.rows, literal)
        found = Base(with_literal(base.literals, literal), inside, base.sign or extension.sign)
        if len(outside) >= len(inside):  # the rule's own rows are added up
            return found
        return replace(found, left=outside, of=bases[extension.base].sums)

    def best_of(self, rules: Sequence[WeightedRule], penalties: Penalties) -> WeightedRule:
        """The rule of the largest gain among some; the first one where the sums are certain of every row."""
        if not self.values.total[CURVATURE]:
            return rules[0]
        bases = self.bases([Base(rule.literals, rule.rows, rule.sign) for rule in rules])
        gains = [self.values.gain(base.total, penalties.damping) for base in bases]
        return rules[gains.index(max(gains))]


@dataclass(frozen=True, slots=True, eq=False)
class SumPlan:
    """How one question is learned: what may stand in a rule, the complexities that are compared, and how hard to look.

    complexities: the first one is learned while the folds are; most: rules; width: rules that are kept while one more
    literal is looked for; passes: times that all rules are looked at once more; known: rules that are there before.
    drawn: the last two problems from which rows were drawn, and these rows: a path is learned in step with its first
    fold, and its variants after both.
    """

    layout: Layout
    complexities: tuple[Penalties, ...]
    most: int
    width: int = 5
    passes: int = 2
    known: tuple[KnownRule, ...] = ()
    drawn: list[tuple[Problem, Problem]] = field(default_factory=list)


def all_cells(problem: Problem) -> RowCells:
    """One cell of all rows, whose labels it has where they are here."""
    cells, unit = RowCells.of_all(problem.labels, problem.weights), problem.weight_unit
    positive, total = (round(weight / unit) for weight in (problem.positive, problem.total))
    return replace(cells, counts=np.array([[total - positive, positive]]))


def cells_of(part: Problem) -> Generator[Answer, Sequence[Clause], None]:
    """Answer as a part of the rows: which clauses hold together, eight in a byte, and its weight of label 0 and 1."""
    clauses = yield []
    marks, counts = np.zeros((0, -(-len(clauses) // 8)), dtype=np.uint8), np.zeros((0, 2), dtype=np.int64)
    for rows, codes in part.codes.parts(part.n_rows):
        n = rows.stop - rows.start
        holds = np.array([covered(clause, codes, n) for clause in clauses]).reshape(len(clauses), n)
        own = np.ascontiguousarray(np.packbits(holds, axis=0).T)
        first, cell = distinct_rows(own)
        sums = count_cells(cell, part.labels[rows], part.weights[rows], len(first))
        marks, counts = merged_cells(np.concatenate([marks, own[first]]), np.concatenate([counts, sums]))
    yield [marks, counts]


def merged_cells(marks: npt.NDArray[np.uint8], counts: Ints) -> tuple[npt.NDArray[np.uint8], Ints]:
    """Each kind of cell once, in the order of its marks, with the sum of its counts."""
    first, cell = distinct_rows(marks)
    sums = np.zeros((len(first), 2), dtype=np.int64)
    np.add.at(sums, cell, counts)
    return marks[first], sums


@dataclass(frozen=True, slots=True, eq=False)
class SumSearch:
    """The search for sums on the rows of a problem."""

    problem: Problem
    plan: SumPlan
    penalties: Penalties
    n_threads: int
    watch: Watch

    def loss(self, found: GrownSum) -> Loss:
        signs = np.array([rule.sign for rule in found.rules], dtype=np.float64)
        return Loss(found.cells, self.penalties.ridge, self.problem.weight_unit, signs)

    def fitted(self, found: GrownSum, steps: int) -> GrownSum:
        """The same rules with better weights."""
        return replace(found, at=newton(self.loss(found), found.at, steps))

    def _slopes(self, cells: RowCells, at: RuleWeights) -> Slopes:
        problem, scores = self.problem, at.scores(cells.holds)
        values = Values.of(scores, cells.counts, cells.cell, problem.labels, problem.weights, problem.weight_unit)
        return Slopes(problem, self.plan.layout, values, self.n_threads)

    def begun(self) -> GrownSum:
        """The sum of the known rules that stay alone."""
        cells = all_cells(self.problem)
        found = GrownSum((), cells, RuleWeights(0.0, np.zeros(0), np.inf))
        for each in self.plan.known:
            if each.role != "free":
                found = found.with_rule(each.rule(self.problem))
        return self.fitted(found, _LAST_STEPS)

    def grown(self) -> Iterator[GrownSum]:
        """Sums of 1, 2, .. rules; the first one has all that stay, then come the other known ones, best first."""
        problem, found = self.problem, self.begun()
        if found.rules:
            yield found
        left = [each.rule(problem) for each in self.plan.known if each.role == "free"]
        for _ in range(self.plan.most - len(found.rules)):
            slopes = self._slopes(found.cells, found.at)
            marks = {rule.mark for rule in found.rules}
            left = [rule for rule in left if rule.mark not in marks and 0 < len(rule.rows) < len(problem.labels)]
            rule = slopes.best_of(left, self.penalties) if left else self._best_rule(slopes, marks)
            if rule is None:
                return
            found = self.fitted(found.with_rule(rule), _STEPS)
            yield found

    def _best_rule(self, slopes: Slopes, known: Container[bytes]) -> WeightedRule | None:
        """The conjunction of the largest gain; one with more literals must be a hundredth better.

        known: the `mark` of rules that stand already; one on the same rows would only halve what its weight is
        penalised.
        """
        n, width = len(self.problem.labels), self.plan.width
        kept = [Base((), np.arange(n, dtype=np.uint32))]
        best: WeightedRule | None = None
        for length in range(1, self.penalties.most + 1):
            self.watch.check()
            bases = slopes.bases(kept)
            last = length == self.penalties.most
            most = 1 if last and not known else width
            found = extensions(slopes.layout, bases, slopes.values, self.penalties, most)
            if last and best is not None:
                found = [each for each in found if each.value > _BETTER * best.value]
            if not found:
                break
            grown, taken = list[Base](), False
            for each in found:
                if last and taken:
                    break
                base = slopes.extended(each, kept, bases)
                grown.append(base)
                if not taken and (best is None or each.value > _BETTER * best.value):
                    rule = WeightedRule.of(base, each.value, n)
                    if rule.mark not in known:
                        taken, best = True, rule
            kept = grown
        return best

    # A second look ------------------------------------------------------------------------------------------------

    def polished(self, found: GrownSum, passes: int) -> GrownSum:
        """The sum after passes over its rules, each of which may change by a literal, or at last be another."""
        found = self.fitted(found, _LAST_STEPS)
        for n in range(passes):
            for _ in range(len(found.rules)):  # the rule that is looked at goes to the end
                self.watch.check()
                found = self._reconsidered(found, anew=n == passes - 1)
        return self.fitted(found, _LAST_STEPS)

    def _reconsidered(self, found: GrownSum, anew: bool) -> GrownSum:
        """The first rule exchanged for the best one like it, where that lowers the loss, else moved to the end."""
        rule, penalties = found.rules[0], self.penalties
        cells = replace(found.cells, holds=np.roll(found.cells.holds, -1, axis=1))
        moved = GrownSum((*found.rules[1:], rule), cells, replace(found.at, weights=np.roll(found.at.weights, -1)))
        if rule.role != "free":
            return moved
        slopes = self._slopes(found.cells, replace(found.at, weights=np.append(0.0, found.at.weights[1:])))
        if not slopes.values.total[CURVATURE]:
            return moved
        n, literals = len(self.problem.labels), rule.literals
        shorter = [literals[:i] + literals[i + 1 :] for i in range(len(literals))]
        tried = [Base(each, rows_of(self.problem.codes, n, each), rule.sign) for each in shorter]
        if len(literals) < penalties.most:
            tried.append(Base(literals, rule.rows, rule.sign))
        bases = slopes.bases(tried)
        known = {other.mark for other in found.rules[1:]}
        candidates = [
            (each.value, slopes.extended(each, tried, bases))
            for each in extensions(slopes.layout, bases, slopes.values, penalties, 1)
        ]
        for base, own in zip(bases, tried, strict=True):
            if own.literals and own.literals is not literals:
                price = 2.0 * penalties.per_literal * (len(own.literals) - 1)
                candidates.append((slopes.values.gain(base.total, penalties.damping) - price, own))
        rules = [WeightedRule.of(own, value, n) for value, own in candidates]
        if anew and self.plan.width and (other := self._best_rule(slopes, known)) is not None:
            rules.append(other)
        best = max((each for each in rules if each.mark not in known), key=lambda each: each.value, default=rule)
        if best.mark == rule.mark:
            return moved
        exchanged = self.fitted(found.without(0).with_rule(best, float(found.at.weights[0])), _STEPS)
        price = penalties.per_literal * (len(best.literals) - len(literals))
        return exchanged if exchanged.at.loss + price < found.at.loss else moved

    # All sizes ----------------------------------------------------------------------------------------------------

    def path(self) -> list[GrownSum]:
        """The sums of all sizes: of each the better one of two, as it grew and as it is left of the last one.

        The last one's rules are looked at once more; then those leave it one by one without which the loss is least.
        """
        path, passes = list[GrownSum](), self.plan.passes
        for found in self.grown():
            if len(path) > _FEW:
                path[-1] = path[-1].without_rows()
            path.append(found)
        if path and passes:
            path[-1] = self.polished(path[-1], passes)
        left = path[-1] if path else None
        for n in range(len(path) - 2, -1, -1):
            assert left is not None
            self.watch.check()
            left = self._without_least(left)
            if left.at.loss < path[n].at.loss:
                path[n] = left if n < _FEW else left.without_rows()
            if passes and n < _FEW:  # where each rule carries much; costs little
                path[n] = self.polished(path[n], 1)
        return path

    def _without_least(self, found: GrownSum) -> GrownSum:
        """The sum without the rule whose leaving raises the loss least, as far as its curvatures tell."""
        inverse = np.linalg.inv(self.loss(found).curvatures(found.at))
        rise = found.at.weights**2 / np.maximum(inverse.diagonal()[1:], 1e-12)
        rise[found.stay] = np.inf
        return self.fitted(found.without(int(np.argmin(rise))), 2)

    def refitted(self, path: Sequence[GrownSum]) -> list[GrownSum]:
        """The sums of a path that was found on other rows, with the weights of these ones."""
        found = list[GrownSum]()
        larger: GrownSum | None = None
        for each in reversed(path):
            self.watch.check()
            if larger is not None:
                for k in range(len(larger.rules) - 1, -1, -1):
                    larger = larger if larger.rules[k] in each.rules else larger.without(k)
            if larger is None or larger.rules != each.rules:  # it has not all of them, or in another order
                larger = self._of_rules(each.rules)
            found.append(self.fitted(replace(larger, at=each.at), _ON_ALL_ROWS))
        return found[::-1]

    def _of_rules(self, rules: tuple[WeightedRule, ...]) -> GrownSum:
        """The sum of some rules, of no weights yet; its cells are in the order of the rules that hold."""
        clauses = [rule.clause for rule in rules]
        answers = rows_in_parts(self.problem, self.n_threads).each(cells_of, [clauses])
        marks, counts = (np.concatenate([each[k] for each in answers]) for k in (0, 1))
        marks, counts = merged_cells(marks, counts)
        holds = np.unpackbits(marks, axis=1, count=len(rules)).view(bool)
        cells = replace(all_cells(self.problem), holds=holds, counts=counts)
        return GrownSum(rules, cells, RuleWeights(0.0, np.zeros(len(rules)), np.inf)).without_rows()

    def shortened(self, found: GrownSum) -> RuleWeights:
        """The weights on the coarsest grid of a power of two that changes no decision of a training row.

        And that raises the loss by less than a thousandth, and takes no rule that stays its weight.
        """
        loss, holds = self.loss(found), found.cells.holds
        decided, stay = found.at.scores(holds) > 0.0, found.stay & (found.at.weights != 0.0)
        for bits in range(_FINEST):
            grid = 2.0**-bits
            tried = loss.at(round(found.at.bias / grid) * grid, multiples(found.at.weights, grid))
            same = np.array_equal(tried.scores(holds) > 0.0, decided) and bool(tried.weights[stay].all())
            if same and tried.loss <= found.at.loss * (1.0 + _LOSS):
                return tried
        return found.at
