"""Whether causes speak for each of several classes or against it: what noisy-ors or noisy-ands say of held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rulekit.learners.binned.problem import Problem
from rulekit.learners.binned.words import without_mute_words
from rulekit.learners.contract import Candidate, OutOfTimeError, Question
from rulekit.learners.counting.histograms import exact_sum
from rulekit.learners.fitting.assembly import Prior
from rulekit.learners.fitting.rows.folds import drawn, fold_of_rows
from rulekit.learners.noisy_or.paths import held_out_losses, path_of

_ROWS = 8192
"""Rows by which it is found out; of more, so many are drawn."""


def family_of_classes(problem: Problem, questions: Sequence[Question]) -> str:
    """The family ("or", "and") whose models of all classes have the least log loss on the rows of one fold.

    All classes have one family, as they are compared by one number. problem: labels are class indices, as those of the
    questions are. Each class has the size that is best for it.
    """
    first = questions[0]
    groups = first.groups
    if problem.total > _ROWS and len(problem.labels) > _ROWS:
        problem, groups = drawn(problem, _ROWS, first.seed), None
    fold = fold_of_rows(problem, first.settings.n_folds, groups, first.seed)
    if not fold.any():
        return "or"
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    training = without_mute_words(training, training.labels)

    def loss(family: str) -> float:
        return sum(_loss(question, training, held, family) for question in questions)

    try:
        return min(("or", "and"), key=loss)
    except OutOfTimeError:
        return "or"


def _loss(question: Question, training: Problem, held: Problem, family: str) -> float:
    """The least log loss of a class against the rest, over the sizes."""
    own, other = (
        replace(part, labels=(part.labels == question.index).astype(part.labels.dtype)) for part in (training, held)
    )
    weights = np.asarray(other.weights * other.weight_unit, dtype=np.float64)
    path = path_of(replace(question, problem=own, groups=None, fold=True), family)
    nothing = Candidate(0, 0.0, 0.0, Prior(own.share))
    return min(exact_sum(weights * held_out_losses(candidate, other)) for candidate in (nothing, *path))
