"""Learning from a teacher: rows with its labels, rows made for it, its probabilities, and how far the rules agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Ints, pl
from rulekit.audit.checks.findings import said_of_value
from rulekit.audit.figures.fidelity import Fidelity
from rulekit.audit.figures.metrics import class_indices, measured, time_blocks
from rulekit.audit.figures.rates import grouping_of
from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.words import counted, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts
from rulekit.learners.contract import find_estimator
from rulekit.learners.models.best_rule import best_rule
from rulekit.schema import require_column
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import Reading, read_labelled
from rulekit.tables.labels import LabelledTable, parse_cost
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import as_texts
from rulekit.tables.raw.sources import column_of_table, raw_table
from rulekit.tables.reading import read_columns, read_table
from rulekit.teaching.asking import DRAWN, RowSampler, least_sure, made_table
from rulekit.teaching.teachers import Answers, Teacher, columns_of, function_teacher, taught, teacher_of
from rulekit.work.changes.refitting import with_chances
from rulekit.work.evaluating import Evaluation
from rulekit.work.learning import GivenStart, TrainingRequest

DECISION = "decision"
"""The name of what a teacher decides, where the table has no label column."""
MOST_ASKED = 1_000_000
BEYOND = 2_000
"""Rows that the table does not have, on which a model is compared with its teacher."""


def teacher_asked(request: TrainingRequest) -> Teacher:
    """The teacher of a training; raises InputError where its options do not go together."""
    column, give = request.teacher_column is not None, "give --teacher MODEL"
    no_csv = request.asked_rows is not None and not (request.ask and request.asked_rows.suffix.lower() == ".csv")
    given = {"--ask": request.ask, "--teacher-classes": request.teacher_classes, "--ask-out": request.asked_rows}
    given |= {"--teacher-cut": request.teacher_cut is not None}
    if request.teacher is None and not column:
        first = next(option for option, value in given.items() if value)
        raise InputError("no teacher is named", where=first, fix=give)
    for found, what, where, fix in (
        (request.ask > MOST_ASKED, f"at most {MOST_ASKED:,} rows are made", "--ask", "ask for fewer"),
        (column and request.ask, "a column answers no new rows", "--ask", give),
        (no_csv, "made rows are written as CSV", "--ask-out", "give --ask N, and a name that ends in .csv"),
        (request.memory, "a teacher reads the table in memory", "--memory", "leave it out"),
        (request.reading.label_separator, "a teacher gives one label", "--label-separator", "leave it out"),
    ):
        if found:
            raise InputError(what, where=where, fix=fix)
    return teacher_of(request.teacher, request.teacher_column, request.teacher_cut, request.teacher_classes)


def read_taught(
    data: Path, options: ReadingOptions, teacher: Teacher, reading: Reading | None = None, known: Any = ()
) -> LabelledTable:
    """The rows of a file with the labels of a teacher; known: the classes, where they are given."""
    if options.target is not None:
        rows = read_labelled(data, options, reading=reading)
    else:
        for column in options.label_columns():
            raise InputError(f"{column!r} stands beside a label column", where=str(data), fix="name it with --target")
        table = read_table(data, options)
        rows = LabelledTable(table, np.zeros(table.n_rows, dtype=np.int64), (), target=teacher.column or DECISION)
    answers = teacher.answers(rows.table, None)
    names = rows.table.names
    left = [n for n in names if n == teacher.column or (answers.reads and n not in answers.reads | {*options.roles})]
    if left:
        said = f"the teacher does not read {', '.join(left[:8])}{', ...' * (len(left) > 8)}, so rules do not either"
        notes = (*rows.notes, said) if teacher.column is None else rows.notes
        rows = replace(rows, table=rows.table.select(tuple(n for n in names if n not in left)), notes=notes)
    found = taught(rows, answers, teacher.name, options, known)
    return replace(found, cost=parse_cost(options.cost, len(found.classes)))


def rows_to_test(data: Path, options: ReadingOptions, teacher: Teacher, trained: LabelledTable) -> LabelledTable:
    """Other rows with the labels of a teacher, under the columns and classes of those that are trained on."""
    options = replace(options, group=None, time=None, ordered=(), cost=None, positive=None)
    found = read_taught(data, options, teacher, known=trained.classes)
    return replace(found, table=encode(found.table, trained.schema), ordered=trained.ordered)


def with_made_rows(
    rows: LabelledTable, teacher: Teacher, request: TrainingRequest, fit: Callable[[LabelledTable], Any]
) -> LabelledTable:
    """The rows and `request.ask` made ones, those of which rules that are learned from the table are least sure."""
    random = np.random.default_rng(request.seed)
    donors = RowSampler.of(rows.table).draw(DRAWN * request.ask, random)
    sure = fit(rows).rule_graph_.predict_proba(made_table(rows.table, donors))
    donors = donors[:, least_sure(sure, request.ask, random)]
    made = _answered(rows, teacher, donors)
    if request.asked_rows is not None:
        write_atomically(request.asked_rows, _written(made).encode())
    n, m = len(rows), len(made)
    both = {"y": made.y, "chances": made.chances, "time": rows.time if rows.time is None else rows.time[donors[0]]}
    both["weight"] = None if rows.weight is None else np.full(m, rows.weight.mean())
    both["group"] = None if rows.group is None else rows.group.max() + 1 + np.arange(m)
    further: dict[str, Any] = {
        what: None if own is None or getattr(rows, what) is None else np.concatenate([getattr(rows, what), own])
        for what, own in both.items()
    }
    own = np.tile(np.arange(n), (len(donors), 1))
    return replace(rows, table=made_table(rows.table, np.hstack([own, donors])), truth=None, **further)


def _answered(rows: LabelledTable, teacher: Teacher, donors: Ints) -> LabelledTable:
    """Made rows with the answers of a teacher, under the classes of the rows that they are made of."""
    table = made_table(rows.table, donors)
    bare = LabelledTable(table, np.zeros(table.n_rows, dtype=np.int64), (), target=rows.target, ordered=rows.ordered)
    return taught(bare, teacher.answers(table, donors), teacher.name, known=rows.classes)


def _written(rows: LabelledTable) -> str:
    """The columns, the label and the probabilities of rows as CSV."""
    table = rows.table
    columns: dict[str, Any] = {name: as_texts(column_of_table(table, j)) for j, name in enumerate(table.names)}
    columns[rows.target] = pl.Series([str(label) for label in rows.classes])[rows.y]
    if rows.chances is not None:
        columns |= {f"probability_{label}": rows.chances[:, k] for k, label in enumerate(rows.classes)}
    return pl.DataFrame(columns).write_csv()


def fidelities(
    graph: RuleGraph, rows: LabelledTable, on: str, teacher: Teacher, by: Sequence[str] = (), seed: int = 0
) -> tuple[Fidelity, ...]:
    """How far a model agrees with its teacher on rows that it labelled, and on BEYOND rows that are made of these."""
    groups = [grouping_of(rows.table.features[j], rows.table.arrays[j]) for j in map(rows.table.names.index, by)]
    found = replace(Fidelity.of(graph, rows, on, groups), apart=_apart(graph, rows))
    if teacher.column is not None:
        return (found,)
    donors = RowSampler.of(rows.table).draw(BEYOND, np.random.default_rng(seed + 1))
    made = _answered(rows, teacher, donors)
    beyond = Fidelity.of(graph, made, "rows beyond the table")
    return found, replace(beyond, apart=_apart(graph, made))


def _apart(graph: RuleGraph, rows: LabelledTable) -> str:
    """Where a model and its teacher differ most, and a row that shows it."""
    decided, y = graph.decide(rows.table), class_indices(graph, rows)
    differ = decided != y
    if not differ.any():
        return ""
    found = best_rule(LabelledTable(rows.table, differ.astype(np.int64), ("same", "apart")), 1)
    row = int(np.argmax(differ)) if found is None else found.first
    where = "" if found is None else f"{found.text}: on {found.right:.0f} of {counted(found.rows, 'row')}, "
    rules, teacher = (quoted(graph.classes[int(each[row])]) for each in (decided, y))
    shown = _said(graph, rows, row)
    return f"{where}as for {shown}: rules {rules}, teacher {teacher}" if shown else where.removesuffix(", ")


def _said(graph: RuleGraph, rows: LabelledTable, row: int) -> str:
    """The cells of a row in the columns that the rules read."""
    cells = columns_of(rows.table.select(graph.used_features).take(np.array([row])))
    values = {name: own[0] if own[0] != "" and own[0] == own[0] else None for name, own in cells.items()}
    return ", ".join(said_of_value(graph.schema[name], value) for name, value in values.items())


def with_fidelity(model: RuleGraph, teacher: Teacher, found: Sequence[Fidelity], asked: int) -> RuleGraph:
    """The model with how far it agrees with its teacher in its provenance."""
    lines = [line for each in found for line in each.lines()]
    note = {"model": model.digest, "teacher": teacher.name, "asked": asked, "lines": lines}
    return model.with_(provenance={**model.provenance, "fidelity": note})


def evaluate_beside(
    model: Path, data: Path, reading: ReadingOptions, by: Sequence[str] = (), **teacher: Any
) -> Evaluation:
    """Measure a model against what a teacher says of the rows of a file; teacher: what `teacher_of` takes.

    The true labels are compared as well, where the file has the label column.
    """
    graph, asked = load(model), teacher_of(**teacher)
    own = graph.schema.target
    there = own != asked.column and own in read_columns(data, reading, columns=[own]).known_names
    known = reading.target is not None or there
    roles = dict.fromkeys((*graph.used_features, *by), "use")  # they stay, whatever the teacher reads
    reading = replace(reading, target=(reading.target or own) if known else None, roles=roles)
    options = GivenStart(graph, "all").reading(reading)
    rows = read_taught(data, options, asked, known=graph.classes)
    for column in by:
        require_column(column, rows.table.names, data.name)
    found = fidelities(graph, rows, f"rows of {data.name}", asked, by)
    rows = replace(rows, table=graph.table(rows.table))
    notes = (f"the labels are those of {asked.name}",)
    weighted, blocks = rows.weight is not None, () if rows.time is None else time_blocks(graph, rows)
    said: dict[str, Any] = {"weighted": weighted, "blocks": blocks, "fidelity": found}
    return Evaluation(measured(graph, rows), counts(graph), graph.digest, notes, **said)


def distill(
    teacher: Any, X: Any, y: Any = None, *, learner: str = "rules", ask: int = 0, seed: int = 0, **parameters: Any
) -> Any:
    """Learn rules for what a model decides that nobody can read.

    Parameters
    ----------
    teacher : estimator or function
        A fitted classifier, or a function of rows like X that gives labels [n], the probability of the positive class
        [n], or probabilities [n, K].
    X : array [n, d], frame or mapping of columns
        Rows for the teacher; their labels are not needed.
    y : array [n] or None
        The true labels, which are compared with both.
    learner : str
        The word of a learner.
    ask : int
        So many rows are made for the teacher where the rules are least sure.
    seed : int
        Of every random choice.
    **parameters
        Of the learner.

    Returns
    -------
    RuleClassifier
        Fitted; `fidelity_` says how far it agrees with the teacher on X and on rows beyond X.

    Raises
    ------
    InputError
        Where the teacher gives no labels or probabilities, or one label for all rows.

    """
    table = infer(raw_table(X), DEFAULT_OPTIONS)
    bare = LabelledTable(table, np.zeros(table.n_rows, dtype=np.int64), (), target=DECISION)
    if y is not None:
        own = Answers.of_labels(np.asarray(y))
        bare = replace(bare, y=own.y, classes=own.classes)
    asked = function_teacher(teacher, X)
    rows = taught(bare, asked.answers(table, None), asked.name)
    request = TrainingRequest(Path(), DEFAULT_OPTIONS, ask=ask, seed=seed)

    def fit(rows: LabelledTable) -> Any:
        return find_estimator(learner)(random_state=seed, **parameters).fit(rows)

    found = fit(with_made_rows(rows, asked, request, fit) if ask else rows)
    model = with_chances(found.rule_graph_, rows) if rows.chances is not None else found.rule_graph_
    statistics = rule_statistics(model, table, class_indices(model, rows), None)
    agreed = fidelities(model, rows, "rows of X", asked, seed=seed)
    found.rule_graph_ = with_fidelity(model.with_(statistics=statistics), asked, agreed, ask)
    found.fidelity_ = agreed
    return found
