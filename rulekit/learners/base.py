"""Learners as scikit-learn classifiers."""

from __future__ import annotations

import inspect
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rulekit.arrays import Array, Floats, Ints
from rulekit.errors import DataWarning
from rulekit.graph.language.words import listed
from rulekit.graph.leaves import column_of
from rulekit.graph.model_parts import Ladder
from rulekit.graph.nodes import Column, Contains, LevelPoints, Linear, LinearThreshold, Node, Step, topological
from rulekit.graph.overrides import relabelled
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import left_out, no_rule_notes, rules_of
from rulekit.graph.variants import with_overrides
from rulekit.learners.data.inputs import TrainingData, check_rows
from rulekit.learners.faults import blamed
from rulekit.learners.rule_learner import RuleLearner, set_in_group
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.kinds.hints import foremost
from rulekit.tables.labelling import near_label_notes, order_note
from rulekit.tables.labels import alike_notes, few_rows_notes
from rulekit.tables.raw.columns import in_dress
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table
from rulekit.views import notebook

if TYPE_CHECKING:
    from rulekit.learners.parameters import Parameter

WIDTH = 88
_ATTRIBUTES = "Attributes\n----------\n"
FITTED = """\
rule_graph_ : RuleGraph
    What was learned; predictions evaluate it.
classes_ : ndarray [K]
    The classes, sorted.
path_ : ModelPath
    The models of all sizes: `len(path_)`, `path_.graph_at(size)`, `path_.points`, `path_.plot()`.
history_ : list of dict
    One record for each candidate.
curve_ : list of Curve
    By question the held-out errors by size, None without cross-validation.
feature_importances_ : ndarray [d]
    The part of each column of X in the rules; together 1.
n_features_in_ : int
    The number of columns of X.
feature_names_in_ : ndarray of str
    Their names, where X had names.
"""


def documented(docstring: str, parameters: Mapping[str, Parameter], groups: Mapping[str, type]) -> str:
    """The docstring of a learner with its parameters, and with its own attributes after those of every learner.

    docstring: the one of the class. parameters: by name, in the order of the list; groups: of those that are shared.
    """
    said, _, own = inspect.cleandoc(docstring).partition(_ATTRIBUTES)
    entries = [_one_listed(parameter) for parameter in parameters.values() if not parameter.group]
    entries += [_group_listed(name, kind, parameters) for name, kind in groups.items()]
    parts = "\n".join(entries)
    return f"{said.rstrip()}\n\nParameters\n----------\n{parts}\n\n{_ATTRIBUTES}{FITTED}{own}".rstrip() + "\n"


def _one_listed(parameter: Parameter) -> str:
    words = ("None, or " if parameter.allowed.optional else "") + parameter.allowed.words
    head = f"{parameter.name} : {words}, default {parameter.default!r}"
    first = parameter.help.split()[0]  # a value that the text explains, as `cv:`, is written as it is
    help = f"{parameter.help if first.endswith(':') else parameter.help[0].upper() + parameter.help[1:]}."
    return f"{head}\n{textwrap.indent(textwrap.fill(help, WIDTH), '    ')}"


def _group_listed(name: str, kind: type, parameters: Mapping[str, Parameter]) -> str:
    """A group, and in it a line or more for each of its parameters, which may be given by their own names too."""
    lines = [f"{name} : {kind.__name__}, or a mapping, default None", f"    {inspect.cleandoc(kind.__doc__ or '')}"]
    for each in (parameters[item.name] for item in fields(kind)):
        said = f"{each.name} ({each.allowed.words}, default {each.default!r}): {each.help}."
        lines.append(textwrap.indent(textwrap.fill(said, WIDTH - 4), "        "))
    return "\n".join(lines)


def importances(graph: RuleGraph) -> dict[str, float]:
    """The part of each column in the rules, by name; of a text by token, as that is a column of a sparse matrix."""
    found: defaultdict[str, float] = defaultdict(float)
    for rule in rules_of(graph):
        parts: dict[Node, float] = {
            rule.node: abs(rule.weight) * _reach(rule.node) if rule.connective == "sum" else 1.0
        }
        for node in reversed(topological([rule.node])):  # parents first
            column = column_of(node)
            names = node.tokens if isinstance(node, Contains) else (column,) if column is not None else ()
            for name in names:
                found[str(name)] += parts[node] / len(names)
            shares = _shares(node)
            whole = sum(share for _, share in shares) or 1.0
            for child, share in shares:
                parts[child] = parts.get(child, 0.0) + parts[node] * share / whole
    return dict(found)


def _shares(node: Node) -> list[tuple[Node, float]]:
    """The parts of a node: the terms of a unit by what they can add, all others alike."""
    if isinstance(node, Linear | LinearThreshold):
        return [(term, abs(weight) * _reach(term)) for weight, term in node.terms]
    return [(child, 1.0) for child in node.children]


def _reach(leaf: Node) -> float:
    if isinstance(leaf, Step):
        values = [*leaf.values, leaf.missing]
    elif isinstance(leaf, LevelPoints):
        values = [*(points for _, points in leaf.points), leaf.missing, leaf.unseen]
    elif isinstance(leaf, Column):
        values = [leaf.low, leaf.high]
    else:
        return 1.0
    return max(values) - min(values)


_LEAST = 2.0**-20
_SHARE = 2.0**-53


def decision_values(probabilities: Floats, decided: Ints, threshold: float = 0.5) -> Floats:
    """Of two classes [n], above 0 where the second is decided; of more [n, K], largest for the decided one.

    They are log odds of the reported probabilities [n, K]; of two classes less those of `threshold`, above which the
    second is decided. Where a model reports another class than it decides (its rules were edited, or it was moved to
    another threshold), the number is moved just so far that it says what is decided.
    """
    share = np.clip(probabilities, _SHARE, 1.0 - _SHARE)
    odds = np.log(share) - np.log1p(-share)
    if odds.shape[1] == 2:
        values = odds[:, 1] - np.log(threshold) + np.log1p(-threshold)
        return np.asarray(np.where(decided == 1, np.maximum(values, _LEAST), np.minimum(values, -_LEAST)))
    rows = np.arange(len(odds))
    own = odds[rows, decided]
    odds[rows, decided] = -np.inf
    odds[rows, decided] = np.maximum(own, odds.max(axis=1) + _LEAST)
    return np.asarray(odds)


class RuleClassifier(ClassifierMixin, BaseEstimator, RuleLearner):  # type: ignore[misc]
    """A classifier whose fitted state is a rule graph; see rulekit.learners.contract.

    A learner derives from it, or from RuleLearner and has an estimator that derives from both. The docstring of an
    estimator gets its parameters and the attributes of every learner from here.
    """

    estimator = ""  # it is one itself

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "settings" in cls.__dict__ or RuleClassifier in cls.__bases__:
            cls.__doc__ = documented(cls.__dict__.get("__doc__") or f"{cls.__name__}.", cls.parameters, cls.groups)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, of a group as `run={"time_limit": 60}`, `run__time_limit=60` or `time_limit=60`."""
        whole = {}
        for key, value in params.items():
            group, _, name = key.rpartition("__")
            parameter = self.parameters.get(name)
            if parameter is not None and parameter.group and group in ("", parameter.group):
                set_in_group(self, parameter, value)
            elif group in self.groups:
                raise ValueError(f"Invalid parameter {name!r} for {group} of {type(self).__name__}")
            else:
                whole[key] = value
        super().set_params(**whole)
        return self

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
        notes += self.remarks_
        notes += no_rule_notes(graph, graph.classes[int(graph.decide(first)[0])])
        start = getattr(self, "start", None)
        gone = left_out(start, self.freeze, graph) if isinstance(start, RuleGraph) else []
        if gone:
            shown = gone if len(gone) < 5 else [*gone[:3], f"{len(gone) - 3} more"]
            notes.append(f"start: the model leaves out {listed(shown)}: other rules cover them, or they add nothing")
        for note in foremost(notes, "rulekit describe shows those of a file"):
            warnings.warn(note, DataWarning, stacklevel=3)

    def _rows(self, X: Any) -> Any:
        """X as the rule graph reads it, with the forms in which the columns were declared to be written."""
        rows = check_rows(self, X, reset=False)
        formed = any(feature.form for feature in self.rule_graph_.schema)
        return in_dress(raw_table(rows)) if formed and not isinstance(rows, Table) else rows

    def _with_statistics(self, data: TrainingData, labels: Array) -> Self:
        learned = self.rule_graph_
        graph = self._finished(learned)
        graph = graph.with_(statistics=rule_statistics(graph, data.table, labels, data.weights))
        if self.path_.errors:
            ladder = self.path_.ladder(lambda model: graph if model.digest == learned.digest else self._finished(model))
            graph = graph.with_(ladder=ladder)
        self.rule_graph_ = graph
        return self

    def _finished(self, learned: RuleGraph) -> RuleGraph:
        model, start = self.path_.simplified(learned), getattr(self, "start", None)
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
    def feature_importances_(self) -> Floats:
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
        made = ((path, each, each.error / path.total) for path in self.path_.paths for each in path.candidates)
        return [
            {"class": path.label, "unit": each.size, "objective": each.objective, "error": error, **each.said}
            for path, each, error in made
        ]

    def predict(self, X: Any) -> Array:
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

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of what `predict_proba` reports."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Floats:
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

    def decision_function(self, X: Any) -> Floats:
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
        return notebook().html_of(self)

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
