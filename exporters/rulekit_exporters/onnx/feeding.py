"""The forms in which an exported model takes cells, for `rulekit.conformance`: by way of rulekit, and as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rulekit.cells.words import taken_apart
from rulekit.dates import is_dated
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import encoded_dtype
from rulekit.targets import Answer, Columns, answers
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan
from rulekit_exporters.onnx.running import SessionOf, feeds_of, in_chunks, outcome, plan_of, runtime_session


def run_encoded(
    artifact: bytes, graph: RuleGraph, tables: Sequence[Columns], session_of: SessionOf = runtime_session
) -> list[Answer]:
    """What rulekit does with a table and a model: cells are encoded by the schema, then fed."""
    apart, words = taken_apart(graph)
    plan, session = plan_of(artifact, apart, words), session_of(artifact)

    def decide(table: Columns) -> Any:
        encoded = graph.table(table)
        return outcome(
            apart, in_chunks(session, feeds_of(plan, apart, words.table(encoded) if words else encoded))
        ).labels

    return answers(decide, tables)


def run_arrays(
    artifact: bytes, graph: RuleGraph, tables: Sequence[Columns], session_of: SessionOf = runtime_session
) -> list[Answer]:
    """What an application does: an input for each column, of the declared type and shape, whatever its length."""
    session, plan = session_of(artifact), plan_of(artifact, graph)
    return answers(lambda table: outcome(graph, in_chunks(session, _feeds(plan, graph.schema, table))).labels, tables)


def _feeds(plan: InputPlan, schema: Schema, table: Columns) -> dict[str, Any]:
    inputs = {name: _input(schema[name], table[name], plan.coded) for name in plan.columns}
    if plan.form == "tensor":
        width = np.float64 if plan.wide else np.float32
        return {TENSOR_NAME: np.concatenate([column.astype(width) for column in inputs.values()], axis=1)}
    return {name: plan.fed(inputs[column]) for column, name in zip(plan.columns, plan.names, strict=True)}


def _input(feature: Feature, cells: Sequence[Any], coded: bool) -> Any:
    if feature.kind == "categorical":
        if coded:
            codes = encode({feature.name: list(cells)}, Schema((feature,))).arrays[0]
            return codes.astype(np.int64).reshape(-1, 1)
        texts = np.array(["" if cell is None else str.__str__(cell) for cell in cells], dtype=object)
        return texts.reshape(-1, 1)
    with np.errstate(over="ignore"):
        numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        return numbers.astype(encoded_dtype(feature)).reshape(-1, 1)


def holds_encoded(feature: Feature, cell: Any) -> str:
    """What an exported model cannot say of a cell that rulekit has encoded."""
    return "ONNX has no error for an unseen level" if feature.unseen == "error" else ""


def holds_arrays(feature: Feature, cell: Any) -> str:
    """Why no application can put a cell into the declared type, or why the runtime cannot refuse it there."""
    if feature.kind == "text":
        return "the application cuts texts into words"
    if feature.kind == "categorical":
        fits = cell is None or (isinstance(cell, str) and not cell.endswith("\0"))
        return holds_encoded(feature, cell) if fits else "an input of texts holds no such cell"
    if not (cell is None or isinstance(cell, bool | int | float | np.integer | np.floating | np.bool_)):
        return "an input of numbers holds no such cell"
    if isinstance(cell, np.timedelta64):
        return "an input of numbers holds no such cell"
    if isinstance(cell, int | np.integer) and abs(int(cell)) > 2**53:
        return "the application rounds an integer beyond 2^53"
    if cell is not None and float(cell) in feature.missing_numbers:
        return "the application feeds NaN for a number that means missing"
    dated = is_dated(feature) and cell is not None and float(cell) >= 1000_01_01
    return "the runtime takes the digits of a date for a number" if dated else ""
