"""NoisyOrClassifier: causes that act independently of one another (J. Vomlel, Noisy-or classifier, 2003)."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.noisy_or.learner import NoisyOrs


class NoisyOrClassifier(RuleClassifier, NoisyOrs):
    """A noisy-or of at most 20 causes: each condition that holds causes the class with a probability of its own.

    The class has P = 1 - (1 - leak) * the product of (1 - p) of the causes that hold, and is decided where that is
    above 1/2, or above the threshold that was asked for. Causes may speak for the positive class or, as a noisy-and,
    against it. Several classes get a noisy-or each, of which the largest probability decides; ranked ones a noisy-max,
    whose median decides.
    """
