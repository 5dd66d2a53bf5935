"""Sums of every size as candidates: as they grew, and as rules leave the last one again; and the model of a sum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import Linear, Logistic
from rulekit.learners.additive.corrective import RuleCells, RuleWeights
from rulekit.learners.additive.growth import GrownSum, KnownRule, WeightedRule, grown, polished
from rulekit.learners.additive.layout import Layout, Penalties
from rulekit.learners.additive.rows import mask_of, rows_of
from rulekit.learners.contract import Candidate, Frame, Score, Watch
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.folds import drawn
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.additive import Terms, multiples, terms_of_rules, weights_on_grid
from rulekit.learners.models.rule_sets import Clause, covered
from rulekit.learners.sums_of_rows.kernels import run_threads

_FINEST = 20
_ON_ALL_ROWS = 4
_FEW = 3
_LOSS = 1e-3
_COST_OF_A_LITERAL = 1e-3


@dataclass(slots=True, eq=False)
class Drawn:
    """The rows that were drawn last: a path is learned in step with its first fold, and its variants after both."""

    last: list[tuple[Problem, Problem]] = field(default_factory=list)

    def of(self, problem: Problem, most: int, seed: int) -> Problem:
        """The rows that are drawn from those of a problem."""
        found = next((rows for of, rows in self.last if of is problem), None)
        if found is None:
            found = drawn(problem, most, seed)
            self.last = [*self.last[-1:], (problem, found)]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SumPlan:
    """How one question is learned: what may stand in a rule, the complexities that are compared, and how hard to look.

    complexities: the first one is learned while the folds are; most: rules; known: rules that are there before.
    """

    layout: Layout
    complexities: tuple[Penalties, ...]
    most: int
    width: int
    passes: int
    known: tuple[KnownRule, ...] = ()
    drawn: Drawn = field(default_factory=Drawn)


def sums_of(problem: Problem, plan: SumPlan, penalties: Penalties, n_threads: int, watch: Watch) -> Iterator[Candidate]:
    """The sums of 1, 2, .. rules as they grow."""
    for found in grown(problem, plan.layout, penalties, plan.most, n_threads, watch, plan.width, plan.known):
        yield candidate_of(found, found.at, problem)


def best_sums(
    seen: Problem, problem: Problem, plan: SumPlan, penalties: Penalties, n_threads: int, watch: Watch
) -> tuple[Candidate, ...]:
    """The candidates of all sizes, their rules those of the rows that are seen, their weights those of all rows."""
    path = _best_path(seen, plan, penalties, n_threads, watch)
    if seen is not problem:
        path = _of_all_rows(path, problem, penalties, n_threads, watch)
    return tuple(candidate_of(found, _shortened(found, problem, penalties), problem) for found in path)


def _best_path(problem: Problem, plan: SumPlan, penalties: Penalties, n_threads: int, watch: Watch) -> list[GrownSum]:
    """The sums of all sizes: of each the better one of two, as it grew and as it is left of the last one.

    The last one's rules are looked at once more; then those leave it one by one without which the loss is least.
    """
    path = list[GrownSum]()
    for found in grown(problem, plan.layout, penalties, plan.most, n_threads, watch, plan.width, plan.known):
        if len(path) > _FEW:
            path[-1] = path[-1].without_rows()
        path.append(found)
    if not path:
        return path
    if plan.passes:
        path[-1] = polished(path[-1], problem, plan.layout, penalties, n_threads, watch, plan.passes, plan.width)
    left = path[-1]
    for n in range(len(path) - 2, -1, -1):
        watch.check()
        left = _without_least(left, problem, penalties)
        if left.at.loss < path[n].at.loss:
            path[n] = left if n < _FEW else left.without_rows()
        if plan.passes and n < _FEW:  # where each rule carries much; costs little
            path[n] = polished(path[n], problem, plan.layout, penalties, n_threads, watch, 1, plan.width)
    return path


def _of_all_rows(
    path: Sequence[GrownSum], problem: Problem, penalties: Penalties, n_threads: int, watch: Watch
) -> list[GrownSum]:
    found = list[GrownSum]()
    larger: GrownSum | None = None
    for each in reversed(path):
        watch.check()
        larger = (_left_of(larger, each.rules) if larger else None) or _on_rows(each.rules, problem, n_threads)
        found.append(replace(larger, at=each.at).fitted(problem, penalties, _ON_ALL_ROWS))
    return found[::-1]


def _left_of(larger: GrownSum, rules: tuple[WeightedRule, ...]) -> GrownSum | None:
    """What is left of a sum without its other rules; None where it has not all of these, or in another order."""
    for k in range(len(larger.rules) - 1, -1, -1):
        if larger.rules[k] not in rules:
            larger = larger.without(k)
    return larger if larger.rules == rules else None


def _on_rows(rules: Sequence[WeightedRule], problem: Problem, n_threads: int) -> GrownSum:
    """The sum of some rules, which may have been found on other rows, of no weights yet."""
    cells, n = RuleCells.of_all(problem.labels, problem.weights), len(problem.labels)
    for held in run_threads(lambda rule: mask_of(rows_of(problem.codes, n, rule.literals), n), rules, n_threads):
        cells = cells.with_rule(held, problem.labels, problem.weights)
    return GrownSum(tuple(rules), cells, RuleWeights(0.0, np.zeros(len(rules)), np.inf)).without_rows()


def _without_least(found: GrownSum, problem: Problem, penalties: Penalties) -> GrownSum:
    """The sum without the rule whose leaving raises the loss least, as far as its curvatures tell."""
    loss = found.loss(problem, penalties)
    curvatures = loss.curvatures(found.at)
    curvatures[np.diag_indices_from(curvatures)] += 1e-9 * (1.0 + curvatures.diagonal())
    rise = found.at.weights**2 / np.maximum(np.linalg.inv(curvatures).diagonal()[1:], 1e-12)
    rise[[rule.role != "free" for rule in found.rules]] = np.inf
    return found.without(int(np.argmin(rise))).fitted(problem, penalties, 2)


def candidate_of(found: GrownSum, at: RuleWeights, problem: Problem) -> Candidate:
    """A sum with these weights, on a grid that leaves every sum exact; its objective is the log loss with the ridge."""
    weights = outweighing(found.rules, at.weights, at.bias)
    weights, bias = weights_on_grid(weights, at.bias)
    at = replace(at, bias=bias, weights=outweighing(found.rules, weights, bias))
    scores, counts = at.scores(found.cells.holds), found.cells.counts
    error = float(np.where(scores > 0.0, counts[:, 0], counts[:, 1]).sum()) * problem.weight_unit
    clauses = tuple(rule.clause for rule in found.rules)
    model = AdditiveRules(clauses, tuple(at.weights.tolist()), at.bias)
    literals = sum(len(rule.literals) for rule in found.rules)
    return Candidate(len(found.rules), at.loss, error, model, found.stays, _COST_OF_A_LITERAL * literals)


def _shortened(found: GrownSum, problem: Problem, penalties: Penalties) -> RuleWeights:
    """The weights on the coarsest grid of a power of two that changes no decision of a training row.

    And that raises the loss by less than a thousandth, and takes no rule that stays its weight.
    """
    loss = found.loss(problem, penalties)
    decided = found.at.scores(found.cells.holds) > 0.0
    stays = np.array([rule.role != "free" for rule in found.rules]) & (found.at.weights != 0.0)
    for bits in range(_FINEST):
        grid = 2.0**-bits
        tried = loss.at(round(found.at.bias / grid) * grid, multiples(found.at.weights, grid))
        same = np.array_equal(tried.scores(found.cells.holds) > 0.0, decided) and bool(tried.weights[stays].all())
        if same and tried.loss <= found.at.loss * (1.0 + _LOSS):
            return tried
    return found.at


_BESIDE_OTHERS = 2.0
"""What the sums of several classes are lessened by for their probabilities (docs/additive.md has the measurement)."""


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveRules:
    """The bias and the weights of the clauses that hold are added up, exactly; yes above 0."""

    clauses: tuple[Clause, ...]
    weights: tuple[float, ...]
    bias: float

    def scores(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""
        return self.terms().totals(codes, n_rows)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose sum is above 0."""
        return np.asarray(self.scores(codes, n_rows) > 0.0)

    @staticmethod
    def decide_all(models: Sequence[AdditiveRules], codes: Codes, n_rows: int) -> Iterator[Bools]:
        """What each decides [n]; a clause that several of them have is looked at once."""
        known: dict[int, Bools] = {}
        for model in models:
            total = np.full(n_rows, model.bias)
            for clause, weight in zip(model.clauses, model.weights, strict=True):
                if id(clause) not in known:
                    known[id(clause)] = covered(clause, codes, n_rows)
                total += weight * known[id(clause)]
            yield total > 0.0

    def terms(self) -> Terms:
        """The rules with their weights."""
        return Terms(tuple(zip(self.clauses, self.weights, strict=True)), {}, self.bias, fitted=True)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The sum, and 1 / (1 + exp(-sum)) as the probability; of several classes of _BESIDE_OTHERS less than the sum.

        The probabilities of several classes are divided by their total. That of sums as they stand takes each class as
        one against all others; of sums that are much less it would be their soft-max.
        """
        terms, constant = terms_of_rules(zip(self.clauses, self.weights, strict=True), frame.columns)
        total = Linear(terms, self.bias + constant)
        said = Linear([(1.0, total)], -_BESIDE_OTHERS) if frame.kind == "several" else total
        return Score(total, probability=Logistic(said), silent=not terms and self.bias <= 0.0)


def outweighing(rules: Sequence[WeightedRule], weights: Floats, bias: float) -> Floats:
    """The weights [K]; of rules that decide so large that the sum is on their side of 0 whatever other rules hold.

    Those of different signs never hold together.
    """
    decides = np.array([rule.role == "decides" for rule in rules], dtype=bool)
    if not decides.any():
        return weights
    signs, others = np.array([rule.sign for rule in rules]), np.where(decides, 0.0, weights)
    least = math.floor(-(bias + float(np.minimum(others, 0.0).sum()))) + 1
    most = -math.floor(bias + float(np.maximum(others, 0.0).sum())) - 1
    raised = np.where(signs > 0, np.maximum(weights, max(least, 1)), np.minimum(weights, min(most, -1)))
    return np.where(decides, raised, weights)
