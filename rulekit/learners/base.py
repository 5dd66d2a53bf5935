"""What every learner has: a scikit-learn classifier around an algorithm that yields candidates."""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rulekit.audit.statistics import rule_statistics
from rulekit.errors import InputError
from rulekit.graph.ladder import Ladder
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.learners.binned.binning import least_level
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import (
    Ability,
    Candidate,
    Frame,
    Kind,
    Learning,
    Parameter,
    Question,
    Stopped,
    Variants,
    Watch,
    parameters_of,
    refuse_unable,
)
from rulekit.learners.counting.histograms import Floats, class_totals, quantise_by_class, share_equal
from rulekit.learners.counting.kernels import available_threads
from rulekit.learners.docstrings import documented
from rulekit.learners.fitting.assembly import Prior, preference_of, provenance_of
from rulekit.learners.fitting.classes import (
    class_factors,
    class_index,
    class_order,
    odds_of,
    questions_of,
    refuse_columns,
)
from rulekit.learners.fitting.constraints import required_of, under_constraints
from rulekit.learners.fitting.costs import prices_of
from rulekit.learners.fitting.decision_values import decision_values
from rulekit.learners.fitting.folds import Folds
from rulekit.learners.fitting.inputs import TrainingData, check_rows
from rulekit.learners.fitting.learning import Plan, Run, learn_all
from rulekit.learners.fitting.parameters import check_parameters
from rulekit.learners.fitting.path import ModelPath, QuestionPath, SizeLimits
from rulekit.learners.fitting.sizing import Wanted, sized, sized_jointly
from rulekit.learners.fitting.start_schema import under_start
from rulekit.learners.fitting.training_rows import binned, training_data
from rulekit.learners.fitting.watching import watched
from rulekit.schema import Schema


class RuleClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier whose fitted state is a rule graph; see rulekit.learners.contract.

    A learner sets `word` (as the command calls it), `settings` (its frozen dataclass of parameters), `abilities` and
    `noun` (what its sizes are counted in), and writes `learn`. The other methods that it may override have a default.

    The docstring of a learner gets its parameters and the attributes of every learner from here.
    """

    word: ClassVar[str] = ""
    settings: ClassVar[type]
    abilities: ClassVar[frozenset[Ability]] = frozenset()
    noun: ClassVar[str] = "unit"
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    rule_graph_: RuleGraph

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "settings" in cls.__dict__:
            cls.parameters = parameters_of(cls.settings)
            cls.__init__ = _constructor(cls.parameters)  # type: ignore[method-assign]
            cls.__doc__ = documented(cls.__dict__.get("__doc__") or f"{cls.__name__}.", cls.parameters)

    def __init__(self, *args: Any, **values: Any) -> None:
        raise TypeError(f"{type(self).__name__} declares no settings")

    # What a learner writes -----------------------------------------------------------------------------------------

    @abstractmethod
    def learn(self, question: Question) -> Learning:
        """The candidates for one question, smallest first."""

    def resolve(self, settings: Any, rows: float) -> Any:
        """The settings with values in the place of "auto", for rows of so much weight."""
        return settings

    def check(self, settings: Any) -> None:
        """Raise InputError where settings contradict each other."""

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions as the algorithm wants them, for instance with further columns or a plan for all of them.

        problem: as they share it, labels are class indices; classes: in the graph's order.
        """
        return list(questions)

    def nothing(self, question: Question) -> Candidate:
        """What stands in the model where no candidate does: the share of the positive rows."""
        problem = question.problem
        error = min(problem.positive, problem.total - problem.positive)
        return Candidate(0, error, error, Prior(problem.share))

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """Paths that take the place of the candidates, if there are such; the learning may have been cut short."""
        return None

    def noun_of(self, settings: Any) -> str:
        """What sizes are counted in."""
        return self.noun

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Keep what attributes of its own are made from; the training rows are still there."""

    # What every learner has ----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
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

        Returns
        -------
        Self

        Raises
        ------
        InputError
            Where the data or the parameters do not fit (a ValueError).

        """
        data, labels = self.fit_rules(X, y, sample_weight, groups)
        statistics = rule_statistics(self.rule_graph_, data.table, labels, data.weights)
        graph = self.rule_graph_.with_(statistics=statistics)
        if self.path_.errors:
            ladder = self.path_.ladder(lambda model: graph if model.digest == graph.digest else model)
            graph = graph.with_(ladder=ladder)
        self.rule_graph_ = graph
        return self

    def fit_rules(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> tuple[TrainingData, npt.NDArray[Any]]:
        """As `fit`, but without statistics of the rules; the rows of them, and their labels [n] as class indices."""
        begun = time.monotonic()
        name, parameters = type(self).__name__, self.get_params(deep=False)
        check_parameters(name, parameters, self.parameters)
        refuse_unable(type(self), {key: value for key, value in parameters.items() if key != "freeze"})
        settings = self.settings(**parameters)
        self.check(settings)
        with watched(self.word, settings.verbose, settings.callback) as callback:
            return self._learned(replace(settings, callback=callback), begun, X, y, sample_weight, groups)

    def _learned(
        self, settings: Any, begun: float, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[TrainingData, npt.NDArray[Any]]:
        """As `fit_rules`, with parameters that have been checked; begun: when it began (time.monotonic)."""
        name = type(self).__name__
        data = training_data(self, settings.callback, X, y, sample_weight, groups)
        data = replace(data, table=under_constraints(data.table, settings))
        settings = replace(settings, target=settings.target or _label_name(data))
        totals = class_totals(data.weights, data.labels, len(data.classes))
        settings = self.resolve(settings, float(totals.sum()))
        positive, start = settings.positive, getattr(settings, "start", None)
        if start is not None:
            data = replace(data, table=under_start(start, data.table))
            positive = start.classes[1] if positive is None and len(data.classes) == 2 else positive
        refuse_columns(type(self), data, settings.ordered is not None)
        settings = replace(settings, missing_never_helps=data.table.constraints.missing_never_helps)
        order = class_order(name, data.classes, totals, positive, settings.ordered, settings.default)
        classes, labels = tuple(data.classes[k] for k in order), data.labels
        if list(order) != list(range(len(order))):
            labels = np.argsort(order).astype(labels.dtype)[labels]
        prices = prices_of(name, settings.cost, data.classes, order)
        factors = class_factors(name, settings.class_weight, data, prices)
        problem = self._problem(settings, data, labels, factors)
        kind: Kind = "two" if len(classes) == 2 else "several" if settings.ordered is None else "ranked"
        deadline = np.inf if settings.time_limit is None else begun + settings.time_limit
        seed = 0 if settings.random_state is None else check_random_state(settings.random_state).randint(2**31 - 1)
        threads = available_threads(settings.n_threads)
        questions = [
            Question(
                label, k, replace(problem, labels=yes), settings, int(seed), threads, Watch(deadline), None, data.groups
            )
            for k, (label, yes) in enumerate(questions_of(labels, classes, kind))
        ]
        questions = self.prepare(problem, questions, data, classes)
        folds = None
        if getattr(settings, "stopping", "none") == "cv":
            folds = Folds(problem, settings.n_folds, data.groups, int(seed))
        parsimony, n_units = getattr(settings, "parsimony", 0.0), getattr(settings, "n_units", 0)
        size, several = getattr(settings, "size", None), len(questions) > 1
        plan = Plan(folds, parsimony, n_units, settings.callback, deadline, size, several, len(questions))
        runs, stopped = learn_all(self, questions, plan)
        odds = odds_of(kind, factors[order], totals[order])
        path = self._path(settings, data, problem, classes, kind, runs, stopped, odds)
        wanted = Wanted(size, parsimony, self.noun_of(settings), 0 if folds is None else folds.n_folds)
        path = (
            sized_jointly(path, runs, wanted, data.table, problem, folds) if several else sized(path, runs[0], wanted)
        )
        graph = path.graph(path.chosen)
        if getattr(settings, "start", None) is not None and not path.frame.limits.hold_for(graph):
            raise InputError("the start alone is beyond the limits of size", where="start", fix="raise them")
        self.conclude(runs, path)
        self.path_, self.curve_, self.rule_graph_ = path, [run.curve for run in runs], graph
        self.folds_ = None if folds is None else folds.dealt
        self.classes_, self._places = class_array(data.classes), np.argsort(order)
        return data, labels

    def _problem(self, settings: Any, data: TrainingData, labels: npt.NDArray[Any], factors: Floats) -> Problem:
        """The rows binned, with labels that are class indices."""
        weights, unit = quantise_by_class(data.weights, data.labels, factors)
        weights = share_equal(weights)
        least, threads = least_level(settings.min_level_rows, weights, unit), available_threads(settings.n_threads)
        columns, codes = binned(settings.callback, data.table, weights, settings.max_bins, least, threads)
        return Problem(columns, codes, labels, weights, unit)

    def _path(
        self,
        settings: Any,
        data: TrainingData,
        problem: Problem,
        classes: tuple[Any, ...],
        kind: Kind,
        runs: list[Run],
        stopped: Stopped,
        odds: tuple[float, ...],
    ) -> ModelPath:
        """From what was learned to the models of all sizes, of which none is chosen yet."""
        schema = Schema(
            data.table.features, settings.target, settings.ordered is not None, constraints=data.table.constraints
        )
        preference = preference_of(class_totals(problem.weights, problem.labels, len(classes)))
        default = None
        if settings.default is not None:
            default = class_index(type(self).__name__, classes, settings.default, "default")
        columns = runs[0].question.problem.columns
        required = required_of(settings.require or (), schema, classes)
        frame = Frame(schema, classes, columns, kind, preference, default, SizeLimits.of(settings), odds, required)
        paths = tuple(
            QuestionPath(
                run.question.label,
                run.question.problem.total,
                run.nothing or self.nothing(run.question),
                run.path,
                run.curve,
                run.longest,
            )
            for run in runs
        )
        parameters = {key: getattr(settings, key) for key in self.parameters}
        provenance = provenance_of(type(self).__name__, parameters, data, settings.target, stopped)
        return ModelPath(frame, paths, tuple(run.chosen for run in runs), provenance, self.noun_of(settings))

    @property
    def ladder_(self) -> Ladder:
        """The models of other sizes with their cross-validated errors; their rules have no statistics."""
        check_is_fitted(self)
        kept = self.rule_graph_.ladder
        return self.path_.ladder() if kept is None else kept

    @property
    def history_(self) -> list[dict[str, Any]]:
        """One record per candidate."""
        check_is_fitted(self)
        return [
            {"class": path.label, "unit": made.size, "objective": made.objective, "error": made.error / path.total}
            for path in self.path_.paths
            for made in path.candidates
        ]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Decide rows.

        Parameters
        ----------
        X : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The columns that the model reads; others are ignored where columns have names.

        Returns
        -------
        ndarray [n]
            The class of each row.

        """
        check_is_fitted(self)
        return self.rule_graph_.predict(check_rows(self, X, reset=False))

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
        return self.rule_graph_.predict_proba(check_rows(self, X, reset=False))[:, self._places]

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
        rows = graph.table(check_rows(self, X, reset=False))
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
        tags.input_tags.allow_nan = "missing" in self.abilities
        tags.input_tags.categorical = "categories" in self.abilities
        return tags


def _label_name(data: TrainingData) -> str:
    """What the label is called; a column of that name among the features would make the rules ambiguous."""
    return "target" if data.target in ("", *data.table.names) else data.target


def _constructor(parameters: Mapping[str, Parameter]) -> Any:
    """An `__init__` that sets one attribute for each parameter: the first by place or name, the others by name."""
    first = next(iter(parameters))

    def construct(self: Any, *args: Any, **values: Any) -> None:
        if len(args) > 1 or (args and first in values):
            raise TypeError(f"{type(self).__name__}() takes one value by place, {first}; give the others by name")
        values |= dict(zip((first,), args, strict=False))
        unknown = [name for name in values if name not in parameters]
        if unknown:
            raise TypeError(f"{type(self).__name__}() has no parameter {unknown[0]!r}")
        for name, parameter in parameters.items():
            setattr(self, name, values.get(name, parameter.default))

    by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    shown = [
        inspect.Parameter(name, by_place if name == first else by_name, default=parameter.default)
        for name, parameter in parameters.items()
    ]
    construct.__signature__ = inspect.Signature([inspect.Parameter("self", by_place), *shown])  # type: ignore[attr-defined]
    return construct
