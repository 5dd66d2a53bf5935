"""The size of all questions of one model together, by the held-out errors of the model as a whole.

Each question's own error, of its class against the rest, says little of the model: classes compete. What every fold
has learned is kept, so that the models of a fold are joined as the final model is, and decide the rows of that fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rulekit.graph.decisions import Decision
from rulekit.graph.evaluation.evaluator import decide_each
from rulekit.graph.ladder import macro_f1
from rulekit.graph.leaves import readers
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Candidate, Frame
from rulekit.learners.counting.histograms import Ints
from rulekit.learners.fitting.assembly import decision_of, default_of, prefixes
from rulekit.learners.fitting.learning import Run
from rulekit.learners.fitting.sizes.choice import Curve
from rulekit.learners.fitting.sizes.held_out import Fold
from rulekit.tables.table import Table


def joint_curve(
    frame: Frame, runs: Sequence[Run], rows: Sequence[Sequence[int]], table: Table, problem: Problem, fold: Ints
) -> Curve | None:
    """The held-out errors of the whole model by the places of the questions on their paths, which a row lists.

    table: the training rows; problem: the same, labels are class indices; fold [n]: of each row. Only folds that all
    questions have finished count; None without any.
    """
    n_folds = min(len(run.folds) for run in runs)
    if not n_folds or not rows:
        return None
    decisions = [_decisions(frame, runs, k, rows) for k in range(n_folds)]
    wrong, weights = np.zeros((n_folds, len(rows) + 1)), np.zeros(n_folds)
    n_classes = len(frame.classes)
    confusion = np.zeros((len(rows) + 1, n_classes, n_classes))  # true, decided
    used = tuple(sorted(readers([root for each in decisions for decision in each for root in decision.roots])))
    default = default_of(frame) if frame.kind == "several" else 0
    start = 0
    for block in table.select(used).blocks():
        part = slice(start, start + block.n_rows)
        start += block.n_rows
        within, labels, weight = fold[part], problem.labels[part], problem.weights[part]
        for k in range(n_folds):
            held = within == k
            decided = decide_each(decisions[k], default, block.take(held))
            errors = (decided != labels[held]) @ weight[held].astype(np.float64)
            wrong[k] += errors * problem.weight_unit
            weights[k] += float(weight[held].sum()) * problem.weight_unit
            for row, pairs in enumerate(n_classes * labels[held].astype(np.int64) + decided):
                counted = np.bincount(pairs, weight[held], n_classes * n_classes)
                confusion[row] += counted.reshape(n_classes, n_classes)
    right = confusion[1:, np.arange(n_classes), np.arange(n_classes)]
    f1 = macro_f1(right, confusion[1:].sum(axis=1), confusion[1:].sum(axis=2))
    rare = any(run.curve is not None and run.curve.rare for run in runs)
    by_loss = all(run.curve is not None and run.curve.by_loss for run in runs)
    nothing, found = wrong[:, 0], wrong[:, 1:]
    return Curve(found, weights, nothing=nothing, macro_f1=f1, rare=rare, classes=n_classes, by_loss=by_loss)


def _decisions(frame: Frame, runs: Sequence[Run], k: int, rows: Sequence[Sequence[int]]) -> list[Decision]:
    """How the models of a fold decide: that without any unit, then row by row."""
    frame = replace(frame, unreported=True)
    nothing = [run.folds[k].nothing for run in runs]
    return [_decision(frame, nothing)] + [
        _decision(frame, [_candidate(run, run.folds[k], place) for run, place in zip(runs, row, strict=True)])
        for row in rows
    ]


def _decision(frame: Frame, candidates: Sequence[Candidate]) -> Decision:
    models = [candidate.model for candidate in candidates]
    scores = [model.score(frame, prefix) for model, prefix in zip(models, prefixes(len(models)), strict=True)]
    return decision_of(frame, models, scores)


def _candidate(run: Run, fold: Fold, place: int) -> Candidate:
    """What a fold has learned in the place of a candidate, by the variant that was taken; a short path goes on."""
    path = fold.paths[0 if run.curve is None or len(fold.paths) == 1 else run.curve.variant]
    begins = bool(path) and path[0].start
    return path[min(max(place, 1), len(path)) - 1] if path and (place or begins) else fold.nothing
