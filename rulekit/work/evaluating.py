"""Evaluating a model on labelled rows, by group too, and moving its decision threshold there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.audit.checks.kept_promises import Searches, verdicts
from rulekit.audit.drift.findings import Drift
from rulekit.audit.figures.metrics import Figures, TimeBlock, measured, time_blocks
from rulekit.audit.figures.rates import Grouping, Parity, grouping_of, parities
from rulekit.audit.guarantees import ErrorBounds, bounds_of
from rulekit.audit.report.subject import MeasuredRows
from rulekit.audit.threshold import Purpose, ThresholdChoice, choose_threshold, settled_chances, with_threshold
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.model_files import load
from rulekit.graph.nodes import Above, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.schema import Feature, require_column
from rulekit.shown.promises import promises
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import DEFAULT_OPTIONS, OF_TEXT_FILES, ReadingOptions
from rulekit.tables.reading import read_columns
from rulekit.tables.row_hashes import Overlap, hashes_from_json, overlap
from rulekit.tables.table import Table
from rulekit.work.changes.hand_edits import expired_notes
from rulekit.work.monitoring import glance, levels_of_file
from rulekit.work.outputs import check_outputs


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows of a file as a model reads them, and how many of them equal training rows.

    overlap: None where that is not known, for a reason among the notes, or because the model holds no hashes of rows.
    """

    rows: LabelledTable
    overlap: Overlap | None
    notes: tuple[str, ...] = ()


def labelled_rows(graph: RuleGraph, data: Path, reading: ReadingOptions, also: Collection[str] = ()) -> LabelledRows:
    """The rows of a file, encoded for a model, with their labels; raises InputError for what the model cannot read.

    Which of them equal training rows is told by all columns of the table, also by those that the model does not use.
    also: other columns that are read in any case.
    """
    used, separator = {*graph.used_features, *also}, graph.provenance.get("label_separator")
    if reading.label_separator is None and isinstance(separator, str):
        reading = replace(reading, label_separator=separator)
    known = graph.provenance.get("row_hashes")
    if known is None:
        rows = label_for_model(data, graph.schema, graph.classes, reading, used=used)
        return LabelledRows(rows, None, rows.notes)
    hashes = hashes_from_json(known)
    try:
        rows = label_for_model(data, graph.schema, graph.classes, reading, all_words=True)
    except InputError as error:
        rows = label_for_model(data, graph.schema, graph.classes, reading, used=used)
        return LabelledRows(
            rows, None, (*rows.notes, f"it is not known whether these rows equal training rows: {error}")
        )
    found = overlap(hashes, rows)
    return LabelledRows(rows, found, (*rows.notes, str(found)))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of a model on labelled rows, its size and digest, what was noticed, and the rows equal to training rows.

    drift: how the rows differ from those of training, None where the model does not say. groups: the figures by group,
    where some were asked for. blocks: the error by time, where a column of time was named. weighted: the rows
    have weights, and the figures are of these.
    """

    figures: Figures
    size: ModelSize
    digest: str
    notes: tuple[str, ...] = ()
    overlap: Overlap | None = None
    drift: Drift | None = None
    groups: tuple[Parity, ...] = ()
    blocks: tuple[TimeBlock, ...] = ()
    weighted: bool = False


def evaluate(model: Path, data: Path, reading: ReadingOptions = DEFAULT_OPTIONS, by: Sequence[str] = ()) -> Evaluation:
    """Measure a model on the labelled rows of a file; the label column is the model's where the options name none.

    by: columns by whose groups the rows are measured as well.
    """
    graph = load(model)
    found = labelled_rows(graph, data, reading, known_columns(graph, by))
    rows, notes = found.rows, (*found.notes, *expired_notes(graph.overrides))
    asked = groupings(graph, rows, by, data, reading)
    groups = parities(asked, graph.classes, rows.y, decide(graph, rows.table), rows.weight) if by else ()
    new = levels_of_file(graph, rows.table, data, reading)
    drift = glance(graph, rows.table, y=rows.y, weight=rows.weight, new=new)
    blocks = () if rows.time is None else time_blocks(graph, rows)
    figures, weighted = measured(graph, rows), rows.weight is not None
    size = counts(graph)
    return Evaluation(figures, size, graph.digest, notes, found.overlap, drift, groups, blocks, weighted)


def error_bounds(
    model: Path, data: Path | None = None, reading: ReadingOptions = DEFAULT_OPTIONS, **how: Any
) -> ErrorBounds:
    """How far the error of a model may lie from counted errors; how: what else `bounds_of` takes."""
    graph = load(model)
    if data is None:
        return bounds_of(graph, None, **how)
    found = labelled_rows(graph, data, reading)
    return bounds_of(graph, MeasuredRows(graph, found.rows, data.name, found.overlap), **how)


@dataclass(frozen=True, slots=True, eq=False)
class MovedThreshold:
    """The model that decides at the chosen threshold, the choice with its neighbours, and on how many rows.

    by_probability: rules decided, and now the reported probability does, since no short rules say the same. notes: what
    was noticed in the rows.
    """

    model: RuleGraph
    choice: ThresholdChoice
    n_rows: int
    by_probability: bool = False
    notes: tuple[str, ...] = ()


def move_threshold(
    model: Path, data: Path, purpose: Purpose, output: Path | None = None, reading: ReadingOptions = DEFAULT_OPTIONS
) -> MovedThreshold:
    """The same model at the threshold that serves the purpose on the rows; it is written where `output` says.

    A threshold that decides every row as the model does leaves the model as it is.
    Raises InputError where the model has no threshold, was edited so that its rules do not follow from its probability,
    can serve the purpose only by deciding every row positive, or would no longer keep a promise.
    """
    check_outputs([], data, model=output)
    graph = load(model)
    if len(graph.classes) != 2 or len(graph.probability) != 1:
        raise InputError(
            "this model has no threshold to choose",
            where=str(model),
            fix="a two-class model that reports a probability has one",
        )
    current = float(graph.provenance.get("threshold", 0.5))
    found = labelled_rows(graph, data, reading)
    rows = found.rows
    chances = settled_chances(graph, rows.table)
    apart = np.abs(chances - current) > 1e-12  # what is nearer may be rounded to either side
    if ((chances > current) != (decide(graph, rows.table) == 1))[apart].any():
        raise InputError(
            f"the rules of this model do not say that its probability is above {current:g}: they were edited",
            where=str(model),
            fix="train anew, or edit the rules further; a new threshold would drop the edit",
        )
    choice = choose_threshold(rows.y == 1, chances, purpose, rows.weight)
    if purpose.at is None and ((chances > current) == (chances > choice.chosen.threshold)).all():
        choice = replace(choice, chosen=replace(choice.chosen, threshold=current))
    threshold = choice.chosen.threshold
    moved = graph if threshold == current else with_threshold(graph, threshold)
    _refuse_broken(graph, moved, threshold)
    statistics = rule_statistics(moved, rows.table, rows.y, rows.weight)
    moved = moved.with_(statistics={**moved.statistics, **statistics})
    if output is not None:
        moved.save(output)
    changed = _by_probability(moved) and not _by_probability(graph)
    return MovedThreshold(moved, choice, len(rows), changed, found.notes)


def _refuse_broken(graph: RuleGraph, moved: RuleGraph, threshold: float) -> None:
    """Raise InputError where a model breaks a promise at its new threshold that it kept before."""
    if moved is graph or not promises(graph):
        return
    kept = {verdict.promise.text for verdict in verdicts(Searches(graph)) if verdict.outcome != "fails"}
    for verdict in verdicts(Searches(moved)):
        if verdict.outcome == "fails" and verdict.promise.text in kept:
            said = f"with yes above {threshold!r} the model breaks a promise: {verdict.promise.text}"
            raise InputError(said, where="threshold", fix="take another threshold, or train without the promise")


def _by_probability(graph: RuleGraph) -> bool:
    """Whether a probability or a sum takes part in the decision."""
    return any(isinstance(node, Above) for node in topological(graph.decision.roots))


def known_columns(graph: RuleGraph, by: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns that the model has in its schema."""
    return tuple(name for name in by if name in graph.schema)


def groupings(
    graph: RuleGraph, rows: LabelledTable, by: Sequence[str], data: Path, reading: ReadingOptions
) -> tuple[Grouping, ...]:
    """The groups of the rows by each of the columns, which `rows` holds where the model knows them.

    Raises InputError for a column that neither has, for a text, and where rows were left out for want of a label, so
    that another column of the file does not say which.
    """
    further = [name for name in dict.fromkeys(by) if name not in graph.schema]
    table = _further(data, reading, further, len(rows)) if further else None
    found = []
    for name in dict.fromkeys(by):
        of: tuple[Feature, Table] = (
            (graph.schema[name], rows.table)
            if table is None or name in graph.schema
            else (table.features[table.names.index(name)], table)
        )
        found.append(grouping_of(of[0], of[1].array(name)))
    return tuple(found)


def _further(data: Path, reading: ReadingOptions, names: Sequence[str], n_rows: int) -> Table:
    """Columns of the file that the model does not know, as their cells say what they are."""
    options = ReadingOptions(
        **{name: getattr(reading, name) for name in OF_TEXT_FILES},
        missing=() if isinstance(reading.missing, dict) else reading.missing,
        types={name: kind for name, kind in reading.types.items() if name in names},
    )
    raw = read_columns(data, options, columns=names)
    for name in names:
        require_column(name, raw.known_names, raw.source)
    if raw.n_rows != n_rows:
        raise InputError(
            f"{raw.n_rows - n_rows} rows have no label, so it is not known which rows of {names[0]} are meant",
            where=data.name,
            fix="leave the rows without a label out of the file",
        )
    return infer(raw, options)
