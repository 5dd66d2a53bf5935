"""The learner ltu-tree: linear threshold units in a tree (M. Sahami, Learning Non-Linearly Separable Functions)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.contract import Learning, OutOfTimeError, Question
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.fitting.candidates import description
from rulekit.learners.ltu.fitting.fit import FitResult, fit_tree
from rulekit.learners.ltu.fitting.options import FitOptions
from rulekit.learners.ltu.growing import Growth, grow_perceptron_tree, grow_tree
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.models import candidate_of
from rulekit.learners.ltu.nodes.kinds import node_of
from rulekit.learners.ltu.rows import Rows
from rulekit.learners.ltu.settings import LTUTreeSettings
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.unit_learner import UnitLearner
from rulekit.learners.sizes.contest import of_rate

_FEW, _TRIED, _CLEARLY = 250.0, (0, 1, 2), 10.0


class LTUTrees(UnitLearner):
    """Trees of linear threshold units; see LTUTreeClassifier."""

    word = "ltu-tree"
    estimator = "rulekit.learners.ltu.estimator:LTUTreeClassifier"
    settings = LTUTreeSettings
    size_parameter = "max_nodes"

    def check(self, settings: LTUTreeSettings) -> None:
        """Raise InputError where single conditions are asked of units that are fitted together."""
        if settings.inner == "single" and settings.node == "moments":
            why = "units of moments are fitted together, and have no single conditions before them"
            raise InputError(why, where="inner", fix="leave it out, or take node=backprop or another kind")

    def inputs_of(self, problem: Problem, settings: LTUTreeSettings) -> Inputs:
        """Units of the default are fitted to conditions that are scaled as numbers are."""
        return Inputs.of(problem, only_numbers=settings.node != "moments")

    def learn(self, question: Question) -> Learning:
        """The trees of 1, 2, ... units; of those that are grown as in the paper the whole one alone."""
        rows = Rows.of(question, question.plan)
        if len(rows.labels) and len(question.plan):
            for tree, held_out in trees_of(question, rows):
                if not len(tree.live):  # it says the same of all rows
                    continue
                yield candidate_of(tree, question, rows, held_out=held_out)
        return None


def trees_of(question: Question, rows: Rows) -> Iterator[tuple[LTUTree, tuple[float, float] | None]]:
    """The trees that are fitted to rows, smallest first, each with its held-out error and the error of that."""
    settings: LTUTreeSettings = question.settings
    if settings.node == "moments":
        found, part = _fitted(question, rows)
        held = float(rows.weights[rows.held(part)].sum()) or float(rows.weights.sum())
        for tree, error in zip(found.ladder, found.errors, strict=True):
            yield tree, (error, of_rate(error, held))
        if not found.complete:
            raise OutOfTimeError  # what was found so far is kept, and the model says that it was stopped
        return
    grow = grow_perceptron_tree if settings.inner == "single" else grow_tree
    rng = np.random.default_rng((question.seed, question.index))
    growth = Growth(depth=int(settings.max_depth), most_units=int(settings.max_nodes))
    node = node_of(settings.node, int(settings.n_epochs))
    weights, check = rows.in_rows, question.watch.check
    yield grow(rows.inputs, rows.labels == 1, weights, node, rng, growth, check), None


def _fitted(question: Question, rows: Rows) -> tuple[FitResult, int]:
    """The tree by held-out rows, and which part these were.

    What a few rows say of a tree is much by chance: where there are few, each of three parts chooses one. The first is
    taken unless the description of another is clearly shorter.
    """
    options, seed = _options(question.settings), question.seed + question.index
    total = float(rows.weights.sum())
    parts = _TRIED if float(rows.in_rows.sum()) <= _FEW and rows.parts.any() else _TRIED[:1]
    found = list[tuple[float, int, FitResult]]()
    for part in parts:
        fit = fit_tree(rows.inputs, rows.labels, rows.weights, rows.held(part), options, seed, question.watch)
        wrong = float(rows.weights[fit.tree.decides(rows.inputs) != (rows.labels == 1)].sum())
        length = description(fit.tree, wrong, total)
        found.append((length if part else length - _CLEARLY, part, fit))
        if not fit.complete:
            break
    _, part, best = min(found, key=lambda each: each[:2])
    return replace(best, complete=found[-1][2].complete), part


def _options(settings: LTUTreeSettings) -> FitOptions:
    usual, margin = FitOptions(), float(settings.margin)
    return replace(
        usual,
        max_nodes=int(settings.max_nodes),
        max_depth=int(settings.max_depth),
        starts=int(settings.n_starts),
        select_margin=usual.select_margin * margin,
        prune_margin=usual.prune_margin * margin,
        eliminate_margin=usual.eliminate_margin * margin,
    )
