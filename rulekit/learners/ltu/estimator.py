"""LTUTreeClassifier (M. Sahami, Learning Non-Linearly Separable Boolean Functions)."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.ltu.learner import LTUTrees


class LTUTreeClassifier(RuleClassifier, LTUTrees):
    """A small tree of linear threshold units, each of which reads several columns at once.

    A unit fires where the sum of its weights reaches its threshold, which where all weights are equal reads as "at
    least 4 of these 5 conditions". Most tables need one to three units. Units are found from the moments of the rows,
    fitted together, pruned, and rid of weights that do not help on held-out rows. Numbers are weighed as they are, in
    the user's units. The reported probability is that of the path which a row takes.
    """
