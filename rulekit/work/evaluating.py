"""Evaluating a model on labelled rows, by group too, or the models of several labels; moving a threshold there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.audit.checks.checking import unproved
from rulekit.audit.drift.findings import Drift
from rulekit.audit.figures import curves as drawn
from rulekit.audit.figures.fidelity import Fidelity
from rulekit.audit.figures.metrics import Figures, TimeBlock, class_indices, measured, time_blocks
from rulekit.audit.figures.rates import Grouping, Parity, grouping_of, parities
from rulekit.audit.guarantees import ErrorBounds, bounds_of
from rulekit.audit.report.subject import MeasuredRows
from rulekit.audit.threshold import Purpose, ThresholdChoice, choose_threshold, settled_chances, with_threshold
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.text import promises
from rulekit.graph.nodes import Above, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.schema import require_column
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.equal_rows import Overlap, hashes_from_json, overlap
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import DEFAULT_OPTIONS, OF_TEXT_FILES, ReadingOptions
from rulekit.tables.reading import read_columns
from rulekit.tables.table import Table
from rulekit.work.changes.hand_edits import expired_notes
from rulekit.work.monitoring import glance, levels_of_file, separated


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
    used, reading = {*graph.used_features, *also}, separated(graph, reading)
    known, unknown = graph.provenance.get("row_hashes"), ""
    if known is not None:
        hashes = hashes_from_json(known)
        try:
            rows = label_for_model(data, graph.schema, graph.classes, reading, all_words=True)
            found = overlap(hashes, rows)
            return LabelledRows(rows, found, (*rows.notes, str(found)))
        except InputError as error:
            unknown = f"it is not known whether these rows equal training rows: {error}"
    rows = label_for_model(data, graph.schema, graph.classes, reading, used=used)
    return LabelledRows(rows, None, (*rows.notes, *filter(None, [unknown])))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of a model on labelled rows, its size and digest, what was noticed, and the rows equal to training rows.

    drift: how the rows differ from those of training, None where the model does not say. groups: the figures by group,
    where some were asked for. blocks: the error by time, where a column of time was named. weighted: the rows
    have weights, and the figures are of these. fidelity: how far the model agrees with a teacher, where one was named.
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
    fidelity: tuple[Fidelity, ...] = ()


def evaluate(model: Path, data: Path, reading: ReadingOptions = DEFAULT_OPTIONS, by: Sequence[str] = ()) -> Evaluation:
    """Measure a model on the labelled rows of a file; the label column is the model's where the options name none.

    by: columns by whose groups the rows are measured as well.
    """
    graph = load(model)
    found, groups = rows_and_groups(graph, data, by, reading)
    rows = found.rows
    new = levels_of_file(graph, rows.table, data, reading)
    y, decided = class_indices(graph, rows), decide(graph, rows.table) if groups else rows.y
    return Evaluation(
        measured(graph, rows),
        counts(graph),
        graph.digest,
        (*found.notes, *expired_notes(graph.overrides)),
        found.overlap,
        glance(graph, rows.table, y=rows.y, weight=rows.weight, new=new),
        parities(groups, graph.classes, y, decided, rows.weight),
        () if rows.time is None else time_blocks(graph, rows),
        rows.weight is not None,
    )


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
        fix = "a two-class model that reports a probability has one"
        raise InputError("this model has no threshold to choose", where=str(model), fix=fix)
    current = float(graph.provenance.get("threshold", 0.5))
    found = labelled_rows(graph, data, reading)
    rows = found.rows
    chances = settled_chances(graph, rows.table)
    apart = np.abs(chances - current) > 1e-12  # what is nearer may be rounded to either side
    if ((chances > current) != (decide(graph, rows.table) == 1))[apart].any():
        what = f"the rules of this model do not say that its probability is above {current:g}: they were edited"
        fix = "train anew, or edit the rules further; a new threshold would drop the edit"
        raise InputError(what, where=str(model), fix=fix)
    choice = choose_threshold(rows.y == 1, chances, purpose, rows.weight)
    if purpose.at is None and ((chances > current) == (chances > choice.chosen.threshold)).all():
        choice = replace(choice, chosen=replace(choice.chosen, threshold=current))
    threshold = choice.chosen.threshold
    moved = graph if threshold == current else with_threshold(graph, threshold)
    if moved is not graph and (broken := broken_promises(graph, moved)):
        what = f"with yes above {threshold!r} the model breaks a promise: {broken[0]}"
        raise InputError(what, where="threshold", fix="take another threshold, or train without the promise")
    statistics = rule_statistics(moved, rows.table, rows.y, rows.weight)
    moved = moved.with_(statistics={**moved.statistics, **statistics})
    if output is not None:
        moved.save(output)
    changed = _by_probability(moved) and not _by_probability(graph)
    return MovedThreshold(moved, choice, len(rows), changed, found.notes)


def broken_promises(before: RuleGraph, after: RuleGraph) -> list[str]:
    """The promises that a model breaks and that it did not break before it was changed."""
    if not promises(after):
        return []
    failing = [[each.promise.text for each in unproved(one) if each.outcome == "fails"] for one in (before, after)]
    return [text for text in failing[1] if text not in failing[0]]


def _by_probability(graph: RuleGraph) -> bool:
    """Whether a probability or a sum takes part in the decision."""
    return any(isinstance(node, Above) for node in topological(graph.decision.roots))


def rows_and_groups(
    graph: RuleGraph, data: Path, by: Sequence[str], reading: ReadingOptions
) -> tuple[LabelledRows, tuple[Grouping, ...]]:
    """The rows of a file for a model, and their groups by each of some columns.

    Raises InputError for a column that neither has, for a text, and where rows were left out for want of a label, so
    that another column of the file does not say which.
    """
    by = list(dict.fromkeys(by))
    found = labelled_rows(graph, data, reading, [name for name in by if name in graph.schema])
    tables = {name: found.rows.table for name in by if name in graph.schema}
    if further := [name for name in by if name not in tables]:
        tables |= dict.fromkeys(further, _further(data, reading, further, len(found.rows)))
    places = [(tables[name], tables[name].names.index(name)) for name in by]
    return found, tuple(grouping_of(table.features[j], table.arrays[j]) for table, j in places)


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
        what = f"{raw.n_rows - n_rows} rows have no label, so it is not known which rows of {names[0]} are meant"
        raise InputError(what, where=data.name, fix="leave the rows without a label out of the file")
    return infer(raw, options)


# Models of several labels on the same rows ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class LabelEvaluation:
    """Figures of the models of some labels on the same rows, and their precision and recall against one threshold."""

    figures: tuple[drawn.LabelFigures, ...]
    curve: drawn.ThresholdCurve
    rows: int
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """JSON values."""
        return {
            "rows": self.rows,
            "per_label": [each.as_dict() for each in self.figures],
            "macro": drawn.macro_average(self.figures),
            "micro": drawn.micro_average(self.figures),
            "break_even": self.curve.break_even,
        }


def evaluate_labels(
    model: Path, data: Path, reading: ReadingOptions = DEFAULT_OPTIONS, curves: Sequence[Path] = ()
) -> LabelEvaluation:
    """Measure a model that tells one label from the rest, or those of a folder, on the labelled rows of a file.

    curves: files to which precision and recall against the threshold are written, as their endings say. Raises
    InputError for a model with more than two classes, or one that reports no probability.
    """
    models = [model]
    if model.is_dir():
        models = sorted(path for path in model.iterdir() if path.suffix.lower() == ".json")
        if not models:
            raise InputError("the folder holds no model", where=str(model), fix="name a model, or a folder of models")
    check_outputs(curves, data, *models)
    for path in curves:
        drawn.check_curve(path)
    figures, judged, notes, rows = list[drawn.LabelFigures](), list[drawn.Judged](), dict[str, None](), 0
    for path in models:
        graph, why = load(path), ""
        if len(graph.classes) != 2:
            why = f"this model has {len(graph.classes)} classes, and does not tell one label from the rest"
        elif not graph.probability:
            why = "this model reports no probability"
        if why:
            raise InputError(why, where=str(path), fix="evaluate it by itself, without --curve")
        found = labelled_rows(graph, data, reading)
        notes |= dict.fromkeys(found.notes)
        has, given = found.rows.y == 1, decide(graph, found.rows.table) == 1
        figures.append(drawn.LabelFigures.of(graph.classes[1], has, given, found.rows.weight))
        judged.append((has, probabilities(graph, found.rows.table)[:, 1], found.rows.weight))
        rows = len(has)
    curve = drawn.threshold_curve(judged)
    for path in curves:
        write_atomically(path, drawn.threshold_curve_bytes(path, curve))
    return LabelEvaluation(tuple(figures), curve, rows, tuple(notes))
