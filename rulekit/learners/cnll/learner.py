"""The learner cnll: compositional noisy-logical learning (Yuille & Zheng, ICML 2009), with moves at every node.

The paper's own algorithms are rulekit.learners.papers.cnll_paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rulekit.errors import InputError
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import FALSE, Above, Node, Or, Probability
from rulekit.graph.rules import conjuncts, disjuncts, literals
from rulekit.learners.cnll.best_step import SearchSettings
from rulekit.learners.cnll.formula_on_cells import KnownFormula
from rulekit.learners.cnll.growth import (
    GrownFormula,
    GrownStep,
    GrowthSettings,
    begin,
    grown_freer,
    shared_columns,
    states,
)
from rulekit.learners.cnll.split_search import LEAST_STRENGTH
from rulekit.learners.contract import Ability, Candidate, Frame, Learning, Question, SizeLimits
from rulekit.learners.data.binning import BinnedColumn, least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import HOLDS, KNOWN, Problem
from rulekit.learners.models.assembly import Prior
from rulekit.learners.models.noisy_formulas import NoisyBit, NoisyFormula, ReadOnceTree
from rulekit.learners.models.plain import Clause, truths_on_cells
from rulekit.learners.parameters import StartSettings, bins, number, or_automatic, setting, whole
from rulekit.learners.promises.kept import WHERE, rules_of_start
from rulekit.learners.rule_learner import RuleLearner
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.schema import Schema

_ABOVE_HALF = 0.501


def known_formula(
    problem: Problem, kept: Sequence[Clause], begun: Sequence[Clause], n_units: int
) -> KnownFormula | None:
    """The formula of rules that stay and of rules to begin with; None of no rule at all.

    Raises InputError where the rules to begin with have more conditions than `n_units`.
    """
    if not kept and not begun:
        return None
    free = sum(map(len, begun))
    if free > n_units:
        what = f"n_units is {n_units}, and {free} literals of the start are free"
        raise InputError(what, where=WHERE, fix=f"n_units={free} or more, or freeze the rules")
    tree, bits = ReadOnceTree(root=0), list[NoisyBit]()
    tree.add_node("or", -1, -1)

    def hang(column: int, alpha: float, beta: float, rest: float, above: int, frozen: bool) -> None:
        tree.children[above].append(tree.add_node("bit", len(bits), above))
        bits.append(NoisyBit(column, HOLDS, KNOWN, alpha, beta, rest, frozen))

    for (column,) in kept:
        hang(column, _right(problem, column), 0.0, 0.0, tree.root, True)
    for clause in begun:
        above = tree.root
        if len(clause) > 1:
            above = tree.add_node("and", -1, tree.root)
            tree.children[tree.root].append(above)
        for column in clause:
            hang(column, 1.0 - LEAST_STRENGTH, LEAST_STRENGTH, float(len(clause) > 1), above, False)
    return KnownFormula(tree, tuple(bits))


def _right(problem: Problem, column: int) -> float:
    """How often a rule is right where it holds, above 1/2; one more row of either label counts."""
    holds = HOLDS[problem.codes[column]]
    weight = problem.weights[holds] * problem.weight_unit
    share = (float(weight[problem.labels[holds] == 1].sum()) + 1.0) / (float(weight.sum()) + 2.0)
    return min(max(share, _ABOVE_HALF), 1.0 - LEAST_STRENGTH)


@dataclass(frozen=True, slots=True, eq=False)
class ContinuedFormula(NoisyFormula):
    """A formula around frozen rules."""

    def decision(self, formula: Node, frame: Frame) -> Node:
        """[P > 1/2] with its frozen rules first, or beside the formula where the new part is too long to be written."""
        frozen = [bit.node(frame.columns) for bit in self.bits if bit.frozen]
        if not frozen:
            return NoisyFormula.decision(self, formula, frame)
        most = self.most_literals() + sum(literals(frozen).values())
        rule = threshold_rule(formula, 0.5, most, schema=frame.schema)
        if rule is None:
            return Above(Probability(Or([*frozen, *disjuncts(formula)])), 0.5)
        terms = () if rule is FALSE else disjuncts(rule)
        parts = [*frozen, *(term for term in terms if not any(_implies(term, known, frame.schema) for known in frozen))]
        return parts[0] if len(parts) == 1 else Or(parts)


def _implies(term: Node, known: Node, schema: Schema) -> bool:
    """Whether a rule holds only where a known one does: on every cell of their columns, or as it is written."""
    if term is known or set(conjuncts(known)) <= set(conjuncts(term)):
        return True
    truths = truths_on_cells(term, known, schema)
    return truths is not None and not bool((truths[0] & ~truths[1]).any())


@dataclass(frozen=True)
class CNLLSettings(StartSettings):
    """How a formula grows; the defaults were chosen by cross-validation inside training data (docs/cnll-notes.md)."""

    n_units: int = setting(20, whole(1), "most conditions in a formula")
    ridge: float | None = setting(
        None,
        number(0, optional=True),
        "rows that pull every bit towards doing nothing (None: 12, fewer as errors become few)",
    )
    refit: int = setting(1, whole(0), "sweeps over all strengths after each step")
    backfit: int = setting(3, whole(0), "every so many steps, better conditions for all bits (0: never)")
    max_bins: Any = bins(64)
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a condition (auto: 5, or less)"
    )


_RIDGE = 12.0


class CNLL(RuleLearner):
    """Noisy-logical formulas of each class; see CNLLClassifier."""

    word = "cnll"
    estimator = "rulekit.learners.cnll.estimator:CNLLClassifier"
    settings = CNLLSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        ("missing", "categories", "start", "memory", "several", "ranked", "weights")
    )

    def resolve(self, settings: CNLLSettings, rows: float) -> CNLLSettings:
        """What "auto" stands for."""
        least = least_side(rows) if settings.min_rows == "auto" else settings.min_rows
        return replace(settings, min_rows=min(least, rows + 1.0))  # in units of weights a larger one may be no integer

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with rules of a start as further columns, and what each formula begins with."""
        first = questions[0]
        settings: CNLLSettings = first.settings
        growth = growth_settings(settings, first.n_threads, len(problem.columns))
        if settings.max_features is not None and len(questions) > 1:
            growth = replace(growth, columns=shared_columns(growth, questions, self.nothing))
        problem, known = rules_of_start(settings, problem, data.table, classes, len(questions), formulas=True)
        own = [replace(problem, labels=question.problem.labels) for question in questions]
        starts = [
            known_formula(rows, kept, begun, settings.n_units) for rows, (kept, begun) in zip(own, known, strict=True)
        ]
        return [
            replace(question, problem=rows, plan=replace(growth, start=start))
            for question, rows, start in zip(questions, own, starts, strict=True)
        ]

    def learn(self, question: Question) -> Learning:
        """The formulas of 1, 2, ... bits; with few rows and many errors those of a second growth with less ridge."""
        search = replace(question.plan.search, watch=question.watch)
        settings = replace(question.plan, search=search)
        grown = begin(question.problem, settings)
        yield from candidates_of(grown, settings)
        freer = grown_freer(grown, settings)
        return None if freer is None else [_candidate(freer, place) for place in range(len(freer.path))]

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows, with its squared error."""
        problem = question.problem
        yes, total = problem.positive, problem.total
        return Candidate(0, yes * (total - yes) / total, min(yes, total - yes), Prior(problem.share))


def growth_settings(settings: CNLLSettings, n_threads: int, n_columns: int) -> GrowthSettings:
    """What the parameters ask of growth."""
    ridge = _RIDGE if settings.ridge is None else float(settings.ridge)
    return GrowthSettings(
        SearchSettings(ridge, float(settings.min_rows), n_threads),
        settings.n_units,
        settings.refit,
        settings.backfit,
        SizeLimits(settings.max_features, settings.max_clauses, settings.max_literals),
        columns=range(n_columns),
        ridge_by_noise=settings.ridge is None,
    )


def candidates_of(grown: GrownFormula, settings: GrowthSettings) -> Iterator[Candidate]:
    """The states of a formula while it grows; one may take the place of the one before, which is as large."""
    if grown.path:
        yield _candidate(grown, 0, start=True)
    for _ in states(grown, settings):
        yield _candidate(grown, len(grown.path) - 1)


def _candidate(grown: GrownFormula, place: int, *, start: bool = False) -> Candidate:
    """A state of the path; `history_` says of it which bit was added last."""
    model = ContinuedFormula(*grown.path[place])
    added = [step for step in grown.steps if step.replaced is None][: len(model.bits)]
    said = _said(added[-1], grown.formula.problem.columns) if added else {}
    size = sum(not bit.frozen for bit in model.bits)
    return Candidate(size, *grown.measured[place], model, start, said=said)


def _said(step: GrownStep, columns: Sequence[BinnedColumn]) -> Mapping[str, Any]:
    bit = step.bit
    feature = columns[bit.column].feature
    condition = print_node(bit.node(columns), Schema((feature,)))
    strengths = {"alpha": bit.alpha, "beta": bit.beta}
    return {"feature": feature.name, "condition": condition, "move": step.move.operator, **strengths}
