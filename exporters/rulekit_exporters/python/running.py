"""Runs a generated module in an isolated process, or here for `rulekit.conformance`, which runs what it just wrote.

In the process cells and results travel as text, never as pickle.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from rulekit import targets
from rulekit.arrays import Array
from rulekit.errors import FormatError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table
from rulekit.verification.isolated import SECONDS, answer_of
from rulekit.verification.rows import raw_columns
from rulekit_exporters.python.worker import imported, printed


def _run(
    decide: Callable[[Any, targets.Columns], Any], artifact: bytes, graph: RuleGraph, tables: Sequence[targets.Columns]
) -> list[targets.Answer]:
    """The answers of a module, which is imported in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "artifact.py")
        path.write_bytes(artifact)
        module = imported(str(path))
    index = {repr(label): k for k, label in enumerate(module.CLASSES)}
    return targets.answers(lambda table: [index[repr(label)] for label in decide(module, table)], tables)


def _by_csv(module: Any, table: targets.Columns) -> list[Any]:
    """The labels that the command line of a module prints for a table of texts."""
    rows = (["" if cell is None else cell for cell in row] for row in zip(*table.values(), strict=True))
    return [row[0] for row in printed(lambda: sys.exit(module.command_line([])), table, rows)][1:]


def _in_rows(rows: Callable[[targets.Columns], list[Any]]) -> Callable[..., list[targets.Answer]]:
    return partial(_run, lambda module, table: [module.predict(row) for row in rows(table)])


def _in_columns(make: Callable[[targets.Columns], Any]) -> Callable[..., list[targets.Answer]]:
    return partial(_run, lambda module, table: module.predict_many(make(table)))


HEADER = {"blanks around names": "blanks around the names of a header mean nothing"}
FEEDS = (
    targets.Feed("predict, a mapping", _in_rows(targets.rows_by_name), without=targets.BY_ROW),
    targets.Feed("predict, a sequence", _in_rows(targets.rows_by_place), without=targets.BY_PLACE),
    targets.Feed("predict_many, rows", _in_columns(targets.rows_by_name), without=targets.BY_ROW),
    targets.Feed("predict_many, lists", _in_columns(dict)),
    targets.Feed("predict_many, objects", _in_columns(targets.objects)),
    targets.Feed("predict_many, arrays", _in_columns(targets.arrays), targets.holds_array, mixed=False),
    targets.Feed("CSV", partial(_run, _by_csv), targets.holds_text, without={**targets.BY_ROW, **HEADER}),
)


ROWS_PER_LINE = 1000


def plain_columns(table: Table) -> dict[str, Array]:
    """The raw values of encoded rows; a number that would mean missing is the double beside it that rounds to it."""
    found = raw_columns(table)
    for feature in (f for f in table.features if f.kind == "numeric" and f.missing_numbers):
        values = found[feature.name]
        beside = np.nextafter(values, np.where(values == 0.0, 1.0, 0.0))
        found[feature.name] = np.where(np.isin(values, feature.missing_numbers), beside, values)
    return found


def _encoded(graph: RuleGraph, table: Table) -> targets.Columns:
    """Raw rows hold every text that means missing, but no such number: what is missing here is each by turns."""
    columns = plain_columns(table)
    for feature in (graph.schema[name] for name in graph.used_features):
        if not feature.has_text_cells:
            absent = np.flatnonzero(np.isnan(columns[feature.name]))
            columns[feature.name][absent] = np.resize((np.nan, *feature.missing_numbers), len(absent))
    return columns or {"no column": np.zeros(table.n_rows)}


def run(
    artifact: bytes, graph: RuleGraph, table: Table, mode: str = "all", seconds: float = SECONDS
) -> targets.Outcome:
    """Labels and probabilities of a table's rows, by the module's own `predict` and `predict_proba`.

    mode "all": every row goes in as a mapping, as a sequence and, through `predict_many`, in columns; where the labels
    are not the same, one that is not the graph's is the answer, so that a comparison with the graph finds a fault in
    any of them. "columns": `predict_many` alone; "csv": the module's command line.

    The process is `python -I` with an empty environment, in an empty folder, and bounded. Raises FormatError where the
    module fails, exceeds a bound, or answers with anything but a label and K numbers for every row.
    """
    return _execute(artifact, graph, [_encoded(graph, table)], mode, seconds)[0]


def _runtime(mode: str) -> targets.Runtime:
    return targets.Runtime(
        f"python, {mode}",
        partial(run, mode=mode),
        lambda artifact, graph, columns: _execute(artifact, graph, [columns], mode)[0],
        lambda artifact, graph, table, columns: _execute(
            artifact, graph, [_encoded(graph, table), columns], mode, 2 * SECONDS
        ),
        lambda artifact, graph, tables: _execute(artifact, graph, tables, mode),
        feeds=FEEDS if mode == "all" else (),
    )


RUNTIMES = tuple(map(_runtime, ("all", "columns", "csv")))


def _execute(
    artifact: bytes, graph: RuleGraph, tables: Sequence[targets.Columns], mode: str, seconds: float = SECONDS
) -> list[targets.Outcome]:
    """The answers of the module in its own process, for each of some tables of cells of any type."""
    worker = resources.files("rulekit_exporters.python").joinpath("worker.py").read_text("utf-8")
    lengths = [max(map(len, table.values()), default=0) for table in tables]
    files = {"artifact.py": artifact, "rows": "\n".join(_lines(graph, tables, lengths)).encode("ascii")}
    command = [sys.executable, "-I", "-c", worker, "artifact.py", "rows", "answers", mode]
    most = 1000 + 40 * sum(lengths) * (len(graph.classes) + 2)
    answer = answer_of(command, files, most, seconds=seconds, what="the module")
    found = _outcome(answer.decode("ascii", "replace"), graph, tables, sum(lengths))
    parts = [slice(end - length, end) for end, length in zip(accumulate(lengths), lengths, strict=True)]
    return [targets.Outcome(found.labels[part], found.probabilities[part]) for part in parts]


def _lines(graph: RuleGraph, tables: Sequence[targets.Columns], lengths: Sequence[int]) -> Iterator[str]:
    """A header, then a JSON line of the used columns for each block of rows; JSON writes doubles exactly."""
    yield json.dumps(
        {
            "names": list(graph.schema.names),
            "classes": [repr(label) for label in graph.classes],
            "used": [graph.schema.positions[name] for name in graph.used_features],
        }
    )
    for table, length in zip(tables, lengths, strict=True):
        used = (table[name] for name in graph.used_features)
        cells = [column.tolist() if isinstance(column, np.ndarray) else column for column in used]
        for start in range(0, length, ROWS_PER_LINE):
            stop = min(start + ROWS_PER_LINE, length)
            yield json.dumps([stop - start, [column[start:stop] for column in cells]])


def _outcome(text: str, graph: RuleGraph, tables: Sequence[targets.Columns], n_rows: int) -> targets.Outcome:
    """The answers of all tables; a label that is not the same in every way is one that is not the graph's."""
    k = len(graph.classes)
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
            right = np.concatenate([decide(graph, graph.table(dict(table))) for table in tables])
            labels = np.where(labels == right, found, labels)
    return targets.Outcome(labels, probabilities)
