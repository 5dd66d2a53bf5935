"""What every learner has, whoever calls it: parameters, questions, folds and sizes around an algorithm of candidates.

Nothing here imports scikit-learn, which takes longer than learning from a small table: rulekit.learners.base makes an
estimator of a learner.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, ClassVar, get_args

import numpy as np

from rulekit.arrays import Array
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.learners.contract import (
    Ability,
    Candidate,
    Frame,
    Kind,
    Learning,
    Question,
    SizeLimits,
    Stopped,
    Variants,
    Watch,
    refuse_unable,
)
from rulekit.learners.data.binning import bin_table, least_level
from rulekit.learners.data.folds import Folds, folds_of
from rulekit.learners.data.inputs import (
    TrainingData,
    class_factors,
    class_index,
    class_order,
    odds_of,
    prices_of,
    questions_of,
    refuse_columns,
)
from rulekit.learners.data.problem import Problem, with_words, without_twins
from rulekit.learners.data.training_rows import reporter, training_data
from rulekit.learners.faults import blamed, check_class, check_remarks, guard, rows_unchanged
from rulekit.learners.learning import LearningPlan, Run, learn_all, watched
from rulekit.learners.models.assembly import Prior, preference_of, provenance_of
from rulekit.learners.models.giving_points import give_points
from rulekit.learners.parameters import Parameter, check_parameters, groups_of, parameters_of, within_group
from rulekit.learners.promises.kept import named_columns, required_of, under_constraints, under_start, unmerged
from rulekit.learners.sizes.path import ModelPath, QuestionPath, sized, sized_jointly
from rulekit.learners.sums_of_rows.kernels import available_threads
from rulekit.schema import Schema

HOOKS = (
    *("learn", "resolve", "ranks", "check", "binned", "prepare", "nothing", "finish"),
    *("seeks_few_errors", "revise", "conclude"),
)
"""The methods that a learner may write; docs/learners.md lists them."""


class RuleLearner(ABC):
    """Around an algorithm that yields candidates; see rulekit.learners.contract.

    A learner sets `word` (as the command calls it), `settings` (its frozen dataclass of parameters), `abilities`,
    `noun` (what its sizes are counted in) and `size_parameter` (the parameter that bounds them), and writes `learn`.
    The other methods that it may override have a default. estimator: "module:class" of its estimator, where the learner
    itself is none. as_base: other defaults for a learner that votes in boosted, where it is fitted a hundred times.
    """

    word: ClassVar[str] = ""
    settings: ClassVar[type]
    abilities: ClassVar[frozenset[Ability]] = frozenset()
    as_base: ClassVar[Mapping[str, Any]] = {}
    noun: ClassVar[str] = "unit"
    size_parameter: ClassVar[str] = "n_units"
    estimator: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    groups: ClassVar[Mapping[str, type]] = {}
    remarks_: tuple[str, ...] = ()
    rule_graph_: RuleGraph
    path_: ModelPath
    folds_: Array | None = None
    sparse_rows_: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "settings" in cls.__dict__:
            cls.parameters, cls.groups = parameters_of(cls.settings), groups_of(cls.settings)
            cls.__init__ = _constructor(cls.parameters, cls.groups)  # type: ignore[method-assign]
        check_class(cls, RuleLearner, HOOKS, get_args(Ability))
        guard(cls, HOOKS)

    def __init__(self, *args: Any, **values: Any) -> None:
        raise TypeError(f"{type(self).__name__} declares no settings")

    # What a learner writes -----------------------------------------------------------------------------------------

    @abstractmethod
    def learn(self, question: Question) -> Learning:
        """The candidates for one question, smallest first."""

    def resolve(self, settings: Any, rows: float) -> Any:
        """The settings with values in the place of "auto", for rows of so much weight."""
        return settings

    def ranks(self, settings: Any, classes: tuple[Any, ...]) -> Sequence[Any] | None:
        """The classes from low to high, where they are ranks: unless a learner knows better, as it was said."""
        ordered: Sequence[Any] | None = settings.ordered
        return ordered

    def check(self, settings: Any) -> None:
        """Raise InputError where settings contradict each other."""
        return

    def binned(self, settings: Any, rows: Problem, data: TrainingData) -> Problem:
        """The rows with the columns of their table; rows: without any, labels are class indices."""
        least = least_level(settings.min_level_rows, rows.total, rows.weight_unit)
        named = named_columns(settings, data.table, data.classes)
        if rows.elsewhere is not None:
            problem: Problem
            problem, self.remarks_ = rows.elsewhere.binned(data.table.features, settings.max_bins, least, named)
            return problem
        threads = available_threads(settings.n_threads)
        told = reporter(settings.callback, "binning")
        columns, codes = bin_table(data.table, rows.weights, settings.max_bins, least, threads, told)
        columns, codes, self.remarks_ = without_twins(columns, codes, named)
        return with_words(replace(rows, columns=columns, codes=codes), data.table, len(data.classes), least)

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

    def seeks_few_errors(self, settings: Any) -> bool:
        """Whether few errors are what is wanted, so that a model with no fewer than one constant answer is no use."""
        return True

    def revise(self, runs: Sequence[Run], folds: Folds | None, stopped: Stopped) -> None:
        """Change the candidates of the paths once all are learned, but not what they decide.

        folds: on which they were checked, if on any; stopped: what ended the learning early.
        """
        return

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Keep what its attributes are made from, or add to `path.provenance`; the training rows are still there."""
        return

    # What every learner has ----------------------------------------------------------------------------------------

    @classmethod
    def estimator_name(cls) -> str:
        """What models and errors call it: its estimator."""
        return cls.estimator.rpartition(":")[2] or cls.__name__

    def given_parameters(self) -> dict[str, Any]:
        """The value of every parameter by its own name, of those in groups too; raises InputError for a wrong group."""
        name = self.estimator_name()
        values = {key: each.default if each.group else getattr(self, key) for key, each in self.parameters.items()}
        for group, kind in self.groups.items():
            values |= within_group(name, group, kind, getattr(self, group))
        return values

    def checked_settings(self) -> Any:
        """The parameters as they are set; raises InputError where one is wrong, or asks for what the learner cannot."""
        parameters = self.given_parameters()
        check_parameters(self.estimator_name(), parameters, self.parameters)
        refuse_unable(type(self), {key: value for key, value in parameters.items() if key != "freeze"})
        start = parameters.get("start")
        if isinstance(start, RuleGraph):  # overrides are no rules to go on from; they are put on what was learned
            parameters["start"] = start.underlying
        settings = self.settings(**parameters)
        self.check(settings)
        return settings

    def fit_rules(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> tuple[TrainingData, Array]:
        """As `fit`, but without statistics of the rules; the rows of them, and their labels [n] as class indices.

        Raises LearnerError where the learner breaks its contract, or its own code fails.
        """
        begun = monotonic()
        with blamed(type(self)):
            settings = self.checked_settings()
            with watched(self.word, settings.verbose, settings.callback) as callback:
                settings = replace(settings, callback=callback)
                return self.learn_rows(
                    settings, begun, training_data(self, settings, X, y, sample_weight, groups, time)
                )

    def learn_rows(self, settings: Any, begun: float, data: TrainingData) -> tuple[TrainingData, Array]:
        """As `fit_rules`, with parameters that have been checked; begun: when it began (time.monotonic)."""
        name = self.estimator_name()
        data = replace(data, table=under_constraints(data.table, settings))
        # a column of the label's name among the features would make the rules ambiguous
        named = "target" if data.target in ("", *data.table.names) else data.target
        settings = replace(settings, target=settings.target or named)
        totals = data.totals()
        settings = self.resolve(settings, float(totals.sum()))
        positive, start = settings.positive, getattr(settings, "start", None)
        if start is not None:
            data = replace(data, table=under_start(start, data.table))
            positive = start.classes[1] if positive is None and len(data.classes) == 2 else positive
        settings = replace(settings, ordered=self.ranks(settings, data.classes))
        refuse_columns(type(self), data, settings.ordered is not None)
        settings = replace(settings, missing_never_helps=data.table.constraints.missing_never_helps)
        order = class_order(name, data.classes, totals, positive, settings.ordered, settings.default)
        classes = tuple(data.classes[k] for k in order)
        prices = prices_of(name, settings.cost, data.classes, order)
        factors = class_factors(name, settings.class_weight, data, prices)
        problem = self.binned(settings, data.problem(order, factors), data)
        kind: Kind = "two" if len(classes) == 2 else "several" if settings.ordered is None else "ranked"
        deadline = np.inf if settings.time_limit is None else begun + settings.time_limit
        seed = 0 if settings.random_state is None else _generator(settings.random_state).randint(2**31 - 1)
        threads = available_threads(settings.n_threads)
        questions = [
            Question(label, k, problem.telling(yes), settings, int(seed), threads, Watch(deadline), None, data.groups)
            for k, (label, yes) in enumerate(questions_of(classes, kind))
        ]
        questions = self.prepare(problem, questions, data, classes)
        folds = None
        if getattr(settings, "stopping", "none") == "cv":
            folds = folds_of(problem, settings.n_folds, data.groups, int(seed))
        parsimony, n_units = getattr(settings, "parsimony", 0.0), getattr(settings, self.size_parameter, 0)
        size, several = getattr(settings, "size", None), len(questions) > 1
        plan = LearningPlan(folds, parsimony, n_units, settings.callback, deadline, size, several, len(questions))
        self.folds_ = folds.of_rows() if folds is not None and problem.in_memory else None
        with rows_unchanged(type(self), problem):
            runs, stopped = learn_all(self, questions, plan)
            self.revise(runs, folds, stopped)
        if getattr(settings, "points", False):
            give_points(runs, kind, settings.points)
        odds = odds_of(kind, factors[order], totals[order])
        path = self._path(settings, data, problem, classes, kind, runs, stopped, odds)
        path = sized_jointly(path, runs, plan, data.table, problem) if several else sized(path, runs[0], plan)
        self.conclude(runs, path)
        check_remarks(self.remarks_)
        graph = path.graph(path.chosen)
        if getattr(settings, "start", None) is not None and not path.frame.limits.hold_for(graph):
            raise InputError("the start alone is beyond the limits of size", where="start", fix="raise them")
        self.path_, self.curve_, self.rule_graph_ = path, [run.curve for run in runs], graph
        self.folds_ = None if folds is None else folds.dealt
        self.classes_, self._places = class_array(data.classes), np.argsort(order)
        return data, problem.labels

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
        schema = Schema(
            data.table.features, settings.target, settings.ordered is not None, constraints=data.table.constraints
        )
        preference = preference_of(problem.class_weights(len(classes)))
        default = None
        if settings.default is not None:
            default = class_index(self.estimator_name(), classes, settings.default, "default")
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
        provenance = provenance_of(self.estimator_name(), parameters, data, settings.target, stopped)
        chosen, most = tuple(run.chosen for run in runs), int(getattr(settings, self.size_parameter, 0))
        start = getattr(settings, "start", None)
        keep = () if start is None else unmerged(start, settings.freeze)
        return ModelPath(frame, paths, chosen, provenance, self.noun, most, keep=keep)


def _generator(random_state: Any) -> np.random.RandomState:
    if isinstance(random_state, int):
        return np.random.RandomState(random_state)
    from sklearn.utils import check_random_state

    generator: np.random.RandomState = check_random_state(random_state)
    return generator


def _constructor(parameters: Mapping[str, Parameter], groups: Mapping[str, type]) -> Any:
    """An `__init__` that sets one attribute for each parameter and each group: the first by place, the others by name.

    A parameter of a group may be given by its own name too: `time_limit=60` is `run={"time_limit": 60}`.
    """
    shown = {name: parameter.default for name, parameter in parameters.items() if not parameter.group}
    shown |= dict.fromkeys(groups)
    first = next(iter(shown))

    def construct(self: Any, *args: Any, **values: Any) -> None:
        if len(args) > 1 or (args and first in values):
            raise TypeError(f"{type(self).__name__}() takes one value by place, {first}; give the others by name")
        values |= dict(zip((first,), args, strict=False))
        for name, default in shown.items():
            setattr(self, name, values.pop(name, default))
        for name, value in values.items():
            if name not in parameters:
                raise TypeError(f"{type(self).__name__}() has no parameter {name!r}")
            set_in_group(self, parameters[name], value)

    by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature = [
        inspect.Parameter(name, by_place if name == first else by_name, default=default)
        for name, default in shown.items()
    ]
    construct.__signature__ = inspect.Signature([inspect.Parameter("self", by_place), *signature])  # type: ignore[attr-defined]
    return construct


def set_in_group(learner: RuleLearner, parameter: Parameter, value: Any) -> None:
    """Set a parameter of a group, and keep the others of the group as they are."""
    group, name = parameter.group, learner.estimator_name()
    others = within_group(name, group, learner.groups[group], getattr(learner, group))
    setattr(learner, group, {**others, parameter.name: value})
