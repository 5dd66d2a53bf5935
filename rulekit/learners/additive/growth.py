"""The path of rules: one after another, all weights fitted anew each time; then each rule is looked at once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rulekit.learners.additive.corrective import Loss, RuleCells, RuleWeights, newton
from rulekit.learners.additive.extensions import CURVATURE, extensions, gain_of
from rulekit.learners.additive.known import KnownRule
from rulekit.learners.additive.layout import Layout
from rulekit.learners.additive.literals import Penalties
from rulekit.learners.additive.rows import rows_of
from rulekit.learners.additive.search import Held, Slopes, WeightedRule, best_rule
from rulekit.learners.contract import Watch
from rulekit.learners.data.problem import Problem

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
    if not slopes.over.everything[CURVATURE]:
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
        for each in extensions(layout, bases, slopes.over, penalties, 1)
    ]
    for base, own in zip(bases, tried, strict=True):
        if own.literals and own.literals is not literals:
            price = 2.0 * penalties.per_literal * (len(own.literals) - 1)
            candidates.append((gain_of(base.total, slopes.over, penalties.damping) - price, own))
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
