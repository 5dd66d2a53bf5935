"""Training: read a table, split it, learn, simplify, measure, and write the model."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.figures.metrics import Figures, with_kept_figures
from rulekit.audit.table_summary import TableSummary, summary_of
from rulekit.errors import Cancelled, InputError, Interrupted
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.learners.contract import find_learner
from rulekit.learners.faults import blamed
from rulekit.learners.promises.kept import CONSTRAINTS
from rulekit.limits import Deadline, OutOfTime
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.row_notes import order_note
from rulekit.tables.table import Budget, parse_memory
from rulekit.work import learning
from rulekit.work.finishing import Finish, test_reading
from rulekit.work.hints import hints, surprises, ways_out
from rulekit.work.kept import KeptOverrides, read_kept
from rulekit.work.learning import TrainingRequest as TrainingRequest
from rulekit.work.outputs import check_outputs
from rulekit.work.progress import Event, Learning, Noticed, Progress, Read, ReadingShare, unseen

if TYPE_CHECKING:
    from rulekit.audit.figures.baselines import Baselines, Measure
    from rulekit.work.finishing import TrainingBaselines
    from rulekit.work.kept import GivenStart

MANY_CLASSES = 50
_LEARNING = 0.85
"""The share of the time that is left in which a model is learned; the rest is to shorten and to measure it."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingResult:
    """The model and what is to be said of it.

    measured_on: which rows the figures are of. chosen: its size, and what decided it. cost: of the errors, a row, with
    the model and without one; None where no costs were given. seconds: of learning. baselines: None where they were not
    asked for, or there is no cross-validation. The model has its ladder of sizes. notes: what a reader of the model
    would wonder about. ways_out: what may give rules, where there are none.
    """

    model: RuleGraph
    figures: Figures
    measured_on: str
    size: ModelSize
    rows: TableSummary
    chosen: str
    seconds: float
    notes: tuple[str, ...] = ()
    cost: tuple[float, float] | None = None
    baselines: Baselines | None = None
    ways_out: tuple[str, ...] = ()


def train(request: TrainingRequest, progress: Progress = unseen) -> TrainingResult:
    """Train as the request says; raises InputError, before anything is learned, where it makes no sense."""
    parameters, start = _checked(request)
    with contextlib.ExitStack() as ending:
        ending.enter_context(blamed(find_learner(request.learner)))
        measure = None
        if request.baselines:
            from rulekit.audit.figures.baselines import measured_beside

            measure = ending.enter_context(measured_beside())
        return _trained(request, parameters, start, measure, progress)


def _decides(model: RuleGraph, figures: Figures) -> bool:
    return bool(counts(model).literals) and sum(c.predicted > 0 for c in figures.classes) > 1


def _trained(
    request: TrainingRequest,
    parameters: dict[str, Any],
    start: GivenStart | None,
    measure: Measure | None,
    progress: Progress,
) -> TrainingResult:
    """As `train`, from parameters and a start that can be carried out; measure: begins to measure the baselines."""
    deadline = Deadline(request.time_limit)
    try:
        rows, kept, picked = read_rows(request, start, progress, deadline)
    except OutOfTime:
        raise _out_of_time(request, "while the table was read") from None
    training, held = (rows, None) if picked is None else (rows.take(~picked), rows.take(picked))
    started = time.monotonic()
    beside = None
    if measure is not None:
        from rulekit.work.finishing import TrainingBaselines

        beside = TrainingBaselines(measure, training, parameters, deadline)
    try:
        learner = learned(request, parameters, start, training, deadline, beside, progress)
    except OutOfTime:
        raise _out_of_time(request, "before there was a model") from None
    if beside is not None:
        beside.after(learner)
    finish = Finish(request, learner, training, held, start, kept, deadline, progress)
    model = finish.model()
    with _written(request, model):
        return _measured(finish, model, rows, picked, beside, time.monotonic() - started)


@contextlib.contextmanager
def _written(request: TrainingRequest, model: RuleGraph) -> Iterator[None]:
    """Save the model first, so that an interruption of the next steps can name its file."""
    if request.output is None:
        yield
        return
    model.save(request.output)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"stopped while it was measured; the model is in {request.output}") from None


def _measured(
    finish: Finish,
    model: RuleGraph,
    rows: LabelledTable,
    picked: npt.NDArray[np.bool_] | None,
    beside: TrainingBaselines | None,
    seconds: float,
) -> TrainingResult:
    request, learner, start = finish.request, finish.learner, finish.start
    finish.begin("measuring")
    figures, measured_on = finish.figures(model)
    baselines = None if beside is None else finish.attempt(beside.found, None)
    weighted, own = finish.training.weight is not None, finish.on_training_rows(model)
    model = with_kept_figures(model, figures, measured_on, baselines, own, weighted)
    few_errors = rows.cost is None and learner.seeks_few_errors(learner.checked_settings())
    _write(request, model, learner, rows, picked)
    return TrainingResult(
        model,
        figures,
        measured_on,
        counts(model),
        summary_of(rows.table),
        learning.size_chosen(model.provenance, learner.path_),
        seconds,
        (
            *finish.kept.notes,
            *finish.notes,
            *learner.remarks_,
            *finish.attempt(lambda: surprises(model, start, figures), ()),
            *hints(figures, few_errors, rows.weight is not None, model.ladder, baselines),
        ),
        None if rows.cost is None else (figures.cost_per_row(rows.cost), figures.cost_of_one_answer(rows.cost)),
        baselines,
        () if _decides(model, figures) else ways_out(finish.training, request.learner, _left_alone(request)),
    )


def _out_of_time(request: TrainingRequest, when: str) -> InputError:
    limit = 0.0 if request.time_limit is None else request.time_limit
    fix = "give more time, or a table of fewer rows or columns"
    return InputError(f"{limit:g} seconds were over {when}", where="--time-limit", fix=fix)


def learned(
    request: TrainingRequest,
    parameters: Mapping[str, Any],
    start: GivenStart | None,
    training: LabelledTable,
    deadline: Deadline,
    beside: TrainingBaselines | None,
    progress: Progress,
) -> Any:
    """The fitted learner; raises where it was stopped before it had learned anything, OutOfTime by the time."""

    def step(learner: Any, what: Mapping[str, Any]) -> bool:
        if beside is not None:
            beside.meanwhile(learner)
        return bool(progress(Learning(request.learner, what)))

    learner = learning.fitted(
        request.learner,
        parameters,
        training,
        seed=request.seed,
        time_limit=None if request.time_limit is None else _LEARNING * deadline.left,
        memory=request.memory,
        start=start,
        callback=step,
    )
    stopped, units = learner.rule_graph_.provenance.get("stopped"), learner.rule_graph_.provenance.get("units")
    if stopped and units is not None and not np.any(units):
        if stopped == "interrupted":
            raise KeyboardInterrupt
        raise Cancelled("learning") if stopped == "cancelled" else OutOfTime("the time is over")
    return learner


def _left_alone(request: TrainingRequest) -> set[str]:
    return {item.name for item in learning.parameters(request.learner)} - set(request.parameters)


def _write(
    request: TrainingRequest, model: RuleGraph, learner: Any, rows: LabelledTable, picked: npt.NDArray[Any] | None
) -> None:
    if request.output is not None:
        model.save(request.output)
    if request.held_rows is not None and picked is not None:
        from rulekit.tables.reading import picked_rows

        budget = None if request.memory is None else Budget(parse_memory(request.memory))
        write_atomically(request.held_rows, picked_rows(request.data, request.reading, picked, budget))
    for path in request.curves:
        from rulekit.audit.figures.curves import curve_bytes

        write_atomically(path, curve_bytes(path, learner.path_.points, rows.target, learner.path_.noun))


def _checked(request: TrainingRequest) -> tuple[dict[str, Any], GivenStart | None]:
    parameters = dict(request.parameters)
    asked = {name: getattr(request, name) for name in ("start", "freeze", "memory")}
    asked |= {name: parameters.get(name) for name in (*CONSTRAINTS, "report")}
    learning.refuse_options(request.learner, {**asked, "ordered": request.reading.ordered or None})
    if request.smallest:
        parameters = learning.smallest(parameters, request.size)
    if request.size is not None:
        parameters = learning.of_size(request.learner, parameters, request.size)
    if request.test is not None and request.holdout is not None:
        raise InputError("--test and --holdout are two ways to measure", fix="give one")
    check_outputs(
        [request.held_rows, *request.curves],
        *(request.data, request.test, request.start, request.overrides),
        model=request.output,
    )
    if request.held_rows is not None:
        from rulekit.tables.reading import check_ending

        if request.holdout is None:
            raise InputError("no rows are held out", where="--holdout-out", fix="give --holdout, the share")
        check_ending(request.held_rows, request.data)
    for path in request.curves:
        from rulekit.audit.figures.curves import check_curve

        check_curve(path)
        learning.refuse_curve(parameters)
    if request.start is None and request.freeze is None:
        return parameters, None
    from rulekit.work.kept import read_start

    return parameters, read_start(request.start, request.freeze)


def read_rows(
    request: TrainingRequest, start: GivenStart | None, progress: Progress, deadline: Deadline
) -> tuple[LabelledTable, KeptOverrides, npt.NDArray[np.bool_] | None]:
    """The rows, the overrides for them, and which of the rows are held out; raises InputError where time runs out."""

    def tell(event: Event) -> None:
        if progress(event):
            raise Cancelled("reading")
        if deadline.over:
            raise _out_of_time(request, "while the table was read")

    options = request.reading if start is None else start.reading(request.reading)
    kept = read_kept(start, request.overrides, request.date)
    options = kept.reading(options)
    budget = None if request.memory is None else Budget(parse_memory(request.memory, "--memory"))
    rows = read_labelled(request.data, options, budget, reading=lambda share: tell(ReadingShare(share)))
    if start is not None:
        rows = start.read_alike(rows)
    rows, kept = kept.for_rows(rows)
    order = order_note(rows)
    shows = f"rulekit describe {shlex.quote(str(request.data))}"
    notes = (*rows.notes, *([order] if order else []))
    tell(Read(notes, summary_of(rows.table), rows.table.notes, shows))
    _refuse_many_classes(rows, request)
    if not any(feature.role == "use" for feature in rows.table.features):
        raise InputError("no column is left that a rule may read", where="--role", fix="leave one to use")
    if request.test is not None:
        label_for_model(
            request.test, rows.schema, rows.classes, replace(test_reading(request), target=rows.target), used=()
        )
    return rows, kept, _picked(rows, request, tell)


def _refuse_many_classes(rows: LabelledTable, request: TrainingRequest) -> None:
    """A number with many or fractional values is hardly meant as classes."""
    where = f"{request.data.name}, column {rows.target!r}"
    if any(isinstance(label, float) for label in rows.classes):
        raise InputError(
            "the labels are fractional numbers",
            where=where,
            fix=f"group the values, or take them as names with --type {rows.target}=categorical",
        )
    if len(rows.classes) > MANY_CLASSES and rows.target not in request.reading.types:
        raise InputError(
            f"{len(rows.classes)} different labels",
            where=where,
            fix=f"rules decide classes: group the values, or insist with --type {rows.target}=categorical",
        )


def _picked(rows: LabelledTable, request: TrainingRequest, tell: Progress) -> npt.NDArray[np.bool_] | None:
    """Which rows [n] are held out; None where none is to be."""
    if request.holdout is None:
        return None
    from rulekit.tables.splitting import SPLIT_BYTES, held_out, lacking, share_note

    if request.memory is not None:
        Budget(parse_memory(request.memory)).require_rows(len(rows), "--holdout", SPLIT_BYTES)
    mask = held_out(rows.table, rows.y, request.holdout, group=rows.group, time=rows.time, seed=request.seed)
    notes = [share_note(mask, request.holdout, grouped=rows.group is not None, timed=rows.time is not None)]
    absent = [rows.classes[k] for k in lacking(mask, rows.y)]
    if absent:
        shown = ", ".join(map(repr, absent[:8])) + (", ..." if len(absent) > 8 else "")
        why = "come only before them" if rows.time is not None else "have too few rows, which are all for training"
        notes.append(f"the rows held out have no {shown}: these {why}")
    for note in filter(None, notes):
        tell(Noticed(note))
    return mask
