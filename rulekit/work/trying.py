"""Every learner on the same folds within one limit of time: what each is worth on a table, before one is taken.

The learners take turns, fold by fold, so that whatever ends the work, all were measured on the same rows. A training
gets an equal share of the time that is left; what that cuts short is learned again once there is twice as much for it.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.figures.baselines import masses_of_all, masses_of_sides, sample_of
from rulekit.audit.figures.metrics import Figures, figures, measured
from rulekit.audit.stability.recurrence import dice_of_models
from rulekit.errors import Cancelled, InputError, RulekitError
from rulekit.graph.ladder import RARE, macro_f1
from rulekit.graph.language.readable import listed
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts
from rulekit.learners.binned.binning import bin_table
from rulekit.learners.binned.problem import Problem
from rulekit.learners.binned.words import with_words
from rulekit.learners.contract import find_learner, learner_names
from rulekit.learners.counting.histograms import quantise_by_class
from rulekit.learners.faults import blamed
from rulekit.learners.fitting.rows.folds import fold_of_rows
from rulekit.learners.fitting.rows.in_order import InOrder
from rulekit.limits import Deadline, OutOfTime
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.work import learning
from rulekit.work.progress import Finishing, Learning, Noticed, Progress, Resample, unseen
from rulekit.work.training import LEARNING, TrainingRequest, read_rows

Bounded = Callable[[float | None, Progress], AbstractContextManager[Progress]]
"""What stops a training after so many seconds wherever it is, as an alarm does."""
DEFAULT = str(next(item.default for item in fields(TrainingRequest) if item.name == "learner"))
BASELINES = {"most frequent": (masses_of_all, 0), "one condition": (masses_of_sides, 1)}
SECONDS = 180.0
_MOST_RULES = 400  # of a model, beyond which pairs of rules are too many to match


@dataclass(frozen=True, slots=True)
class TryingRequest:
    """Which learners are tried, all where none is named; parameters: of each; time_limit: of all, in seconds."""

    data: Path
    reading: ReadingOptions
    learners: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    folds: int = 5
    seed: int = 0
    time_limit: float | None = SECONDS


@dataclass(frozen=True, slots=True)
class Tried:
    """A learner or a baseline on the rows that each of its models has not seen.

    errors: the error rate by fold, None where it was not measured; folds: how many were. figures, by name: error and
    standard_error (over the folds), log_loss; auc of two classes; macro_f1 of more, or where one is rare; cost of a
    row, where costs were given; rules, literals and columns of a model and seconds of a training; stability, the
    Dice-Sorensen index of the rules of two models. cut: trainings that the time cut short. as_good: the error exceeds
    that of the first line by at most a standard error of the difference. why: it was not measured on all folds.
    """

    name: str
    errors: tuple[float | None, ...]
    folds: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    cut: int = 0
    as_good: bool = False
    default: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """Lines of all folds first, by error (or cost); stopped: what ended the work early, "" for nothing."""

    lines: tuple[Tried, ...]
    rows: int
    folds: int
    stopped: str = ""
    notes: tuple[str, ...] = ()


def trial(
    request: TryingRequest, progress: Progress = unseen, bounded: Bounded = lambda _, told: nullcontext(told)
) -> Trial:
    """Measure the learners; raises InputError where the request makes no sense, or no learner could be measured.

    An interruption and the end of the time keep what is done, where that is one model at least.
    """
    names = sorted(dict.fromkeys(request.learners) or learner_names(), key=lambda name: name != DEFAULT)
    for name in set(names) - set(learner_names()):
        find_learner(name)  # which says what there is
    deadline = Deadline(request.time_limit)
    reading = TrainingRequest(request.data, request.reading, time_limit=request.time_limit)
    rows = read_rows(reading, None, progress, deadline)[0]
    rows = rows if rows.weight is None else rows.take(rows.weight > 0)
    fold, notes = _dealt(rows, request)
    for note in notes:
        progress(Noticed(note))
    runs = _Runs(request, rows, fold, deadline, progress, bounded)
    runs.run(names)
    if not runs.done and runs.why:
        raise InputError("; ".join(f"{name}: {why}" for name, why in runs.why.items()))
    if not runs.done:
        raise InputError("no learner made a model in the time", where="--time-limit", fix="give more time")
    progress(Finishing("comparing"))
    runs.measure_baselines()
    what = "error" if rows.cost is None else "cost"
    lines = [runs.line(name) for name in (*names, *BASELINES)]
    most = max(line.folds for line in lines[: len(names)])
    lines.sort(key=lambda line: (line.folds < most, not line.folds, line.figures.get(what, 0.0)))
    first = lines[0].errors if what == "error" else ()
    marked = [lines[0], *(replace(line, as_good=_as_good(line.errors, first)) for line in lines[1:])]
    return Trial(tuple(marked), len(rows), runs.folds, runs.stopped, notes)


def _dealt(rows: LabelledTable, request: TryingRequest) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """The fold [n] of each row, -1 where its class stands in one fold alone, so that it only trains; and notes."""
    n_classes = len(rows.classes)
    weights, unit = quantise_by_class(_weights(rows), rows.y, np.ones(n_classes))
    columns, codes = bin_table(rows.table, weights, None)
    problem = with_words(Problem(columns, codes, rows.y, weights, unit), rows.table, n_classes)
    groups = rows.group if rows.time is None else InOrder.of(rows.time, len(rows))
    fold = fold_of_rows(problem, request.folds, groups, request.seed)
    rest = [k for k in range(n_classes) if len(np.unique(fold[rows.y == k])) < 2]
    fold[np.isin(rows.y, rest)] = -1
    places = np.unique(fold[fold >= 0])
    if len(places) < 2:
        raise InputError("the rows make no two folds", where=str(request.data), fix="give more rows of each class")
    notes = [] if len(places) == request.folds else [f"the rows make {len(places)} folds, not {request.folds}"]
    if rest:
        labels = listed([repr(rows.classes[k]) for k in rest])
        notes.append(f"all rows of {labels} are for training, since one fold has them all; no error counts them")
    return np.where(fold < 0, -1, np.searchsorted(places, fold)), tuple(notes)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A model on held-out rows: rules, literals and columns; None and no time for a baseline; cut: it was cut short."""

    figures: Figures
    size: tuple[int, int, int]
    seconds: float = 0.0
    model: RuleGraph | None = None
    cut: bool = False


@dataclass(slots=True, eq=False)
class _Runs:
    """The trainings; done: what was measured, by learner and fold; why: a learner was given up."""

    request: TryingRequest
    rows: LabelledTable
    fold: npt.NDArray[np.int64]
    deadline: Deadline
    progress: Progress
    bounded: Bounded
    done: dict[tuple[str, int], _Measured] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    @property
    def folds(self) -> int:
        return int(self.fold.max()) + 1

    def run(self, names: Sequence[str]) -> None:
        """Train on all folds; says in `stopped` what ended that early."""
        queue, number = deque((k, name, 0.0) for k in range(self.folds) for name in names), 0
        while queue:
            k, name, before = queue.popleft()
            share = self.deadline.left / (1 + len(queue))
            if name in self.why or (before and share <= 2.0 * before):
                continue
            if self.deadline.over:
                self.stopped = "time limit"
                return
            number += 1
            try:
                if self.progress(Resample(number, number + len(queue))):
                    raise Cancelled("learning")
                with suppress(OutOfTime):
                    self.done[name, k] = self._fold(name, k, share)
            except (KeyboardInterrupt, Cancelled) as stop:
                if not self.done:
                    raise
                self.stopped = "cancelled" if isinstance(stop, Cancelled) else "interrupted"
                return
            except Exception as error:  # a learner of another package may raise anything
                said, how = f"{type(error).__name__}: {error}", "failed"
                if isinstance(error, RulekitError):
                    said = error.what + f" ({error.where})" * error.where.startswith("column ")
                    how = "left out" if isinstance(error, InputError) else "failed"
                self.why[name] = f"{how}: {said}"
            if (name, k) not in self.done or self.done[name, k].cut:
                queue.append((k, name, share))

    def _fold(self, name: str, k: int, share: float) -> _Measured:
        """A training in a share of the time; raises OutOfTime where that gave no model."""
        seconds = None if np.isinf(share) else share
        begun, limit = time.monotonic(), Deadline(seconds)
        with self.bounded(seconds, self.progress) as told, blamed(find_learner(name)):
            learner = learning.fitted(
                name,
                self.request.parameters,
                self.rows.take(self.fold != k),
                seed=self.request.seed,
                time_limit=None if seconds is None else LEARNING * seconds,
                memory=None,
                start=None,
                callback=lambda _, step: bool(told(Learning(name, step))),
            )
            model, stopped = learner.rule_graph_, learner.rule_graph_.provenance.get("stopped")
            if stopped in ("interrupted", "cancelled"):
                raise KeyboardInterrupt if stopped == "interrupted" else Cancelled("learning")
            if stopped and not np.any(model.provenance.get("units", True)):
                raise OutOfTime("the time is over")
            with suppress(OutOfTime):
                model = learner.path_.simplified(model, limit)
            spent, size = time.monotonic() - begun, counts(model)
            sizes = size.rules, size.literals, len(model.used_features)
            found = measured(model, self.rows.take(self.fold == k))
        return _Measured(found, sizes, spent, model, bool(stopped) or spent > share)

    def measure_baselines(self) -> None:
        """The models without a learner on the same folds, on some of the rows where these are many."""
        classes, prices = self.rows.classes, np.array(self.rows.cost or [1.0] * len(self.rows.classes))
        sample = sample_of(self.rows.table, self.rows.y, _weights(self.rows), self.fold)
        for k, (name, (fit, size)) in itertools.product(range(self.folds), BASELINES.items()):
            held, y, weight = sample.fold == k, sample.y, sample.weight
            if not held.any():
                continue
            masses = fit(sample.numbers[~held], y[~held], (weight * prices[y])[~held])(sample.numbers[held])
            masses = np.pad(masses, ((0, 0), (0, len(classes) - masses.shape[1])))
            chances = masses / prices + 1.0 / len(classes)
            chances /= chances.sum(axis=1, keepdims=True)
            found = figures(y[held], masses.argmax(axis=1), chances, classes, weight[held])
            self.done[name, k] = _Measured(found, (size, size, size))

    def line(self, name: str) -> Tried:
        """The figures of the folds that were reached; means are by the weight of the held-out rows."""
        folds = [self.done.get((name, k)) for k in range(self.folds)]
        errors = tuple(None if each is None else 1.0 - each.figures.accuracy for each in folds)
        found, why = [each for each in folds if each is not None], self.why.get(name, "")
        if not found:
            late = "no model in the time" if self.stopped in ("", "time limit") else "not reached"
            return Tried(name, errors, why=why or late)
        every, cost = [each.figures for each in found], self.rows.cost
        confusions = np.array([each.confusion for each in every])
        by_fold = {"error": [1.0 - e.accuracy for e in every], "log_loss": [e.log_loss for e in every]}
        by_fold |= {} if cost is None else {"cost": [e.cost_per_row(cost) for e in every]}
        of_folds = confusions.sum(axis=(1, 2))
        shown = {what: float(np.average(values, weights=of_folds)) for what, values in by_fold.items()}
        shown |= {"standard_error": _deviation(by_fold["error"])} if len(found) > 1 else {}
        total = confusions.sum(axis=0)
        decided, true = total.sum(axis=0), total.sum(axis=1)
        if len(true) == 2 and (areas := [e.auc for e in every if e.auc is not None]):
            shown["auc"] = float(np.mean(areas))
        if len(true) > 2 or true.min() < RARE * true.sum():
            shown["macro_f1"] = float(macro_f1(total.diagonal(), decided, true))
        shown["rules"], shown["literals"], shown["columns"] = np.mean([e.size for e in found], axis=0).tolist()
        shown["seconds"] = float(np.median([each.seconds for each in found]))
        models = [each.model for each in found if each.model is not None]
        if len(models) > 1 and 0 < max(each.size[0] for each in found) <= _MOST_RULES:
            with suppress(KeyboardInterrupt):
                shown["stability"] = dice_of_models(models, self.rows.table)
        return Tried(name, errors, len(found), shown, sum(e.cut for e in found), default=name == DEFAULT, why=why)


def _deviation(values: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """The standard error of a mean over two folds or more."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _as_good(errors: Sequence[float | None], first: Sequence[float | None]) -> bool:
    apart = np.array([a - b for a, b in zip(errors, first, strict=False) if a is not None and b is not None])
    return len(apart) > 1 and float(apart.mean()) <= _deviation(apart)


def _weights(rows: LabelledTable) -> npt.NDArray[np.float64]:
    return np.ones(len(rows)) if rows.weight is None else rows.weight
