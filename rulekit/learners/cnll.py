"""CNLLClassifier: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rulekit.errors import InputError
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import class_array
from rulekit.graph.statistics import rule_statistics
from rulekit.learners.assembly import many_class_graph, noisy_formula, ordered_graph, preference_of, two_class_graph
from rulekit.learners.binning import bin_table, min_level_rows
from rulekit.learners.class_order import class_index, class_order
from rulekit.learners.counting import quantise_by_class
from rulekit.learners.formula import Problem
from rulekit.learners.growth import Algorithm, Grown, GrowthSettings, Limits, Stopped, grow
from rulekit.learners.inputs import TrainingData, check_rows, training_data
from rulekit.learners.objectives import Objective
from rulekit.learners.parameters import (
    CALLABLE,
    SEED,
    TEXT,
    check_parameters,
    count_or_share,
    number,
    one_of,
    sequence,
    whole,
    word_or_mapping,
)
from rulekit.learners.provenance import provenance_of
from rulekit.learners.records import clause_records, step_records
from rulekit.learners.search import SearchSettings
from rulekit.learners.stopping import Curve, held_out_curve
from rulekit.learners.weak_features import Weak
from rulekit.schema import Schema

Progress = Callable[[Mapping[str, Any]], object]

PARAMETERS = {
    "n_units": whole(1),
    "algorithm": one_of("I", "II", "tree"),
    "objective": one_of("error", "error+brier", "brier"),
    "brier_weight": number(0),
    "ridge": number(0),
    "weak": one_of("threshold", "llr"),
    "beta": one_of("free", "zero"),
    "init": one_of("or", "and"),
    "refit": whole(0),
    "backfit": whole(0),
    "max_bins": whole(2, optional=True),
    "stopping": one_of("cv", "none"),
    "n_folds": whole(2),
    "parsimony": number(0),
    "min_rows": number(0),
    "min_level_rows": number(0, optional=True),
    "max_features": count_or_share(),
    "class_weight": word_or_mapping("balanced"),
    "ordered": sequence(),
    "target": TEXT,
    "random_state": SEED,
    "time_limit": number(0, optional=True),
    "callback": CALLABLE,
}


class CNLLClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A noisy-logical formula of at most `n_units` conditions, grown one at a time by exact search.

    Each condition on one column fires a hidden bit with probability alpha where it holds, else beta; the formula
    joins the bits by and and or; the positive class is decided where the formula is more probable than 1/2. More than
    two classes get one formula each, against the rest.

    Parameters
    ----------
    n_units : most conditions in a formula; with stopping="cv" their number is chosen up to this.
    algorithm : "I" (Fig. 3 of the paper), "II" (Fig. 4) or "tree" (join anywhere in the formula).
    objective : "error", "error+brier" or "brier"; `brier_weight` is lambda, the weight of the squared error in the
        second. `ridge` (kappa, in rows) pulls every bit towards doing nothing.
    weak : "threshold" stumps, or "llr" stumps, whose numeric conditions are unions of intervals.
    beta : "free", or "zero": a bit never fires where its condition does not hold.
    init : "or": a disjunction of clauses is grown; "and": a conjunction of them.
    refit : sweeps over all strengths after each step. backfit : every so many steps, look once for a better condition
        for each bit (0: never).
    max_bins : bins of a numeric column, by capped quantiles; None: one for each distinct value.
    stopping : "cv": cross-validation of `n_folds` inside the training data, which takes the fewest units whose
        held-out error is within `parsimony` standard errors of the least; "none": grow to n_units.
    min_rows : least weight of rows on either side of a condition.
    min_level_rows : levels of an unordered category with less weight of rows are one, together with levels never seen
        (None: 10, or a hundredth of the rows where that is less, but 2 at least).
    max_features : columns looked at in each step, drawn by `random_state` (None: all; a fraction of them if a float).
    class_weight : "balanced", or class to weight.
    positive : the positive one of two classes (None: the second in order). default : the class of more than two that
        is decided where no formula is above 1/2 (None: the one with most training rows).
    ordered : the classes as ranks, low to high: one formula per cut, and the median of the ranks is decided.
    target : the name of the label in rules and files.
    time_limit : seconds; then, as with Ctrl-C, the best model so far is kept, and its provenance says so.
    callback : called after each step with a mapping (class, unit, n_units, objective, error), and after each fold of
        the cross-validation with its number as `fold` beside them; a true answer cancels.

    Attributes
    ----------
    rule_graph_ : the learned RuleGraph; predictions evaluate it. classes_ : [K]; the second of two is the positive one.
    history_ : one dict per step. curve_ : per formula, the held-out error by number of units (None without one).
    clauses_ : per formula, the statistics of its clauses (Table 4). n_features_in_, feature_names_in_.

    """

    def __init__(
        self,
        n_units: int = 20,
        *,
        algorithm: Algorithm = "II",
        objective: Literal["error", "error+brier", "brier"] = "error+brier",
        brier_weight: float = 1.0,
        ridge: float = 0.0,
        weak: Weak = "threshold",
        beta: Literal["free", "zero"] = "free",
        init: Literal["or", "and"] = "or",
        refit: int = 0,
        backfit: int = 0,
        max_bins: int | None = 255,
        stopping: Literal["cv", "none"] = "cv",
        n_folds: int = 5,
        parsimony: float = 0.0,
        min_rows: float = 1.0,
        min_level_rows: float | None = None,
        max_features: int | float | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        positive: Any = None,
        default: Any = None,
        ordered: Sequence[Any] | None = None,
        target: str = "target",
        random_state: Any = None,
        time_limit: float | None = None,
        callback: Progress | None = None,
    ) -> None:
        self.n_units = n_units
        self.algorithm = algorithm
        self.objective = objective
        self.brier_weight = brier_weight
        self.ridge = ridge
        self.weak = weak
        self.beta = beta
        self.init = init
        self.refit = refit
        self.backfit = backfit
        self.max_bins = max_bins
        self.stopping = stopping
        self.n_folds = n_folds
        self.parsimony = parsimony
        self.min_rows = min_rows
        self.min_level_rows = min_level_rows
        self.max_features = max_features
        self.class_weight = class_weight
        self.positive = positive
        self.default = default
        self.ordered = ordered
        self.target = target
        self.random_state = random_state
        self.time_limit = time_limit
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows X [n, d] (array, frame, mapping of columns or Table) and labels y [n].

        sample_weight [n]: a row of weight 0 is as good as left out. groups [n]: rows of one group share a fold.
        Raises ValueError (InputError) where the data or the parameters do not fit.
        """
        settings = self._settings()
        data = training_data(self, X, y, sample_weight, groups)
        _refuse_constraints(data)
        order = class_order(data.classes, self.positive, self.ordered, self.default)
        classes = tuple(data.classes[k] for k in order)
        labels = np.argsort(order)[data.labels]
        quantised, unit = quantise_by_class(data.weights, data.labels, self._class_weights(data))
        columns = bin_table(data.table, quantised, self.max_bins, self._least_level(quantised, unit))
        settings = self._with_features(settings, len(columns))
        problem = Problem(columns, tuple(c.codes for c in columns), labels, quantised, unit)
        deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
        runs: list[Run] = []
        for label, positive in _targets(labels, classes, self.ordered is not None):
            # Once stopped by hand the formulas that are left keep their prior probability.
            until = -np.inf if runs and runs[-1].stopped else deadline
            runs.append(self._learn(replace(problem, labels=positive), label, settings, until, data.groups))
        self._conclude(data, problem, classes, runs)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class [n] of each row."""
        check_is_fitted(self)
        return self.rule_graph_.predict(check_rows(self, X, reset=False))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability [n, K] of each class, in the order of `classes_`."""
        check_is_fitted(self)
        return self.rule_graph_.predict_proba(check_rows(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    # Fitting -------------------------------------------------------------------------------------------------------

    def _settings(self) -> GrowthSettings:
        check_parameters(type(self).__name__, self.get_params(deep=False), PARAMETERS)
        error, brier = {"error": (1.0, 0.0), "error+brier": (1.0, self.brier_weight), "brier": (0.0, 1.0)}[
            self.objective
        ]
        objective = Objective(error, float(brier), float(self.ridge))
        search = SearchSettings(objective, self.weak, self.beta == "zero", float(self.min_rows))
        return GrowthSettings(
            search, self.algorithm, int(self.n_units), int(self.refit), int(self.backfit), self.init == "and"
        )

    def _with_features(self, settings: GrowthSettings, n_columns: int) -> GrowthSettings:
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        share = self.max_features
        if share is None:
            return replace(settings, seed=seed)
        count = max(1, int(share * n_columns)) if isinstance(share, float) else int(share)
        return replace(settings, seed=seed, max_features=count)

    def _least_level(self, weights: npt.NDArray[np.int64], unit: float) -> int:
        """The least weight, in units, with which a level stands for itself."""
        rows = min_level_rows(float(weights.sum()) * unit) if self.min_level_rows is None else self.min_level_rows
        return int(np.ceil(rows / unit - 1e-9))

    def _class_weights(self, data: TrainingData) -> npt.NDArray[np.float64]:
        if self.class_weight is None:
            return np.ones(len(data.classes))
        if isinstance(self.class_weight, str):
            totals = np.array([math.fsum(data.weights[data.labels == k].tolist()) for k in range(len(data.classes))])
            return np.asarray(totals.sum() / (len(totals) * totals))
        unknown = [label for label in self.class_weight if label not in data.classes]
        if unknown:
            raise InputError(f"class_weight names {unknown[0]!r}, which is no class", where="CNLLClassifier")
        return np.array([float(self.class_weight.get(label, 1.0)) for label in data.classes])

    def _learn(
        self,
        problem: Problem,
        label: Any,
        settings: GrowthSettings,
        deadline: float,
        groups: npt.NDArray[Any] | None,
    ) -> Run:
        """One formula, with as many bits as cross-validation says."""
        callback = self.callback
        last: dict[str, Any] = {"class": label, "n_units": settings.n_units}

        def step(unit: int, objective: float, error: float) -> object:
            last.update(unit=unit, objective=objective, error=error / problem.total)
            return callback is not None and callback(dict(last))

        def fold(number: int) -> object:
            return callback is not None and callback({**last, "fold": number})

        grown = grow(problem, settings, Limits(deadline, step))
        curve, stopped, units = None, grown.stopped, len(grown.path)
        if self.stopping == "cv" and units > 1 and not stopped:
            try:
                curve = held_out_curve(problem, settings, self.n_folds, groups, deadline, fold)
            except KeyboardInterrupt:
                stopped = "interrupted"
            if curve is not None:
                stopped = curve.stopped
                units, curve = (min(units, curve.best(self.parsimony)), curve) if curve.folds else (units, None)
        return Run(label, problem, grown, units, curve, stopped)

    def _conclude(self, data: TrainingData, problem: Problem, classes: tuple[Any, ...], runs: list[Run]) -> None:
        """From the formulas to the fitted attributes."""
        schema = Schema(data.table.features, self.target, ordered_classes=self.ordered is not None)
        prefixes = ["H"] if len(runs) == 1 else [f"H{k + 1}." for k in range(len(runs))]
        formulas = [run.formula(prefix) for run, prefix in zip(runs, prefixes, strict=True)]
        units = [run.units for run in runs]
        provenance = provenance_of(self, data, units, next((run.stopped for run in runs if run.stopped), ""))
        if len(runs) == 1:
            graph = two_class_graph(schema, classes, formulas[0], units[0], provenance)
        elif self.ordered is not None:
            graph = ordered_graph(schema, classes, formulas, units, provenance)
        else:
            totals = np.bincount(problem.labels, problem.weights, len(classes))
            preference = preference_of(np.asarray(totals, dtype=np.float64))
            default = preference[0] if self.default is None else class_index(classes, self.default, "default")
            graph = many_class_graph(schema, classes, formulas, preference, default, provenance)
        statistics = rule_statistics(graph, data.table, problem.labels, data.weights)
        self.clauses_ = [
            clause_records(run.grown, run.units, run.label, prefix) for run, prefix in zip(runs, prefixes, strict=True)
        ]
        self.history_ = [record for run in runs for record in step_records(run.grown, problem.columns, run.label)]
        self.curve_ = [None if run.curve is None else run.curve.error for run in runs]
        self.rule_graph_ = graph.with_(statistics=statistics)
        self.classes_ = class_array(classes)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One formula against the rest: its label and problem, what was grown, how many of its bits are kept, and why."""

    label: Any
    problem: Problem
    grown: Grown
    units: int
    curve: Curve | None
    stopped: Stopped

    def formula(self, prefix: str) -> Node:
        """The nested formula of the kept bits."""
        weights, labels = self.problem.weights, self.problem.labels
        prior = float(weights[labels == 1].sum()) / float(weights.sum())
        learned = self.grown.path[self.units - 1] if self.units else None
        return noisy_formula(self.problem.columns, learned, prior, prefix)


def _targets(
    labels: npt.NDArray[np.int64], classes: tuple[Any, ...], ordered: bool
) -> list[tuple[Any, npt.NDArray[np.int64]]]:
    """What each formula is to tell from the rest: (label, 0 or 1 [n]).

    Of two classes the second; of ordered ones, for each but the lowest, whether the label is at least it.
    """
    if len(classes) == 2:
        return [(classes[1], (labels == 1).astype(np.int64))]
    if ordered:
        return [(classes[k], (labels >= k).astype(np.int64)) for k in range(1, len(classes))]
    return [(classes[k], (labels == k).astype(np.int64)) for k in range(len(classes))]


def _refuse_constraints(data: TrainingData) -> None:
    """CNLL promises no monotone columns and keeps no columns apart; the refusal names the column or the group."""
    for feature in data.table.features:
        if feature.monotone != 0:
            raise InputError(
                "CNLLClassifier cannot promise a monotone column",
                where=f"column {feature.name!r}",
                fix="drop the declaration or the column",
            )
    if data.table.interactions:
        # Two clauses that are too weak alone may decide together, so a rule of theirs would mix their columns.
        group = ", ".join(map(repr, data.table.interactions[0]))
        raise InputError(
            "CNLLClassifier cannot promise which columns stand in one rule",
            where=f"interactions, group {group}",
            fix="drop the declaration",
        )
