"""CNLLClassifier: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from rulekit.learners.base import RuleClassifier
from rulekit.learners.cnll.learner import CNLL
from rulekit.learners.cnll.records import clause_records, step_records


class CNLLClassifier(RuleClassifier, CNLL):
    """A noisy-logical formula of at most `n_units` conditions, grown one at a time by exact search.

    Each condition on one column fires a hidden bit with probability alpha where it holds, else beta; the formula
    joins the bits by and and or; the positive class is decided where the formula is more probable than 1/2. More than
    two classes get one formula each, against the rest; ranked ones a formula for each cut.

    Attributes
    ----------
    clauses_ : list of list of dict
        By formula the statistics of its clauses (Table 4 of the paper).

    """

    @property
    def history_(self) -> list[dict[str, Any]]:
        """One record per step."""
        check_is_fitted(self)
        return [record for account in self._accounts for record in step_records(account)]

    @property
    def clauses_(self) -> list[list[dict[str, Any]]]:
        """Per formula, the statistics of its clauses (Table 4)."""
        check_is_fitted(self)
        return [clause_records(account) for account in self._accounts]
