"""The estimators of source 001: the noisy-or of single conditions, gated ones, and those that count causes."""

from __future__ import annotations

from rulekit.learners.base import RuleClassifier
from rulekit.learners.papers.noisy_or.gated import GatedNoisyOrs
from rulekit.learners.papers.noisy_or.learner import PaperNoisyOrs
from rulekit.learners.papers.noisy_or.noisy_counts import NoisyCounts


class PaperNoisyOrClassifier(RuleClassifier, PaperNoisyOrs):
    """The noisy-or of the paper: each condition on one column that holds causes the class with its own probability.

    Missing cells are summed out, or are a level. The threshold is 1/2, or the one of the best accuracy or F1 score, or
    of as much precision as recall. Strengths are fitted by coordinate descent, or by EM as in the paper.
    """


class GatedNoisyOrClassifier(RuleClassifier, GatedNoisyOrs):
    """A noisy-or with inhibitors: some cause has to act, and none of the conditions that inhibit may.

    Causes are single conditions, or conjunctions of at most `rule_length`; inhibitors are single conditions. The class
    has P = exp(-h) (1 - exp(-s)), with the strengths s of the causes that hold and h of the inhibitors.
    """


class NoisyCountClassifier(RuleClassifier, NoisyCounts):
    """The label is how many causes act, such as the claims of a policy; the median decides (noisy-add).

    Labels are whole numbers from 0, or ranks, of which the lowest is 0. Of two classes the positive one is that an odd
    number of causes acts (noisy-parity), as of a lamp with a switch at every door.
    """
