"""A single unit by logistic regression, the tree that others must beat: its ridge and weights chosen by log loss.

Log loss on held-out rows tells much more of a single unit than its errors do, where few rows are held out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rulekit.learners.counting.histograms import Floats, Ints
from rulekit.learners.ltu.fitting.candidates import Candidate, Judges
from rulekit.learners.ltu.fitting.eliminating import sparser
from rulekit.learners.ltu.fitting.options import FitOptions
from rulekit.learners.ltu.fitting.refining import Training, refined
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.shape import Shape
from rulekit.learners.ltu.trees import LTUTree


def linear(judges: Judges, inputs: Ints, options: FitOptions, check: Callable[[], None]) -> Candidate:
    """The sparsest unit whose log loss on held-out rows is about the least; inputs: those that it may weigh, by number.

    About: at most `linear_margin` standard errors of the difference more.
    """
    rows, held = judges.fit.of(inputs), judges.held.of(inputs)
    found = list[tuple[LTUTree, Training, Floats]]()
    start = LTUTree(Shape.chain(1), np.zeros((1, len(inputs))), np.zeros(1))
    for l2 in options.logistic_l2:
        training = Training(l2, logistic=True, tolerance=1e-5)
        start = refined(start, rows, training, check)
        found.append((start, training, _log_losses(start, held)))
    best, training, least = min(found, key=lambda own: own[2] @ held.weights)
    found = [own for own in found if own[1] is training]
    for tree in sparser(best, rows, training, check):
        losses = _log_losses(tree, held)
        found.append((tree, training, losses))
        if losses @ held.weights < least @ held.weights:
            least = losses
        if not _about(losses, least, held, options.linear_margin + _HOPELESS):
            break
    good = [tree for tree, _, losses in found if _about(losses, least, held, options.linear_margin)]
    sparsest = min(good, key=lambda tree: np.count_nonzero(tree.weights))
    return judges.judge(sparsest.over(inputs, judges.fit.inputs.shape[1]), training)


_HOPELESS = 4.0


def _log_losses(tree: LTUTree, rows: Rows) -> Floats:
    """Minus the log likelihood of each row [n]."""
    margins = tree.margins(rows.inputs)[:, 0]
    return np.asarray(np.logaddexp(0.0, margins) - rows.targets * margins)


def _about(losses: Floats, least: Floats, rows: Rows, margin: float) -> bool:
    """Whether losses are more than the least by so many standard errors of the difference, or fewer."""
    more, total = losses - least, max(rows.total, 1.0)
    mean = float(more @ rows.weights) / total
    variance = float((more - mean) ** 2 @ rows.weights) / total
    return mean <= margin * float(np.sqrt(variance / total)) + 1e-12
