"""Plain rules as candidates: a few conjunctions decide, and the formula's probability is reported on their side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy.typing as npt

from rulekit.graph.nodes import FALSE, TRUE, Hidden
from rulekit.learners.binned.codes import Codes
from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.models import LearnedFormula
from rulekit.learners.cnll.plain.clause_search import clause_price
from rulekit.learners.cnll.plain.noisy_or import NoisyOr, fitted_noisy_or
from rulekit.learners.cnll.plain.rule_paths import Rules, RuleSettings, Variant, raced_variant, rule_paths
from rulekit.learners.contract import Candidate, Frame, Score, Variants
from rulekit.learners.counting.histograms import Bools
from rulekit.learners.fitting.rows.in_order import InOrder
from rulekit.learners.fitting.rule_sets import covered_by_some, rule_of
from rulekit.numbers import strength_of

COST_OF_A_LITERAL = 0.0002
"""By how much, as a rate, a literal must lower the held-out error to be worth reading (docs/cnll-notes.md)."""

_ROWS = 2.0
"""How many rows with the share of all are counted to those on which rules hold."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainRules:
    """Rules, the formula that they were found beside, and a noisy-or of the rules (None: there is no rule).

    share: of the positive rows. constrained: the model promises what the formula does not keep. stays: some rules were
    given and must stand in the model.
    """

    rules: Rules
    formula: LearnedFormula
    noisy_or: NoisyOr | None
    share: float
    constrained: bool = False
    stays: bool = False

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] on which some rule holds."""
        return covered_by_some(self.rules, codes, n_rows)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The formula, on the side of the rules; where a model makes promises the noisy-or, which keeps what they keep.

        Ranked classes are told apart by the noisy-or too, whose cuts are joined.
        """
        rule = rule_of(self.rules, frame.columns)
        precedence = -1.0 if rule is TRUE or self.noisy_or is None else self._precedence(self.noisy_or)
        if frame.unreported:
            return Score(rule, rule, precedence=precedence, stays=self.stays)
        if frame.kind != "ranked" and not self.constrained:
            node = self.formula.node(frame, prefix)
            return Score(node, rule, sided=True, precedence=precedence, stays=self.stays)
        if self.noisy_or is None:
            return Score(Hidden(f"{prefix}1", TRUE, strength_of(min(self.share, 0.5)), 0.0), FALSE, silent=True)
        node = self.noisy_or.node(self.rules, frame.columns, prefix)
        return Score(node, rule, precedence=precedence, stays=self.stays)

    def _precedence(self, rules: NoisyOr) -> float:
        """The squared odds of a row on which rules hold to be positive, over those of any row.

        So half of what a class is rarer, in odds, makes up for being less often right (docs/cnll-notes.md).
        """
        wrong = max(rules.held - rules.right, 0.0) + _ROWS * (1.0 - self.share)
        return ((rules.right + _ROWS * self.share) / wrong) ** 2 / (self.share / (1.0 - self.share))


def plain_variants(
    problem: Problem,
    grown: Sequence[Candidate],
    settings: RuleSettings,
    groups: npt.NDArray[Any] | InOrder | None,
    seed: int,
) -> Variants:
    """The rules of every size beside a grown formula, by each variant of the search."""
    formulas = [made.model for made in grown if isinstance(made.model, LearnedFormula)]
    snapshots = [formula.snapshot for formula in formulas]
    variants = settings.variants
    asked_in_order, known = rule_paths(problem, snapshots, settings, variants), list[list[Rules]]()

    def by(variant: int) -> list[Candidate]:
        # Asked for one after the other they share the search; one alone is looked for alone.
        if variant == len(known):
            known.append(next(asked_in_order))
        sizes = known[variant] if variant < len(known) else _alone(problem, snapshots, settings, variants[variant])
        # Without any rule the formula still tells rows apart.
        shown = sizes if settings.kept else sizes[1:] or sizes
        return [_candidate(problem, rules, formulas[-1], settings) for rules in shown] if formulas else []

    paths = [partial(by, variant) for variant in range(len(variants))]
    nothing = partial(_nothing, problem, formulas[-1], settings) if formulas else None
    return Variants(paths, lambda: raced_variant(problem, snapshots, settings, groups, seed), nothing, settings.rare)


def _alone(problem: Problem, snapshots: Any, settings: RuleSettings, variant: Variant) -> list[Rules]:
    return next(rule_paths(problem, snapshots, settings, [variant]))


def _nothing(problem: Problem, formula: LearnedFormula, settings: RuleSettings) -> Candidate:
    """No rule: the more frequent answer decides, and the formula still tells rows apart."""
    always: Rules = ({},) if problem.share > 0.5 else ()
    return replace(_candidate(problem, always, formula, settings), size=0, start=False)


def _candidate(problem: Problem, rules: Rules, formula: LearnedFormula, settings: RuleSettings) -> Candidate:
    noisy_or = fitted_noisy_or(problem, rules, settings.ridge) if rules else None
    yes, no = problem.positive, problem.total - problem.positive
    objective, error = (yes * no / problem.total, yes) if noisy_or is None else (noisy_or.squares, noisy_or.error)
    cost = COST_OF_A_LITERAL * sum(clause_price(clause, problem.columns) for clause in rules)
    constrained, stays = settings.allowed is not None, bool(settings.kept)
    model = PlainRules(rules, formula, noisy_or, problem.share, constrained, stays)
    return Candidate(len(rules), objective, error, model, bool(rules) and len(rules) == len(settings.kept), cost)
