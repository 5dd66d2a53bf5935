"""The rows that units are fitted to: equal ones as one with their weight, in an order that is their own.

What is fitted to real numbers depends on the order in which they are added, so that rows stand in the order of a hash
of what is in them. A row of weight 2 counts as two rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rulekit.learners.contract import Question
from rulekit.learners.data.folds import fold_of_rows, row_hashes
from rulekit.learners.data.hashes import mix
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints

_PARTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Distinct rows: inputs [n, d] standardised, labels [n] of 0 and 1, weights [n], and in which of four parts [n].

    problem: the same rows as they are binned.
    """

    problem: Problem
    inputs: Floats
    labels: Ints
    weights: Ints
    parts: Ints

    def held(self, part: int = 0) -> Bools:
        """Which rows [n] are held out: those of a part; of few rows, or of one kind, none are."""
        return np.asarray((self.parts == part) & bool(self.parts.any()))

    @property
    def in_rows(self) -> Floats:
        """The weights [n] stated in rows, as those learners take them that show rows, or tolerate wrong ones."""
        return np.asarray(self.weights * self.problem.weight_unit, dtype=np.float64)

    @classmethod
    def of(cls, question: Question, inputs: Inputs) -> Rows:
        """The rows of a question."""
        problem = question.problem
        parts = fold_of_rows(problem, _PARTS, question.groups, question.seed)
        problem, parts = merged(problem, parts, question.seed)
        n = len(problem.labels)
        return cls(problem, inputs.standardised(problem.codes, n), problem.labels, problem.weights, parts)


def merged(problem: Problem, parts: Ints, seed: int) -> tuple[Problem, Ints]:
    """A problem with equal rows of one label and part [n] as one, in the order of their hashes, and their parts.

    Rows of weight 0 are left out.
    """
    hashes = row_hashes(problem, seed)
    mix(hashes, problem.labels)
    mix(hashes, parts)
    seen = np.flatnonzero(problem.weights)
    _, first, kind = np.unique(hashes[seen], return_index=True, return_inverse=True)
    weights = np.zeros(len(first), dtype=np.int64)
    np.add.at(weights, kind, problem.weights[seen])
    least = max(1, int(np.gcd.reduce(weights))) if len(weights) else 1
    taken = problem.take(seen[first])
    return replace(taken, weights=weights // least, weight_unit=problem.weight_unit * least), parts[seen[first]]
