"""The ONNX target: models that decide exactly as the rule graph does, portable unless latency is asked for.

onnx and onnxruntime are imported when a function of the target is called, not when the target is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rulekit.targets import Artifact, Outcome, Reading, Runtime, Target
from rulekit_exporters.onnx.options import Options

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.tables.table import Array, Table


def refuses(graph: RuleGraph, options: Options) -> str:
    """A float tensor has no place for texts."""
    used = [name for name in graph.used_features if graph.schema[name].kind == "categorical"]
    if not used or options.input != "tensor":
        return ""
    return f"a float tensor cannot hold the category {used[0]!r}: export columns or codes"


def write(graph: RuleGraph, options: Options) -> Artifact:
    """The graph as an ONNX model, checked, loaded and run before it is returned.

    Raises Unsupported for what the target cannot express, GraphError for a graph that breaks the rules of composition.
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


def run_bounded(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """`run` in a process of its own with limits, for a model whose operators may do anything."""
    from rulekit_exporters.onnx.running import run_runtime
    from rulekit_exporters.onnx.untrusted import bounded_session

    return run_runtime(artifact, graph, table, bounded_session)


def run_raw_bounded(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Array]) -> Outcome:
    """`run_raw` in a process of its own with limits."""
    from rulekit_exporters.onnx.running import run_raw as run_cells
    from rulekit_exporters.onnx.untrusted import bounded_session

    return run_cells(artifact, graph, columns, bounded_session)


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


def _missing(package: str) -> str:
    return "" if find_spec(package) else f"{package} is not installed"


_BOUNDED = Runtime("onnxruntime in a process with limits", run_bounded, run_raw_bounded)

TARGET = Target(
    name="onnx",
    description="ONNX model of portable operators: outputs label and probabilities",
    suffixes=(".onnx",),
    write=write,
    runs=(
        Runtime("onnxruntime", run, run_raw, missing=partial(_missing, "onnxruntime"), bounded=_BOUNDED),
        Runtime("reference", run_reference, missing=partial(_missing, "onnx"), everyday=False),
    ),
    read=read,
    inspect=inspect,
    options=Options,
    refuses=refuses,
)

emit = TARGET.emit
