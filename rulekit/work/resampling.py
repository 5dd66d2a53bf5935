"""Many trainings on parts of a table: of every learner on the same folds, or of a model's learner on halves.

Learners take turns, fold by fold, so that whatever ends the work, all were measured on the same rows. A training gets
an equal share of the time that is left; what that cuts short is learned again once there is twice as much for it.

Halves are complementary (R. Shah and R. Samworth, Variable selection with error control, 2013; half samples as in
N. Meinshausen and P. Buehlmann, Stability selection, 2010): a table is parted into two halves, both are learned from,
and this is repeated. A bootstrap would draw rows twice, and a row that stands in a training fold and in a held-out one
makes the cross-validation that chooses the size of a model believe in noise.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit.figures.baselines import most_frequent, one_condition, sample_of
from rulekit.audit.figures.metrics import Figures, figures, measured
from rulekit.audit.rule_matching import Alike, rule_parts
from rulekit.audit.stability import dice_of_pairs
from rulekit.errors import Cancelled, InputError, RulekitError
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.model_parts import macro_f1
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts
from rulekit.learners.contract import find_learner, learner_names
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.folds import InOrder, fold_of_rows
from rulekit.learners.data.problem import Problem, with_words
from rulekit.learners.faults import blamed
from rulekit.learners.sums_of_rows.histograms import quantise_by_class
from rulekit.limits import Deadline, OutOfTime
from rulekit.schema import require_column
from rulekit.tables.equal_rows import held_out, lacking
from rulekit.tables.labels import LabelledTable, parse_cost
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import factorize
from rulekit.tables.reading import read_columns
from rulekit.work import learning
from rulekit.work.evaluating import labelled_rows
from rulekit.work.progress import Noticed, Progress, Resample, Stage, unseen
from rulekit.work.training import TrainingRequest, learning_time, read_rows

Bounded = Callable[[float | None, Progress], AbstractContextManager[Progress]]
"""What stops a training after so many seconds wherever it is, as an alarm does."""
BASELINES = {"most frequent": (most_frequent, 0), "one condition": (one_condition, 1)}
_MOST_RULES = 400  # of a model, beyond which pairs of rules are too many to match


@dataclass(frozen=True, slots=True)
class Tried:
    """A learner or a baseline on the rows that each of its models has not seen.

    errors: the error rate by fold, None where it was not measured; folds: how many were. figures, by name: error and
    standard_error (over folds), log_loss, auc (two classes), macro_f1 (more), rules, literals, columns, seconds and
    stability, the Dice-Sorensen index of two models. cut: trainings that the time cut short. why: folds are missing.
    """

    name: str
    errors: tuple[float | None, ...]
    folds: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    cut: int = 0
    default: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """Lines of most folds first, by error; stopped: what ended the work early, "" for nothing."""

    lines: tuple[Tried, ...]
    rows: int
    folds: int
    stopped: str = ""
    notes: tuple[str, ...] = ()


def trial(
    request: TrainingRequest,
    learners: Sequence[str] = (),
    folds: int = 5,
    progress: Progress = unseen,
    bounded: Bounded = lambda _, told: nullcontext(told),
) -> Trial:
    """Measure learners, all where none is named, each trained as the request says; its own learner is the default.

    An interruption and the end of the time keep what is done. Raises InputError where no learner could be measured.
    """
    names = sorted(dict.fromkeys(learners) or learner_names(), key=lambda name: name != request.learner)
    for name in set(names) - set(learner_names()):
        find_learner(name)  # which says what there is
    deadline = Deadline(request.time_limit)
    rows = read_rows(request, None, progress, deadline)[0]
    rows = rows if rows.weight is None else rows.take(rows.weight > 0)
    fold, notes = _dealt(rows, request, folds)
    runs = _Trainings(request, rows, fold, int(fold.max()) + 1, deadline, progress, bounded)
    runs.run(names)
    if not runs.done and runs.why:
        raise InputError("; ".join(f"{name}: {why}" for name, why in runs.why.items()))
    if not runs.done:
        raise InputError("no learner made a model in the time", where="--time-limit", fix="give more time")
    progress(Stage("comparing"))
    runs.measure_baselines()
    lines = [runs.line(name) for name in (*names, *BASELINES)]
    lines.sort(key=lambda line: (-line.folds, line.figures.get("error", 0.0)))
    return Trial(tuple(lines), len(rows), runs.folds, runs.stopped, notes)


def _dealt(rows: LabelledTable, request: TrainingRequest, n_folds: int) -> tuple[Ints, tuple[str, ...]]:
    """The fold [n] of each row, -1 where its class stands in one fold alone, so that it only trains; and notes."""
    weights, unit = quantise_by_class(_weights(rows), rows.y, np.ones(len(rows.classes)))
    problem = Problem(*bin_table(rows.table, weights, None), rows.y, weights, unit)
    groups = rows.group if rows.time is None else InOrder.of(rows.time, len(rows))
    fold = fold_of_rows(with_words(problem, rows.table, len(rows.classes)), n_folds, groups, request.seed)
    rest = [k for k in range(len(rows.classes)) if len(np.unique(fold[rows.y == k])) < 2]
    held = ~np.isin(rows.y, rest)
    places, fold[held] = np.unique(fold[held], return_inverse=True)
    if len(places) < 2:
        raise InputError("the rows make no two folds", where=str(request.data), fix="give more rows of each class")
    labels = ", ".join(repr(rows.classes[k]) for k in rest)
    alone = f"all rows of {labels} are for training, since one fold has them all; no error counts them"
    fewer = f"the rows make {len(places)} folds, not {n_folds}"
    return np.where(held, fold, -1), (*[fewer] * (len(places) < n_folds), *[alone] * bool(rest))


@dataclass(frozen=True, slots=True)
class _Measured:
    """A model on held-out rows: rules, literals and columns; None and no time for a baseline; cut: it was cut short."""

    figures: Figures
    size: tuple[int, int, int]
    seconds: float = 0.0
    model: RuleGraph | None = None
    cut: bool = False


@dataclass(slots=True, eq=False)
class _Trainings:
    """The trainings; done: what was measured, by learner and fold; why: a learner was given up."""

    request: TrainingRequest
    rows: LabelledTable
    fold: Ints
    folds: int
    deadline: Deadline
    progress: Progress
    bounded: Bounded
    done: dict[tuple[str, int], _Measured] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    def run(self, names: Sequence[str]) -> None:
        """Train on all folds; says in `stopped` what ended that early."""
        queue = deque((k, name, 0.0) for k in range(self.folds) for name in names)
        while queue:
            k, name, before = queue.popleft()
            share = self.deadline.left / (1 + len(queue))
            if name in self.why or (before and share <= 2.0 * before):
                continue
            if self.deadline.over:
                self.stopped = "time limit"
                return
            try:
                if self.progress(Resample(1 + len(self.done), 1 + len(self.done) + len(queue))):
                    raise Cancelled("learning")
                with suppress(OutOfTime):
                    self.done[name, k] = self._fold(name, k, share)
            except (KeyboardInterrupt, Cancelled) as stop:
                if not self.done:
                    raise
                self.stopped = "cancelled" if isinstance(stop, Cancelled) else "interrupted"
                return
            except RulekitError as error:
                said = error.what + f" ({error.where})" * error.where.startswith("column ")
                self.why[name] = f"{'left out' if isinstance(error, InputError) else 'failed'}: {said}"
            except Exception as error:  # a learner of another package may raise anything
                self.why[name] = f"failed: {type(error).__name__}: {error}"
            if (name, k) not in self.done or self.done[name, k].cut:
                queue.append((k, name, share))

    def _fold(self, name: str, k: int, share: float) -> _Measured:
        """A training in a share of the time; raises OutOfTime where that gave no model."""
        request, seconds = replace(self.request, learner=name), None if np.isinf(share) else share
        begun, limit = time.monotonic(), Deadline(seconds)
        with self.bounded(seconds, self.progress) as told, blamed(find_learner(name)):
            rows, longest = self.rows.take(self.fold != k), learning_time(request, limit)
            how: dict[str, Any] = {"seed": request.seed, "time_limit": longest, "memory": request.memory}
            learner = learning.fitted(name, request.parameters, rows, progress=told, **how)
            model, stopped = learner.rule_graph_, learner.rule_graph_.provenance.get("stopped")
            if stopped in ("interrupted", "cancelled"):
                raise KeyboardInterrupt if stopped == "interrupted" else Cancelled("learning")
            with suppress(OutOfTime):
                model = learner.path_.simplified(model, limit)
            spent, size = time.monotonic() - begun, counts(model)
            sizes = size.rules, size.literals, len(model.used_features)
            found = measured(model, self.rows.take(self.fold == k))
        return _Measured(found, sizes, spent, model, bool(stopped) or spent > share)

    def measure_baselines(self) -> None:
        """The models without a learner on the folds that were reached, on some of the rows where these are many."""
        classes, sample = self.rows.classes, sample_of(self.rows.table, self.rows.y, _weights(self.rows), self.fold)
        for k, (name, (fit, size)) in itertools.product({k for _, k in self.done}, BASELINES.items()):
            held, y, weight = sample.fold == k, sample.y, sample.weight
            if held.any():
                masses = fit(sample.numbers[~held], y[~held], weight[~held])(sample.numbers[held])
                chances = np.full((len(masses), len(classes)), 1.0 / len(classes))
                chances[:, : masses.shape[1]] += masses
                chances /= chances.sum(axis=1, keepdims=True)
                found = figures(y[held], chances.argmax(axis=1), chances, classes, weight[held])
                self.done[name, k] = _Measured(found, (size, size, size))

    def line(self, name: str) -> Tried:
        """The figures of the folds that were reached; means are by the weight of the held-out rows."""
        folds = [self.done.get((name, k)) for k in range(self.folds)]
        errors = tuple(None if each is None else 1.0 - each.figures.accuracy for each in folds)
        found, why = [each for each in folds if each is not None], self.why.get(name, "")
        if not found:
            late = "no model in the time" if self.stopped in ("", "time limit") else "not reached"
            return Tried(name, errors, default=name == self.request.learner, why=why or late)
        every = [each.figures for each in found]
        confusions = np.array([each.confusion for each in every])
        total, weights = confusions.sum(axis=0), confusions.sum(axis=(1, 2))
        shown = {"error": 1.0 - float(total.trace() / total.sum())}
        shown["log_loss"] = float(np.average([each.log_loss for each in every], weights=weights))
        if len(found) > 1:
            shown["standard_error"] = float(np.std([e.accuracy for e in every], ddof=1) / np.sqrt(len(every)))
        if len(total) > 2:
            shown["macro_f1"] = float(macro_f1(total.diagonal(), total.sum(axis=0), total.sum(axis=1)))
        elif areas := [each.auc for each in every if each.auc is not None]:
            shown["auc"] = float(np.mean(areas))
        shown["rules"], shown["literals"], shown["columns"] = np.mean([e.size for e in found], axis=0).tolist()
        shown["seconds"] = float(np.median([each.seconds for each in found]))
        rules = [rule_parts(each.model) for each in found if each.model is not None]
        if len(rules) > 1 and 0 < max(each.size[0] for each in found) <= _MOST_RULES:
            with suppress(KeyboardInterrupt):
                alike = Alike(self.rows.table)
                alike.know(itertools.chain(*rules))
                shown["stability"] = float(np.mean([*dice_of_pairs(alike, rules).values()]))
        return Tried(name, errors, len(found), shown, sum(e.cut for e in found), name == self.request.learner, why)


def _weights(rows: LabelledTable) -> Floats:
    return np.ones(len(rows)) if rows.weight is None else rows.weight


# The learner of a model on halves of its table ------------------------------------------------------------------------

RESAMPLES = 20
_NOT_REPEATED = {
    *("callback", "verbose", "memory", "n_threads", "time_limit", "random_state", "target", "positive", "ordered"),
    *("start", "freeze", "types", "missing", "units", "roles", "unseen", "precision", "cost"),
}
"""Parameters that the table and its schema say, or that are no part of the model."""


def stability(
    model: Path,
    data: Path,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    output: Path | None = None,
    progress: Progress = unseen,
    **how: Any,
) -> dict[str, Any]:
    """What comes back of a model where halves of its table are learned from, as JSON values, which `output` gets.

    how: what else `learned_again` takes, which says what is raised.
    """
    from rulekit.audit.stability import stability_of

    check_outputs([output], model, data)
    models, rows, stopped = learned_again(model, data, resamples=resamples, seed=seed, progress=progress, **how)
    progress(Stage("comparing"))
    stable = stability_of(
        load(model),
        models,
        rows.table,
        halves=[(first, first + 1) for first in range(0, len(models) - 1, 2)],
        wanted=resamples,
        seed=seed,
        stopped=stopped,
    )
    if output is not None:
        content = json.dumps(stable, indent=2, ensure_ascii=False) + "\n"
        write_atomically(output, content.encode())
    return stable


def learned_again(
    model: Path,
    data: Path,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    time_limit: float | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    progress: Progress = unseen,
) -> tuple[list[RuleGraph], LabelledTable, str]:
    """The models of the halves (two at least), the rows, and why there are fewer models than asked for, "" for none.

    reading: label column, weights, groups and costs, as they were given in training. Models with even numbers and those
    after them are of two halves of one table. An interruption and the end of the time keep what is done, where that is
    two models or more. Raises InputError where the model does not say how it was learned, or cannot be learned again.
    """
    graph, deadline, stopped, models = load(model), Deadline(time_limit), "", list[RuleGraph]()
    name, parameters = how_learned(graph, str(model))
    rows = _rows(graph, data, reading)
    if rows.notes:
        progress(Noticed(rows.notes))
    while len(models) < resamples and not stopped:
        number = len(models)
        try:
            deadline.check()
            if progress(Resample(number + 1, resamples)):
                raise Cancelled("learning from halves")
            half, left = _half(rows, number, seed), None if time_limit is None else deadline.left
            learner = learning.fitted(name, parameters, half, progress=progress, seed=seed + number, time_limit=left)
            learned: RuleGraph = learner.rule_graph_
            stopped = str(learned.provenance.get("stopped") or "")
            if not stopped:
                models.append(learner.path_.simplified(learned))
        except (KeyboardInterrupt, Cancelled, OutOfTime) as stop:
            stopped = {KeyboardInterrupt: "interrupted", Cancelled: "cancelled"}.get(type(stop), "time limit")
    if len(models) < 2:
        if stopped == "interrupted":
            raise KeyboardInterrupt
        if stopped == "cancelled":
            raise Cancelled("learning from halves")
        raise InputError("fewer than two models were learned in the time", where="--time-limit", fix="give more time")
    return models, rows, stopped


def _half(rows: LabelledTable, number: int, seed: int) -> LabelledTable:
    first = held_out(rows.table, rows.y, 0.5, group=rows.group, seed=seed + number // 2)
    if lacking(first, rows.y):
        raise InputError("a half would lack a class", where="stability", fix="give more rows of each class")
    return rows.take(~first if number % 2 else first)


def how_learned(graph: RuleGraph, where: str = "") -> tuple[str, dict[str, Any]]:
    """The name of the learner of a model and its parameters, by its provenance.

    Raises InputError where that says nothing, names a learner that is not installed, or a start that is not at hand.
    """
    made, given = graph.provenance.get("learner"), graph.provenance.get("parameters")
    if not isinstance(made, str) or not isinstance(given, Mapping):
        fix = "a model that rulekit train wrote says it; one that was written or edited by hand does not"
        raise InputError("the model does not say how it was learned", where=where, fix=fix)
    if given.get("start") is not None:
        raise InputError("the model was grown from given rules, which it does not hold", where=where)
    for name in learner_names():
        with contextlib.suppress(Exception):  # another package's learner may raise anything
            found = find_learner(name)
            if found.estimator_name() == made:
                known = set(found.parameters) - _NOT_REPEATED
                return name, {key: value for key, value in given.items() if key in known}
    raise InputError(f"the learner {made!r} of the model is not installed", where=where)


def _rows(graph: RuleGraph, data: Path, reading: ReadingOptions) -> LabelledTable:
    """The labelled rows, with every column of the training table, and what was noticed."""
    if texts := [feature.name for feature in graph.schema if feature.kind == "text"]:
        what = "a model holds the words of its own rules alone, so that it cannot be learned again from texts"
        raise InputError(what, where=f"column {texts[0]!r}")
    found = labelled_rows(graph, data, replace(reading, group=None, cost=None), graph.schema.names)
    rows, notes = found.rows, found.rows.notes
    group = None if reading.group is None else _groups(data, reading.group, reading, len(rows))
    cost, threshold = parse_cost(reading.cost, len(graph.classes)), graph.provenance.get("threshold")
    if found.overlap is not None and found.overlap.sampled and found.overlap.seen < found.overlap.sampled:
        notes = (*notes, "these are not the rows that trained the model, or not those alone")
    if cost is None and threshold not in (None, 0.5):
        notes = (*notes, f"the model decides at {threshold:g}; give --cost where it was trained with costs")
    return replace(rows, group=group, cost=cost, notes=notes)


def _groups(data: Path, column: str, reading: ReadingOptions, n_rows: int) -> Ints:
    raw = read_columns(data, reading, columns={column}, keep_text={column})
    require_column(column, raw.known_names, raw.source)
    if raw.n_rows != n_rows:
        raise InputError("rows without a label have groups, too", where="--group", fix="drop these rows from the file")
    return np.asarray(factorize(raw.columns[0])[1], dtype=np.int64)
