"""Weights that a tree can do without: the smallest are dropped round by round, the others fitted anew under the mask.

All units are looked at together, and what has been dropped stays so: without the mask a refit brings the noise back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rulekit.learners.ltu.fitting.candidates import Candidate, judged, standard_error
from rulekit.learners.ltu.fitting.refining import refined
from rulekit.learners.ltu.fitting.rows import Rows

_SHARE, _FEW = 0.2, 20
_HOPELESS = 4.0


def eliminated(candidate: Candidate, rows: Rows, held: Rows, margin: float, check: Callable[[], None]) -> Candidate:
    """The sparsest of ever sparser trees within `margin` standard errors of the least error on held-out rows.

    A fifth of the weights is dropped in a round, of few weights one.
    """
    training = replace(candidate.training, steps=60, tolerance=1e-5)
    path, least = [candidate], candidate.error
    tree = candidate.tree
    while (live := np.count_nonzero(tree.weights)) > tree.size:
        dropped = max(1, int(_SHARE * live)) if live > _FEW else 1
        order = np.argsort(np.abs(tree.weights), axis=None, kind="stable")
        mask = tree.weights != 0.0
        mask.ravel()[order[mask.size - live :][:dropped]] = False
        tree = replace(tree, weights=np.where(mask, tree.weights, 0.0))
        tree = refined(tree, rows, training, check, mask).without_idle(rows.inputs)
        path.append(judged(tree, candidate.training, held))
        least = min(least, path[-1].error)
        if path[-1].error > least + (margin + _HOPELESS) * standard_error(max(least, 0.01), held):
            break
    most = least + margin * standard_error(least, held) + 1e-12
    good = [found for found in path if found.error <= most]
    return min(good, key=lambda found: (found.size[1], found.error))
