"""CNLLClassifier: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.cnll.learner import CNLL


class CNLLClassifier(RuleClassifier, CNLL):
    """A noisy-logical formula of at most `n_units` conditions, grown one at a time by exact search.

    Each condition on one column fires a hidden bit with probability alpha where it holds, else beta; the formula
    joins the bits by and and or; the positive class is decided where the formula is more probable than 1/2. More than
    two classes get one formula each, against the rest; ranked ones a formula for each cut. `history_` says of each
    formula which bit was added last.
    """
