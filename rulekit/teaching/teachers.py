"""Teachers: a rulekit model, an ONNX file, a column of the table, or a Python function or estimator.

A teacher that is a file gets columns by name: numbers as float64 with NaN for missing, truth values as 0 and 1,
categories as texts with "" for missing. A function or an estimator gets rows in the form of the user's own table, made
ones too: each of their cells is one of that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats, Ints
from rulekit.errors import FormatError, InputError, RulekitError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import read_bounded
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import suggestion
from rulekit.schema import Label
from rulekit.tables.labels import LabelledTable, class_key, classes_of_keys
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.table import Table
from rulekit.targets import ForeignOutputs, find_target_for

Columns = Mapping[str, Array]
NO_YES: tuple[Label, Label] = (False, True)
_MOST_LABELS = 50
"""Different whole numbers that are labels; more are scores."""
_NAME_CLASSES = "give --teacher-classes, a name for each of its classes in their order"
_SLACK = 1e-6
"""How far a probability may be rounded beyond 0 and 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What a teacher says of n rows: y [n], indices into classes, and their probabilities [n, K], or None.

    reads: the columns that it takes by name; none where it takes all.
    """

    y: Ints
    classes: tuple[Label, ...]
    chances: Floats | None = None
    reads: frozenset[str] = frozenset()

    @classmethod
    def of_labels(cls, labels: Array, classes: Sequence[Label] = (), chances: Floats | None = None) -> Answers:
        """By labels [n] of any type that names classes; classes: those of the probabilities."""
        values, places = np.unique(labels if labels.dtype.kind in "iufb" else labels.astype(str), return_inverse=True)
        found, names = values.tolist(), [class_key(label) for label in classes]
        keys, y = [class_key(value) for value in found], places.reshape(-1).astype(np.int64)
        if chances is None or chances.shape[1] != len(names) or not {*keys} <= {*names}:
            return cls(y, tuple(found))
        return cls(np.array([names.index(key) for key in keys])[y], tuple(classes), chances)


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """name: of its file or column. column: that of the table which it is, or None.

    answers(table, donors): what it says of the rows of a table, of made ones with the rows that they are made of.
    """

    name: str
    answers: Callable[[Table, Ints | None], Answers]
    column: str | None = None


def columns_of(table: Table) -> dict[str, Array]:
    """The columns of a table as a teacher gets them; texts, which a table keeps as sets of words, are left out."""
    found: dict[str, Array] = {}
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            found[feature.name] = np.array(["", "", *feature.levels], dtype=object)[array]
        elif feature.kind != "text":
            found[feature.name] = np.asarray(array, dtype=np.float64)
    return found


def teacher_of(
    teacher: Path | None = None,
    teacher_column: str | None = None,
    teacher_cut: float | None = None,
    teacher_classes: Sequence[Label] = (),
) -> Teacher:
    """The teacher that options name (see `TrainingRequest`); raises InputError and FormatError for what is none."""
    model, column, cut, classes = teacher, teacher_column, teacher_cut, teacher_classes
    if model is None:
        if column is None:
            fix = "give --teacher MODEL or --teacher-column COL"
            raise InputError("no teacher is named", where="--teacher", fix=fix)
        return Teacher(column, lambda table, _: _of_column(columns_of(table), column, cut, classes), column)
    if column is not None:
        raise InputError("a teacher is a file or a column", where="--teacher", fix="give one of the two")
    name, target = str(model), None if model.suffix.lower() == ".json" else find_target_for(str(model))
    if target is not None and target.read is not None and (run := target.run_foreign) is not None:
        data = read_bounded(model)
        try:
            target.read(data)
        except FormatError:  # it carries no rules of rulekit
            return Teacher(model.name, lambda table, _: _of_file(partial(run, data), table, cut, classes, name))
    try:
        graph = load(model, meetings=False)
    except FormatError:
        fix = "give an ONNX file, or a model of rulekit"
        raise InputError("this file holds no model that can teach", where=name, fix=fix) from None
    return Teacher(model.name, lambda table, _: _of_graph(graph, table))


def _of_graph(graph: RuleGraph, table: Table) -> Answers:
    rows = graph.table(columns_of(table))
    chances = graph.predict_proba(rows) if graph.probability else None
    return Answers(graph.decide(rows), graph.classes, chances, frozenset(graph.used_features))


def _of_file(
    run: Callable[[Columns], ForeignOutputs], table: Table, cut: float | None, classes: Sequence[Label], where: str
) -> Answers:
    """What a file says of rows, with the columns that it reads."""
    try:
        said = run(columns_of(table))
    except RulekitError as error:
        fix = error.fix if isinstance(error, InputError) else "give a model that onnxruntime runs"
        raise InputError(f"{error.where}: {error.what}" if error.where else error.what, where=where, fix=fix) from None
    return replace(_of_outputs(said, table.n_rows, cut, classes, where), reads=said.reads)


def _of_outputs(said: ForeignOutputs, n: int, cut: float | None, classes: Sequence[Label], where: str) -> Answers:
    """Label and probabilities among the outputs of a file, whichever comes first."""
    by_row = [own.reshape(n, -1) for own in said.outputs if own.size and len(own) == n]
    labels = [own[:, 0] for own in by_row if own.shape[1] == 1 and own.dtype.kind in "iubUO"]
    numbers = [own.astype(np.float64) for own in by_row if own.dtype.kind == "f"]
    if not labels and not numbers:
        raise InputError("the model gives neither a label nor a number for each row", where=where)
    known = list(classes or said.classes)
    if numbers and (cut is not None or not labels):
        return of_numbers(numbers[0] if cut is None else numbers[0][:, -1:], cut, known, where)
    chances = numbers[0] if numbers and ((numbers[0] >= -_SLACK) & (numbers[0] <= 1.0 + _SLACK)).all() else None
    if chances is not None:
        chances = of_numbers(chances, None, (), where).chances
    if classes and labels[0].dtype.kind in "iub" and ({*np.unique(labels[0]).tolist()} <= {*range(len(classes))}):
        return Answers(labels[0].astype(np.int64), tuple(classes), chances)
    if chances is not None and len(known) != chances.shape[1]:
        known = np.unique(labels[0]).tolist()
    return Answers.of_labels(labels[0], known, chances)


def _of_column(columns: Columns, name: str, cut: float | None, classes: Sequence[Label]) -> Answers:
    if name not in columns:
        raise InputError(f"no column {name!r}", where="--teacher-column", fix=suggestion(name, tuple(columns)))
    cells = columns[name]
    absent = np.asarray(cells == "" if cells.dtype == object else np.isnan(cells))
    if absent.any():
        what = f"the teacher says nothing of {int(absent.sum())} rows (data row {int(np.argmax(absent)) + 1})"
        raise InputError(what, where=f"column {name!r}", fix="leave these rows out")
    labels = cells.dtype == object or (np.all(cells == np.round(cells)) and len(np.unique(cells)) <= _MOST_LABELS)
    if labels and cut is None:
        return Answers.of_labels(cells)
    if cells.dtype == object:
        fix = "leave --teacher-cut out"
        raise InputError("a cut is one of numbers, and this column holds texts", where=f"column {name!r}", fix=fix)
    return of_numbers(cells[:, None], cut, classes, f"column {name!r}")


def of_numbers(numbers: Floats, cut: float | None, classes: Sequence[Label], where: str) -> Answers:
    """The answers by a probability for each class [n, K], or by one score [n, 1].

    A score is the probability of the second class, or any number beside a cut.
    """
    if not numbers.size:
        raise InputError("the teacher gives no numbers", where=where, fix="it must give one for each row")
    if np.isnan(numbers).any():
        row = int(np.argmax(np.isnan(numbers).any(axis=1))) + 1
        raise InputError(f"the teacher gives no number for data row {row}", where=where)
    single, shares = numbers.shape[1] == 1, numbers.min() >= -_SLACK and numbers.max() <= 1.0 + _SLACK
    if not shares and not (single and cut is not None):
        what = f"numbers from {numbers.min():g} to {numbers.max():g} are not probabilities"
        raise InputError(what, where=where, fix="give the lowest score of the positive class with --teacher-cut")
    chances = np.hstack([1.0 - numbers, numbers]) if single else numbers
    known = tuple(classes) or (NO_YES if chances.shape[1] == 2 else tuple(range(chances.shape[1])))
    if len(known) != chances.shape[1]:
        what = f"{chances.shape[1]} classes have a probability, and {len(known)} have a name"
        raise InputError(what, where=where, fix=_NAME_CLASSES)
    y = chances.argmax(axis=1) if cut is None else (numbers[:, -1] >= cut).astype(np.int64)
    return Answers(y, known, np.clip(chances, 0.0, 1.0) if shares else None)


def gathered(rows: Any, donors: Ints) -> Any:
    """Rows in the form of `rows` (a frame, a mapping, an array), each cell from the row that donors [d, n] says."""
    if hasattr(rows, "iloc"):  # pandas
        columns = {name: rows[name].take(own).reset_index(drop=True) for name, own in zip(rows, donors, strict=True)}
        return type(rows)(columns)
    if hasattr(rows, "get_columns"):  # polars
        return type(rows)([column.gather(own) for column, own in zip(rows.get_columns(), donors, strict=True)])
    if isinstance(rows, Mapping):
        return {name: np.asarray(rows[name])[own] for name, own in zip(rows, donors, strict=True)}
    return np.asarray(rows)[donors, np.arange(len(donors))[:, None]].T


def function_teacher(teacher: Any, rows: Any) -> Teacher:
    """A fitted estimator, or a function, that is asked about rows and about those that are made of them."""
    name = getattr(teacher, "__name__", type(teacher).__name__)
    return Teacher(name, lambda _, donors: of_function(teacher, rows if donors is None else gathered(rows, donors)))


def of_function(teacher: Any, rows: Any) -> Answers:
    """What a fitted estimator, or a function, says of rows in the form that it takes.

    A function gives labels [n], the probability of the second class [n], or probabilities by class [n, K].
    """
    where = getattr(teacher, "__name__", type(teacher).__name__)
    if hasattr(teacher, "predict"):
        chances = teacher.predict_proba(rows) if hasattr(teacher, "predict_proba") else None
        classes = np.asarray(getattr(teacher, "classes_", ())).tolist()
        chances = None if chances is None else np.asarray(chances, dtype=np.float64)
        return Answers.of_labels(np.asarray(teacher.predict(rows)), classes, chances)
    found = np.asarray(teacher(rows))
    if found.ndim == 2 or (found.dtype.kind == "f" and not np.array_equal(found, np.round(found))):
        return of_numbers(found.astype(np.float64).reshape(len(found), -1), None, (), where)
    return Answers.of_labels(found)


def taught(
    rows: LabelledTable,
    answers: Answers,
    teacher: str,
    options: ReadingOptions = DEFAULT_OPTIONS,
    known: tuple[Label, ...] = (),
) -> LabelledTable:
    """The rows with the teacher's labels and probabilities in the place of their own, which become `truth`.

    options: say which class is positive, or their order. known: the classes, where they are given. Raises InputError
    where the labels are none of the table's, or all the same.
    """
    if len(answers.y) != len(rows):
        raise InputError(f"{len(answers.y)} answers for {len(rows)} rows", where=teacher)
    if answers.classes == NO_YES and len(two := known or rows.classes) == 2:  # 0 and 1 name themselves, no others
        themselves = {*two} == {*NO_YES}
        answers = replace(answers, classes=tuple(sorted(two)) if themselves else two)
        meant = f"the teacher's yes is taken for {two[1]!r}; if it means {two[0]!r}, say --teacher-classes"
        rows = rows if themselves or known else replace(rows, notes=(*rows.notes, meant))
    counts = np.bincount(answers.y, minlength=len(answers.classes)).astype(np.int64)
    keys, own = ([class_key(label) for label in classes] for classes in (answers.classes, rows.classes))
    allowed = [class_key(label) for label in known] or own
    given = [key for key, n in zip(keys, counts, strict=True) if n]
    if strange := [key for key in given if allowed and key not in allowed]:
        what = f"the teacher answers {strange[0]!r}; the classes are {', '.join(map(repr, allowed[:8]))}"
        raise InputError(what, where=teacher, fix=_NAME_CLASSES)
    if known:
        classes, notes = known, rows.notes
    elif len(given) < 2:
        what = f"the teacher answers {given[0]!r} for every row"
        raise InputError(what, where=teacher, fix="give rows that it decides in two ways")
    elif own:  # in the order of the table's, so that the positive one stays
        classes, notes = tuple(label for label, k in zip(rows.classes, own, strict=True) if k in given), rows.notes
    else:
        texts = all(isinstance(label, str) for label in answers.classes)  # then "1" is a text too
        _, classes, said = classes_of_keys(
            keys, counts, rows.target, teacher, as_text=texts, positive=options.positive, ordered=options.ordered
        )
        rows, notes = replace(rows, ordered=bool(options.ordered)), (*rows.notes, *said)
    final = {class_key(label): k for k, label in enumerate(classes)}
    y = np.array([final.get(key, -1) for key in keys])[answers.y]
    chances = answers.chances
    if chances is not None:
        shares = np.column_stack([chances, np.zeros(len(chances))])  # a class that the teacher does not know
        shares = shares[:, [keys.index(key) if key in keys else -1 for key in final]]
        chances = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    truth = np.array([final.get(key, -1) for key in own])[rows.y] if own else None
    return replace(rows, y=y, classes=classes, notes=notes, taught=True, truth=truth, chances=chances)
