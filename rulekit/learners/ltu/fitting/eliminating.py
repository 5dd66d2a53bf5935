"""Weights that a tree can do without: the smallest are dropped round by round, the others fitted anew under the mask.

All units are looked at together, and what has been dropped stays so: without the mask a refit brings the noise back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from rulekit.learners.ltu.fitting.candidates import Candidate, Judges, best_of
from rulekit.learners.ltu.fitting.refining import Training, refined
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.trees import LTUTree

_SHARE, _FEW = 0.2, 30
_HOPELESS = 4.0


def sparser(tree: LTUTree, rows: Rows, training: Training, check: Callable[[], None]) -> Iterator[LTUTree]:
    """Ever sparser trees: a fifth of the weights is dropped in a round, of few weights one."""
    quick = replace(training, steps=40, tolerance=1e-4)
    while (live := np.count_nonzero(tree.weights)) > tree.size:
        dropped = max(1, int(_SHARE * live)) if live > _FEW else 1
        order = np.argsort(np.abs(tree.weights), axis=None, kind="stable")
        mask = tree.weights != 0.0
        mask.ravel()[order[mask.size - live :][:dropped]] = False
        tree = replace(tree, weights=np.where(mask, tree.weights, 0.0))
        tree = rows.without_idle(refined(tree, rows, quick, check, mask))
        yield tree


def eliminated(candidate: Candidate, judges: Judges, margin: float, check: Callable[[], None]) -> Candidate:
    """Of ever sparser trees the one of the shortest description that is allowed beside the best on held-out rows."""
    path, least = [candidate], candidate
    for tree in sparser(candidate.tree, judges.fit, candidate.training, check):
        path.append(judges.judge(tree, candidate.training))
        least = best_of((least, path[-1]))
        if not judges.allowed(path[-1], least, margin + _HOPELESS):
            break
    return judges.chosen(path, margin)
