"""Training: read a table, split it, learn, simplify, measure, and write the model; or a model for each label of it."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rulekit.arrays import Bools
from rulekit.audit.figures.metrics import Figures, with_kept_figures
from rulekit.audit.training_lines import TableSummary, summary_of
from rulekit.errors import Cancelled, InputError, Interrupted
from rulekit.graph.files.model_files import check_outputs
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.learners.contract import find_learner
from rulekit.learners.faults import blamed
from rulekit.limits import Deadline, OutOfTime
from rulekit.tables.labelling import order_note, read_labelled
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.table import Budget, parse_memory
from rulekit.work import learning
from rulekit.work.finishing import Finish, TrainingBaselines, hints, surprises, test_reading
from rulekit.work.learning import KeptOverrides, read_kept, read_start
from rulekit.work.learning import TrainingRequest as TrainingRequest
from rulekit.work.progress import Event, Noticed, Progress, Stage, unseen

if TYPE_CHECKING:
    from rulekit.audit.figures.baselines import Baselines, Measure
    from rulekit.audit.figures.fidelity import Fidelity
    from rulekit.learners.data.parted import PartedRows
    from rulekit.teaching.teachers import Teacher
    from rulekit.work.learning import GivenStart

MANY_CLASSES = 50
_FIRST = 0.3
"""The share of that time in which the rules are learned that say what a teacher is asked."""
_LEARNING = 0.85
"""The share of the time that is left in which a model is learned; the rest is to shorten and to measure it."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingResult:
    """The model and what is to be said of it.

    measured_on: which rows the figures are of. chosen: its size, and what decided it. cost: of the errors, a row, with
    the model and without one; None where no costs were given. seconds: of learning. baselines: None where they were not
    asked for, or there is no cross-validation. The model has its ladder of sizes. notes: what a reader of the model
    would wonder about. ways_out: what may give rules, where there are none. fidelity: how far it agrees with its
    teacher.
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
    fidelity: tuple[Fidelity, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RowsElsewhere:
    """Training rows that an engine holds, and what takes the steps after learning in the place of `Finish`.

    deadline: the limit of time, which has begun with the reading.
    """

    rows: PartedRows
    finish: Callable[..., Finish]
    deadline: Deadline


def train(
    request: TrainingRequest, progress: Progress = unseen, elsewhere: RowsElsewhere | None = None
) -> TrainingResult:
    """Train as the request says; raises InputError, before anything is learned, where it makes no sense.

    elsewhere: the rows, which are not read then.
    """
    request, start = checked(request)
    teacher = _teacher(request)
    with contextlib.ExitStack() as ending:
        ending.enter_context(blamed(find_learner(request.learner)))
        measure = None
        if request.baselines:
            from rulekit.audit.figures.baselines import measured_beside

            measure = ending.enter_context(measured_beside())
        return _trained(request, start, teacher, measure, progress, elsewhere)


def _trained(
    request: TrainingRequest,
    start: GivenStart | None,
    teacher: Teacher | None,
    measure: Measure | None,
    progress: Progress,
    elsewhere: RowsElsewhere | None,
) -> TrainingResult:
    """As `train`, from a request and a start that can be carried out; measure: begins to measure the baselines."""
    deadline = Deadline(request.time_limit) if elsewhere is None else elsewhere.deadline
    try:
        rows, kept, picked = read_rows(request, start, progress, deadline, teacher, elsewhere)
    except OutOfTime:
        raise out_of_time(request, WHILE_READING) from None
    training, held = (rows, None) if picked is None else (rows.take(~picked), rows.take(picked))
    if teacher is not None and request.test is not None:
        from rulekit.work.taught import rows_to_test

        held = rows_to_test(request.test, request.reading, teacher, rows)
    begun = time.monotonic()

    def fit(rows: LabelledTable, each: Callable[[Any], object] = lambda learner: None, part: float = 1.0) -> Any:
        limit = learning_time(request, deadline)
        return learning.fitted(
            request.learner,
            request.parameters,
            rows,
            progress=progress,
            seed=request.seed,
            time_limit=None if limit is None else part * limit,
            memory=request.memory,
            start=start,
            each=each,
            elsewhere=None if elsewhere is None else elsewhere.rows,
        )

    try:
        asked = training
        if teacher is not None and request.ask:
            from rulekit.work.taught import with_made_rows

            asked = with_made_rows(training, teacher, request, partial(fit, part=_FIRST))
        beside = TrainingBaselines(measure, asked, request.parameters, deadline)
        learner = fit(asked, beside.meanwhile)
    except OutOfTime:
        raise out_of_time(request, "before there was a model") from None
    beside.after(learner)
    finishing: Callable[..., Finish] = Finish if elsewhere is None else elsewhere.finish
    finish = finishing(request, learner, training, held, start, kept, deadline, progress)
    model = finish.model()
    if request.output is not None:  # before it is measured, so that an interruption can name its file
        model.save(request.output)
    try:
        return _measured(finish, model, rows, picked, beside, teacher, time.monotonic() - begun)
    except KeyboardInterrupt:
        if request.output is None:
            raise
        raise Interrupted(f"stopped while it was measured; the model is in {request.output}") from None


def _teacher(request: TrainingRequest) -> Teacher | None:
    options = (request.teacher, request.teacher_column, request.teacher_cut, request.asked_rows)
    if any(value is not None for value in options) or request.teacher_classes or request.ask:
        from rulekit.work.taught import teacher_asked

        return teacher_asked(request)
    if request.reading.target is None and request.start is None:
        fix = "give --target COL, or --teacher MODEL"
        raise InputError("no label column is named", where="--target", fix=fix)
    return None


def learning_time(request: TrainingRequest, deadline: Deadline) -> float | None:
    """The seconds in which a model is learned, of those that are left."""
    return None if request.time_limit is None else _LEARNING * deadline.left


def _measured(
    finish: Finish,
    model: RuleGraph,
    rows: LabelledTable,
    picked: Bools | None,
    beside: TrainingBaselines,
    teacher: Teacher | None,
    seconds: float,
) -> TrainingResult:
    request, learner = finish.request, finish.learner
    finish.begin("measuring")
    figures, measured_on = finish.figures(model)
    baselines = finish.attempt(beside.wait, None)
    weighted, own = finish.training.weight is not None, None
    if not weighted and (finish.held is not None or request.test is not None):
        own = finish.attempt(lambda: finish.measured(model, finish.training), None)
    model = with_kept_figures(model, figures, measured_on, baselines, own, weighted)
    agreed: tuple[Fidelity, ...] = ()
    if teacher is not None:
        from rulekit.work.taught import fidelities, with_fidelity

        held = finish.held or finish.training
        on = "rows held out" if finish.held is not None else "training rows"
        try:
            agreed = finish.attempt(lambda: fidelities(model, held, on, teacher, seed=request.seed), ())
        except InputError as error:
            finish.notes.append(f"the model was written, but its teacher did not answer made rows: {error}")
        model = with_fidelity(model, teacher, agreed, request.ask)
    few_errors = rows.cost is None and learner.seeks_few_errors(learner.checked_settings())
    _write(request, model, learner, rows, picked)
    left_alone = {item.name for item in learning.parameters(request.learner)} - set(request.parameters)
    decides = counts(model).literals and sum(c.predicted > 0 for c in figures.classes) > 1
    return TrainingResult(
        model,
        figures,
        measured_on,
        counts(model),
        finish.summary(rows.table),
        learning.size_chosen(model.provenance, learner.path_),
        seconds,
        (
            *finish.kept.notes,
            *finish.notes,
            *learner.remarks_,
            *finish.attempt(lambda: surprises(model, finish.start, figures), ()),
            *hints(figures, few_errors, rows.weight is not None, model.ladder, baselines),
        ),
        None if rows.cost is None else (figures.cost_per_row(rows.cost), figures.cost_of_one_answer(rows.cost)),
        baselines,
        () if decides else finish.ways_out(left_alone),
        agreed,
    )


WHILE_READING = "while the table was read"


def out_of_time(request: TrainingRequest, when: str) -> InputError:
    """The error of a training without a model at its limit of time."""
    fix = "give more time, or a table of fewer rows or columns"
    return InputError(f"{request.time_limit or 0.0:g} seconds were over {when}", where="--time-limit", fix=fix)


def _write(request: TrainingRequest, model: RuleGraph, learner: Any, rows: LabelledTable, picked: Bools | None) -> None:
    if request.output is not None:
        model.save(request.output)
    if request.held_rows is not None and picked is not None:
        from rulekit.tables.reading import picked_rows

        write_atomically(request.held_rows, picked_rows(request.data, request.reading, picked, _budget(request)))
    for path in request.curves:
        from rulekit.audit.figures.curves import curve_bytes

        write_atomically(path, curve_bytes(path, learner.path_.points, rows.target, learner.path_.noun))


def _budget(request: TrainingRequest) -> Budget | None:
    return None if request.memory is None else Budget(parse_memory(request.memory, "--memory"))


def checked(request: TrainingRequest) -> tuple[TrainingRequest, GivenStart | None]:
    """The request with all that its options ask of the learner, and the rules to go on from.

    Raises InputError where they make no sense together.
    """
    request = replace(request, parameters=request.all_parameters())
    if request.test is not None and request.holdout is not None:
        raise InputError("--test and --holdout are two ways to measure", fix="give one")
    sources = (request.data, request.test, request.start, request.overrides)
    outputs = (request.held_rows, request.asked_rows, *request.curves)
    check_outputs(outputs, *sources, request.teacher, model=request.output)
    if request.held_rows is not None:
        from rulekit.tables.reading import check_ending

        if request.holdout is None:
            raise InputError("no rows are held out", where="--holdout-out", fix="give --holdout, the share")
        check_ending(request.held_rows, request.data)
    for path in request.curves:
        from rulekit.audit.figures.curves import check_curve

        check_curve(path)
        if request.parameters.get("stopping") == "none":
            fix = "leave out --param stopping=none"
            raise InputError("there is no curve without cross-validation", where="--curve", fix=fix)
    return request, read_start(request.start, request.freeze)


def read_rows(
    request: TrainingRequest,
    start: GivenStart | None,
    progress: Progress,
    deadline: Deadline,
    teacher: Teacher | None = None,
    elsewhere: RowsElsewhere | None = None,
) -> tuple[LabelledTable, KeptOverrides, Bools | None]:
    """The rows, the overrides for them, and which of the rows [n] are held out, None where none are to be.

    Raises InputError where time runs out. elsewhere: rows that are read already, of which none is held out.
    """
    if elsewhere is not None:
        _refuse_rows(elsewhere.rows.empty, request)
        return elsewhere.rows.empty, KeptOverrides(), None

    def tell(event: Event) -> None:
        if progress(event):
            raise Cancelled("reading")
        if deadline.over:
            raise out_of_time(request, WHILE_READING)

    options = request.reading if start is None else start.reading(request.reading)
    kept = read_kept(start, request.overrides, request.date)
    options = kept.reading(options)

    def read(share: float) -> None:
        tell(Stage("reading", share))

    if teacher is None:
        rows = read_labelled(request.data, options, _budget(request), reading=read)
    else:
        from rulekit.work.taught import read_taught

        rows = read_taught(request.data, options, teacher, read)
    if start is not None:
        rows = start.read_alike(rows)
    rows, kept = kept.for_rows(rows)
    shows = f"rulekit describe {shlex.quote(str(request.data))}"
    notes = (*rows.notes, *filter(None, [order_note(rows)]))
    tell(Noticed(notes, summary_of(rows.table), rows.table.notes, shows))
    _refuse_rows(rows, request)
    return rows, kept, _picked(rows, request, tell)


def _refuse_rows(rows: LabelledTable, request: TrainingRequest) -> None:
    """Raises InputError where no rule can be learned, or the labels of the test rows are others.

    A number with many or fractional values is hardly meant as classes.
    """
    what = ""
    if any(isinstance(label, float) for label in rows.classes):
        what = "the labels are fractional numbers"
    elif len(rows.classes) > MANY_CLASSES and rows.target not in request.reading.types:
        what = f"{len(rows.classes)} different labels"
    if what:
        fix = f"rules decide classes: group the values, or take them as names with --type {rows.target}=categorical"
        raise InputError(what, where=f"{request.data.name}, column {rows.target!r}", fix=fix)
    if not any(feature.role == "use" for feature in rows.table.features):
        raise InputError("no column is left that a rule may read", where="--role", fix="leave one to use")
    if request.test is not None:
        reading = replace(test_reading(request), target=rows.target)
        label_for_model(request.test, rows.schema, rows.classes, reading, used=())


def _picked(rows: LabelledTable, request: TrainingRequest, tell: Progress) -> Bools | None:
    if request.holdout is None:
        return None
    from rulekit.tables.equal_rows import SPLIT_BYTES, held_out, lacking, share_note

    if (budget := _budget(request)) is not None:
        budget.require_rows(len(rows), "--holdout", SPLIT_BYTES)
    mask = held_out(rows.table, rows.y, request.holdout, group=rows.group, time=rows.time, seed=request.seed)
    notes = [share_note(mask, request.holdout, grouped=rows.group is not None, timed=rows.time is not None)]
    absent = [rows.classes[k] for k in lacking(mask, rows.y)]
    if absent:
        shown = ", ".join(map(repr, absent[:8])) + (", ..." if len(absent) > 8 else "")
        why = "come only before them" if rows.time is not None else "have too few rows, which are all for training"
        notes.append(f"the rows held out have no {shown}: these {why}")
    if said := tuple(filter(None, notes)):
        tell(Noticed(said))
    return mask
