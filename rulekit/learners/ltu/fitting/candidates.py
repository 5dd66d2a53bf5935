"""Candidates: trees with what they were trained by and how they err on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.learners.ltu.fitting.refining import Training
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.trees import LTUTree


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A tree, how it was trained, and the share of held-out rows that it decides wrongly."""

    tree: LTUTree
    training: Training
    error: float

    @property
    def size(self) -> tuple[int, int]:
        """Its units and its weights."""
        return self.tree.size, int(np.count_nonzero(self.tree.weights))


def judged(tree: LTUTree, training: Training, held: Rows) -> Candidate:
    """A tree with its error on held-out rows."""
    return Candidate(tree, training, held.wrong(tree.decides(held.inputs)) / max(held.total, 1.0))


def standard_error(error: float, held: Rows) -> float:
    """That of an error on held-out rows."""
    return float(np.sqrt(max(error * (1.0 - error), 0.0) / max(held.total, 1.0)))


def within(candidates: Sequence[Candidate], margin: float, held: Rows) -> Candidate:
    """The smallest candidate whose error is within so many standard errors of the least; of equal ones the best."""
    least = min(candidate.error for candidate in candidates)
    most = least + margin * standard_error(least, held) + 1e-12
    return min((c for c in candidates if c.error <= most), key=lambda c: (*c.size, c.error))
