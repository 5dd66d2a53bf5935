"""AdaBoostStumpClassifier: discrete AdaBoost over single conditions (Freund & Schapire, 1997)."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.boosting.learner import AdaBoostStumps


class AdaBoostStumpClassifier(RuleClassifier, AdaBoostStumps):
    """A score card: each round adds the vote of one condition on one column, and the sign of the sum decides.

    The points of a column's values are the sums of the votes of its conditions. The reported probability is
    1 / (1 + exp(-2 sum)) (J. Friedman, T. Hastie and R. Tibshirani, Additive Logistic Regression, 2000), which
    exaggerates as rounds are added.
    """
