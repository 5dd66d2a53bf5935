"""Candidates: trees with what they were trained by, how they err on held-out rows, and how long they are to tell.

A smaller tree may err a little more: within standard errors of the difference, which is far surer than either error, as
trees alike err on the same rows. Among such trees the one is taken that, with the rows on which it errs, of those that
were fitted too, is told in the fewest bits (Rissanen's least description length): of the weights that are left by
chance alone, none is worth its description, and one without which some rows are wrong is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools
from rulekit.learners.ltu.loss import FitRows, TreeTraining
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.sizes.choice import Contest


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What the learner may be told; max_nodes, max_depth: of grown trees, before they are pruned.

    starts: random starts of each chain. margin: how readily a smaller tree is taken.
    """

    max_nodes: int = 40
    max_depth: int = 10
    starts: int = 6
    margin: float = 1.0

    @property
    def smaller(self) -> float:
        """How many standard errors of the difference on held-out rows a tree of fewer units may err more."""
        return 1.5 * self.margin

    @property
    def sparser(self) -> float:
        """The same of a tree of fewer weights."""
        return 2.0 * self.margin


RIDGES = (1e-3, 1e-4)
"""Those that are tried for trees."""


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """The rows to fit to, and those held out to choose by."""

    fit: FitRows
    held: FitRows

    def judge(self, tree: LTUTree, training: TreeTraining) -> TreeCandidate:
        """A tree with what it errs and how long it is."""
        yes = self.held.yes(tree)
        wrong = self.held.wrong(yes)
        of_all = wrong + self.fit.wrong(self.fit.yes(tree))
        length = description(tree, of_all, self.fit.total + self.held.total)
        return TreeCandidate(tree, training, yes, wrong / max(self.held.total, 1.0), of_all, length)

    def allowed(self, candidate: TreeCandidate, best: TreeCandidate, margin: float) -> bool:
        """Whether a candidate is worse than the best by at most so many standard errors of their difference."""
        total = max(self.held.total, 1.0)
        differ = float(self.held.weights @ (candidate.yes != best.yes)) / total
        return Contest.of_decisions(candidate.error - best.error, differ, total).within(margin)

    def chosen(self, candidates: Sequence[TreeCandidate], margin: float) -> TreeCandidate:
        """The one of the shortest description of those that are allowed beside the best."""
        best = best_of(candidates)
        return min((c for c in candidates if self.allowed(c, best, margin)), key=lambda c: (c.length, *c.size, c.error))


@dataclass(frozen=True, slots=True, eq=False)
class TreeCandidate:
    """A tree and how it was trained.

    yes [n]: the held-out rows that it answers by yes; error: the share of them that it decides wrongly; wrong: how many
    rows it decides wrongly, fitted ones too; length: of its description, in nats.
    """

    tree: LTUTree
    training: TreeTraining
    yes: Bools
    error: float
    wrong: float
    length: float

    @property
    def size(self) -> tuple[int, int]:
        """Its units and its weights."""
        return self.tree.size, int(np.count_nonzero(self.tree.weights))


def best_of(candidates: Iterable[TreeCandidate]) -> TreeCandidate:
    """The one of the least error; of equal ones the smallest."""
    return min(candidates, key=lambda c: (c.error, *c.size))


def description(tree: LTUTree, wrong: float, total: float) -> float:
    """Nats for the weights of a tree over its inputs, and for which of so many rows it decides wrongly.

    A weight is said to the digits that so many rows tell apart: half the logarithm of their number.
    """
    d = tree.weights.shape[1]
    live, weight = np.count_nonzero(tree.weights, axis=1), 0.5 * math.log(max(total, 2.0))
    return _choice(total, wrong) + sum(_choice(d, int(k)) + weight * (int(k) + 1) for k in live)


def _choice(n: float, k: float) -> float:
    """Nats to say which k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(max(n - k, 0.0) + 1)
