"""RulesClassifier: few conjunctions that decide, and a score card that predicts the probability."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.rules.learner import PlainRules


class RulesClassifier(RuleClassifier, PlainRules):
    """At most `max_rules` conjunctions of each class decide; a score card over their columns predicts the probability.

    Of two classes the positive one is decided where a rule holds. Of more each class has rules of its own, and the
    first class with a rule that holds is decided; ranked ones have rules for each cut.
    """
