"""Learners as scikit-learn classifiers."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rulekit.audit.statistics import rule_statistics
from rulekit.errors import DataWarning
from rulekit.graph.ladder import Ladder
from rulekit.graph.overrides import relabelled
from rulekit.graph.overriding import with_overrides
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import no_rule_notes
from rulekit.learners.docstrings import documented
from rulekit.learners.faults import blamed
from rulekit.learners.fitting.decision_values import decision_values
from rulekit.learners.fitting.importances import importances
from rulekit.learners.fitting.rows.inputs import TrainingData, check_rows
from rulekit.learners.rule_learner import RuleLearner
from rulekit.tables.kinds.classes import alike_notes, few_rows_notes
from rulekit.tables.kinds.hints import foremost
from rulekit.tables.near_label import near_label_notes
from rulekit.tables.raw.columns import in_dress
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.row_order import order_note
from rulekit.tables.table import Table


class RuleClassifier(ClassifierMixin, BaseEstimator, RuleLearner):  # type: ignore[misc]
    """A classifier whose fitted state is a rule graph; see rulekit.learners.contract.

    A learner derives from it, or from RuleLearner and has an estimator that derives from both. The docstring of an
    estimator gets its parameters and the attributes of every learner from here.
    """

    estimator = ""  # it is one itself

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "settings" in cls.__dict__ or RuleClassifier in cls.__bases__:
            cls.__doc__ = documented(cls.__dict__.get("__doc__") or f"{cls.__name__}.", cls.parameters)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, time: Any = None) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array [n, d], frame, mapping of columns, Table, or blocks of rows
            Blocks are an iterable of (X, y), (X, y, weight) or (X, y, weight, groups), which is gone through once; y is
            then left out, as it is with a LabelledTable. Blocks, and the parameter `memory`, keep the columns on disk.
        y : array, Series or list [n]
            The labels; the name of a Series names the label in rules.
        sample_weight : array [n] or None
            A row of weight 0 is as good as left out.
        groups : array [n] or None
            Rows of one group share a fold of the cross-validation.
        time : array [n] or None
            Numbers, dates or moments; the folds of the cross-validation are then blocks in their order.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            Where the data or the parameters do not fit (a ValueError).
        LearnerError
            Where a learner of another package fails or breaks its contract (a ValueError).

        """
        with blamed(type(self)):
            data, labels = self.fit_rules(X, y, sample_weight, groups, time)
            self._with_statistics(data, labels)
        if y is not None and not isinstance(X, Table):  # of a table that was read its reader has the notes
            self._warn(data)
        return self

    def _warn(self, data: TrainingData) -> None:
        """Warn of what `rulekit train` would note about the data and the model."""
        rows, graph = np.bincount(data.labels, minlength=len(data.classes)), self.rule_graph_
        order = order_note(data.labelled(graph.schema.target))
        notes = [
            *data.table.notes,
            *near_label_notes(data.table.features, data.table.arrays, data.labels),
            *few_rows_notes(data.classes, rows),
            *alike_notes(data.classes),
            *([order] if order else []),
        ]
        first = next(data.table.blocks(size=1))
        notes += no_rule_notes(graph, graph.classes[int(graph.decide(first)[0])])
        for note in foremost(notes, "rulekit describe shows those of a file"):
            warnings.warn(note, DataWarning, stacklevel=3)

    def _rows(self, X: Any) -> Any:
        """X as the rule graph reads it, with the forms in which the columns were declared to be written."""
        rows = check_rows(self, X, reset=False)
        formed = any(feature.form for feature in self.rule_graph_.schema)
        return in_dress(raw_table(rows)) if formed and not isinstance(rows, Table) else rows

    def _with_statistics(self, data: TrainingData, labels: npt.NDArray[Any]) -> Self:
        """Simplify the rules as the command does, and count their statistics; labels [n]: class indices."""
        learned = self.rule_graph_
        graph = self._finished(learned)
        graph = graph.with_(statistics=rule_statistics(graph, data.table, labels, data.weights))
        if self.path_.errors:
            ladder = self.path_.ladder(lambda model: graph if model.digest == learned.digest else self._finished(model))
            graph = graph.with_(ladder=ladder)
        self.rule_graph_ = graph
        return self

    def _finished(self, learned: RuleGraph) -> RuleGraph:
        """A learned model with simplified rules, under the overrides of the start."""
        model, start = self.simplified(learned), getattr(self, "start", None)
        if not isinstance(start, RuleGraph) or not start.overrides:
            return model
        return with_overrides(model, relabelled(start.overrides, start.classes, model.classes))

    @property
    def ladder_(self) -> Ladder:
        """The models of other sizes with their cross-validated errors; their rules have no statistics."""
        check_is_fitted(self)
        kept = self.rule_graph_.ladder
        return self.path_.ladder(self._finished) if kept is None else kept

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The part [d] that each column of X has in the rules; together 1, or all 0 of a model without rules.

        A rule counts 1, one of a sum as much as it may add; its conditions share that (docs/library.md).
        """
        check_is_fitted(self)
        of_array = [f"{'f' if self.sparse_rows_ else 'x'}{place}" for place in range(self.n_features_in_)]
        names = getattr(self, "feature_names_in_", of_array)
        found = importances(self.rule_graph_)
        values = np.array([found.get(str(name), 0.0) for name in names])
        return np.asarray(values / (values.sum() or 1.0))

    @property
    def history_(self) -> list[dict[str, Any]]:
        """One record per candidate."""
        check_is_fitted(self)
        return [
            {
                "class": path.label,
                "unit": made.size,
                "objective": made.objective,
                "error": made.error / path.total,
                **made.said,
            }
            for path in self.path_.paths
            for made in path.candidates
        ]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Decide rows.

        Parameters
        ----------
        X : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The columns of `fit`, in that order in a frame; `rule_graph_.predict` takes them in any order, and needs
            only those that the model reads.

        Returns
        -------
        ndarray [n]
            The class of each row.

        """
        check_is_fitted(self)
        return self.rule_graph_.predict(self._rows(X))

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The logarithms of what `predict_proba` reports."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Report probabilities.

        Parameters
        ----------
        X : array [n, d], frame, mapping of columns, sequence of mappings or Table
            As for `predict`.

        Returns
        -------
        ndarray [n, K]
            The probability of each class, in the order of `classes_`.

        """
        check_is_fitted(self)
        return self.rule_graph_.predict_proba(self._rows(X))[:, self._places]

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Log odds of the reported probabilities, with 0 where the decision changes, with costs too.

        Parameters
        ----------
        X : array [n, d], frame, mapping of columns, sequence of mappings or Table
            As for `predict`.

        Returns
        -------
        ndarray [n] or [n, K]
            Of two classes above 0 where the second of `classes_` is decided; of more the largest is decided.

        """
        check_is_fitted(self)
        graph, order = self.rule_graph_, np.argsort(self._places)
        rows = graph.table(self._rows(X))
        first = float(graph.provenance.get("threshold", 0.5))  # of the class that is the graph's second
        threshold = first if order[-1] == len(order) - 1 else 1.0 - first
        return decision_values(graph.predict_proba(rows)[:, self._places], order[graph.decide(rows)], threshold)

    def _repr_html_(self) -> str:
        from rulekit.notebook.html import estimator_html

        return estimator_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: the rules, or text where scikit-learn's option `display` asks for that."""
        shown = {"text/plain": repr(self)}
        return shown if get_config()["display"] == "text" else shown | {"text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = "missing" in self.abilities
        tags.input_tags.categorical = "categories" in self.abilities
        return tags
