"""The learner ltu-tree: linear threshold units in a tree (M. Sahami, Learning Non-Linearly Separable Functions)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.nodes import FALSE, And, Hidden, Linear, Logistic, Node, Not, Or
from rulekit.learners.contract import Ability, Candidate, Frame, Learning, OutOfTimeError, Question, Score, Stopped
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.ltu.exact_units import exact_units
from rulekit.learners.ltu.fit import FitResult, description, fit_tree
from rulekit.learners.ltu.growing import LTUTreeSettings
from rulekit.learners.ltu.inputs import DistinctRows, Inputs, Unit
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.models.integer_points import Links, calibrated, smoothed_counts
from rulekit.learners.models.plain import multiples
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.choice import Contest, of_rate
from rulekit.learners.sums_of_rows.kernels import one_blas_thread
from rulekit.numbers import short_probability, strength_of
from rulekit.schema import Schema
from rulekit.simplification.logic import degenerate_at_least
from rulekit.simplification.rewriting import context_of
from rulekit.simplification.sums import dead_terms, join_terms, threshold_logic

Writing = Callable[[Shape, Sequence[Node]], Node]
"""How a tree is written as a Boolean rule over the nodes of its units [m]."""
_GRID = 2.0**-10
_BITS, _STEPS = 5, 50


def nested(shape: Shape, units: Sequence[Node]) -> Node:
    """(unit and what follows on the right) or (not unit and what follows on the left), from the root down.

    Where nothing follows on the right, "unit or what follows on the left" says the same, and is shorter.
    """
    below: list[Node] = list(units)
    for k in reversed(range(shape.size)):  # children come after their parents
        unit, left, right = units[k], int(shape.left[k]), int(shape.right[k])
        if right == NONE:
            below[k] = unit if left == NONE else Or([unit, below[left]])
        else:
            yes = And([unit, below[right]])
            below[k] = yes if left == NONE else Or([yes, And([Not(unit), below[left]])])
    return below[0]


def unit_node(unit: Unit, columns: Sequence[BinnedColumn], schema: Schema) -> Node:
    """The node of a unit: a condition, r of k, a disjunction that is no longer than the sum, or the sum.

    columns: of the problem. Each is what laws of simplification make of the sum, and decides as it does on every row.
    """
    node: Node = unit.node(columns)
    context = context_of(schema, [node])
    for law in (dead_terms, threshold_logic, degenerate_at_least, join_terms):
        node = law(node, context)
    return node


@dataclass(frozen=True, slots=True, eq=False)
class UnitTree:
    """Says yes where the tree of units does.

    shares [m, 2]: of the positive class among the rows that each unit answers, by its answer, with half a row of each
    class more than there is. precedence: the share of all rows that are answered by yes.
    written: how its rule is. compared: its log odds stand beside those of other classes, of which the largest decides.
    They are, of a single unit, its sum times the first number plus the second; of a tree those of the path that a row
    takes.
    """

    shape: Shape
    units: tuple[Unit, ...]
    shares: Floats
    precedence: float
    written: Writing = nested
    compared: tuple[float, float] | None = None

    @classmethod
    def of(cls, shape: Shape, units: Sequence[Unit], problem: Problem, written: Writing = nested) -> UnitTree:
        n = len(problem.labels)
        at, answers = shape.ends(fires_of(units, problem.codes, n))
        weights = problem.weights * problem.weight_unit
        every, positive = (
            np.bincount(2 * at + answers, counted, 2 * shape.size).reshape(-1, 2)
            for counted in (weights, weights * (problem.labels == 1))
        )
        shares = (positive + 0.5) / (every + 1.0)
        right = float((positive[:, 1].sum() + 0.5) / (every[:, 1].sum() + 1.0))
        return cls(shape, tuple(units), shares, right, written)

    @property
    def size(self) -> int:
        return len(self.units)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        found = np.empty(n_rows, dtype=bool)
        for rows, part in codes.parts(n_rows):
            n = rows.stop - rows.start
            if self.compared is not None:
                found[rows] = self.log_odds(part, n) > 0.0
            else:
                found[rows] = self.shape.decides(fires_of(self.units, part, n))
        return found

    def log_odds(self, codes: Codes, n_rows: int) -> Floats:
        """What is compared [n]; see `compared`."""
        factor, added = self.compared or (1.0, 0.0)
        if self.size == 1:
            return np.asarray(factor * self.units[0].sums(codes, n_rows) + added)
        at, answers = self.shape.ends(fires_of(self.units, codes, n_rows))
        return _odds(self.shares)[at, answers.astype(np.int64)]

    def score(self, frame: Frame, prefix: str) -> Score:
        """The rule that decides, and a hidden bit for each path, of which a row takes one; or the sum to compare."""
        if self.compared is not None and self.size == 1:
            unit = self.units[0].node(frame.columns)
            total = Linear([(self.compared[0], Linear(unit.terms, unit.bias))], self.compared[1])
            return Score(total, probability=Logistic(total))
        nodes = [unit_node(unit, frame.columns, frame.schema) for unit in self.units]
        rule = self.written(self.shape, nodes)
        silent = rule is FALSE
        if frame.unreported:
            return Score(rule, rule, silent=silent, precedence=self.precedence)
        contrary = self.shape.ways[self.shape.no] - np.eye(self.size, dtype=np.int64)[self.shape.no]
        yes, no = self.shares[self.shape.yes, 1], self.shares[self.shape.no, 0]
        paths = [*zip(self.shape.gates, yes, strict=True), *zip(contrary, no, strict=True)]
        if self.compared is not None:
            terms = [(float(_odds(np.array([share]))[0]), path_node(gate, nodes)) for gate, share in paths]
            total = Linear(terms, 0.0)
            return Score(total, probability=Logistic(total))
        bits = [
            Hidden(f"{prefix}{k}", path_node(gate, nodes), strength_of(short_probability(float(share))))
            for k, (gate, share) in enumerate(paths, start=1)
        ]
        return Score(Or(bits), rule, silent=silent, sided=frame.kind != "ranked", precedence=self.precedence)


def fires_of(units: Sequence[Unit], codes: Codes, n_rows: int) -> Bools:
    return np.stack([unit.sums(codes, n_rows) >= 0.0 for unit in units], axis=1)


def _odds(shares: Floats) -> Floats:
    return multiples(np.log(shares) - np.log1p(-shares), _GRID)


def path_node(gate: Ints, nodes: Sequence[Node]) -> Node:
    """The conjunction of what a path asks of units; gate [m]: 1 of a unit that must fire, -1 of one that must not."""
    parts = [node if sign > 0 else Not(node) for sign, node in zip(gate.tolist(), nodes, strict=True) if sign]
    return parts[0] if len(parts) == 1 else And(parts)


def candidate_of(
    tree: LTUTree,
    question: Question,
    rows: DistinctRows,
    said: Mapping[str, Any] | None = None,
    *,
    held_out: tuple[float, float] | None = None,
    before: Bools | None = None,
    written: Writing = nested,
) -> Candidate:
    """A tree over standardised inputs as a candidate: its units exact, its errors those of the rows.

    before: what other rows had, that were learned from before these.
    """
    inputs: Inputs = question.plan
    own = LTUTree(tree.shape, *inputs.unscaled(tree.weights, tree.biases))
    units = exact_units(own, inputs, rows.problem.codes, len(rows.labels), before)
    model = UnitTree.of(tree.shape, units, rows.problem, written)
    wrong = model.decides(rows.problem.codes, len(rows.labels)) != (rows.labels == 1)
    error = float(rows.weights[wrong].sum()) * rows.problem.weight_unit
    return Candidate(model.size, error, error, model, said=said or {}, held_out=held_out)


def _compared(tree: UnitTree, run: Run) -> UnitTree:
    one = tree.size == 1 and bool(tree.units[0].terms)
    return replace(tree, compared=scale_of(tree, run.question.problem) if one else (1.0, 0.0))


def scale_of(tree: UnitTree, problem: Problem) -> tuple[float, float]:
    """By what the sum of a unit is multiplied, and what is added, for the log of the odds of its class.

    The factor has few bits, so that the products stay exact; above 0.
    """
    sums, place = np.unique(tree.units[0].sums(problem.codes, len(problem.labels)), return_inverse=True)
    by_label = [np.bincount(place, problem.weights * (problem.labels == label), len(sums)) for label in (0, 1)]
    counts = np.stack(by_label, axis=1).astype(np.float64) * problem.weight_unit
    unit = float(np.abs(sums).max()) or 1.0  # steps start from a scale that suits the sums
    links = calibrated(smoothed_counts(counts)[None], sums / unit, Links.single(1.0, 0.0), _STEPS)
    mantissa, exponent = math.frexp(max(float(links.scale[0]) / unit, 1e-12))
    factor = math.ldexp(max(1.0, round(math.ldexp(mantissa, _BITS))), exponent - _BITS)
    return factor, round(float(links.offset[0]) / _GRID) * _GRID


_FEW, _TRIED, _CLEARLY = 250.0, (0, 1, 2), 10.0


class UnitLearner(RuleLearner):
    """A learner whose models are trees of linear threshold units."""

    noun = "unit"
    abilities: ClassVar[frozenset[Ability]] = frozenset(("missing", "categories", "several", "ranked", "weights"))

    def _inputs_of(self, problem: Problem, settings: Any) -> Inputs:
        return Inputs.of(problem)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        plan = self._inputs_of(problem, questions[0].settings)
        return [replace(question, plan=plan) for question in questions]

    def learn_rows(self, settings: Any, begun: float, data: TrainingData) -> tuple[TrainingData, npt.NDArray[Any]]:
        """With products of matrices on one thread, so that the model does not depend on how many there are."""
        with one_blas_thread():
            return super().learn_rows(settings, begun, data)

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """Put trees whose largest sum decides in the place of those on the paths, where that errs clearly less."""
        if len(runs) < 3 or runs[0].question.settings.ordered is not None:
            return
        models = [[made.model for made in run.path if isinstance(made.model, UnitTree)] for run in runs]
        if not all(models):
            return
        problem = runs[0].question.problem
        n, trees = len(problem.labels), [own[-1] for own in models]
        true = np.argmax([run.question.problem.labels for run in runs], axis=0)
        odds = np.array(
            [_compared(tree, run).log_odds(problem.codes, n) for tree, run in zip(trees, runs, strict=True)]
        )
        totals = [run.question.problem.positive for run in runs]
        by_rules = np.full(n, int(np.argmax(totals)))
        for k in sorted(range(len(trees)), key=lambda k: trees[k].precedence):
            by_rules[trees[k].decides(problem.codes, n)] = k
        better = (odds.argmax(axis=0) == true).astype(np.float64) - (by_rules == true)
        weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
        if Contest.over_rows(better, weights).within(1.0):
            return
        for run in runs:
            run.path = tuple(
                replace(made, model=_compared(made.model, run)) for made in run.path if isinstance(made.model, UnitTree)
            )


class LTUTrees(UnitLearner):
    """Trees of linear threshold units; see LTUTreeClassifier."""

    word = "ltu-tree"
    estimator = "rulekit.learners.ltu.estimator:LTUTreeClassifier"
    settings = LTUTreeSettings
    size_parameter = "max_nodes"

    def learn(self, question: Question) -> Learning:
        rows = DistinctRows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        found, part = _fitted(question, rows)
        held = float(rows.weights[rows.held(part)].sum()) or float(rows.weights.sum())
        for tree, error in zip(found.ladder, found.errors, strict=True):
            if len(tree.live):  # else it says the same of all rows
                yield candidate_of(tree, question, rows, held_out=(error, of_rate(error, held)))
        if not found.complete:
            raise OutOfTimeError  # what was found so far is kept, and the model says that it was stopped
        return None


def _fitted(question: Question, rows: DistinctRows) -> tuple[FitResult, int]:
    """The tree by held-out rows, and which part these were.

    What a few rows say of a tree is much by chance: where there are few, each of three parts chooses one. The first is
    taken unless the description of another is clearly shorter.
    """
    settings: LTUTreeSettings = question.settings
    total, seed = float(rows.weights.sum()), question.seed + question.index
    parts = _TRIED if float(rows.in_rows.sum()) <= _FEW and rows.parts.any() else _TRIED[:1]
    found = list[tuple[float, int, FitResult]]()
    for part in parts:
        fit = fit_tree(rows.inputs, rows.labels, rows.weights, rows.held(part), settings, seed, question.watch)
        wrong = float(rows.weights[fit.tree.decides(rows.inputs) != (rows.labels == 1)].sum())
        length = description(fit.tree, wrong, total)
        found.append((length if part else length - _CLEARLY, part, fit))
        if not fit.complete:
            break
    _, part, best = min(found, key=lambda each: each[:2])
    return replace(best, complete=found[-1][2].complete), part
