"""The JavaScript target: an ES module without dependencies, which decides rows that are objects.

Modules run by Node.js in a bounded process: rows and answers travel as JSON.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.errors import FormatError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.table import Table
from rulekit.target_kit import (
    Answer,
    Feed,
    Outcome,
    Runtime,
    raw_columns,
    raw_rows,
    read_answer,
    rows_by_name,
    run_bounded,
    text_target,
)
from rulekit.targets import BY_ROW, Columns
from rulekit_exporters.javascript.module import module_lines

MEMORY = 1 << 40  # of address space, which Node.js reserves without using it
LARGEST_ANSWER = 1 << 28

# Each table is answered by itself: the rows' classes, probabilities and labels again, or why a row is refused.
_WORKER = """
import { readFileSync, writeFileSync } from "node:fs";
import { predict, score, CLASSES, DIGEST } from "./artifact.mjs";
const answer = (rows) => {
  try {
    const found = rows.map(score);
    const labels = predict(rows).map((label) => CLASSES.indexOf(label));
    const chances = found.map(({ probabilities }) => probabilities);
    return { labels, scored: found.map(({ index }) => index), chances };
  } catch (error) {
    return String(error.message);
  }
};
writeFileSync("answers", JSON.stringify(JSON.parse(readFileSync("rows", "utf8")).map(answer)));
"""


def _answers(artifact: bytes, tables: Sequence[Sequence[Mapping[str, Any]]], seconds: float = 300.0) -> list[Any]:
    """What the module says of each table, rows as objects."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"artifact.mjs": artifact, "main.mjs": _WORKER.encode()}
        files["rows"] = json.dumps(tables).replace("Infinity", "1e999").encode()
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        run_bounded(["node", "main.mjs"], Path(folder), seconds=seconds, memory=MEMORY, what="the module")
        found = json.loads(read_answer(Path(folder, "answers"), LARGEST_ANSWER))
    if not isinstance(found, list) or len(found) != len(tables):
        raise FormatError("the module's answer is not one for each table")
    return found


def _outcome(graph: RuleGraph, found: Any, n_rows: int) -> Outcome:
    if isinstance(found, str):
        raise FormatError(f"the module refuses a row: {found}")
    k = len(graph.classes)
    labels = np.array(found["labels"], dtype=np.int64).reshape(n_rows)
    if found["labels"] != found["scored"] or (n_rows and not 0 <= labels.min() <= labels.max() < k):
        raise FormatError("the module answered with labels that the model does not have, or with two for one row")
    return Outcome(labels, np.array(found["chances"], dtype=np.float64).reshape(n_rows, k))


def _objects(graph: RuleGraph, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = graph.used_features
    return [dict(zip(names, row, strict=True)) for row in raw_rows(graph, columns)]


def run_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    """Labels and probabilities of cells as a user holds them."""
    rows = _objects(graph, columns)
    return _outcome(graph, _answers(artifact, [rows])[0], len(rows))


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """The same of the rows of an encoded table."""
    return run_raw(artifact, graph, raw_columns(table))


def run_both(artifact: bytes, graph: RuleGraph, table: Table, columns: Mapping[str, Any]) -> list[Outcome]:
    """Encoded and raw rows in one process."""
    tables = [_objects(graph, raw_columns(table)), _objects(graph, columns)]
    found = _answers(artifact, tables, 600.0)
    return [_outcome(graph, each, len(rows)) for each, rows in zip(found, tables, strict=True)]


def run_typed(artifact: bytes, graph: RuleGraph, tables: Sequence[Mapping[str, list[Any]]]) -> list[Outcome]:
    """Cells of any type that JSON has, NaN as null."""
    rows = list(map(_typed, tables))
    return [_outcome(graph, each, len(table)) for each, table in zip(_answers(artifact, rows), rows, strict=True)]


def run_cells(artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]) -> list[Answer]:
    """What the module says of tables that may be wrong, rows as objects."""
    found = _answers(artifact, list(map(_typed, tables)))
    return [answer if isinstance(answer, str) else answer["labels"] for answer in found]


def _typed(table: Columns) -> list[dict[str, Any]]:
    return [{name: None if cell != cell else cell for name, cell in row.items()} for row in rows_by_name(table)]


def holds(feature: Feature, cell: Any) -> str:
    """Why JSON has no place for a cell, or JavaScript another value for it."""
    if type(cell) not in (type(None), bool, int, float, str):
        return "JSON has no such cell"
    if type(cell) is int and abs(cell) > 2**53:
        return "a number of JavaScript is a double"
    return ""


NODE = Runtime(
    "node",
    run,
    run_raw,
    run_both,
    run_typed,
    missing=lambda: "" if shutil.which("node") else "node is not installed",
    feeds=(Feed("rows as objects", run_cells, holds, without=BY_ROW),),
)


TARGET = text_target(
    "javascript",
    "an ES module without dependencies, for browsers and Node.js",
    (".mjs",),
    "//",
    lambda graph, options: module_lines(graph),
    (NODE,),
    noun="module",
    summary=lambda options: "no dependencies",
    stamp='export const DIGEST = "{}";',
)
