"""CNLLClassifier: compositional noisy-logical learning (Yuille & Zheng, ICML 2009)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from rulekit.audit.statistics import rule_statistics
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.learners.cnll.assembly import Assembly, preference_of
from rulekit.learners.cnll.automatic import resolved
from rulekit.learners.cnll.formula.noisy_formula import Problem
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.plain.dnf_form import WAYS, plain_dnfs
from rulekit.learners.cnll.plain.way_race import raced_way
from rulekit.learners.cnll.records import Account, clause_records, step_records
from rulekit.learners.cnll.runs import Run, targets, with_shared_columns
from rulekit.learners.cnll.search.growth import Algorithm, GrowthSettings, Limits, grow
from rulekit.learners.cnll.search.weak_features import Weak
from rulekit.learners.cnll.settings import (
    PARAMETERS,
    class_factors,
    growth_settings,
    least_level,
    refuse_constraints,
    with_sample,
)
from rulekit.learners.cnll.start.continuation import check_start, starts_of
from rulekit.learners.cnll.start.first_formula import Start
from rulekit.learners.cnll.start.start_schema import under_start
from rulekit.learners.counting.histograms import class_totals, quantise_by_class, share_equal
from rulekit.learners.counting.threads import available_threads
from rulekit.learners.fitting.class_order import class_index, class_order
from rulekit.learners.fitting.inputs import TrainingData, check_rows
from rulekit.learners.fitting.out_of_core import binned, training_data
from rulekit.learners.fitting.parameters import check_parameters
from rulekit.learners.fitting.path import ModelPath
from rulekit.learners.fitting.provenance import provenance_of
from rulekit.learners.fitting.size_limits import SizeLimits
from rulekit.learners.fitting.stopping import held_out_curve
from rulekit.schema import Schema

Progress = Callable[[Mapping[str, Any]], object]


class CNLLClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A noisy-logical formula of at most `n_units` conditions, grown one at a time by exact search.

    Each condition on one column fires a hidden bit with probability alpha where it holds, else beta; the formula
    joins the bits by and and or; the positive class is decided where the formula is more probable than 1/2. More than
    two classes get one formula each, against the rest.

    Parameters
    ----------
    n_units : most conditions in a formula; with stopping="cv" their number is chosen up to this.
    algorithm : "I" (Fig. 3 of the paper), "II" (Fig. 4) or "tree" (join anywhere in the formula). What is "auto" below
        is as in the paper for the first two (error+brier, ridge 0, no refit, no backfit, 255 bins), and for "tree" what
        was best: brier, ridge 12 scaled by the noise, refit 1, backfit 3, 64 bins, 5 rows on either side.
    objective : "error", "error+brier" or "brier"; `brier_weight` is lambda, the weight of the squared error in the
        second. `ridge` (kappa, in rows) pulls every bit towards doing nothing;
        with ridge_scale="noise" it is meant for labels like a coin's, and falls with the error that is left.
    weak : "threshold" stumps; "llr" stumps, whose numeric conditions are unions of intervals; or "pairs": a condition
        may join two by and, by or, or be exactly one of them.
    beta : "free", or "zero": a bit never fires where its condition does not hold.
    init : "or": a disjunction of clauses is grown; "and": a conjunction of them.
    form : "formula", or "dnf": plain conjunctions in its place, at most max_clauses (None: 20) for each formula.
    refit : sweeps over all strengths after each step. backfit : every so many steps, look once for a better condition
        for each bit (0: never).
    max_bins : bins of a numeric column, by capped quantiles; None: one for each distinct value.
    stopping : "cv": cross-validation of `n_folds` inside the training data, which takes the fewest units whose
        held-out error is within `parsimony` standard errors (of the difference, over the folds) of the least, so that
        1 is the smallest model that is not worse; "none": grow to n_units.
    min_rows : least weight of rows on either side of a condition.
    min_level_rows : levels of an unordered category with less weight of rows are one, together with levels never seen
        (None: 10, or a hundredth of the rows where that is less, but 2 at least).
    max_features, max_clauses, max_literals : the most distinct columns, rules and literals of the whole model, all
        classes together, which it never exceeds (None: no limit).
    column_sample : columns looked at in each step, drawn by `random_state` (None: all; a fraction of them if a float).
    start : a RuleGraph to go on from, learned elsewhere or written by an expert. freeze : which of its rules stay word
        for word: "all", "none", or their ids; the literals of the others count among n_units.
    class_weight : "balanced", or class to weight.
    positive : the positive one of two classes (None: the rarer, or the second where both are as many). default : the
        class of more than two that is decided where no formula is above 1/2 (None: the one with most training rows).
    ordered : the classes as ranks, low to high: one formula per cut, and the median of the ranks is decided.
    target : the name of the label in rules and files.
    n_threads : cores to work on (None: all that there are); the model does not depend on it.
    memory : the most memory, in bytes or as "500MB", that the whole process should take; the columns are then kept on
        disk, and the model is the same (None: all in memory).
    time_limit : seconds; then, as with Ctrl-C, the best model so far is kept, and its provenance says so.
    callback : called after each step with a mapping (class, unit, n_units, objective, error), and after each fold of
        the cross-validation with its number as `fold` beside them; a true answer cancels.

    Attributes
    ----------
    rule_graph_ : the learned RuleGraph; predictions evaluate it. classes_ : [K], sorted.
    history_ : one dict per step. path_ : ModelPath, the models of 1, 2, ... units: len(path_), path_.graph_at(units).
    curve_ : per formula, the Curve of held-out errors: error, standard_error, by_fold (None without one).
    clauses_ : per formula, the statistics of its clauses (Table 4). n_features_in_, feature_names_in_.

    """

    def __init__(
        self,
        n_units: int = 20,
        *,
        algorithm: Algorithm = "tree",
        objective: Literal["auto", "error", "error+brier", "brier"] = "auto",
        brier_weight: float = 1.0,
        ridge: float | Literal["auto"] = "auto",
        ridge_scale: Literal["auto", "none", "noise"] = "auto",
        weak: Weak = "threshold",
        beta: Literal["free", "zero"] = "free",
        init: Literal["or", "and"] = "or",
        form: Literal["formula", "dnf"] = "formula",
        refit: int | Literal["auto"] = "auto",
        backfit: int | Literal["auto"] = "auto",
        max_bins: int | Literal["auto"] | None = "auto",
        stopping: Literal["cv", "none"] = "cv",
        n_folds: int = 5,
        parsimony: float = 0.0,
        min_rows: float | Literal["auto"] = "auto",
        min_level_rows: float | None = None,
        column_sample: int | float | None = None,
        max_features: int | None = None,
        max_clauses: int | None = None,
        max_literals: int | None = None,
        start: RuleGraph | None = None,
        freeze: Literal["all", "none"] | Sequence[str] = "all",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        positive: Any = None,
        default: Any = None,
        ordered: Sequence[Any] | None = None,
        target: str = "target",
        random_state: Any = None,
        n_threads: int | None = None,
        memory: int | str | None = None,
        time_limit: float | None = None,
        callback: Progress | None = None,
    ) -> None:
        self.n_units = n_units
        self.algorithm = algorithm
        self.objective = objective
        self.brier_weight = brier_weight
        self.ridge = ridge
        self.ridge_scale = ridge_scale
        self.weak = weak
        self.beta = beta
        self.init = init
        self.form = form
        self.refit = refit
        self.backfit = backfit
        self.max_bins = max_bins
        self.stopping = stopping
        self.n_folds = n_folds
        self.parsimony = parsimony
        self.min_rows = min_rows
        self.min_level_rows = min_level_rows
        self.column_sample = column_sample
        self.max_features = max_features
        self.max_clauses = max_clauses
        self.max_literals = max_literals
        self.start = start
        self.freeze = freeze
        self.class_weight = class_weight
        self.positive = positive
        self.default = default
        self.ordered = ordered
        self.target = target
        self.random_state = random_state
        self.n_threads = n_threads
        self.memory = memory
        self.time_limit = time_limit
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows X [n, d] (array, frame, mapping of columns or Table) and labels y [n].

        sample_weight [n]: a row of weight 0 is as good as left out. groups [n]: rows of one group share a fold.
        X may also be an iterable of blocks of rows, each (X, y), (X, y, weight) or (X, y, weight, groups), which are
        gone through once; without y, a LabelledTable. Both the blocks and `memory` keep the columns on disk.
        Raises ValueError (InputError) where the data or the parameters do not fit.
        """
        check_parameters(type(self).__name__, self.get_params(deep=False), PARAMETERS)
        data = training_data(self, X, y, sample_weight, groups)
        chosen = resolved(
            self.get_params(deep=False), float(class_totals(data.weights, data.labels, len(data.classes)).sum())
        )
        settings = growth_settings(self, chosen)
        name, positive = type(self).__name__, self.positive
        if self.start is not None:
            data = replace(data, table=under_start(self.start, data.table))
            positive = self.start.classes[1] if positive is None and len(data.classes) == 2 else positive
        refuse_constraints(name, data)
        rows = class_totals(data.weights, data.labels, len(data.classes))
        order = class_order(name, data.classes, rows, positive, self.ordered, self.default)
        classes = tuple(data.classes[k] for k in order)
        labels = data.labels
        if list(order) != list(range(len(order))):
            labels = np.argsort(order).astype(labels.dtype)[labels]
        quantised, unit = quantise_by_class(data.weights, data.labels, class_factors(self, data))
        quantised = share_equal(quantised)
        least, threads = least_level(self, quantised, unit), available_threads(self.n_threads)
        columns, codes = binned(self, data.table, quantised, chosen["max_bins"], least, threads)
        settings = with_sample(self, settings, len(columns))
        problem = Problem(columns, codes, labels, quantised, unit)
        deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
        told = targets(labels, classes, self.ordered is not None)
        if self.max_features is not None and len(told) > 1:
            settings = with_shared_columns(settings, problem, told, deadline)
        problem, starts = self._starts(problem, data, classes, told)
        runs: list[Run] = []
        for (label, positive), start in zip(told, starts, strict=True):
            # Once stopped by hand the formulas that are left keep their prior probability.
            until = -np.inf if runs and runs[-1].stopped else deadline
            own = replace(settings, start=start)
            runs.append(self._learn(replace(problem, labels=positive), label, own, until, data.groups))
        self.classes_, self._places = class_array(data.classes), np.argsort(order)
        self._conclude(data, problem, classes, runs, starts, settings.search.objective, chosen)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class [n] of each row."""
        check_is_fitted(self)
        return self.rule_graph_.predict(check_rows(self, X, reset=False))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability [n, K] of each class, in the order of `classes_`."""
        check_is_fitted(self)
        return self.rule_graph_.predict_proba(check_rows(self, X, reset=False))[:, self._places]

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    # Fitting -------------------------------------------------------------------------------------------------------

    def _starts(
        self,
        problem: Problem,
        data: TrainingData,
        classes: tuple[Any, ...],
        told: list[tuple[Any, npt.NDArray[np.int64]]],
    ) -> tuple[Problem, list[Start | None]]:
        """What each formula goes on from, with the conditions given for it as further columns of the problem."""
        if self.start is None:
            return problem, [None] * len(told)
        check_start(self.start, classes, self.ordered is not None, self.init)
        problem, starts = starts_of(self.start, self.freeze, classes, problem, data.table, int(self.n_units))
        shares = [float(np.average(positive, weights=problem.weights)) for _, positive in told]
        return problem, [start and start.with_share(share) for start, share in zip(starts, shares, strict=True)]

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
        grown.formula.forget_rows()
        curve, stopped = None, grown.stopped
        if self.stopping == "cv" and len(grown.path) > 1 and not stopped:
            try:
                curve = held_out_curve(problem, settings, self.n_folds, groups, deadline, fold)
            except KeyboardInterrupt:
                stopped = "interrupted"
            if curve is not None:
                stopped, curve = curve.stopped, curve if curve.folds else None
        run = Run(label, problem, grown, 0, curve, stopped)
        if settings.dnf is not None:
            if curve is not None:
                way = curve.way
            else:
                way = 0 if stopped else raced_way(problem, grown.path, settings.dnf, groups, settings.seed)
            run = replace(run, plain=tuple(plain_dnfs(problem, grown.path, settings.dnf, [WAYS[way]])[0]))
        units = len(run.path)
        # The clauses of a plain form have already had to pay for their literals.
        if curve is not None and (settings.dnf is None or self.parsimony > 0.0):
            units = min(units, curve.best(self.parsimony))
        return replace(run, units=units)

    def _conclude(
        self,
        data: TrainingData,
        problem: Problem,
        classes: tuple[Any, ...],
        runs: list[Run],
        starts: list[Start | None],
        objective: Objective,
        chosen: Mapping[str, Any],
    ) -> None:
        """From the formulas to the fitted attributes."""
        schema = Schema(data.table.features, self.target, ordered_classes=self.ordered is not None)
        preference = preference_of(class_totals(problem.weights, problem.labels, len(classes)))
        many = len(runs) > 1 and self.ordered is None
        default = 0 if not many else preference[0]
        if many and self.default is not None:
            default = class_index(type(self).__name__, classes, self.default, "default")
        paths, priors = tuple(run.path for run in runs), tuple(run.prior for run in runs)
        limits = SizeLimits(self.max_features, self.max_clauses, self.max_literals)
        assembly = Assembly(schema, classes, problem.columns, paths, priors, preference, default, limits, tuple(starts))
        units = assembly.fitting([run.units for run in runs], [run.costs(objective) for run in runs])
        stopped = next((run.stopped for run in runs if run.stopped), "")
        provenance = provenance_of(self, data, assembly.learned(units), stopped, chosen)
        graph = assembly.graph(units, provenance)
        if self.start is not None and not limits.hold_for(graph):
            raise InputError("the start alone is beyond the limits of size", where="start", fix="raise them")
        statistics = rule_statistics(graph, data.table, problem.labels, data.weights)
        self._accounts = [
            Account.of(run.grown, run.formula_size(n, start is not None), run.label, prefix, start)
            for run, n, prefix, start in zip(runs, units, assembly.prefixes, starts, strict=True)
        ]
        self.curve_ = [run.curve for run in runs]
        points = [point for run, n in zip(runs, units, strict=True) for point in run.points(objective, n)]
        self.path_ = ModelPath(assembly, tuple(points), units, provenance)
        self.rule_graph_ = graph.with_(statistics=statistics)
