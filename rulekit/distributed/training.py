"""Training on the workers of Dask: the rows stay there, and the model file is that of one process.

    from distributed import Client

    from rulekit.distributed import fit

    fit(AdaBoostStumpClassifier(), "loans", Client("tcp://HOST:8786"), target="default")

Parts are the row groups of Parquet files, or the partitions of a Dask frame. Each worker reads its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.arrays import Ints, ends_of, exponent_of
from rulekit.audit.figures.metrics import AnswerSums, Figures, figures_of, part_answers
from rulekit.audit.training_lines import TableSummary, summary_of
from rulekit.distributed.source import Known, Seen, known_of, labelled, parts_of, raw_part, seen_in
from rulekit.errors import Cancelled, InputError
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.contract import find_learner, refuse_unable
from rulekit.learners.data.parted import PartedRows
from rulekit.learners.data.training_part import ByPart, TrainingPart, View, class_sums
from rulekit.learners.data.training_rows import READING, refuse_in_parts
from rulekit.learners.faults import blamed
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sums_of_rows.kernels import available_threads
from rulekit.limits import Deadline, OutOfTime
from rulekit.schema import Feature
from rulekit.shown.statistics import (
    ColumnSums,
    Tally,
    column_entry,
    column_facts,
    column_shares,
    part_tally,
    statistics_of,
    with_shares,
)
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Table, absent, encoded_dtype
from rulekit.work.finishing import Finish
from rulekit.work.progress import Event, Noticed, Progress, Stage, unseen
from rulekit.work.training import WHILE_READING, RowsElsewhere, TrainingRequest, TrainingResult, checked, out_of_time
from rulekit.work.training import train as trained

if TYPE_CHECKING:
    from distributed import Client

PORT = 8786
ANSWERS = 10.0
"""Seconds in which a scheduler answers."""

# On a worker ---------------------------------------------------------------------------------------------------------


class SourcePart(TrainingPart):
    """A part by its source, before and after its rows were read."""

    def __init__(self, source: Any, number: int) -> None:
        self.source, self.number, self.views = source, number, dict[View, Any]()


def shown(part: SourcePart, options: ReadingOptions, start: int) -> Seen:
    """What a part shows of its columns."""
    return seen_in(raw_part(part.source, options), options, start)


def read(part: SourcePart, known: Known, options: ReadingOptions, start: int, largest: float) -> Any:
    """Read the rows of a part; by column how many cells are missing, the least and the largest weight, class sums."""
    rows = labelled(raw_part(part.source, options), known, options, start)
    TrainingPart.__init__(part, rows, part.number, largest)
    part.source = None  # a frame would stay in memory
    ends = () if rows.weight is None else ends_of(rows.weight)
    return [int(absent(array).sum()) for array in rows.table.arrays], ends, class_sums(part, len(known.classes))


def leave_out(part: TrainingPart) -> int:
    """Leave the rows of weight 0 out; how many stay."""
    if part.rows.weight is not None:
        part.rows = part.rows.take(np.flatnonzero(part.rows.weight > 0))
    return len(part.rows)


def _classes(part: TrainingPart, graph: RuleGraph) -> Ints:
    number = {label: k for k, label in enumerate(graph.classes)}
    return np.array([number.get(label, -1) for label in part.rows.classes])[part.rows.y]


def facts(
    part: TrainingPart, texts: Sequence[str], features: Sequence[Feature], start: int, n_rows: int, exponent: int | None
) -> tuple[list[Tally], dict[str, ColumnSums]]:
    """What the rules of some models say of the rows, and what columns have in them."""
    graphs, table = [from_json(text) for text in texts], part.rows.table
    weight = None if exponent is None else part.rows.weight
    tallies = [part_tally(graph, table, _classes(part, graph), weight, exponent) for graph in graphs]
    return tallies, column_facts(features, table, weight, start, n_rows)


def shares(part: TrainingPart, cuts: dict[str, list[float]], exponent: int | None) -> dict[str, ColumnSums]:
    """How many rows lie in each bin of columns."""
    return column_shares(cuts, part.rows.table, None if exponent is None else part.rows.weight)


def answers(part: TrainingPart, text: str, exponent: int | None, n_rows: int) -> AnswerSums:
    """What a model answers on the rows."""
    graph = from_json(text)
    return part_answers(graph, part.rows.table, _classes(part, graph), part.rows.weight, exponent, n_rows)


# Rows on workers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RowsOnWorkers(PartedRows):
    """Labelled rows on workers; starts: how many rows stand before each part; exponent: of all weights.

    gaps: the columns with missing cells.
    """

    n_rows: int = 0
    starts: tuple[int, ...] = ()
    exponent: int | None = None
    gaps: tuple[str, ...] = ()

    def that_count(self) -> RowsOnWorkers:
        """Those of a weight above 0, which `fit` counts in statistics, as it does in one process."""
        ends = np.cumsum([0, *self.parts.tell(leave_out)]).tolist()
        return replace(self, n_rows=ends[-1], starts=tuple(ends[:-1]))

    def with_statistics(self, models: Sequence[RuleGraph]) -> list[RuleGraph]:
        """The models with statistics of their rules and columns."""
        texts = [to_json(model) for model in models]
        features = {
            (name, model.schema[name].levels): model.schema[name] for model in models for name in model.used_features
        }
        own = {feature.name: feature for feature in features.values()}
        asked = texts, tuple(own.values()), ByPart(self.starts), self.n_rows, self.exponent
        tallies, sums = self.parts.sum(facts, *asked)
        total = tallies[0].total
        entries = {name: column_entry(feature, sums[name], total) for name, feature in own.items()}
        cuts = {name: entry["cuts"] for name, entry in entries.items() if "cuts" in entry}
        for name, each in self.parts.sum(shares, cuts, self.exponent).items() if cuts else ():
            entries[name] = with_shares(entries[name], each, total)
        return [
            model.with_(statistics=statistics_of(model, tally, {name: entries[name] for name in model.used_features}))
            for model, tally in zip(models, tallies, strict=True)
        ]

    def summary(self) -> TableSummary:
        """What the rows have."""
        return replace(summary_of(self.empty.table), n_rows=self.n_rows, gaps=self.gaps)

    def figures(self, model: RuleGraph) -> Figures:
        """The figures of a model on all rows."""
        return figures_of(self.parts.sum(answers, to_json(model), self.exponent, self.n_rows), model.classes)


@contextmanager
def rows_on(
    client: Client, source: Any, options: ReadingOptions, tell: Callable[[float], object]
) -> Iterator[RowsOnWorkers]:
    """The rows of parts of files, or of a Dask frame, on the workers until the context ends.

    tell: called with the share that is read.
    """
    if isinstance(source, tuple):
        specs, starts, sizes = list[Any](source), [part.start for part in source], [part.rows for part in source]
    else:
        if not hasattr(source, "to_delayed"):
            what, fix = f"{type(source).__name__} is no source", "give a folder, a Parquet file or a frame of Dask"
            raise InputError(what, where="source", fix=fix)
        specs = client.compute(source.to_delayed())
        sizes = client.gather([client.submit(len, spec) for spec in specs])
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
    from rulekit.distributed.engine import DaskParts  # Dask may not be installed

    with DaskParts(client, SourcePart, specs, sizes) as parts:
        tell(0.0)
        seen = parts.each(shown, options, ByPart(starts))
        tell(0.5)
        known, largest = known_of(seen, options), max(each.weight for each in seen)
        found = parts.tell(read, known, options, ByPart(starts), largest)
        tell(1.0)
        missing = np.sum([each for each, *_ in found], axis=0)
        ends = [end for _, each, _ in found for end in each]
        before = np.cumsum([0, *(each.kept for each in seen[:-1])]).tolist()
        yield RowsOnWorkers(
            parts,
            _empty(known, seen[0].source, bool(ends)),
            [sums for *_, sums in found],
            known.rows,
            tuple(before),
            exponent_of(min(ends), max(ends)) if ends else None,
            tuple(feature.name for feature, count in zip(known.features, missing, strict=True) if count),
        )


def _empty(known: Known, source: str, weighted: bool) -> LabelledTable:
    arrays = tuple(np.zeros(0, dtype=encoded_dtype(feature)) for feature in known.features)
    weight, y = np.zeros(0) if weighted else None, np.zeros(0, dtype=np.int64)
    table, notes = Table(known.features, arrays, 0, source), known.notes
    return LabelledTable(table, y, known.classes, weight, None, known.cost, known.target, known.ordered, notes)


# The command and the library -----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class PartedFinish(Finish):
    """The steps after learning, of rows on workers; models get their statistics together."""

    rows: RowsOnWorkers | None = field(default=None)

    def model(self) -> RuleGraph:
        model = Finish.model(self)
        ladder, rows = model.ladder, self.rows
        assert ladder is not None
        assert rows is not None
        models = [rung.model for rung in ladder.rungs]
        found = self.attempt(lambda: rows.with_statistics(models), models)
        rungs = [replace(rung, model=each) for rung, each in zip(ladder.rungs, found, strict=True)]
        ladder = replace(ladder, rungs=tuple(rungs))
        chosen: RuleGraph = ladder.at(ladder.chosen).model
        return chosen.with_(ladder=ladder)

    def measured(self, model: RuleGraph, rows: LabelledTable) -> Figures:
        assert self.rows is not None
        return Finish.measured(self, model, rows) if len(rows) else self.rows.figures(model)

    def _with_statistics(self, model: RuleGraph) -> RuleGraph:
        return model

    def summary(self, table: Table) -> TableSummary:
        assert self.rows is not None
        return self.rows.summary()

    def ways_out(self, left_alone: set[str]) -> tuple[str, ...]:
        target = self.training.target
        return (f"the columns say little about {target} in these rows; other columns, or more rows, may",)


_ONE_PROCESS = (
    *("start", "freeze", "overrides", "teacher", "teacher_column", "teacher_cut", "teacher_classes", "ask"),
    *("asked_rows", "holdout", "held_rows", "memory"),
)
_NAMES = {"held_rows": "--holdout-out", "asked_rows": "--ask-out", "points": "--param points"}


def train(engine: str, request: TrainingRequest, progress: Progress = unseen) -> TrainingResult:
    """Train as the request says on the workers of an engine; raises InputError for what it cannot, before it reads.

    engine: "dask" for workers on this machine, or "dask://HOST" or "dask://HOST:PORT" for the scheduler of a cluster.
    """
    given = [name for name in _ONE_PROCESS if (value := getattr(request, name)) or isinstance(value, float)]
    given += [name for name in ("require", "points") if request.parameters.get(name)]
    if given:
        where, fix = _NAMES.get(given[0], f"--{given[0].replace('_', '-')}"), "leave it out, or leave out --engine"
        raise InputError("this needs all rows in one process", where=where, fix=fix)
    refuse_unable(find_learner(request.learner), {"engine": engine}, "--")
    checked(request)
    deadline = Deadline(request.time_limit)

    def tell(event: Event) -> None:
        if progress(event):
            raise Cancelled("reading")
        if deadline.over:
            raise OutOfTime("the time is over")

    def read(share: float) -> None:
        tell(Stage("reading", share))

    files = parts_of(request.data.resolve(), request.reading)
    try:
        with connected(engine) as client, rows_on(client, files, request.reading, read) as rows:
            tell(Noticed(rows.empty.notes, rows.summary()))
            own = RowsElsewhere(rows, partial(PartedFinish, rows=rows), deadline)
            return trained(replace(request, baselines=False), progress, own)
    except OutOfTime:
        raise out_of_time(request, WHILE_READING) from None


@contextmanager
def connected(engine: str) -> Iterator[Client]:
    """A client of an engine; raises InputError for one that there is not, or that does not answer."""
    name, _, address = engine.partition("://")
    if name != "dask" or (not address and engine != "dask"):
        raise InputError(f"no engine {engine!r}", where="--engine", fix="dask, or dask://HOST for a scheduler of Dask")
    try:
        from distributed import Client
    except ImportError:
        fix = 'pip install "rulekit-portable[dask]"'
        raise InputError("Dask is not installed", where="--engine", fix=fix) from None
    if engine == "dask":
        from rulekit.distributed.engine import local_cluster

        with local_cluster(available_threads()) as client:
            yield client
        return
    host = address if ":" in address.rpartition("]")[2] else f"{address}:{PORT}"
    try:
        client = Client(f"tcp://{host}", timeout=ANSWERS)
    except (OSError, ValueError):
        what = f"no scheduler of Dask answers at {host}"
        raise InputError(what, where="--engine", fix="start one there with dask scheduler, and workers") from None
    with client:
        yield client


def fit(estimator: Any, source: Any, client: Client, target: str, weight: str | None = None) -> Any:
    """Fit an estimator to rows on the workers of Dask.

    Parameters
    ----------
    estimator : estimator of rulekit
        Its learner has the ability `parts`: rules, additive or adaboost.
    source : str, path or dask.dataframe.DataFrame
        A folder of Parquet files, one such file, or a frame.
    client : distributed.Client
        A client of the cluster; the workers can read the files, and have the same versions of rulekit and numpy.
    target, weight : str
        The columns of the labels, and of the weights of the rows.

    Returns
    -------
    estimator
        The same, fitted.

    Raises
    ------
    InputError
        For what an engine does not learn from, and for a learner or a parameter that needs all rows in one process.

    """
    kind = type(estimator)
    if not issubclass(kind, RuleLearner):
        what, fix = f"{kind.__name__} is no estimator of rulekit", "give AdaBoostStumpClassifier(), say"
        raise InputError(what, where="estimator", fix=fix)
    settings = estimator.checked_settings()
    refuse_in_parts(kind, settings)
    given = {name: value for name in READING if (value := getattr(settings, name)) is not None}
    options = ReadingOptions(target=target, weight=weight, **given)
    if isinstance(source, str | Path):
        source = parts_of(Path(source).resolve(), options)
    with blamed(kind), rows_on(client, source, options, lambda share: None) as rows:
        estimator.n_features_in_ = len(rows.empty.table.features)
        estimator.feature_names_in_ = np.array(rows.empty.table.names, dtype=object)
        estimator.fit_rules(rows)
        learned = estimator.rule_graph_
        (graph,) = rows.that_count().with_statistics([estimator.path_.simplified(learned)])
        finished = estimator.path_.simplified
        if estimator.path_.errors:
            ladder = estimator.path_.ladder(lambda model: graph if model.digest == learned.digest else finished(model))
            graph = graph.with_(ladder=ladder)
        estimator.rule_graph_ = graph
    return estimator
