"""What the questions of a noisy-or share, and its candidates with their losses on held-out rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.contract import Candidate, Kind, Question
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.assembly import Prior


@dataclass(frozen=True, slots=True, eq=False)
class NoisyOrPlan:
    """What all questions share.

    kind: of the classes; columns: how many the table has (ranked classes have a further one, of the ranks); missing
    [columns]: which have missing cells; families: what is compared, the first where nothing is; apart
    [columns, columns]: which may not stand in one cause; known: of ranked classes what was learned of a cut from some
    rows, which the questions share.
    """

    kind: Kind
    columns: int
    missing: Bools
    families: tuple[str, ...]
    n_classes: int
    apart: Bools
    known: dict[bytes, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedCauses:
    """A model of so many causes with its conditional log-likelihood, and that less the prior."""

    model: Any
    size: int
    likelihood: float
    objective: float

    def candidate(self, question: Question) -> Candidate:
        """As a candidate, with its errors on the rows of a question."""
        problem, wrong = question.problem, 0
        for rows, codes in problem.codes.parts(len(problem.labels)):
            labels = problem.labels[rows] == 1
            wrong += int(problem.weights[rows][self.model.decides(codes, len(labels)) != labels].sum())
        said = {"log_likelihood": self.likelihood}
        return Candidate(self.size, -self.objective, wrong * problem.weight_unit, self.model, said=said)


def held_out_losses(candidate: Candidate, held: Problem) -> Floats:
    """Of each held-out row [n] the negative log of the probability that is said of its label."""
    model: Any = candidate.model
    losses = np.empty(len(held.labels))
    for rows, codes in held.codes.parts(len(held.labels)):
        yes = held.labels[rows] == 1
        if isinstance(model, Prior):
            share = min(max(model.share, 1e-9), 1.0 - 1e-9)
            losses[rows] = -np.log(np.where(yes, share, 1.0 - share))
        else:
            losses[rows] = model.log_losses(codes, yes)
    return losses


def flipped_labels(problem: Problem) -> Problem:
    """The rows with both classes exchanged."""
    return replace(problem, labels=1 - problem.labels)


def of_cut(question: Question, cut: int, flipped: bool) -> Problem:
    """The rows of ranked classes up to a class (flipped: from it on), whose positive ones are those of the class."""
    problem = question.problem
    ranks = problem.codes[question.plan.columns]
    rows = np.flatnonzero(ranks >= cut if flipped else ranks <= cut)
    return replace(problem.take(rows), labels=(ranks[rows] == cut).astype(problem.labels.dtype))


def share_of(problem: Problem) -> float:
    """The share of the positive weight, away from 0 and 1 by half a row."""
    least = 0.5 / (problem.total + 1.0)
    return min(max(problem.share, least), 1.0 - least)


def fingerprint(problem: Problem, cut: int) -> bytes:
    """Of the rows and the cut."""
    digest = hashlib.blake2b(str(cut).encode(), digest_size=16)
    for k in range(len(problem.columns)):
        digest.update(np.ascontiguousarray(problem.codes[k]).tobytes())
    digest.update(np.ascontiguousarray(problem.weights).tobytes())
    return digest.digest()
