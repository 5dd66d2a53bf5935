"""AdaBoostStumpClassifier: discrete AdaBoost over single conditions (Freund & Schapire, 1997)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rulekit.arrays import Floats
from rulekit.errors import InputError
from rulekit.learners.base import RuleClassifier
from rulekit.learners.boosting.learner import AdaBoostStumps
from rulekit.learners.boosting.stumps import Voting
from rulekit.learners.contract import Frame
from rulekit.learners.data.inputs import check_rows
from rulekit.learners.models.giving_points import Pointed
from rulekit.tables.table import Table


class AdaBoostStumpClassifier(RuleClassifier, AdaBoostStumps):
    """A score card: each round adds the vote of one condition on one column, and the sign of the sum decides.

    The points of a column's values are the sums of the votes of its conditions. The reported probability is
    1 / (1 + exp(-2 sum)) (J. Friedman, T. Hastie and R. Tibshirani, Additive Logistic Regression, 2000), which
    exaggerates as rounds are added. `history_` has of each round the edge 1/2 - error over guessing, the vote alpha,
    and the factor z by which the weights of all rows change, and what the training error cannot be above:
    `bound`, the product of all z, and `edge_bound`, exp(-2 * the sum of all edges squared) (Freund & Schapire, 1997,
    theorem 6).
    """

    def margins(self, X: Any, y: Any) -> Floats:
        """How far rows are on the right side (R. Schapire and others, Boosting the Margin, 1998, section 2).

        Of several classes the sum is that of the row's own class against the rest.

        Parameters
        ----------
        X : array [n, d], frame, mapping of columns, sequence of mappings or Table
            As for `predict`.
        y : array, Series or list [n]
            The labels of the rows.

        Returns
        -------
        ndarray [n]
            From -1 to 1: the sum of the votes for the label less that of those against it, over the sum of all.

        Raises
        ------
        InputError
            Where classes are ranked, or a label is none of `classes_`.

        """
        check_is_fitted(self)
        path, labels = self.path_, np.asarray(y)
        if path.frame.kind == "ranked":
            raise InputError("ranked classes have no margin", where="margins", fix="look at `path_`")
        if not np.isin(labels, self.classes_).all():
            raise InputError("a label that training did not see", where="margins", fix="one of `classes_`")
        own = self._places[np.searchsorted(self.classes_, labels)]  # in the order of the model
        rows = self.rule_graph_.table(check_rows(self, X, reset=False))
        chosen = zip(path.paths, path.chosen, strict=True)
        models = [each.candidates[size - 1].model if size else each.nothing.model for each, size in chosen]
        found = np.array([_votes(model, path.frame, rows) for model in models])
        if path.frame.kind == "two":
            return np.asarray(np.where(own == 1, found[0], -found[0]))
        return np.asarray(found[own, np.arange(rows.n_rows)])


def _votes(model: Any, frame: Frame, rows: Table) -> Floats:
    """The share of the votes for yes less that of those for no, by row [n]; of whole points that before they were."""
    model = model.source if isinstance(model, Pointed) else model
    if isinstance(model, Voting):
        return model.shares(frame, rows)
    yes = model.decides((), 1)  # without any round all rows are decided alike
    return np.full(rows.n_rows, 1.0 if yes[0] else -1.0)
