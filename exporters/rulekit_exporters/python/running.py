"""Runs a generated module in an isolated process, or here for `rulekit.conformance`, which runs what it just wrote.

In the process cells and results travel as text, never as pickle.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array
from rulekit.cells.axis import texts_of_codes
from rulekit.errors import FormatError, InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.table import Table
from rulekit.targets import (
    BY_PLACE,
    BY_ROW,
    Answer,
    Columns,
    Feed,
    Outcome,
    Runtime,
    answers,
    arrays,
    holds_array,
    holds_text,
    objects,
    rows_by_name,
    rows_by_place,
)
from rulekit.verification.isolated import SECONDS, read_answer, run_bounded
from rulekit.verification.rows import raw_columns
from rulekit_exporters.python.worker import Kept, imported


def _run(
    decide: Callable[[Any, Columns], Any], artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]
) -> list[Answer]:
    """The answers of a module, which is imported in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "artifact.py")
        path.write_bytes(artifact)
        module = imported(str(path))
    index = {repr(label): k for k, label in enumerate(module.CLASSES)}
    return answers(lambda table: [index[repr(label)] for label in decide(module, table)], tables)


@contextmanager
def _streams(text: str) -> Any:
    """Standard input with a text, and what comes out on standard output and standard error."""
    before = sys.stdin, sys.stdout, sys.stderr
    printed, said = Kept(), io.StringIO()
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(text.encode())), io.TextIOWrapper(printed), said
    try:
        yield printed, said
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _by_csv(module: Any, table: Columns) -> list[Any]:
    """The labels that the command line of a module prints for a table of texts."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(table)
    writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*table.values(), strict=True))
    with _streams(text.getvalue()) as (printed, said):
        status = module.command_line([])
        output = printed.getvalue().decode()
    if status:
        raise InputError(said.getvalue().strip())
    return [row[0] for row in csv.reader(io.StringIO(output))][1:]


def _in_rows(rows: Callable[[Columns], list[Any]]) -> Callable[..., list[Answer]]:
    return partial(_run, lambda module, table: [module.predict(row) for row in rows(table)])


def _in_columns(make: Callable[[Columns], Any]) -> Callable[..., list[Answer]]:
    return partial(_run, lambda module, table: module.predict_many(make(table)))


HEADER = {"blanks around names": "blanks around the names of a header mean nothing"}
FEEDS = (
    Feed("predict, a mapping", _in_rows(rows_by_name), without=BY_ROW),
    Feed("predict, a sequence", _in_rows(rows_by_place), without=BY_PLACE),
    Feed("predict_many, rows", _in_columns(rows_by_name), without=BY_ROW),
    Feed("predict_many, lists", _in_columns(dict)),
    Feed("predict_many, objects", _in_columns(objects)),
    Feed("predict_many, arrays", _in_columns(arrays), holds_array, mixed=False),
    Feed("CSV", partial(_run, _by_csv), holds_text, without={**BY_ROW, **HEADER}),
)


Labels = npt.NDArray[np.int64]

ROWS_PER_LINE = 1000


@dataclass(frozen=True, slots=True)
class ModuleRows:
    """Rows as the module gets them: the cells of each used column as JSON values; right: the graph's labels."""

    cells: list[list[Any]]
    n_rows: int
    right: Callable[[], Labels]


def _encoded(graph: RuleGraph, table: Table) -> ModuleRows:
    texts = raw_columns(table.select(tuple(f.name for f in table.features if f.kind == "text")))
    cells = [
        texts[name].tolist()
        if name in texts
        else _missing_by_turns(graph.schema[name], cells_of(graph.schema[name], table.array(name)))
        for name in graph.used_features
    ]
    return ModuleRows(cells, table.n_rows, lambda: decide(graph, table))


def _given(graph: RuleGraph, columns: Columns) -> ModuleRows:
    """Cells as a user holds them: doubles that were not rounded, texts, None; or of any type."""
    used = (columns[name] for name in graph.used_features)
    cells = [column.tolist() if isinstance(column, np.ndarray) else column for column in used]
    n_rows = max(map(len, columns.values()), default=0)
    return ModuleRows(cells, n_rows, lambda: decide(graph, graph.table(dict(columns))))


def run(artifact: bytes, graph: RuleGraph, table: Table, mode: str = "all", seconds: float = SECONDS) -> Outcome:
    """Labels and probabilities of a table's rows, by the module's own `predict` and `predict_proba`.

    mode "all": every row goes in as a mapping, as a sequence and, through `predict_many`, in columns; where the labels
    are not the same, one that is not the graph's is the answer, so that a comparison with the graph finds a fault in
    any of them. "columns": `predict_many` alone; "csv": the module's command line.

    The process is `python -I` with an empty environment, in an empty folder, and bounded. Raises FormatError where the
    module fails, exceeds a bound, or answers with anything but a label and K numbers for every row.
    """
    return _execute(artifact, graph, [_encoded(graph, table)], mode, seconds)[0]


def _runtime(mode: str) -> Runtime:
    return Runtime(
        f"python, {mode}",
        partial(run, mode=mode),
        lambda artifact, graph, columns: _execute(artifact, graph, [_given(graph, columns)], mode)[0],
        lambda artifact, graph, table, columns: _execute(
            artifact, graph, [_encoded(graph, table), _given(graph, columns)], mode, 2 * SECONDS
        ),
        lambda artifact, graph, tables: _execute(artifact, graph, [_given(graph, table) for table in tables], mode),
        feeds=FEEDS if mode == "all" else (),
    )


RUNTIMES = tuple(map(_runtime, ("all", "columns", "csv")))


def _execute(
    artifact: bytes, graph: RuleGraph, tables: Sequence[ModuleRows], mode: str, seconds: float = SECONDS
) -> list[Outcome]:
    """The answers of the module in its own process, for each of some tables."""
    worker = files("rulekit_exporters.python").joinpath("worker.py").read_text("utf-8")
    n_rows = sum(table.n_rows for table in tables)
    with tempfile.TemporaryDirectory() as folder:
        module, rows, answers = (Path(folder, name) for name in ("artifact.py", "rows", "answers"))
        module.write_bytes(artifact)
        rows.write_text("\n".join(_lines(graph, tables)), encoding="ascii")
        command = [sys.executable, "-I", "-c", worker, *map(str, (module, rows, answers)), mode]
        run_bounded(command, Path(folder), seconds=seconds, what="the module")
        answer = read_answer(answers, 1000 + 40 * n_rows * (len(graph.classes) + 2))
        found = _outcome(answer.decode("ascii", "replace"), graph, tables)
    ends = np.cumsum([table.n_rows for table in tables]).tolist()
    parts = [slice(end - table.n_rows, end) for end, table in zip(ends, tables, strict=True)]
    return [Outcome(found.labels[part], found.probabilities[part]) for part in parts]


def _lines(graph: RuleGraph, tables: Sequence[ModuleRows]) -> Iterator[str]:
    """A header, then a JSON line of the used columns for each block of rows; JSON writes doubles exactly."""
    yield json.dumps(
        {
            "names": list(graph.schema.names),
            "classes": [repr(label) for label in graph.classes],
            "used": [graph.schema.positions[name] for name in graph.used_features],
        }
    )
    for table in tables:
        for start in range(0, table.n_rows, ROWS_PER_LINE):
            stop = min(start + ROWS_PER_LINE, table.n_rows)
            yield json.dumps([stop - start, [column[start:stop] for column in table.cells]])


def cells_of(feature: Feature, encoded: Array) -> list[Any]:
    """The encoded cells of a column: doubles, levels as text.

    An encoded number is there: one that would mean missing stands for the double beside it that rounds to it.
    """
    if feature.kind != "categorical":
        values = encoded.astype(np.float64)
        taken = np.isin(values, feature.missing_numbers) & (feature.kind == "numeric")
        beside = np.nextafter(values, np.where(values == 0.0, 1.0, 0.0))
        cells: list[Any] = np.where(taken, beside, values).tolist()
        return cells
    texts = texts_of_codes(feature)
    return [texts[code] for code in encoded.tolist()]


def _missing_by_turns(feature: Feature, cells: list[Any]) -> list[Any]:
    """The cells of a column of numbers where each missing one is NaN or a number that means missing, by turns.

    Raw rows hold every text that means missing, but no such number: most targets take those for what they are.
    """
    numbers = () if feature.has_text_cells else feature.missing_numbers
    if not numbers:
        return cells
    turns = itertools.cycle((np.nan, *numbers))
    return [next(turns) if cell != cell else cell for cell in cells]


def _outcome(text: str, graph: RuleGraph, tables: Sequence[ModuleRows]) -> Outcome:
    """The answers of all tables; a label that is not the same in every way is one that is not the graph's."""
    k, n_rows = len(graph.classes), sum(table.n_rows for table in tables)
    try:
        answer = json.loads(text)
        labels = np.array(answer["labels"], dtype=np.int64)
        others = [np.array(answer.get(way, answer["labels"]), dtype=np.int64) for way in ("sequences", "many")]
        probabilities = np.array(answer["probabilities"], dtype=np.float64).reshape(n_rows, k)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise FormatError(f"the module's answer is not {k} numbers for each row ({error})") from None
    for found in (labels, *others):
        if found.shape != (n_rows,) or (n_rows and not 0 <= found.min() <= found.max() < k):
            raise FormatError("the module answered with labels that the model does not have")
    for found in others:
        if (labels != found).any():
            right = np.concatenate([table.right() for table in tables])
            labels = np.where(labels == right, found, labels)
    return Outcome(labels, probabilities)
