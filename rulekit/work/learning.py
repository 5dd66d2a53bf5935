"""What a training is asked for: the request, parameters of a learner, given rules, overrides to keep; and the fit."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rulekit.errors import Cancelled, GraphError, InputError
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.files.model_files import load
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Or
from rulekit.graph.overrides import Override, is_date, relabelled
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import left_out
from rulekit.graph.variants import with_overrides
from rulekit.learners.contract import find_learner, learner_names, refuse_unable
from rulekit.learners.parameters import Parameter, check_parameters, value_for
from rulekit.limits import OutOfTime
from rulekit.names import near_names
from rulekit.schema import Schema
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.work.choices import OPTIONS
from rulekit.work.progress import Learning, Progress

if TYPE_CHECKING:
    from rulekit.learners.data.parted import PartedRows
    from rulekit.learners.sizes.path import ModelPath
    from rulekit.work.changes.overrides import Written


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """What to learn from which table.

    reading: how the table is read, the target column among it. parameters: of the learner, by name. smallest: take the
    smallest model that is not worse than the best one. size: take this row of the ladder. baselines: measure well-known
    models on the same folds as well. start, freeze: rules to go on from, and which of them stay. overrides: a file
    whose overrides win over what is learned, in the place of those of `start`; what expired before `date`, an ISO date,
    today by default, is left out.
    teacher, teacher_column: a model, or a column of the table, whose labels are learned in the place of the table's.
    teacher_cut: the least score of the positive class; teacher_classes: the names of its classes in its order. ask: so
    many rows are made for the teacher to label; asked_rows: a file of them.
    test, holdout: another file, or a share of the rows, on which the model is measured; without either the training
    rows. held_rows: write the rows that are held out there. memory: learn from a file larger than this ("500MB").
    output, curves: files to write.
    """

    data: Path
    reading: ReadingOptions
    learner: str = "rules"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    smallest: bool = False
    size: int | None = None
    baselines: bool = False
    start: Path | None = None
    freeze: str | None = None
    overrides: Path | None = None
    date: str | None = None
    teacher: Path | None = None
    teacher_column: str | None = None
    teacher_cut: float | None = None
    teacher_classes: tuple[str, ...] = ()
    ask: int = 0
    asked_rows: Path | None = None
    test: Path | None = None
    holdout: float | None = None
    held_rows: Path | None = None
    time_limit: float | None = None
    memory: str | None = None
    simplified: bool = True
    seed: int = 0
    output: Path | None = None
    curves: tuple[Path, ...] = ()

    def all_parameters(self) -> dict[str, Any]:
        """The parameters with what the options ask of them; raises InputError for what the learner cannot."""
        found, parameters = find_learner(self.learner), dict(self.parameters)
        if self.start is not None and "start" not in found.abilities:
            fix = "leave it out; --overrides MODEL keeps the overrides of a model"
            raise InputError(f"{found.word} does not go on from given rules", where="--start", fix=fix)
        asked = {"freeze": self.freeze, "memory": self.memory, "ordered": self.reading.ordered or None}
        refuse_unable(found, {**asked, **parameters}, "--")
        if "report" in parameters:
            if "report" not in found.parameters:
                what = f"{found.word} predicts the probability in one way"
                raise InputError(what, where="--report", fix="leave it out")
            check_parameters("", {"--report": parameters["report"]}, {"--report": found.parameters["report"]})
        if self.smallest:
            sized = ["--size"] * (self.size is not None)
            sized += [f"--param {name}" for name in ("parsimony", "stopping") if name in parameters]
            for other in sized:
                raise InputError(f"--smallest and {other} both say which size is taken", fix="give one")
            parameters["parsimony"] = 1
        if self.size is not None:
            if "size" not in found.parameters:
                raise InputError(f"{self.learner} has no sizes", where="--size", fix="leave it out")
            parameters["size"] = self.size
        return parameters


def learners() -> list[str]:
    """The names of the learners that are installed, sorted."""
    return learner_names()


def parameters(learner: str) -> tuple[Parameter, ...]:
    """The parameters that `--param` sets; raises InputError for a learner that there is not."""
    found = find_learner(learner).parameters
    return tuple(parameter for name, parameter in found.items() if name not in OPTIONS)


def parse_parameters(learner: str, items: Sequence[str]) -> dict[str, Any]:
    """K=V texts as values by name.

    Raises InputError for a value that is not allowed and, with the nearest name, for a parameter that there is not.
    """
    known = {parameter.name: parameter for parameter in parameters(learner)}
    values: dict[str, Any] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"{item!r} is not K=V", where="--param")
        if name in OPTIONS:
            raise InputError(f"{name} is no --param", fix=f"use {OPTIONS[name] or 'another parameter'}")
        if name not in known:
            near = near_names(name, known)
            fix = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"{learner} has no parameter {name!r}", where="--param", fix=fix)
        values[name] = value_for(known[name], text)
    check_parameters("--param", values, {name: known[name] for name in values})
    return values


def fitted(
    learner: str,
    parameters: Mapping[str, Any],
    rows: LabelledTable,
    *,
    progress: Progress,
    seed: int = 0,
    time_limit: float | None = None,
    memory: str | None = None,
    start: GivenStart | None = None,
    each: Callable[[Any], object] = lambda learner: None,
    elsewhere: PartedRows | None = None,
) -> Any:
    """The learner with these parameters, fitted on labelled rows in memory or, with `memory`, on disk, or elsewhere.

    Its rules have no statistics yet, since they may be simplified. each: is given the learner at every step. Raises
    where it was stopped before it had learned anything, OutOfTime by the time.
    """
    options = dict(parameters)
    if rows.ordered:
        options["ordered"] = rows.classes
    if start is not None:
        options |= {"start": start.graph.underlying, "freeze": start.freeze}
    if memory is not None:
        options["memory"] = memory

    def step(what: Mapping[str, Any]) -> bool:
        each(made)
        return bool(progress(Learning(learner, what)))

    made: Any = find_learner(learner)(
        **options,
        target=rows.target,
        positive=rows.classes[1] if len(rows.classes) == 2 else None,
        random_state=seed,
        time_limit=time_limit,
        callback=step,
    )
    made.fit_rules(rows if elsewhere is None else elsewhere)
    stopped, units = (made.rule_graph_.provenance.get(name) for name in ("stopped", "units"))
    if stopped and units is not None and not np.any(units):
        if stopped == "interrupted":
            raise KeyboardInterrupt
        raise Cancelled("learning") if stopped == "cancelled" else OutOfTime("the time is over")
    return made


def size_chosen(provenance: Mapping[str, Any], path: ModelPath) -> str:
    """How large the model became, and what decided that: `5 units, chosen by 5-fold cross-validation`."""
    units = list(provenance["units"])
    total = path.size_text(units)
    if provenance.get("stopped"):
        checked = f"the best by {path.choice}" if path.choice else "the best so far"
        return f"{total}, stopped early ({provenance['stopped']}): {checked}"
    if not path.choice:
        return total
    if units == [path.most]:
        return f"{total}, as many as allowed ({path.choice} would take more)"
    return f"{total}, chosen by {path.choice}"


# Rules to go on from, and overrides on whatever is learned ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GivenStart:
    """The rules to go on from, and which of them stay: "all", "none" or rule ids; who: what they are, in words."""

    graph: RuleGraph
    freeze: Literal["all", "none"] | list[str]
    who: str = "the start"

    def read_alike(self, rows: LabelledTable) -> LabelledTable:
        """The rows under the columns and levels of the rules; raises InputError where they do not fit."""
        from rulekit.learners.promises.kept import under_start

        return replace(rows, table=under_start(self.graph, rows.table, self.who))

    def covered(self, model: RuleGraph) -> list[str]:
        """The ids of the frozen rules that the model has not."""
        return left_out(self.graph, self.freeze, model)

    def reading(self, options: ReadingOptions) -> ReadingOptions:
        """The options with what the rules say of the columns that they read, where nothing else is asked for."""
        graph = self.graph
        used = [graph.schema[name] for name in graph.used_features]
        kinds: dict[str, str] = {f.name: f.kind for f in used if f.kind == "categorical" and not f.ordered}
        kinds |= {f.name: f.display for f in used if f.dated}
        kinds |= {f.name: f"{kinds.get(f.name, f.kind)}:{f.form}" for f in used if f.form}
        wide = {f.name: "float64" for f in used if f.precision == "float64"}
        tokens = [f"{f.name}={token}" for f in used for token in f.missing_tokens]
        positive = graph.classes[1] if len(graph.classes) == 2 else None
        return replace(
            options,
            types={**kinds, **options.types},
            missing=[*tokens, *options.missing],
            precision={**wide, **options.precision},
            positive=positive if options.positive is None else options.positive,
            ordered=options.ordered or (graph.classes if graph.decision.ordered else ()),
        )


def read_start(path: Path | None, freeze: str | None) -> GivenStart | None:
    """The options --start and --freeze; raises InputError where the file holds no rules or --start is not given.

    The file may have been edited by an expert, so its digest is not compared.
    """
    if path is None:
        if freeze is not None:
            raise InputError("nothing to freeze", where="--freeze", fix="give the rules with --start FILE")
        return None
    graph = load(path, verify=False)
    if freeze in (None, "all", "none"):
        return GivenStart(graph, "none" if freeze == "none" else "all")
    assert freeze is not None
    return GivenStart(graph, [name.strip() for name in freeze.split(",") if name.strip()])


@dataclass(frozen=True, slots=True)
class KeptOverrides:
    """Overrides with the classes that they were made for; columns: those that they read, as a start has them.

    written: overrides of a TOML file, which are read under the columns of the data. notes: which are kept, and which
    are left out since they have expired.
    """

    overrides: tuple[Override, ...] = ()
    classes: tuple[ClassLabel, ...] = ()
    columns: GivenStart | None = None
    written: tuple[Written, ...] = ()
    notes: tuple[str, ...] = ()

    def reading(self, options: ReadingOptions) -> ReadingOptions:
        """The options with what is known of the columns that are read, where nothing else is asked for."""
        if self.columns is None:
            return options
        found = self.columns.reading(options)
        return replace(options, types=found.types, missing=found.missing, precision=found.precision)

    def for_rows(self, rows: LabelledTable) -> tuple[LabelledTable, KeptOverrides]:
        """The rows under the columns of the overrides, and these for the classes of the rows.

        Raises InputError where they do not fit.
        """
        if self.columns is not None:
            rows = self.columns.read_alike(rows)
        if not self.overrides and not self.written:
            return rows, replace(self, classes=rows.classes)
        from rulekit.work.changes.overrides import bound, put_on

        schema = Schema(rows.table.features, rows.target, constraints=rows.table.constraints)
        try:
            own = relabelled(self.overrides, self.classes, rows.classes)
        except GraphError as error:
            raise InputError(str(error)) from None
        own = (*own, *bound(self.written, schema, rows.classes, [override.id for override in own]))
        put_on(RuleGraph(schema, rows.classes, ArgMax.first_of({}, len(rows.classes))), own)
        return rows, replace(self, overrides=own, classes=rows.classes, written=())

    def onto(self, model: RuleGraph) -> RuleGraph:
        """A learned model under the overrides."""
        if not self.overrides:
            return model
        return with_overrides(model, relabelled(self.overrides, self.classes, model.classes))


def read_kept(start: GivenStart | None, path: Path | None, day: str | None = None) -> KeptOverrides:
    """The overrides of a file (a model, a rule text, TOML), without one those of the start.

    day: the ISO date before which an override has expired, today by default. Raises InputError for a file that holds
    none.
    """
    if day is not None and not is_date(day):
        raise InputError(f"{day!r} is no date", where="--date", fix="write one as in 2026-11-25")
    now = day or datetime.datetime.now(datetime.UTC).date().isoformat()
    if path is not None and path.suffix.lower() == ".toml":
        from rulekit.work.changes.overrides import read_written

        written = read_written(path)
        past = [one for one in written if one.expires is not None and one.expires < now]
        said = [_left_out(one.id or one.rule, one.expires) for one in past]
        return KeptOverrides(written=tuple(one for one in written if one not in past), notes=tuple(said))
    graph = load(path, verify=False) if path is not None else None if start is None else start.graph
    if graph is None:
        return KeptOverrides()
    if path is not None and not graph.overrides:
        raise InputError("this file holds no override", where=str(path), fix="leave --overrides out")
    kept = tuple(override for override in graph.overrides if not override.expired(now))
    notes = [_left_out(one.id, one.expires) for one in graph.overrides if one.expired(now)]
    notes += [f"override {one.id} is kept, by {one.author} on {one.date}" for one in kept]
    columns = _columns(graph, kept) if kept else None
    return KeptOverrides(kept, graph.classes, columns, notes=tuple(notes))


def _left_out(name: str, expires: str | None) -> str:
    return f"override {name} expired on {expires} and is left out; to keep it, give it another date (rulekit override)"


def _columns(graph: RuleGraph, overrides: Sequence[Override]) -> GivenStart:
    """A start that reads what the overrides read, and declares nothing else of the columns."""
    conditions = [override.condition for override in overrides]
    used = readers(conditions)
    features = tuple(replace(f, monotone=0, role="use") for f in graph.schema if f.name in used)
    return GivenStart(RuleGraph(Schema(features), ("no", "yes"), Fires(Or(conditions))), "none", "an override")
