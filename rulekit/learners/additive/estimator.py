"""AdditiveRulesClassifier: a short sum of weighted conjunctions."""

from __future__ import annotations

from rulekit.learners.additive.learner import WeightedRules
from rulekit.learners.base import RuleClassifier


class AdditiveRulesClassifier(RuleClassifier, WeightedRules):
    """A sum of at most 20 weighted rules, each a conjunction; above 0 the positive class is decided.

    The reported probability is 1 / (1 + exp(-sum)). Rules are found one after another for the gradient and the
    curvature of the log loss, all weights are fitted anew after each by Newton's method, and at last each rule is
    looked at once more. How long rules may be, and how bold, is decided on held-out rows.
    """
