"""The ONNX target: models that decide exactly as the rule graph does, portable unless latency is asked for.

onnx and onnxruntime are imported when a function of the target is called, not when the target is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rulekit.targets import Artifact, Outcome, Reading, Target

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.tables.table import Array, Table


def emit(graph: RuleGraph, options: Mapping[str, Any]) -> Artifact:
    """The graph as an ONNX model, checked, loaded and run before it is returned.

    Raises InputError for an unknown option, Unsupported for what the target cannot express, GraphError for a graph
    that breaks the rules of composition.
    """
    from rulekit_exporters.onnx.emission import emit_model

    return emit_model(graph, options)


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """Class index [n] and probabilities [n, K] by onnxruntime (one thread, chunks of 8192 rows)."""
    from rulekit_exporters.onnx.running import run_runtime

    return run_runtime(artifact, graph, table)


def run_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Array]) -> Outcome:
    """`run` on values as a user holds them: doubles that were not rounded, texts, None; by column name, each [n]."""
    from rulekit_exporters.onnx.running import run_raw as run_cells

    return run_cells(artifact, graph, columns)


def run_reference(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """Class index [n] and probabilities [n, K] by onnx.reference, the specification's own evaluator."""
    from rulekit_exporters.onnx.running import run_reference as run_by_specification

    return run_by_specification(artifact, graph, table)


def read(artifact: bytes) -> RuleGraph:
    """The rule graph that the model carries in its metadata, its digest checked; raises FormatError."""
    from rulekit_exporters.onnx.metadata import read_graph

    return read_graph(artifact)


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """What the operators of a model compute, read without running them; raises FormatError where it is no ONNX file."""
    from rulekit_exporters.onnx.inspection.reader import inspect as read_operators

    return read_operators(artifact, graph)


OPTIONS = {
    "input": "tensor (one [N, d] of all columns), columns (one [N, 1] per used column) or codes (columns, with "
    "integer codes for categories); default: tensor where no used column is categorical, else columns",
    "optimize": "throughput (default), or latency: least time for one row, as one tree operator where there is one",
    "opset": "version of the default operator set, 12 (default) or later",
    "fired": "true: a third output says which rules fired; default false",
    "text": "false: leave the rule text out of the metadata; default true",
}

EXPRESSES = frozenset(
    (
        *("Compare", "Among", "IsTrue", "Missing", "Constant", "Not", "And", "Or", "AtLeast", "LinearThreshold"),
        *("Above", "Hidden", "Column", "Step", "Linear", "Strength", "Probability", "Logistic"),
    )
)

TARGET = Target(
    name="onnx",
    description="ONNX model of portable operators: outputs label and probabilities",
    suffixes=(".onnx",),
    emit=emit,
    run=run,
    run_raw=run_raw,
    read=read,
    inspect=inspect,
    options=OPTIONS,
    expresses=EXPRESSES,
)
