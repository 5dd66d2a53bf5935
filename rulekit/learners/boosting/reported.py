"""What is reported of the sums of votes: a logistic function where one is fitted to each size, and rounds and margins.

It is fitted to rows that the votes were not learned from, those of each fold with the sums of what was learned without
them (J. Platt, Probabilistic Outputs for Support Vector Machines, 1999, section 2.2): the votes are so fitted to their
own training rows that these would make it too sure. It decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.learners.boosting.sums import SIGMOID, Boosted
from rulekit.learners.contract import Candidate, Learning, OutOfTimeError, Question, Stopped
from rulekit.learners.data.folds import Folds, fold_of_rows
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.models.calibration import Links, calibrated, smoothed_counts
from rulekit.learners.models.giving_points import totals_of
from rulekit.learners.sizes.path import ModelPath

_Held = Sequence[tuple[Problem, Sequence[Candidate]]]
_FOLDS = 3
_PER_UNIT = 64.0
_STEPS = 30
_LEAST_SCALE = 2.0**-10  # where rows of a larger sum are not more often positive
_SHARES = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])


def fit_probabilities(run: Run, folds: Folds | None, learn: Callable[[Question], Learning], stopped: Stopped) -> None:
    """Put models with fitted probabilities in the place of those on the path.

    folds: on which the sizes were checked. Where they were not, folds are learned for this alone; where the learning
    was stopped, or is now, the training rows are fitted.
    """
    held: _Held = ()
    with suppress(OutOfTimeError, KeyboardInterrupt):
        held = _checked(run, folds) if folds is not None and run.folds else () if stopped else _learned(run, learn)
    held = [(problem, path) for problem, path in held if path] or [(run.question.problem, run.path)]
    run.path = tuple(_fitted(candidate, place, held) for place, candidate in enumerate(run.path))


def _checked(run: Run, folds: Folds) -> _Held:
    """The rows of each fold on which sizes were checked, and what was learned without them."""
    fold = folds.of_rows()
    return [(run.question.problem.take(np.asarray(fold == k)), each.paths[0]) for k, each in enumerate(run.folds)]


def _learned(run: Run, learn: Callable[[Question], Learning]) -> _Held:
    """The rows of folds that are learned now, and what is learned without them."""
    question = run.question
    fold = fold_of_rows(question.problem, _FOLDS, question.groups, question.seed)
    held = list[tuple[Problem, Sequence[Candidate]]]()
    for k in range(int(fold.max()) + 1 if fold.any() else 0):
        training = question.problem.take(np.asarray(fold != k))
        path = list(learn(replace(question, problem=training, groups=None, fold=True)))
        held.append((question.problem.take(np.asarray(fold == k)), path))
    return held


def _fitted(candidate: Candidate, place: int, held: _Held) -> Candidate:
    """The candidate with the link that fits what others of its place on their paths say of some rows.

    A path that ended early goes on as it was.
    """
    if not isinstance(candidate.model, Boosted):
        return candidate
    models = [(path[min(place, len(path) - 1)].model, problem) for problem, path in held]
    sums = [(model, problem) for model, problem in models if isinstance(model, Boosted)]
    reach = math.ceil(max(model.votes for model, _ in sums) * _PER_UNIT)
    counts = sum((_counted(model, problem, reach) for model, problem in sums), np.zeros((2 * reach + 1, 2)))
    used = np.flatnonzero(counts.sum(axis=1))
    labelled, steps = smoothed_counts(counts[used])[None], (used - reach) / _PER_UNIT
    found = calibrated(labelled, steps, Links.single(SIGMOID, 0.0), _STEPS)
    if found.scale[0] < _LEAST_SCALE:
        found = calibrated(labelled, steps, Links.single(_LEAST_SCALE, 0.0), _STEPS, fixed=True)
    scale, offset = (float(f"{value:.4g}") for value in found.at(0)[:2])
    return replace(candidate, model=replace(candidate.model, scale=scale, offset=offset))


def _counted(model: Boosted, problem: Problem, reach: int) -> Floats:
    """The weight of the rows of label 0 and 1 by sum, in steps of 1/64 from so many below 0 to as many above it."""
    counts, terms = np.zeros((2 * reach + 1) * 2), model.terms()
    for rows, codes in problem.codes.parts(len(problem.labels)):
        steps = np.rint(totals_of(terms, codes, rows.stop - rows.start) * _PER_UNIT).astype(np.int64)
        counts += np.bincount(2 * (steps + reach) + problem.labels[rows], problem.weights[rows], len(counts))
    return counts.reshape(-1, 2) * problem.weight_unit


def noted_rounds(runs: Sequence[Run], path: ModelPath) -> list[dict[str, Any]]:
    """For each question all rounds that a model of the path has, and the margins after as many as one of them has."""
    notes = []
    for run, places in zip(runs, zip(path.chosen, *path.rows.values(), strict=True), strict=True):
        made, problem = run.path[: max(places)], run.question.problem
        note = {name: _short(each.said[name] for each in made) for name in ("edge", "z")}
        note["error"] = _short(each.error / problem.total for each in made)
        margins = {str(n): _margins(made[n - 1].model, problem) for n in sorted(set(places)) if n}
        notes.append({**note, "margins": margins, "weighted": problem.weights.strides != (0,)})
    return notes


def _margins(model: Any, problem: Problem) -> list[float]:
    """The least margins that these shares of the rows, by weight, are not above (R. Schapire and others, 1998)."""
    margins = np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(len(margins)):
        n = rows.stop - rows.start
        margins[rows] = totals_of(model.terms(), codes, n) if isinstance(model, Boosted) else model.totals(codes, n)
    margins *= np.where(problem.labels == 1, 1.0, -1.0) / (model.votes or 1.0)
    order = np.argsort(margins)
    below = np.cumsum(problem.weights[order])
    return _short(margins[order[np.searchsorted(below, np.maximum(_SHARES * float(below[-1]), 1.0))]])


def _short(values: Iterable[float]) -> list[float]:
    """Numbers of nine digits, with which the product of 300 factors Z has six."""
    return [float(f"{value:.9g}") for value in values]
