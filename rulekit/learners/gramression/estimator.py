"""GramressionClassifier: sparse logistic regression over the features of a grammar (McDowell, gramression)."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.gramression.learner import Gramression


class GramressionClassifier(RuleClassifier, Gramression):
    """A short sum of weighted features, which the rules of a grammar make from simpler ones; above 0 it is positive.

    The reported probability is 1 / (1 + exp(-sum)). A feature is a conjunction of conditions or, of columns that are
    named as the atoms of a structure (P0(a), R0(a, b)), a sentence such as exists x: P0(x) and R0(x, a).
    """
